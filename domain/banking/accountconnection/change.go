package accountconnection

import (
	"errors"

	"stayledger/domain/books/account"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Fields has the fields of an account connection that callers can set; absent ones stay as they are, and null clears.
type Fields struct {
	Name       *string          `json:"name,omitempty" minLength:"1" maxLength:"200" doc:"Required for a new one."`
	LastDigits api.Opt[string]  `json:"lastDigits,omitzero" pattern:"^[0-9]{4}$"`
	Type       api.Opt[string]  `json:"type,omitzero" minLength:"1" maxLength:"50" doc:"Kind of bank account, such as checking."`
	Currency   *string          `json:"currency,omitempty" minLength:"3" maxLength:"3" doc:"ISO 4217; by default that of the account it is attached to, else the team's."`
	StartAt    api.Opt[day.Day] `json:"startAt,omitzero" doc:"First day that is read from the bank."`
	AccountID  api.Opt[id.ID]   `json:"accountId,omitzero" doc:"The bank account of the chart to attach it to; null detaches."`
	Mode       Mode             `json:"mode,omitempty" doc:"When it is detached: preserve-history (default) leaves its bank records on the account, detach-history takes them along."`
}

// draft is an account connection that is about to be made or changed.
type draft struct {
	AccountConnection

	isNew  bool
	before audit.View
	was    AccountConnection
	in     *Fields
	path   []any // leads to the fields in the body
}

func (d *draft) issueAt(code apierr.IssueCode, field string) apierr.Issue {
	return code.InBody(d.path, field)
}

// attaches reports whether the change attaches the account connection to an account; leaves, whether it detaches it.
func (d *draft) attaches() bool { return d.AccountID != nil && d.was.AccountID == nil }

func (d *draft) leaves() bool { return d.AccountID == nil && d.was.AccountID != nil }

// known has what a decision needs besides the account connections: accounts, attachments and the team's currency.
type known struct {
	currency string // the team's
	accounts map[id.ID]account.Account
	// attached are the account connections by the account that they are attached to, with those that were decided on
	// before.
	attached map[id.ID]id.ID
}

// applyAll makes the changes in their order. It refuses what the schema cannot see: it joins the issues of all bad
// fields, or returns the first other refusal.
func applyAll(drafts []*draft, k *known) error {
	var faults *apierr.Error

	for _, d := range drafts {
		err := d.applyFields(k)

		// Issues of bad fields are joined over all items; any other refusal ends the request.
		switch {
		case err == nil:
		case errors.Is(err, apierr.BadRequest) && faults == nil:
			faults = apierr.From(err)
		case errors.Is(err, apierr.BadRequest):
			faults = faults.At(apierr.From(err).Issues()...)
		default:
			return err
		}
	}

	if faults == nil {
		return nil
	}

	return faults
}

// applyFields sets the fields that the request names.
func (d *draft) applyFields(k *known) error {
	// A new one needs a name; everything else has a default or may be empty.
	in := d.in
	if d.isNew && in.Name == nil {
		return apierr.BadRequest.At(d.issueAt(apierr.IssueRequired, "name"))
	}

	if in.Name != nil {
		d.Name = *in.Name
	}

	d.LastDigits, d.Type, d.StartAt = in.LastDigits.Or(d.LastDigits), in.Type.Or(d.Type), in.StartAt.Or(d.StartAt)
	if in.Currency != nil {
		currency, err := money.ParseCurrency(*in.Currency)
		if err != nil {
			return apierr.BadRequest.At(d.issueAt(apierr.IssueCurrency, "currency"))
		}

		d.Currency = string(currency)
	}

	// The mode is for detaching only.
	if in.Mode != "" && (!in.AccountID.Present || in.AccountID.Value != nil) {
		return apierr.BadRequest.At(d.issueAt(apierr.IssueContradiction, "mode"))
	}

	if err := d.setAccount(k); err != nil {
		return err
	}

	// A new one that is attached to nothing gets the currency of the team.
	if d.Currency == "" {
		d.Currency = k.currency
	}

	// The bank decides that an account is gone, not the caller.
	if d.Status != Gone {
		d.Status = Detached
		if d.AccountID != nil {
			d.Status = Active
		}
	}

	return nil
}

// setAccount attaches the account connection, detaches it, or leaves it where it is (RSN-02, RSN-33).
func (d *draft) setAccount(k *known) error {
	// An absent field leaves the account, and null detaches it.
	wanted := d.in.AccountID.Or(d.AccountID)
	switch {
	case wanted == nil && d.AccountID == nil:
		return nil
	case wanted == nil:
		delete(k.attached, *d.AccountID)
		d.AccountID = nil

		return nil
	case d.AccountID != nil && *d.AccountID != *wanted:
		attached := Attached{AccountID: *d.AccountID, AccountConnectionID: d.ID}

		return errAttached.With(attached).At(d.issueAt(apierr.IssueAccountConnectionAttached, "accountId"))
	}

	// Attaching needs an account that exists and is free.
	a, exists := k.accounts[*wanted]
	if !exists {
		return apierr.BadRequest.At(d.issueAt(apierr.IssueNotFound, "accountId"))
	}

	if d.AccountID == nil {
		if err := d.mayAttach(&a, k); err != nil {
			return err
		}
	}

	// Both sides have the same currency; a new connection takes that of its account.
	if d.Currency == "" {
		d.Currency = a.Banking.Currency
	}

	if d.Currency != a.Banking.Currency {
		field := "currency"
		if d.AccountID == nil {
			field = "accountId"
		}

		return apierr.BadRequest.At(d.issueAt(apierr.IssueCurrencyMismatch, field))
	}

	d.AccountID, k.attached[a.ID] = wanted, d.ID

	return nil
}

// mayAttach refuses an account that cannot be attached to, or that has an account connection already.
func (d *draft) mayAttach(a *account.Account, k *known) error {
	other, taken := k.attached[a.ID]
	switch {
	case a.Type != account.TypeBank:
		return account.ErrNotBank.At(d.issueAt(apierr.IssueNotBankAccount, "accountId"))
	case a.Status != account.Active:
		return apierr.BadRequest.At(d.issueAt(apierr.IssueAccountInactive, "accountId"))
	case d.Status == Gone:
		return apierr.BadRequest.At(d.issueAt(apierr.IssueContradiction, "accountId"))
	case taken:
		attached := Attached{AccountID: a.ID, AccountConnectionID: other}

		return errAttached.With(attached).At(d.issueAt(apierr.IssueAccountConnectionAttached, "accountId"))
	}

	return nil
}

// last4 returns the last digits that a change sets, on the account connection or through it on the account it is
// attached to, or nil.
func (d *draft) last4(k *known) *account.Last4 {
	if d.LastDigits == nil {
		return nil
	}

	// The digits are those of both sides: the connection and the account that it is attached to.
	w := &account.Last4{Digits: *d.LastDigits, ConnectionID: d.ID}
	if d.AccountID != nil {
		w.AccountID = *d.AccountID
	}

	if d.was.LastDigits == nil || *d.was.LastDigits != *d.LastDigits {
		w.Path = append(append([]any{}, d.path...), "lastDigits")
		return w
	}

	// Unchanged digits matter only if the account gets them now.
	if d.copiesDigits(k) {
		return w
	}

	return nil
}

// copiesDigits reports whether the account takes over the digits, having none.
func (d *draft) copiesDigits(k *known) bool {
	return d.attaches() && d.LastDigits != nil && k.accounts[*d.AccountID].Banking.Last4 == nil
}
