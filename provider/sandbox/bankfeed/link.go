package bankfeed

import (
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"stayledger/provider/sandbox/stage"
)

//go:embed link.html
var linkHTML string

var linkPage = template.Must(template.New("link").Parse(linkHTML))

const (
	linkLife   = 4 * time.Hour    // of a link that sets no lifetime
	updateLife = 30 * time.Minute // of a link that repairs an item and sets no lifetime
	keptFor    = 6 * time.Hour    // how long the outcome of a link can be asked for after its end
)

// link is a page for one person.
type link struct {
	token    string
	client   string // the client's name, which the page shows
	created  time.Time
	expires  time.Time
	webhook  string
	returnTo string
	days     int
	repairs  *item // the item to repair; nil for a link that makes a new one
	choose   bool  // the person may change the accounts of the item that is repaired
	sessions []map[string]any
	ended    time.Time
}

// createLink makes a link for a new item, or for the repair of the item of an access token.
func (s *Server) createLink(x *exchange) (map[string]any, *Failure) {
	var in struct {
		accessBody

		ClientName   string   `json:"client_name"`
		Language     string   `json:"language"`
		Countries    []string `json:"country_codes"`
		Products     []string `json:"products"`
		Webhook      string   `json:"webhook"`
		Transactions struct {
			Days int `json:"days_requested"`
		} `json:"transactions"`
		User struct {
			ID string `json:"client_user_id"`
		} `json:"user"`
		Update struct {
			AccountSelection bool `json:"account_selection_enabled"`
		} `json:"update"`
		Hosted *struct {
			ReturnTo string `json:"completion_redirect_uri"`
			Lifetime int    `json:"url_lifetime_seconds"`
		} `json:"hosted_link"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	// The limits are the vendor's: 30 characters of a name, 730 days of history.
	if in.ClientName == "" || len(in.ClientName) > 30 || in.Language == "" || len(in.Countries) == 0 ||
		in.User.ID == "" || in.Transactions.Days > 730 {
		return nil, badField
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	l := &link{
		token:   randomID("link-sandbox-"),
		client:  in.ClientName,
		created: s.now(),
		webhook: in.Webhook,
		days:    daysOr90(in.Transactions.Days),
		choose:  in.Update.AccountSelection,
	}
	life := linkLife

	// A link with an access token repairs that item, even one that has a problem.
	if in.AccessToken != "" {
		var failure *Failure
		if l.repairs, failure = s.usable(x, in.AccessToken, true); failure != nil {
			return nil, failure
		}

		life = updateLife
	}

	// New items need products, and repairs must not name any.
	if (l.repairs == nil) != hasAll(in.Products) {
		return nil, badField
	}

	// Only clients that ask for a hosted page get its address; they can also set how long the link lives.
	answer := map[string]any{"link_token": l.token}
	if in.Hosted != nil {
		l.returnTo = in.Hosted.ReturnTo
		if in.Hosted.Lifetime > 0 {
			life = time.Duration(in.Hosted.Lifetime) * time.Second
		}

		answer["hosted_link_url"] = s.url(x.r) + "/link/" + l.token
	}

	l.expires = l.created.Add(life)
	answer["expiration"] = l.expires.Format(time.RFC3339)
	s.links = append(s.links, l)

	return answer, nil
}

// url returns the address of the sandbox, as the caller reached it.
func (s *Server) url(r *http.Request) string { return "http://" + r.Host + s.config.Path }

// link returns a link, or nil. The caller has the lock.
func (s *Server) link(token string) *link {
	return find(s.links, func(l *link) bool { return l.token == token })
}

// getLink answers what became of a link. It fails if the link is unknown, if it expired before it was used, or six
// hours after its end.
func (s *Server) getLink(x *exchange) (map[string]any, *Failure) {
	var in struct {
		LinkToken string `json:"link_token"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	l := s.link(in.LinkToken)

	now := s.now()
	if l == nil || (l.ended.IsZero() && now.After(l.expires)) || (!l.ended.IsZero() && now.Sub(l.ended) > keptFor) {
		return nil, badLink
	}

	// The protocol has an empty list for a link that was not used, and not null.
	sessions := slices.Clone(l.sessions)
	if sessions == nil {
		sessions = []map[string]any{}
	}

	return map[string]any{
		"link_token":    l.token,
		"created_at":    l.created.Format(time.RFC3339),
		"expiration":    l.expires.Format(time.RFC3339),
		"link_sessions": sessions,
	}, nil
}

// Complete acts for a person on the page of a link: it chooses a bank, and accounts by their identifiers at the
// bank (all if none are named), and ends. A link that repairs an item needs no bank. It fails with ErrUnknown if
// there is no such link or bank, and with errNoChoice if the bank cannot be linked now.
func (s *Server) Complete(linkToken, institutionID string, accounts ...string) error {
	s.mu.Lock()

	l, err := s.openLink(linkToken)
	if err != nil {
		s.mu.Unlock()
		return err
	}

	// A repair is always at the bank of its item.
	if l.repairs != nil {
		institutionID = l.repairs.bank
	}

	bank := s.institution(institutionID)
	if bank == nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: bank %s", ErrUnknown, institutionID)
	}

	// A bank that does not answer ends the visit: the link notes why, and the webhook says that the person left.
	if bank.Down || bank.Unsupported || bank.Status["item_logins"] == "DOWN" {
		failure := bankDown
		if bank.Unsupported {
			failure = bankGone
		}

		s.end(l, map[string]any{"exit": map[string]any{
			"error":    failure.wire(""),
			"metadata": map[string]any{"status": "requires_credentials"},
		}})
		s.mu.Unlock()
		s.sendLinkWebhook(linkToken, "EXITED", nil)

		return errNoChoice
	}

	// Otherwise make or repair the item. The webhook goes out after the lock is released, because sending takes it.
	token, err := s.complete(l, bank, accounts)
	s.mu.Unlock()

	if err != nil {
		return err
	}

	s.sendLinkWebhook(linkToken, "SUCCESS", token)

	return nil
}

