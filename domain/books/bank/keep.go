package bank

import (
	"cmp"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// The refusals of writes. ErrReconciled is the one that they share with Detach.
var (
	errDuplicateUniqueRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A bank record with this reference already exists",
	)
	errRuleMatched = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonBankRecordRuleMatched, "Bank record is matched by a bank rule",
	)
	errFed = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonBankRecordBankfeedSource,
		"What a bank feed says cannot be changed or deleted; exclude the record",
	)
	errNotCSV = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonBankRecordNotCsvSource,
		"Only CSV-imported bank records can be deleted; exclude the record",
	)
)

// Create is a record that a person enters or a file contains.
type Create struct {
	UniqueRef   api.Opt[string] `json:"uniqueRef,omitzero" minLength:"1" maxLength:"255" doc:"Unique in the team."`
	AccountID   id.ID           `json:"accountId" doc:"Bank account of the chart."`
	Date        day.Day         `json:"date"`
	Description string          `json:"description" maxLength:"1000"`
	Amount      *money.Cents    `json:"amount,omitempty" minimum:"-10000000000000" maximum:"10000000000000" doc:"Of a movement: positive into the account, negative out of it."`
	Balance     *money.Cents    `json:"balance,omitempty" nullable:"true" minimum:"-10000000000000" maximum:"10000000000000" doc:"What the account held at the end of the day, for type balance."`
	Type        Type            `json:"type,omitempty" doc:"transaction (default) has an amount, balance has a balance."`
	Source      Source          `json:"source,omitempty" enum:"manual,csv" doc:"manual (default), or csv for one that came in a file: these can be deleted."`
	Currency    *string         `json:"currency,omitempty" minLength:"3" maxLength:"3" doc:"ISO 4217; has to be that of the account."`
}

// Batch is many new records.
type Batch struct {
	Data []Create `json:"data" minItems:"1" maxItems:"1000"`
}

// Resolve refuses records with a type and money that do not fit each other.
func (b *Batch) Resolve() []apierr.Issue {
	var issues []apierr.Issue

	for i := range b.Data {
		item := b.Data[i].item()
		if field, code := item.findFault(); field != "" {
			issues = append(issues, code.InBody("data", i, field))
		}
	}

	return issues
}

// item returns the record as one to save.
func (c *Create) item() BatchItem {
	return BatchItem{
		Update: Update{
			UniqueRef: c.UniqueRef, AccountID: api.Set(c.AccountID), Date: &c.Date, Description: &c.Description,
			Amount:  c.Amount,
			Balance: api.SetIf(c.Balance),
		},
		Type: c.Type, Currency: c.Currency, Source: cmp.Or(c.Source, Manual),
	}
}

// kind returns the type of a new record: the given type, or else the type implied by the given money.
func (item *BatchItem) kind() Type {
	if item.Type == "" && item.Amount == nil && item.Balance.Value != nil {
		return Stated
	}

	return cmp.Or(item.Type, Movement)
}

// findFault returns the field of a new record that does not fit its type, and the code of its issue; empty if all fit.
func (item *BatchItem) findFault() (field string, code apierr.IssueCode) {
	// Each type has one of the two amounts, and must not have the other.
	wanted, field, other, otherField := item.Amount, "amount", item.Balance.Value, "balance"
	if item.kind() == Stated {
		wanted, field, other, otherField = other, otherField, wanted, field
	}

	switch {
	case other != nil:
		return otherField, apierr.IssueContradiction
	case wanted == nil:
		return field, apierr.IssueRequired
	}

	return "", ""
}

// Update has the changes of a record; absent fields stay as they are.
type Update struct {
	UniqueRef   api.Opt[string]      `json:"uniqueRef,omitzero" minLength:"1" maxLength:"255" doc:"Null clears."`
	AccountID   api.Opt[id.ID]       `json:"accountId,omitzero" doc:"Bank account of the chart, of the record's currency; null only for a record without one."`
	Date        *day.Day             `json:"date,omitempty"`
	Description *string              `json:"description,omitempty" maxLength:"1000"`
	Amount      *money.Cents         `json:"amount,omitempty" minimum:"-10000000000000" maximum:"10000000000000" doc:"Of a movement."`
	Balance     api.Opt[money.Cents] `json:"balance,omitzero" minimum:"-10000000000000" maximum:"10000000000000" doc:"Of a stated balance; null for a movement."`
	Status      *Status              `json:"status,omitempty" doc:"inactive excludes the record, active brings it back."`
}

// storedRecord is a record as its row has it, and as the audit event shows it.
type storedRecord struct {
	ID          id.ID        `json:"id"`
	UniqueRef   *string      `json:"uniqueRef"`
	Date        day.Day      `json:"date"`
	Status      Status       `json:"status"`
	Description string       `json:"description"`
	AccountID   *id.ID       `json:"accountId"`
	Source      Source       `json:"source"`
	Type        Type         `json:"type"`
	Amount      money.Cents  `json:"amount"`
	Balance     *money.Cents `json:"balance"`
	Currency    string       `json:"currency"`
}

