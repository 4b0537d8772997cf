package bank

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// BatchItem is a record to save: a new record, or with an ID the changed fields of a stored record.
type BatchItem struct {
	ID *id.ID `json:"-"`
	Update
	Type          Type    `json:"type,omitempty"`
	Currency      *string `json:"currency,omitempty" minLength:"3" maxLength:"3"`
	BankAccountID *id.ID  `json:"bankAccountId,omitempty" doc:"Account at the bank of a new record that a feed reads."`
	Source        Source  `json:"-"`

	// at leads to the fields in the body of a request.
	at []any
}

// Outcome is the result for an item: the saved record, the record that has its reference already, or a refusal with
// issues at the fields of the item.
type Outcome struct {
	ID      id.ID
	Known   *Known
	Refusal *apierr.Error
}

// Save creates and changes records, each by itself: one that is refused keeps no other from being saved. It returns
// an outcome for each item, in the order given. A new record with a reference that the team has already is left out.
// Records that are new, brought back or moved are offered to bank rules. With a feed the records come from the bank
// over its connection; nil is a caller or a file.
func (rules Rules) Save(ctx context.Context, tx *db.Tx, feed *id.ID, items []BatchItem) ([]Outcome, error) {
	s := saver{feed: feed, items: items, out: make([]Outcome, len(items))}
	if err := s.prepare(ctx, tx); err != nil {
		return nil, err
	}

	// Last, write together what was not refused; what the database refuses is found by halves.
	refusals, err := db.Halves(ctx, tx, len(s.drafts), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		return s.write(ctx, tx, s.drafts[from:to])
	})
	if err != nil {
		return nil, err
	}

	for i, refusal := range refusals {
		if refusal != nil {
			s.out[s.drafts[i].place] = Outcome{Refusal: apierr.From(refusal)}
		}
	}

	offer := rules.Offer
	if feed != nil {
		offer = rules.OfferFed
	}

	return s.out, offer(ctx, tx, s.listOffers())
}

// saveAll creates and changes records, all or none. It fails with the issues of all items that are refused, or with the
// first other refusal.
func saveAll(ctx context.Context, tx *db.Tx, items []BatchItem) (*saver, error) {
	s := &saver{items: items, out: make([]Outcome, len(items))}
	if err := s.prepare(ctx, tx); err != nil {
		return nil, err
	}

	var issues []apierr.Issue

	for i := range s.out {
		switch refusal := s.out[i].Refusal; {
		case refusal == nil:
		case len(refusal.Issues()) == 0:
			return nil, refusal
		default:
			issues = append(issues, refusal.Issues()...)
		}
	}

	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	return s, s.write(ctx, tx, s.drafts)
}

// saver saves items.
type saver struct {
	feed  *id.ID
	items []BatchItem
	out   []Outcome

	accounts map[id.ID]*chartAccount
	// feeds are the accounts at the bank that the items name.
	feeds   map[id.ID]*feedAccount
	records map[id.ID]*lockedRecord
	// drafts are the items that are written.
	drafts []draft
}

// draft is a record as it is written.
type draft struct {
	storedRecord
	BankAccountID *id.ID
	ConnectionID  *id.ID
	// LeftOut says that only the first day of the account excludes the record.
	LeftOut bool
	// Position is the place among the new records of the transaction, from 1.
	Position int64

	// place is that of its item, before the record as it was, nil for a new one.
	place  int
	before *lockedRecord
	// saved is false for a new record whose reference exists.
	saved bool
}

// prepare locks everything that the items name, and decides in memory what to write. What is refused by then is in the
// outcomes.
func (s *saver) prepare(ctx context.Context, tx *db.Tx) error {
	if err := s.lock(ctx, tx); err != nil {
		return err
	}

	changed := map[id.ID]bool{}

	for i := range s.items {
		d, err := s.decide(tx, &s.items[i], changed)
		if err != nil {
			s.out[i].Refusal = apierr.From(err).Under(s.items[i].at...)
			continue
		}

		// A change that changes nothing is done.
		if s.out[i].ID = d.ID; d.before != nil && d.before.equal(&d.storedRecord) {
			continue
		}

		d.place = i
		s.drafts = append(s.drafts, d)
	}

	return nil
}

// lock locks the accounts and records that the items name.
func (s *saver) lock(ctx context.Context, tx *db.Tx) (err error) {
	var accounts, feeds, records []id.ID

	for i := range s.items {
		if a := s.items[i].AccountID.Value; a != nil {
			accounts = append(accounts, *a)
		}

		if b := s.items[i].BankAccountID; b != nil {
			feeds = append(feeds, *b)
		}

		if r := s.items[i].ID; r != nil {
			records = append(records, *r)
		}
	}

	// Accounts at a bank are locked before those of the chart, as attaching does, which decides where their records
	// are.
	if s.feeds, err = lockFeedAccounts(ctx, tx, s.feed, feeds); err != nil {
		return err
	}

	for _, f := range s.feeds {
		if f.AccountID != nil {
			accounts = append(accounts, *f.AccountID)
		}
	}

	if len(records) == 0 {
		s.accounts, err = lockAccounts(ctx, tx, accounts, nil)
		return err
	}

	s.accounts, s.records, err = lockToChange(ctx, tx, records, accounts)

	return err
}

