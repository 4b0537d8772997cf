package journal

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// Create is a new journal as the caller writes it.
type Create struct {
	Date        day.Day         `json:"date" doc:"Accounting date."`
	UniqueRef   api.Opt[string] `json:"uniqueRef,omitzero" maxLength:"255"`
	Description api.Opt[string] `json:"description,omitzero" maxLength:"1000"`
	Currency    api.Opt[string] `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$" doc:"ISO 4217; the team's default currency when absent."`
	Ledger      Books           `json:"ledger,omitempty" doc:"trust when absent."`
	Lines       []LineInput     `json:"lines" minItems:"2" maxItems:"1000"`
}

// LineInput is an entry as the caller writes it.
type LineInput struct {
	AccountID         id.ID                 `json:"accountId"`
	CentTotal         money.Cents           `json:"centTotal" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents; debit positive, credit negative, never zero."`
	Party             api.Opt[ledger.Party] `json:"party,omitzero" doc:"Absent on revenue, expense and distribution accounts: the owners' when the line has a listing, else the manager's."`
	ListingID         api.Opt[id.ID]        `json:"listingId,omitzero" doc:"Absent: the listing of the reservation."`
	ContactID         api.Opt[id.ID]        `json:"contactId,omitzero"`
	ReservationID     api.Opt[id.ID]        `json:"reservationId,omitzero"`
	OwnershipPeriodID api.Opt[id.ID]        `json:"ownershipPeriodId,omitzero" doc:"The ownership period whose owners have it; absent: by the date."`
	Description       api.Opt[string]       `json:"description,omitzero" maxLength:"1000"`
}

// Update holds the fields that change. Null clears a field, an absent field stays as it is.
type Update struct {
	Date        *day.Day        `json:"date,omitempty"`
	UniqueRef   api.Opt[string] `json:"uniqueRef,omitzero" maxLength:"255"`
	Description api.Opt[string] `json:"description,omitzero" maxLength:"1000"`
	Currency    *string         `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$"`
	Ledger      *Books          `json:"ledger,omitempty"`
	Lines       []LineInput     `json:"lines,omitempty" minItems:"2" maxItems:"1000" doc:"Replaces all lines."`
}

// moneyField returns the first field that changes more than the texts and the date of a journal, empty for none.
func (u *Update) moneyField() string {
	switch {
	case u.Lines != nil:
		return "lines"
	case u.Currency != nil:
		return "currency"
	case u.Ledger != nil:
		return "ledger"
	}

	return ""
}

// Reversal says when and with which text a journal is reversed.
type Reversal struct {
	Date        day.Day         `json:"date" doc:"Accounting date of the reversal; the locks of this date count."`
	Description api.Opt[string] `json:"description,omitzero" maxLength:"1000" doc:"The original's when absent."`
}

// newLines returns the lines of a body.
func newLines(in []LineInput) []Line {
	out := make([]Line, len(in))
	for i := range in {
		l := &in[i]
		out[i] = Line{
			AccountID:         l.AccountID,
			CentTotal:         l.CentTotal,
			Party:             l.Party.Value,
			ListingID:         l.ListingID.Value,
			ContactID:         l.ContactID.Value,
			ReservationID:     l.ReservationID.Value,
			OwnershipPeriodID: l.OwnershipPeriodID.Value,
			Description:       l.Description.Value,
		}
	}

	return out
}

// newDraft returns a new journal before it is checked against the records that it names.
func newDraft(c *Create, newID id.ID) *Journal {
	j := &Journal{
		ID:          newID,
		ShortRef:    newID.ShortRef(),
		UniqueRef:   c.UniqueRef.Value,
		Date:        c.Date,
		Description: c.Description.Value,
		Currency:    ptr.Value(c.Currency.Value),
		Ledger:      c.Ledger,
		Lines:       newLines(c.Lines),
	}
	if j.Ledger == "" {
		j.Ledger = Books(ledger.Trust)
	}

	return j
}

// newUpdateDraft returns a stored journal with changes.
func newUpdateDraft(old *Journal, u *Update) *Journal {
	j := *old

	j.UniqueRef, j.Description = u.UniqueRef.Or(old.UniqueRef), u.Description.Or(old.Description)
	if u.Date != nil {
		j.Date = *u.Date
	}

	if u.Currency != nil {
		j.Currency = *u.Currency
	}

	if u.Ledger != nil {
		j.Ledger = *u.Ledger
	}

	// Lines are replaced as a whole.
	if u.Lines != nil {
		j.Lines = newLines(u.Lines)
	}

	return &j
}

// reversal returns the journal that reverses every line of this one.
func (j *Journal) reversal(r *Reversal, newID id.ID) *Journal {
	out := &Journal{
		ID:          newID,
		ShortRef:    newID.ShortRef(),
		Date:        r.Date,
		Description: r.Description.Or(j.Description),
		Currency:    j.Currency,
		Ledger:      j.Ledger,
		ReversesID:  &j.ID,
		Lines:       make([]Line, len(j.Lines)),
	}

	// Lines keep their accounts, parties and listings; only the sign changes.
	for i := range j.Lines {
		out.Lines[i] = j.Lines[i]
		out.Lines[i].CentTotal = -j.Lines[i].CentTotal
	}

	return out
}

// settle adds the lines up. It fails for an amount of zero or beyond the safe range, and with UNPROCESSABLE_CONTENT
// and Unbalanced if debits and credits differ.
func (j *Journal) settle() error {
	var (
		issues          []apierr.Issue
		debit, credit   money.Cents
		debits, credits money.Reach
	)

	for i := range j.Lines {
		// Debits and credits are added up separately: the total of a journal is either of them.
		c := j.Lines[i].CentTotal
		switch {
		case c == 0:
			issues = append(issues, apierr.IssueZeroAmount.InBody("lines", i, "centTotal"))
		case c > 0:
			debit += c
			debits.Add(c)
		default:
			credit -= c
			credits.Add(c)
		}
	}

	// Sums beyond the safe range cannot be compared, so they are refused before the balance is checked.
	if !debits.Valid() || !credits.Valid() {
		issues = append(issues, apierr.IssueRange.InBody("lines"))
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	if debit != credit {
		return errUnbalanced.With(Unbalanced{debit - credit}).At(apierr.IssueUnbalanced.InBody("lines"))
	}

	j.Total = debit

	return nil
}
