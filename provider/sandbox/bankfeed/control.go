package bankfeed

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"stayledger/provider/sandbox/stage"
)

// control serves what tells the sandbox how to behave. All of it asks for the secret as a bearer token.
func (s *Server) control() {
	s.on("POST /control/faults", s.controlFault)
	s.on("POST /control/reset", func(w http.ResponseWriter, _ *http.Request) { s.Reset(); stage.Done(w) })
	s.on("POST /control/release", func(w http.ResponseWriter, _ *http.Request) { s.Release(); stage.Done(w) })
	s.on("POST /control/settings", s.controlSettings)
	s.on("POST /control/keys", s.controlKeys)
	s.on("GET /control/counts", func(w http.ResponseWriter, _ *http.Request) { stage.Write(w, http.StatusOK, s.Counts()) })
	s.on("GET /control/events", s.log.ServeEvents)
	s.on("GET /control/webhooks", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"webhooks": s.Messages()})
	})
	s.on("GET /control/institutions", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"institutions": s.Institutions()})
	})
	s.on("PUT /control/institutions/{id}", s.controlInstitution)
	s.on("GET /control/items", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"items": s.Items()})
	})
	s.on("POST /control/items/{id}/problem", s.controlProblem)
	s.on("POST /control/items/{id}/progress", s.controlProgress)
	s.on("POST /control/items/{id}/webhooks", s.controlFire)
	s.on("POST /control/items/{id}/accounts/{account}/rekey", s.controlRekey)
	s.on("POST /control/items/{id}/accounts/{account}/close", func(w http.ResponseWriter, r *http.Request) {
		outcome(w, s.CloseAccount(r.PathValue("id"), r.PathValue("account")))
	})
	s.on("GET /control/items/{id}/transactions", s.controlTransactions)
	s.on("POST /control/items/{id}/transactions", s.controlAdd)
	s.on("PUT /control/items/{id}/transactions/{transaction}", s.controlCorrect)
	s.on("DELETE /control/items/{id}/transactions/{transaction}", func(w http.ResponseWriter, r *http.Request) {
		outcome(w, s.Remove(r.PathValue("id"), r.PathValue("transaction")))
	})
	s.on("POST /control/items/{id}/transactions/{transaction}/post", s.controlPost)
}

func (s *Server) on(pattern string, serve http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.config.Secret)) != 1 {
			stage.Refuse(w, http.StatusUnauthorized, "credentials")
			return
		}

		serve(w, r)
	})
}

// outcome answers a control request that changes something.
func outcome(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		stage.Done(w)
	case errors.Is(err, ErrUnknown):
		stage.Refuse(w, http.StatusNotFound, "unknown")
	default:
		stage.Refuse(w, http.StatusBadRequest, "refused")
	}
}

// madeNew answers with the identifier of what was made.
func madeNew(w http.ResponseWriter, id string, err error) {
	if err != nil {
		outcome(w, err)
		return
	}

	stage.Write(w, http.StatusOK, map[string]string{"id": id})
}

func (s *Server) controlFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if !stage.Decode(w, r, &f) {
		return
	}

	if !slices.Contains(f.Mode.Enum(), string(f.Mode)) || (f.Mode == Fail && f.Failure.Code == "") {
		stage.Refuse(w, http.StatusBadRequest, "unknownMode")
		return
	}

	s.Break(f)
	stage.Done(w)
}

func (s *Server) controlSettings(w http.ResponseWriter, r *http.Request) {
	var in Settings
	if !stage.Decode(w, r, &in) {
		return
	}

	if (in.Begins != nil && !slices.Contains(in.Begins.Enum(), string(*in.Begins))) || (in.History != nil && (*in.History < 0 || *in.History > maxHistory)) {
		stage.Refuse(w, http.StatusBadRequest, "outOfRange")
		return
	}

	s.Set(in)
	stage.Done(w)
}

func (s *Server) controlKeys(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ExpireOld bool `json:"expireOld"`
	}
	if stage.Decode(w, r, &in) {
		outcome(w, s.RotateKey(in.ExpireOld))
	}
}

func (s *Server) controlInstitution(w http.ResponseWriter, r *http.Request) {
	var in Institution
	if !stage.Decode(w, r, &in) {
		return
	}

	if in.ID = r.PathValue("id"); in.Name == "" || len(in.Accounts) == 0 {
		stage.Refuse(w, http.StatusBadRequest, "incomplete")
		return
	}

	s.SetInstitution(in)
	stage.Done(w)
}

