package bankfeed

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"stayledger/provider/sandbox/stage"
)

// control adds the calls that control the sandbox. All of them ask for the secret as a bearer token.
func (s *Server) control() {
	// First the sandbox as a whole: its faults, settings and keys, and what it has recorded.
	s.handleControl("POST /control/faults", s.controlFault)
	s.handleControl("POST /control/reset", func(w http.ResponseWriter, _ *http.Request) { s.Reset(); stage.Done(w) })
	s.handleControl("POST /control/release",
		func(w http.ResponseWriter, _ *http.Request) { s.Release(); stage.Done(w) })
	s.handleControl("POST /control/settings", s.controlSettings)
	s.handleControl("POST /control/keys", s.controlKeys)
	s.handleControl("GET /control/counts", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, s.Counts())
	})
	s.handleControl("GET /control/events", s.log.ServeEvents)
	s.handleControl("GET /control/webhooks", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"webhooks": s.Messages()})
	})

	// Then the banks.
	s.handleControl("GET /control/institutions", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"institutions": s.Institutions()})
	})
	s.handleControl("PUT /control/institutions/{id}", s.controlInstitution)

	// Then items, as their bank or the vendor would change them.
	s.handleControl("GET /control/items", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"items": s.Items()})
	})
	s.handleControl("POST /control/items/{id}/problem", s.controlProblem)
	s.handleControl("POST /control/items/{id}/progress", s.controlProgress)
	s.handleControl("POST /control/items/{id}/webhooks", s.controlFire)
	s.handleControl("POST /control/items/{id}/accounts/{account}/rekey", s.controlRekey)
	s.handleControl("POST /control/items/{id}/accounts/{account}/close", func(w http.ResponseWriter, r *http.Request) {
		outcome(w, s.closeAccount(r.PathValue("id"), r.PathValue("account")))
	})

	// Last, the rows of an item.
	s.handleControl("GET /control/items/{id}/transactions", s.controlTransactions)
	s.handleControl("POST /control/items/{id}/transactions", s.controlAdd)
	s.handleControl("PUT /control/items/{id}/transactions/{transaction}", s.controlCorrect)
	s.handleControl("DELETE /control/items/{id}/transactions/{transaction}",
		func(w http.ResponseWriter, r *http.Request) {
			outcome(w, s.Remove(r.PathValue("id"), r.PathValue("transaction")))
		})
	s.handleControl("POST /control/items/{id}/transactions/{transaction}/post", s.controlPost)
}

// handleControl adds a control call that asks for the secret.
func (s *Server) handleControl(pattern string, serve http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.config.Secret)) != 1 {
			stage.Refuse(w, http.StatusUnauthorized, "credentials")
			return
		}

		serve(w, r)
	})
}

// outcome answers a control request that changes something: 204, or the refusal that belongs to the error.
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

// writeID answers with the identifier of a new thing, or with the refusal that belongs to the error.
func writeID(w http.ResponseWriter, id string, err error) {
	if err != nil {
		outcome(w, err)
		return
	}

	stage.Write(w, http.StatusOK, map[string]string{"id": id})
}

// controlFault adds a fault. It refuses unknown modes, and Fail without a code to fail with.
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

// controlSettings changes the settings. It refuses unknown progress and a history out of range.
func (s *Server) controlSettings(w http.ResponseWriter, r *http.Request) {
	var in Settings
	if !stage.Decode(w, r, &in) {
		return
	}

	if (in.Begins != nil && !slices.Contains(in.Begins.Enum(), string(*in.Begins))) ||
		(in.History != nil && (*in.History < 0 || *in.History > maxHistory)) {
		stage.Refuse(w, http.StatusBadRequest, "outOfRange")
		return
	}

	s.Set(in)
	stage.Done(w)
}

// controlKeys makes a new key for webhooks.
func (s *Server) controlKeys(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ExpireOld bool `json:"expireOld"`
	}
	if stage.Decode(w, r, &in) {
		outcome(w, s.rotateKey(in.ExpireOld))
	}
}

// controlInstitution adds or replaces a bank. It refuses banks without a name or without accounts.
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