// differences returns the fields in which another record with the same reference differs.
func (s *storedRecord) differences(other *storedRecord) []string {
	fields := []string{}

	for field, differs := range map[string]bool{
		"accountId":   !same(s.AccountID, other.AccountID),
		"date":        s.Date != other.Date,
		"type":        s.Type != other.Type,
		"amount":      s.Amount != other.Amount,
		"balance":     !same(s.Balance, other.Balance),
		"description": s.Description != other.Description,
	} {
		if differs {
			fields = append(fields, field)
		}
	}

	slices.Sort(fields)

	return fields
}

// chartAccount has the facts about a bank account that writes need. First is its first day: everything before it is
// part of its opening.
type chartAccount struct {
	ID       id.ID
	Type     string
	Status   Status
	Currency string
	First    *day.Day
}

// leavesOut reports whether records of a day are before the account's first, as Exclude sees it.
func (a *chartAccount) leavesOut(date day.Day) bool {
	return a != nil && a.First != nil && date.Before(*a.First)
}

// refusal returns why a record in this currency may not be on the account, or "". A nil account was not found.
func (a *chartAccount) refusal(currency string) apierr.IssueCode {
	switch {
	case a == nil:
		return apierr.IssueNotFound
	case a.Type != "bank":
		return apierr.IssueNotBankAccount
	case a.Status != Active:
		return apierr.IssueAccountInactive
	case currency != a.Currency:
		return apierr.IssueCurrencyMismatch
	}

	return ""
}

// newRecord returns the record that an item makes, without its id, or the field that keeps it from being made. A record
// of a feed is on the account of the chart that its account at the bank is attached to, if any.
func (s *saver) newRecord(item *BatchItem) (d draft, field string, code apierr.IssueCode) {
	if field, code := item.findFault(); code != "" {
		return d, field, code
	}

	if item.Date == nil {
		return d, "date", apierr.IssueRequired
	}

	d = draft{storedRecord: storedRecord{
		UniqueRef: item.UniqueRef.Value, Date: *item.Date, Status: Active, AccountID: item.AccountID.Value,
		Source: item.Source,
		Type:   item.kind(), Balance: item.Balance.Value,
	}, BankAccountID: item.BankAccountID, ConnectionID: s.feed}
	ptr.Set(&d.Description, item.Description)
	ptr.Set(&d.Amount, item.Amount)

	// The account at the bank gives a record its account and currency.
	if s.feed != nil {
		f, field, code := s.place(item)
		if code != "" {
			return d, field, code
		}

		d.AccountID, d.Currency, d.Source = f.AccountID, f.Currency, Bankfeed
	}

	var a *chartAccount
	if d.AccountID != nil {
		a = s.accounts[*d.AccountID]
	}

	// By hand, a record without a currency of its own is in that of the account.
	if s.feed == nil && a != nil {
		d.Currency = a.Currency
	}

	if field, code := d.setCurrency(item.Currency, a); code != "" {
		return d, field, code
	}

	// A record before the first day of the account is excluded from the start.
	if d.LeftOut = a.leavesOut(d.Date); d.LeftOut {
		d.Status = Inactive
	}

	return d, "", ""
}

// place returns the account at the bank of a feed's new record, or the field that is wrong with it.
func (s *saver) place(item *BatchItem) (f *feedAccount, field string, code apierr.IssueCode) {
	switch {
	case item.BankAccountID == nil:
		return nil, "bankAccountId", apierr.IssueRequired
	case item.AccountID.Value != nil:
		return nil, "accountId", apierr.IssueContradiction
	}

	if f = s.feeds[*item.BankAccountID]; f == nil {
		return nil, "bankAccountId", apierr.IssueNotFound
	}

	return f, "", ""
}

// setCurrency sets the currency that a new record says it is in, and returns the field that keeps it off its account.
// Without an attached account, a record from a feed has no currency.
func (d *draft) setCurrency(stated *string, a *chartAccount) (field string, code apierr.IssueCode) {
	given := d.Currency

	if stated != nil {
		currency, err := money.ParseCurrency(*stated)
		if err != nil {
			return "currency", apierr.IssueCurrency
		}

		d.Currency = string(currency)
	}

	if d.Source == Bankfeed && d.Currency != given {
		return "currency", apierr.IssueCurrencyMismatch
	}

	if d.Source == Bankfeed && d.AccountID == nil {
		return "", ""
	}

	// A currency that does not fit is an issue at the currency, everything else at the account.
	switch code = a.refusal(d.Currency); code {
	case "":
		return "", ""
	case apierr.IssueCurrencyMismatch:
		return "currency", code
	default:
		return "accountId", code
	}
}