// Item is an item as the control tells it.
type Item struct {
	ID            string        `json:"id"`
	AccessToken   string        `json:"accessToken,omitempty"` // none until somebody fetches it
	InstitutionID string        `json:"institutionId"`
	Webhook       string        `json:"webhook,omitempty"`
	Removed       bool          `json:"removed"`
	Progress      Progress      `json:"progress"`
	Problem       *Failure      `json:"problem,omitempty"`
	Accounts      []ItemAccount `json:"accounts"`
	Transactions  int           `json:"transactions"` // that are told now
}

// ItemAccount is an account of an item.
type ItemAccount struct {
	ID      string      `json:"id"`
	Bank    string      `json:"bank"` // its identifier at the bank
	Name    string      `json:"name"`
	Mask    string      `json:"mask,omitempty"`
	Closed  bool        `json:"closed"`
	Balance json.Number `json:"balance"`
}

// Items are all items, oldest first.
func (s *Server) Items() []Item {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := []Item{}

	for _, i := range s.items {
		told := Item{
			ID: i.id, AccessToken: i.access, InstitutionID: i.bank, Webhook: i.webhook, Removed: i.removed, Progress: i.progress, Problem: i.problem,
			Accounts: []ItemAccount{},
		}
		for _, a := range i.accounts {
			told.Accounts = append(told.Accounts, ItemAccount{
				ID: a.id, Bank: a.of.ID, Name: a.of.Name, Mask: a.of.Mask, Closed: a.closed, Balance: i.balance(a),
			})
		}

		for _, r := range i.rows {
			if !r.gone {
				told.Transactions++
			}
		}

		out = append(out, told)
	}

	return out
}

// controlProblem takes a failure; one without a code ends it.
func (s *Server) controlProblem(w http.ResponseWriter, r *http.Request) {
	var in Failure
	if !stage.Decode(w, r, &in) {
		return
	}

	problem := &in
	if in.Code == "" {
		problem = nil
	}

	outcome(w, s.SetProblem(r.PathValue("id"), problem))
}

func (s *Server) controlProgress(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Progress Progress `json:"progress"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	if !slices.Contains(in.Progress.Enum(), string(in.Progress)) {
		stage.Refuse(w, http.StatusBadRequest, "unknownProgress")
		return
	}

	outcome(w, s.Advance(r.PathValue("id"), in.Progress))
}

func (s *Server) controlFire(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code string `json:"code"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	if !s.Fire(r.PathValue("id"), in.Code) {
		stage.Refuse(w, http.StatusNotFound, "unknown")
		return
	}

	stage.Done(w)
}

func (s *Server) controlRekey(w http.ResponseWriter, r *http.Request) {
	var in struct {
		RemoveOld bool `json:"removeOld"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	id, err := s.Rekey(r.PathValue("id"), r.PathValue("account"), in.RemoveOld)
	madeNew(w, id, err)
}

func (s *Server) controlTransactions(w http.ResponseWriter, r *http.Request) {
	rows, err := s.Transactions(r.PathValue("id"))
	if err != nil {
		outcome(w, err)
		return
	}

	stage.Write(w, http.StatusOK, map[string]any{"transactions": rows})
}

func (s *Server) controlAdd(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Transactions []Transaction `json:"transactions"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	ids, err := s.Add(r.PathValue("id"), in.Transactions...)
	if err != nil {
		outcome(w, err)
		return
	}

	stage.Write(w, http.StatusOK, map[string]any{"ids": ids})
}

// amend reads what changes of a row; what is absent stays. False when the request has been refused.
func amend(w http.ResponseWriter, r *http.Request) (func(*Transaction), bool) {
	var raw json.RawMessage
	if !stage.Decode(w, r, &raw) {
		return nil, false
	}

	if err := json.Unmarshal(raw, &Transaction{}); err != nil {
		stage.Refuse(w, http.StatusBadRequest, "malformed")
		return nil, false
	}

	return func(t *Transaction) { _ = json.Unmarshal(raw, t) }, true // It has been read before.
}

func (s *Server) controlCorrect(w http.ResponseWriter, r *http.Request) {
	if change, ok := amend(w, r); ok {
		outcome(w, s.Correct(r.PathValue("id"), r.PathValue("transaction"), change))
	}
}

func (s *Server) controlPost(w http.ResponseWriter, r *http.Request) {
	if change, ok := amend(w, r); ok {
		id, err := s.Post(r.PathValue("id"), r.PathValue("transaction"), change)
		madeNew(w, id, err)
	}
}