// Item is an item as the control calls show it.
type Item struct {
	ID            string        `json:"id"`
	AccessToken   string        `json:"accessToken,omitempty"` // none until it is fetched
	InstitutionID string        `json:"institutionId"`
	Webhook       string        `json:"webhook,omitempty"`
	Removed       bool          `json:"removed"`
	Progress      Progress      `json:"progress"`
	Problem       *Failure      `json:"problem,omitempty"`
	Accounts      []ItemAccount `json:"accounts"`
	Transactions  int           `json:"transactions"` // that it shows now
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

// Items returns all items, oldest first.
func (s *Server) Items() []Item {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := []Item{}

	for _, i := range s.items {
		shown := Item{
			ID:            i.id,
			AccessToken:   i.access,
			InstitutionID: i.bank,
			Webhook:       i.webhook,
			Removed:       i.removed,
			Progress:      i.progress,
			Problem:       i.problem,
			Accounts:      []ItemAccount{},
		}

		// Closed accounts are listed too: a test wants to see that they closed.
		for _, a := range i.accounts {
			shown.Accounts = append(shown.Accounts, ItemAccount{
				ID: a.id, Bank: a.of.ID, Name: a.of.Name, Mask: a.of.Mask, Closed: a.closed, Balance: i.balance(a),
			})
		}

		// Rows that are withheld are not in i.rows yet.
		for _, r := range i.rows {
			if !r.gone {
				shown.Transactions++
			}
		}

		out = append(out, shown)
	}

	return out
}

// controlProblem sets the failure that an item answers with. A failure without a code ends it.
func (s *Server) controlProblem(w http.ResponseWriter, r *http.Request) {
	var in Failure
	if !stage.Decode(w, r, &in) {
		return
	}

	problem := &in
	if in.Code == "" {
		problem = nil
	}

	outcome(w, s.setProblem(r.PathValue("id"), problem))
}

// controlProgress lets an item show more of its history. It refuses unknown progress.
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

	outcome(w, s.advance(r.PathValue("id"), in.Progress))
}

// controlFire sends a webhook of an item, or answers 404 if there is no such item, webhook or code.
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

// controlRekey gives an account another identifier, and answers with it.
func (s *Server) controlRekey(w http.ResponseWriter, r *http.Request) {
	var in struct {
		RemoveOld bool `json:"removeOld"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	id, err := s.rekey(r.PathValue("id"), r.PathValue("account"), in.RemoveOld)
	writeID(w, id, err)
}

// controlTransactions lists the rows that an item shows now.
func (s *Server) controlTransactions(w http.ResponseWriter, r *http.Request) {
	rows, err := s.Transactions(r.PathValue("id"))
	if err != nil {
		outcome(w, err)
		return
	}

	stage.Write(w, http.StatusOK, map[string]any{"transactions": rows})
}

// controlAdd adds rows to an item, and answers with their identifiers.
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

// amend reads the change of a row: fields that are absent stay. It returns false if the body is malformed; then the
// answer has been written.
func amend(w http.ResponseWriter, r *http.Request) (func(*Transaction), bool) {
	var raw json.RawMessage
	if !stage.Decode(w, r, &raw) {
		return nil, false
	}

	// The row to change is not known here, so the change is tried on an empty one.
	if err := json.Unmarshal(raw, &Transaction{}); err != nil {
		stage.Refuse(w, http.StatusBadRequest, "malformed")
		return nil, false
	}

	return func(t *Transaction) { _ = json.Unmarshal(raw, t) }, true // It has been read before.
}

// controlCorrect changes a row.
func (s *Server) controlCorrect(w http.ResponseWriter, r *http.Request) {
	if change, ok := amend(w, r); ok {
		outcome(w, s.correct(r.PathValue("id"), r.PathValue("transaction"), change))
	}
}

// controlPost replaces a pending row by a posted one, and answers with its identifier.
func (s *Server) controlPost(w http.ResponseWriter, r *http.Request) {
	if change, ok := amend(w, r); ok {
		id, err := s.Post(r.PathValue("id"), r.PathValue("transaction"), change)
		writeID(w, id, err)
	}
}