// openLink returns a link that can be used. It fails with ErrUnknown for others. The caller has the lock.
func (s *Server) openLink(token string) (*link, error) {
	l := s.link(token)
	if l == nil || s.now().After(l.expires) {
		return nil, fmt.Errorf("%w: link, or one that has expired", ErrUnknown)
	}

	return l, nil
}

// complete makes the item of a link, or repairs it, and returns the public tokens, which are none for a repair. The
// caller has the lock.
func (s *Server) complete(l *link, bank *Institution, accounts []string) ([]string, error) {
	// A repair ends the problem of the item, and gives it the chosen accounts if the link allows that.
	if i := l.repairs; i != nil {
		i.problem = nil
		if l.choose && len(accounts) > 0 {
			if err := s.choose(i, bank, accounts); err != nil {
				return nil, err
			}
		}

		s.end(l, map[string]any{"results": map[string]any{"item_add_results": []any{}}})

		return nil, nil
	}

	// A new item comes with a public token, which its owner trades for access.
	i, err := s.newItem(bank, accounts, l.webhook, l.days)
	if err != nil {
		return nil, err
	}

	token := s.publicToken(i)

	// The outcome of the link lists the accounts as the person saw them.
	shown := []any{}
	for _, a := range i.accounts {
		shown = append(shown, map[string]any{
			"id":      a.id,
			"name":    a.of.Name,
			"mask":    nullIfEmpty(a.of.Mask),
			"type":    a.of.Type,
			"subtype": nullIfEmpty(a.of.Subtype),
		})
	}

	s.end(l, map[string]any{"results": map[string]any{"item_add_results": []any{map[string]any{
		"public_token": token,
		"accounts":     shown,
		"institution":  map[string]any{"institution_id": bank.ID, "name": bank.Name},
	}}}})

	return []string{token}, nil
}

