package bank

import (
	"cmp"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
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
	Balance     *money.Cents    `json:"balance,omitempty" minimum:"-10000000000000" maximum:"10000000000000" doc:"What the account held at the end of the day, for type balance."`
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
		if field, code := b.Data[i].findFault(); field != "" {
			issues = append(issues, code.InBody("data", i, field))
		}
	}

	return issues
}

// kind returns the type of the record: the given one, or the one that the given money implies.
func (c *Create) kind() Type {
	if c.Type == "" && c.Amount == nil && c.Balance != nil {
		return Stated
	}

	return cmp.Or(c.Type, Movement)
}

// findFault returns the field that does not fit the type, and the code of its issue; empty if all fit.
func (c *Create) findFault() (field string, code apierr.IssueCode) {
	// Each type has one of the two amounts, and must not have the other.
	wanted, field, other, otherField := c.Amount, "amount", c.Balance, "balance"
	if c.kind() == Stated {
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
	UniqueRef   api.Opt[string] `json:"uniqueRef,omitzero" minLength:"1" maxLength:"255" doc:"Null clears."`
	AccountID   *id.ID          `json:"accountId,omitempty" doc:"Bank account of the chart, of the record's currency."`
	Date        *day.Day        `json:"date,omitempty"`
	Description *string         `json:"description,omitempty" maxLength:"1000"`
	Amount      *money.Cents    `json:"amount,omitempty" minimum:"-10000000000000" maximum:"10000000000000" doc:"Of a movement."`
	Balance     *money.Cents    `json:"balance,omitempty" minimum:"-10000000000000" maximum:"10000000000000" doc:"Of a stated balance."`
	Status      *Status         `json:"status,omitempty" doc:"inactive excludes the record, active brings it back."`
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

// newRecords returns the records of a batch, or all issues with them.
func newRecords(newID func() id.ID, data []Create, accounts map[id.ID]*chartAccount) ([]storedRecord, error) {
	out, issues := make([]storedRecord, len(data)), []apierr.Issue{}
	for i := range data {
		// The issues of all records are reported together.
		r, field, code := data[i].newRecord(accounts[data[i].AccountID])
		if code != "" {
			issues = append(issues, code.InBody("data", i, field))
		}

		r.ID = newID()
		out[i] = r
	}

	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	return out, nil
}

// newRecord returns the record on an account, or the field that keeps it from being made.
func (c *Create) newRecord(a *chartAccount) (r storedRecord, field string, code apierr.IssueCode) {
	r = storedRecord{
		UniqueRef: c.UniqueRef.Value, Date: c.Date, Status: Active, Description: c.Description, AccountID: &c.AccountID,
		Source: cmp.Or(c.Source, Manual), Type: c.kind(), Balance: c.Balance,
	}
	if c.Amount != nil {
		r.Amount = *c.Amount
	}

	// Without a currency of its own a record is in that of the account.
	if a != nil {
		r.Currency = a.Currency
	}

	if c.Currency != nil {
		currency, err := money.ParseCurrency(*c.Currency)
		if err != nil {
			return r, "currency", apierr.IssueCurrency
		}

		r.Currency = string(currency)
	}

	// A currency that does not fit is an issue of the currency, everything else one of the account.
	switch code = a.refusal(r.Currency); code {
	case "":
	case apierr.IssueCurrencyMismatch:
		return r, "currency", code
	default:
		return r, "accountId", code
	}

	// A record before the first day of the account is excluded from the start.
	if a.leavesOut(r.Date) {
		r.Status = Inactive
	}

	return r, "", ""
}
