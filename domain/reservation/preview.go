package reservation

import (
	"context"

	"stayledger/domain/account"
	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Preview is the journal that a reservation would have if it were derived now. Nothing is written, so locks do not show in the entries.
type Preview struct {
	Entries []PreviewEntry `json:"entries"`
	Lock    ledger.Lock    `json:"lock"`
	Issues  []Issue        `json:"issues"`
}

// PreviewEntry is a journal entry to be.
type PreviewEntry struct {
	TxnCode           string        `json:"txnCode" doc:"Names the posting; its entries balance."`
	UniqueRef         string        `json:"uniqueRef" doc:"Names the entry within its posting; stable from one derivation to the next."`
	Ledger            ledger.Ledger `json:"ledger" enum:"trust,operating,historical"`
	Status            ledger.Status `json:"status" enum:"active,inactive"`
	TxnAt             day.Day       `json:"txnAt"`
	Account           *AccountRef   `json:"account" doc:"Null while no account is assigned; see issues."`
	CentTotal         money.Cents   `json:"centTotal" doc:"Debit positive, credit negative."`
	Currency          string        `json:"currency"`
	Party             *ledger.Party `json:"party" enum:"owners,manager"`
	ListingID         id.ID         `json:"listingId"`
	OwnershipPeriodID *id.ID        `json:"ownershipPeriodId"`
	RecurringFeeID    *id.ID        `json:"recurringFeeId"`
	TriggerType       string        `json:"triggerType"`
	Description       string        `json:"description"`
}

// AccountRef names an account.
type AccountRef struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

func previewJournal(ctx context.Context, tx *db.Tx, in *byID) (*Preview, error) {
	r, err := show(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	loaded, err := inputs(ctx, tx, []Reservation{*r})
	if err != nil {
		return nil, err
	}
	out := &Preview{Entries: []PreviewEntry{}, Lock: r.Lock, Issues: r.Issues}
	postings := Journal(&loaded[0])
	var ids []id.ID
	missing := map[account.Assignment]bool{}
	for i := range postings {
		p := &postings[i]
		for k := range p.Lines {
			l := &p.Lines[k]
			out.Entries = append(out.Entries, previewOf(p, l))
			ids = append(ids, l.AccountID)
			if need := receivableOf(listing.Covering(loaded[0].Periods, p.TxnAt)); l.AccountID.IsZero() && !missing[need] {
				missing[need] = true
				out.Issues = append(out.Issues, Issue{Code: "unassignedAccount", Severity: "error", Context: map[string]any{"assignment": need}})
			}
		}
	}
	accounts, err := account.ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for i := range out.Entries {
		if a, known := accounts[ids[i]]; known {
			out.Entries[i].Account = &AccountRef{ID: a.ID, Name: a.Name}
		}
	}
	return out, nil
}

func previewOf(p *ledger.Posting, l *ledger.Line) PreviewEntry {
	e := PreviewEntry{
		TxnCode: p.TxnCode, UniqueRef: l.Ref, Ledger: p.Ledger, Status: p.Status, TxnAt: p.TxnAt, CentTotal: l.CentTotal, Currency: p.Currency,
		ListingID: l.ListingID, OwnershipPeriodID: given(l.OwnershipPeriodID), RecurringFeeID: given(l.RecurringFeeID), TriggerType: l.Trigger,
		Description: l.Description,
	}
	if l.Party != ledger.NoParty {
		e.Party = &l.Party
	}
	return e
}

func given(v id.ID) *id.ID {
	if v.IsZero() {
		return nil
	}
	return &v
}