// choose opens and closes accounts of an item until it has those with the given identifiers at the bank and no
// others. The caller has the lock.
func (s *Server) choose(i *item, bank *Institution, accounts []string) error {
	// First, open the accounts that the item does not have yet.
	for _, id := range accounts {
		has := slices.ContainsFunc(i.accounts, func(a *account) bool { return a.of.ID == id && !a.closed })
		if !has {
			if err := s.open(i, bank, id); err != nil {
				return err
			}
		}
	}

	// Then close all that were not chosen.
	for _, a := range i.accounts {
		if !slices.Contains(accounts, a.of.ID) {
			a.closed = true
		}
	}

	return nil
}

// end notes how a person has used a link. The caller has the lock.
func (s *Server) end(l *link, session map[string]any) {
	l.ended = s.now()
	session["link_session_id"] = randomID("session")
	session["finished_at"] = l.ended.Format(time.RFC3339)
	l.sessions = append(l.sessions, session)
}

// Leave acts for a person who closes the page of a link. It fails with ErrUnknown if the link cannot be used.
func (s *Server) Leave(linkToken string) error {
	s.mu.Lock()

	l, err := s.openLink(linkToken)
	if err == nil {
		s.end(l, map[string]any{"exit": map[string]any{
			"error":    nil,
			"metadata": map[string]any{"status": "requires_credentials"},
		}})
	}
	s.mu.Unlock()

	// The webhook goes out after the lock is released, because sending takes it.
	if err == nil {
		s.sendLinkWebhook(linkToken, "EXITED", nil)
	}

	return err
}

// choice is a bank as the page shows it.
type choice struct {
	Institution

	Chosen  map[string]bool
	Choose  bool
	Problem bool
}

// showLink serves the page of a link, or with 410 a page that says that the link is gone.
func (s *Server) showLink(w http.ResponseWriter, r *http.Request) {
	s.log.Reach(stage.Received, LinkPage, "")
	s.mu.Lock()
	l, err := s.openLink(r.PathValue("token"))

	// A link for a new item offers all banks with all accounts; a repair offers the bank of its item with the
	// accounts that it has.
	var choices []choice

	client := ""
	if err == nil {
		client = l.client
		for _, bank := range s.institutions {
			c := choice{
				Institution: *bank,
				Choose:      l.repairs == nil || l.choose,
				Chosen:      map[string]bool{},
				Problem:     r.URL.Query().Has("problem"),
			}
			for _, a := range bank.Accounts {
				c.Chosen[a.ID] = l.repairs == nil || slices.ContainsFunc(l.repairs.accounts, func(own *account) bool {
					return own.of.ID == a.ID && !own.closed
				})
			}

			if l.repairs == nil || l.repairs.bank == bank.ID {
				choices = append(choices, c)
			}
		}
	}
	s.mu.Unlock()

	// The page is written after the lock is released: the browser may be slow.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")

	if err != nil {
		w.WriteHeader(http.StatusGone)
	}

	_ = linkPage.Execute(w, map[string]any{ // to a reader that may be gone
		"Client":  client,
		"Choices": choices,
		"Gone":    err != nil,
		"Done":    r.URL.Query().Has("done"),
	})
}

// submitLink carries out the choice of a person on the page of a link. The form has the fields institution, account
// (several) and action, which is connect or leave.
func (s *Server) submitLink(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		stage.Refuse(w, http.StatusBadRequest, "malformed")
		return
	}

	token := r.PathValue("token")

	// The link is needed afterwards: where the browser goes depends on it.
	s.mu.Lock()
	l := s.link(token)
	s.mu.Unlock()

	var err error
	if r.PostForm.Get("action") == "leave" {
		err = s.Leave(token)
	} else {
		err = s.Complete(token, r.PostForm.Get("institution"), r.PostForm["account"]...)
	}

	// An expired link and a choice that failed lead back to the page, which shows the problem.
	s.log.Reach(stage.Recorded, LinkPage, "")
	here := s.url(r) + "/link/" + token

	switch {
	case l == nil:
		stage.Refuse(w, http.StatusNotFound, "linkUnknown")
	case err != nil:
		http.Redirect(w, r, here+"?problem", http.StatusSeeOther)
	case l.returnTo != "":
		http.Redirect(w, r, l.returnTo, http.StatusSeeOther)
	default:
		http.Redirect(w, r, here+"?done", http.StatusSeeOther)
	}
}
