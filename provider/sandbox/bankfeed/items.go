package bankfeed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// publicToken is the token that a link ends with; it is traded for access once.
type publicToken struct {
	item *item
	at   time.Time
	used bool
}

// tokenLife is how long a public token can be traded.
const tokenLife = 30 * time.Minute

type accessBody struct {
	AccessToken string `json:"access_token"`
}

// findItem returns the item of the access token that a call presents, or the failure that says why it cannot be read;
// see usable.
func (s *Server) findItem(x *exchange, despiteProblem bool) (*item, *Failure) {
	var in accessBody
	if !x.read(&in) {
		return nil, badBody
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return s.usable(x, in.AccessToken, despiteProblem)
}

// exchangeToken trades a public token for access to its item. It fails if the token is unknown, used or too old, or
// if the item was removed.
func (s *Server) exchangeToken(x *exchange) (map[string]any, *Failure) {
	var in struct {
		PublicToken string `json:"public_token"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	p := s.publics[in.PublicToken]
	if p == nil || p.used || p.item.removed || s.now().Sub(p.at) > tokenLife {
		return nil, badPublic
	}

	p.used = true

	// Until this moment the item has no access token.
	p.item.access = randomID("access-sandbox-")
	s.handed++
	x.key = p.item.id

	return map[string]any{"access_token": p.item.access, "item_id": p.item.id}, nil
}

// wire returns an item as the protocol shows it. The caller has the lock.
func (s *Server) wire(i *item) map[string]any {
	var problem any
	if i.problem != nil {
		problem = i.problem.wire("")
	}

	name := ""
	if bank := s.institution(i.bank); bank != nil {
		name = bank.Name
	}

	// All items have the one product of the sandbox, and no others are offered.
	products := []string{"transactions"}

	return map[string]any{
		"item_id":                 i.id,
		"institution_id":          i.bank,
		"institution_name":        name,
		"webhook":                 nullIfEmpty(i.webhook),
		"error":                   problem,
		"available_products":      []string{},
		"billed_products":         products,
		"products":                products,
		"consented_products":      products,
		"consent_expiration_time": nil,
		"update_type":             "background",
	}
}

// getItem answers with an item, even if it has a problem.
func (s *Server) getItem(x *exchange) (map[string]any, *Failure) {
	i, failure := s.findItem(x, true)
	if failure != nil {
		return nil, failure
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return map[string]any{"item": s.wire(i), "status": nil}, nil
}

// removeItem ends the access to an item.
func (s *Server) removeItem(x *exchange) (map[string]any, *Failure) {
	i, failure := s.findItem(x, true)
	if failure != nil {
		return nil, failure
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	i.removed = true

	return map[string]any{}, nil
}

// updateWebhook changes where the webhooks of an item go; null means nowhere. The new address gets a webhook about
// the change.
func (s *Server) updateWebhook(x *exchange) (map[string]any, *Failure) {
	var in struct {
		Webhook *string `json:"webhook"`
	}

	i, failure := s.findItem(x, true)
	switch {
	case failure != nil:
		return nil, failure
	case !x.read(&in):
		return nil, badBody
	}

	s.mu.Lock()

	i.webhook = ""
	if in.Webhook != nil {
		i.webhook = *in.Webhook
	}

	// The answer is made under the lock; the webhook goes out after it, because sending takes the lock.
	answer := map[string]any{"item": s.wire(i)}
	s.mu.Unlock()
	s.sendItemWebhook(i.id, "ITEM", "WEBHOOK_UPDATE_ACKNOWLEDGED", map[string]any{"new_webhook_url": in.Webhook})

	return answer, nil
}

// wireAccounts returns the accounts of an item as the protocol shows them, or only those of a list if it is not
// empty. Closed accounts are left out. The caller has the lock.
func (s *Server) wireAccounts(i *item, only ...string) []any {
	out := []any{}

	for _, a := range i.accounts {
		if a.closed || (len(only) > 0 && !slices.Contains(only, a.id)) {
			continue
		}

		current := i.balance(a)

		// Every field is there, with null where the bank gives nothing.
		balances := map[string]any{
			"current": current, "available": nil, "limit": nil, "iso_currency_code": nullIfEmpty(a.of.Currency),
			"unofficial_currency_code": nullIfEmpty(a.of.Unofficial), "last_updated_datetime": nil,
		}

		// All money of a depository account is available; for debts the sandbox gives no such figure.
		if a.of.Type == "depository" {
			balances["available"] = current
		}

		if a.of.Limit != "" {
			balances["limit"] = a.of.Limit
		}

		out = append(out, map[string]any{
			"account_id":      a.id,
			"balances":        balances,
			"mask":            nullIfEmpty(a.of.Mask),
			"name":            a.of.Name,
			"official_name":   nullIfEmpty(a.of.OfficialName),
			"type":            a.of.Type,
			"subtype":         nullIfEmpty(a.of.Subtype),
			"holder_category": "business",
		})
	}

	return out
}

// getAccounts answers with the accounts of an item and their balances. It fails if none is left.
func (s *Server) getAccounts(x *exchange) (map[string]any, *Failure) {
	var in struct {
		Options struct {
			AccountIDs []string `json:"account_ids"`
		} `json:"options"`
	}

	i, failure := s.findItem(x, false)
	switch {
	case failure != nil:
		return nil, failure
	case !x.read(&in):
		return nil, badBody
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	accounts := s.wireAccounts(i, in.Options.AccountIDs...)
	if len(accounts) == 0 {
		return nil, &Failure{
			Type:    "ITEM_ERROR",
			Code:    "NO_ACCOUNTS",
			Message: "no valid accounts were found for this item",
		}
	}

	return map[string]any{"accounts": accounts, "item": s.wire(i)}, nil
}

// cursor is a place in the log of an item. While pages are read, from is where they began and upto where they end;
// between, all are the same.
type cursor struct {
	item           string
	from, at, upto int
}

// String encodes the cursor for the client, which cannot read it.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %d %d %d", c.item, c.from, c.at, c.upto))
}

// readCursor decodes a cursor of an item; the empty text is the beginning of its log. It returns false for a text
// that is no cursor, or one of another item.
func readCursor(text string, i *item) (cursor, bool) {
	if text == "" {
		return cursor{item: i.id, upto: len(i.log)}, true
	}

	// Clients send back what they got, so everything in it is checked.
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, false
	}

	var c cursor
	if _, err := fmt.Sscan(string(raw), &c.item, &c.from, &c.at, &c.upto); err != nil || c.item != i.id ||
		c.from > c.at || c.at > c.upto {
		return cursor{}, false
	}

	// A cursor at the end of a sync begins the next one, which reaches to the present end of the log.
	if c.from == c.at && c.at == c.upto { // the end of a sync
		c.upto = len(i.log)
	}

	return c, true
}

// syncTransactions answers with a page of the changes since a cursor. It fails if rows have changed since the
// first page: then the client begins again.
func (s *Server) syncTransactions(x *exchange) (map[string]any, *Failure) {
	var in struct {
		accessBody

		Cursor  string `json:"cursor"`
		Count   *int   `json:"count"`
		Options struct {
			AccountID string `json:"account_id"`
			Original  bool   `json:"include_original_description"`
		} `json:"options"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	// The vendor's bounds: 100 rows if the client names no number, at most 500.
	count := 100
	if in.Count != nil {
		count = *in.Count
	}

	if count < 1 || count > 500 || len(in.Cursor) > 256 {
		return nil, badField
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	// A Mutation fault counts only if it moved something, so that a test need not know which page is not the last.
	moves := false
	defer func() {
		if x.fault.Mode == Mutation && x.fault.Times > 0 && !moves {
			s.faults.Add(x.fault.On, 1, x.fault) // It met a request after which there was nothing to move.
		}
	}()

	i, failure := s.usable(x, in.AccessToken, false)
	if failure != nil {
		return nil, failure
	}

	// All pages of a sync end at the same place. If the log has grown since the first page, they do not fit
	// together.
	c, ok := readCursor(in.Cursor, i)
	switch {
	case !ok:
		return nil, badField
	case c.upto != len(i.log):
		return nil, moved
	}

	// From now on changes of the item send webhooks.
	i.synced = true
	p := i.page(c, count, func(r *row) bool {
		return in.Options.AccountID == "" || r.AccountID == in.Options.AccountID
	}, in.Options.Original)

	// While nothing is ready there is no place to go on from.
	next := ""
	if i.progress != NotReady {
		next = p.next.String()
	}

	// The row does not change, but the log grows: that is enough to make the next page fail.
	if moves = x.fault.Mode == Mutation && p.more; moves {
		i.note(i.log[0].row)
	}

	return map[string]any{
		"added":                      p.added,
		"modified":                   p.modified,
		"removed":                    p.removed,
		"accounts":                   s.wireAccounts(i),
		"next_cursor":                next,
		"has_more":                   p.more,
		"transactions_update_status": i.progress,
	}, nil
}

// page is a part of the changes of an item.
type page struct {
	added, modified, removed []any
	next                     cursor
	more                     bool
}

// page reads at most count wanted rows of the log from a cursor. Each row comes once, as it is now. A row that began
// and ended since the cursor does not come at all.
func (i *item) page(c cursor, count int, wanted func(*row) bool, original bool) page {
	p := page{added: []any{}, modified: []any{}, removed: []any{}}
	rows := 0

	for ; c.at < c.upto; c.at++ {
		r := i.log[c.at].row

		// Only the last entry of a row counts. A row that is new to the client and already gone need not be
		// mentioned.
		isNew := r.began > c.from
		if r.changed != c.at+1 || (isNew && r.gone) || !wanted(r) {
			continue
		}

		// Found one row too many: it belongs to the next page.
		if rows == count {
			p.more = true
			break
		}

		rows++

		// The bank's own text is only for clients that ask for it.
		t := r.Transaction
		if !original {
			t.Original = nil
		}

		// Whether a row is new depends on where the sync began, and not on this page.
		switch {
		case r.gone:
			p.removed = append(p.removed, Removed{ID: r.ID, AccountID: r.AccountID})
		case isNew:
			p.added = append(p.added, t)
		default:
			p.modified = append(p.modified, t)
		}
	}

	// At the end of a sync all three places are the same; before, from stays where the sync began.
	if p.next = c; !p.more {
		p.next.from = c.at
	}

	return p
}

// refresh answers at once and sends the webhook for news, as after the vendor has asked the bank.
func (s *Server) refresh(x *exchange) (map[string]any, *Failure) {
	i, failure := s.findItem(x, false)
	if failure != nil {
		return nil, failure
	}

	s.announceSync(i.id)

	return map[string]any{}, nil
}

// getInstitution answers with a bank, and with how well its products work if the client asks for that.
func (s *Server) getInstitution(x *exchange) (map[string]any, *Failure) {
	var in struct {
		ID        string   `json:"institution_id"`
		Countries []string `json:"country_codes"`
		Options   struct {
			Status bool `json:"include_status"`
		} `json:"options"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	bank := s.institution(in.ID)
	switch {
	case len(in.Countries) == 0:
		return nil, badField
	case bank == nil:
		return nil, badInstitution
	}

	wire := map[string]any{
		"institution_id": bank.ID,
		"name":           bank.Name,
		"products":       []string{"transactions"},
		"country_codes":  []string{"US"},
		"oauth":          false,
	}
	if in.Options.Status {
		wire["status"] = bank.wireStatus(s.now())
	}

	return map[string]any{"institution": wire}, nil
}

// wireStatus returns how well the products of a bank work, as the protocol shows it.
func (i *Institution) wireStatus(now time.Time) map[string]any {
	out := map[string]any{"health_incidents": []any{}, "auth": nil}

	for _, product := range []string{"item_logins", "transactions_updates"} {
		// The state of a product decides how often its data is fetched.
		status, refresh := i.Status[product], "NORMAL"
		switch status {
		case "":
			status = "HEALTHY"
		case "DEGRADED":
			refresh = "DELAYED"
		case "DOWN":
			refresh = "STOPPED"
		}

		// The shares of calls are always the same ones; clients need to accept them, and no more.
		breakdown := map[string]any{
			"success":           json.Number("0.9"),
			"error_plaid":       json.Number("0.01"),
			"error_institution": json.Number("0.09"),
		}

		// Only products that fetch by themselves have an interval.
		if product == "transactions_updates" {
			breakdown["refresh_interval"] = refresh
		}

		out[product] = map[string]any{
			"status":             status,
			"last_status_change": now.Format(time.RFC3339),
			"breakdown":          breakdown,
		}
	}

	return out
}

// sandboxToken makes an item without a page and a person, and answers with its public token.
func (s *Server) sandboxToken(x *exchange) (map[string]any, *Failure) {
	var in struct {
		InstitutionID string   `json:"institution_id"`
		Products      []string `json:"initial_products"`
		Options       struct {
			Webhook      string `json:"webhook"`
			Transactions struct {
				Days int `json:"days_requested"`
			} `json:"transactions"`
		} `json:"options"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	bank := s.institution(in.InstitutionID)
	switch {
	case !hasAll(in.Products):
		return nil, badField
	case bank == nil:
		return nil, badInstitution
	}

	// All accounts of the bank, because no person chooses some.
	i, err := s.newItem(bank, nil, in.Options.Webhook, daysOr90(in.Options.Transactions.Days))
	if err != nil {
		return nil, internal
	}

	x.key = i.id

	return map[string]any{"public_token": s.publicToken(i)}, nil
}

// publicToken makes the public token of a new item. The caller has the lock.
func (s *Server) publicToken(i *item) string {
	token := randomID("public-sandbox-")
	s.publics[token] = &publicToken{item: i, at: s.now()}

	return token
}

// daysOr90 returns the days of history of a new item: 90 if none are named, at most 730.
func daysOr90(days int) int {
	if days <= 0 {
		return 90
	}

	return min(days, 730)
}

// sandboxFire sends a webhook of an item. It fails if the item has no address for webhooks, or if the code is
// unknown.
func (s *Server) sandboxFire(x *exchange) (map[string]any, *Failure) {
	var in struct {
		Code string `json:"webhook_code"`
	}

	i, failure := s.findItem(x, true)
	switch {
	case failure != nil:
		return nil, failure
	case !x.read(&in):
		return nil, badBody
	}

	if !s.Fire(i.id, in.Code) {
		return nil, &Failure{
			Type:    "SANDBOX_ERROR",
			Code:    "SANDBOX_WEBHOOK_INVALID",
			Message: "the item has no webhook, or there is none of this code",
		}
	}

	return map[string]any{"webhook_fired": true}, nil
}

// sandboxReset makes an item ask for its person: it answers with ITEM_LOGIN_REQUIRED until it is repaired.
func (s *Server) sandboxReset(x *exchange) (map[string]any, *Failure) {
	i, failure := s.findItem(x, true)
	if failure != nil {
		return nil, failure
	}

	if err := s.setProblem(i.id, loginRequired); err != nil {
		return nil, internal
	}

	return map[string]any{"reset_login": true}, nil
}

// setProblem makes an item answer with a failure, and sends a webhook about it; nil ends the problem. It fails with
// ErrUnknown if there is no such item.
func (s *Server) setProblem(itemID string, f *Failure) error {
	s.mu.Lock()

	i := s.item(itemID)
	if i != nil {
		i.problem = f
	}
	s.mu.Unlock()

	switch {
	case i == nil:
		return fmt.Errorf("%w: item %s", ErrUnknown, itemID)
	case f != nil:
		s.sendItemWebhook(itemID, "ITEM", "ERROR", map[string]any{"error": f.wire("")})
	}

	return nil
}

// sandboxTransactions adds at most ten rows to the first depository account of an item.
func (s *Server) sandboxTransactions(x *exchange) (map[string]any, *Failure) {
	var in struct {
		accessBody

		Transactions []struct {
			Posted      string      `json:"date_posted"`
			Amount      json.Number `json:"amount"`
			Description string      `json:"description"`
			Currency    string      `json:"iso_currency_code"`
		} `json:"transactions"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	// The lock is only for the search: Add takes it for itself.
	s.mu.Lock()
	i, failure := s.usable(x, in.AccessToken, false)

	var to *account
	if failure == nil {
		to = find(i.accounts, func(a *account) bool { return a.of.Type == "depository" && !a.closed })
	}
	s.mu.Unlock()

	switch {
	case failure != nil:
		return nil, failure
	case to == nil || len(in.Transactions) == 0 || len(in.Transactions) > 10:
		return nil, badField
	}

	// Rows have the form of Transaction from here on; Add fills in the rest.
	rows := make([]Transaction, len(in.Transactions))
	for n, t := range in.Transactions {
		rows[n] = Transaction{
			AccountID: to.id,
			Amount:    t.Amount,
			Date:      t.Posted,
			Name:      strings.TrimSpace(t.Description),
			Currency:  nullIfEmpty(t.Currency),
		}
	}

	if _, err := s.Add(i.id, rows...); err != nil {
		return nil, badField
	}

	return map[string]any{}, nil
}