// decide returns the draft of an item. Changed has the records changed by earlier items: only one item in a call may
// change a record. It fails with the issues of newRecord, apierr.NotFound and the refusals of changeRecord.
func (s *saver) decide(tx *db.Tx, item *BatchItem, changed map[id.ID]bool) (draft, error) {
	if item.ID == nil {
		d, field, code := s.newRecord(item)
		if code != "" {
			return d, apierr.BadRequest.At(code.InBody(field))
		}

		d.ID = tx.NewID()

		return d, nil
	}

	h := s.records[*item.ID]

	switch {
	case h == nil:
		return draft{}, apierr.NotFound
	case changed[*item.ID]:
		return draft{}, apierr.BadRequest.At(apierr.IssueContradiction.InBody("id"))
	}

	changed[*item.ID] = true

	return s.changeRecord(item, h)
}

// changeRecord returns a record with the fields of an item. It fails with the issues of apply and the refusals of
// checkChange.
func (s *saver) changeRecord(item *BatchItem, h *lockedRecord) (draft, error) {
	// What a record is never changes: neither its type and currency nor the account at the bank. One that came
	// another way has none.
	switch {
	case item.Type != "" && item.Type != h.Type:
		return draft{}, apierr.BadRequest.At(apierr.IssueContradiction.InBody("type"))
	case item.Currency != nil && *item.Currency != h.Currency:
		return draft{}, apierr.BadRequest.At(apierr.IssueContradiction.InBody("currency"))
	case item.BankAccountID != nil && h.BankAccountID != nil && *item.BankAccountID != *h.BankAccountID:
		return draft{}, apierr.BadRequest.At(apierr.IssueContradiction.InBody("bankAccountId"))
	}

	on := item.AccountID.Or(h.AccountID)

	var a *chartAccount
	if on != nil {
		a = s.accounts[*on]
	}

	to, leftOut, err := item.apply(h, a)
	if err != nil || h.equal(&to) {
		return draft{storedRecord: to, before: h}, err
	}

	return draft{storedRecord: to, LeftOut: leftOut, before: h}, h.checkChange(&to, s.feed != nil)
}

// write writes some drafts: the new ones in one statement, the changed ones in another. It fails with
// errDuplicateUniqueRef for a change, and with the issue range for movements that no balance can hold.
func (s *saver) write(ctx context.Context, tx *db.Tx, drafts []draft) error {
	if len(drafts) == 0 {
		return nil
	}

	var (
		made, changed []*draft
		accounts      []id.ID
	)

	for i := range drafts {
		d := &drafts[i]
		if d.before == nil {
			made = append(made, d)
		} else {
			changed = append(changed, d)
		}

		if d.AccountID != nil {
			accounts = append(accounts, *d.AccountID)
		}
	}

	if err := insertRecords(ctx, tx, made); err != nil {
		return err
	}

	if err := updateRecords(ctx, tx, changed); err != nil {
		return err
	}

	// Of a batch no one record is to blame.
	at := []any{"amount"}
	if list := s.items[0].at; len(list) > 0 {
		at = list[:1]
	}

	if err := checkReach(ctx, tx, accounts, at...); err != nil {
		return err
	}

	return s.settle(ctx, tx, made, changed)
}

// settle sets the outcomes of drafts that were written, and writes the audit events.
func (s *saver) settle(ctx context.Context, tx *db.Tx, made, changed []*draft) error {
	var rest []*draft

	for _, d := range made {
		if !d.saved {
			rest = append(rest, d)
			continue
		}

		note(tx, nil, &d.storedRecord)
	}

	for _, d := range changed {
		note(tx, &d.before.storedRecord, &d.storedRecord)
	}

	// The new records that were not inserted have references that exist.
	known, err := loadExisting(ctx, tx, rest)
	if err != nil {
		return err
	}

	for i, d := range rest {
		s.out[d.place] = Outcome{ID: known[i].ID, Known: &known[i]}
	}

	return nil
}

// listOffers returns the records to offer to bank rules: new records, and records brought back or moved to another
// account.
func (s *saver) listOffers() []id.ID {
	var ids []id.ID

	for i := range s.drafts {
		d := &s.drafts[i]

		switch out := &s.out[d.place]; {
		case out.Refusal != nil || d.Status != Active || d.AccountID == nil:
		case d.before == nil && d.saved:
			ids = append(ids, d.ID)
		case d.before != nil && (d.before.Status != Active || !same(d.before.AccountID, d.AccountID)):
			ids = append(ids, d.ID)
		}
	}

	return ids
}

// feedAccount is an account at a bank, as far as its records need it.
type feedAccount struct {
	ID        id.ID
	AccountID *id.ID
	Currency  string
}

// lockFeedAccounts keeps accounts at a bank that a connection reads where they are until the transaction ends.
func lockFeedAccounts(ctx context.Context, tx *db.Tx, connection *id.ID, ids []id.ID) (map[id.ID]*feedAccount, error) {
	out := map[id.ID]*feedAccount{}
	if connection == nil || len(ids) == 0 {
		return out, nil
	}

	found, err := db.Select[feedAccount](ctx, tx, `
		select id, account_id, currency from account_connection
		where team_id = @team and connection_id = @connection and id = any(@ids) order by id for share`,
		db.Args{"team": tx.Team, "connection": *connection, "ids": id.Distinct(ids)})
	if err != nil {
		return nil, fmt.Errorf("hold the accounts of a bank feed: %w", err)
	}

	for i := range found {
		out[found[i].ID] = &found[i]
	}

	return out, nil
}
