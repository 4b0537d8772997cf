package report

import (
	"context"
	"fmt"
	"maps"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Entry is one journal entry.
type Entry struct {
	ID                id.ID         `json:"id"`
	TxnCode           string        `json:"txnCode" doc:"Names the posting; its entries balance."`
	UniqueRef         string        `json:"uniqueRef" doc:"Names the entry within its posting; stable from one derivation to the next."`
	Ledger            ledger.Ledger `json:"ledger" enum:"trust,operating,historical"`
	Status            ledger.Status `json:"status" enum:"active,inactive"`
	TxnAt             day.Day       `json:"txnAt"`
	Account           account.Ref   `json:"account"`
	CentTotal         money.Cents   `json:"centTotal" doc:"Debit positive, credit negative."`
	Debit             money.Cents   `json:"debit"`
	Credit            money.Cents   `json:"credit"`
	Currency          string        `json:"currency"`
	Party             *string       `json:"party" enum:"owners,manager"`
	ListingID         *id.ID        `json:"listingId"`
	OwnershipPeriodID *id.ID        `json:"ownershipPeriodId"`
	ContactID         *id.ID        `json:"contactId"`
	ReservationID     *id.ID        `json:"reservationId"`
	TransactionID     *id.ID        `json:"transactionId"`
	RecurringFeeID    *id.ID        `json:"recurringFeeId"`
	OwnerStatementID  *id.ID        `json:"ownerStatementId"`
	TriggerType       string        `json:"triggerType"`
	Description       string        `json:"description"`
	CreatedAt         day.Instant   `json:"createdAt"`
}

// EntryTotals are sums over all entries that match, not over one page.
type EntryTotals struct {
	Debit  money.Cents `json:"debit"`
	Credit money.Cents `json:"credit"`
}

// Entries is a page of journal entries with the totals of all that match.
type Entries struct {
	Data       []Entry         `json:"data"`
	Pagination page.Pagination `json:"pagination"`
	Totals     EntryTotals     `json:"totals"`
}

// entriesInput is the input of GET /reports/journal-entries.
type entriesInput struct {
	page.Params
	Sort EntrySort `query:"sort" doc:"Default txnAt."`
	Selection
}

// listEntries returns a page of journal entries with the totals of all that match.
func listEntries(ctx context.Context, tx *db.Tx, in *entriesInput) (*Entries, error) {
	if err := ledger.CheckView(ctx, tx, in.Ledger); err != nil {
		return nil, err
	}

	q := EntryQuery(in.Selection)
	q.Args["team"] = tx.Team

	// First the page. It is found by ids alone, because sorting and skipping whole rows takes several times as long.
	ids, listed, args := q, q, maps.Clone(q.Args)
	ids.Columns = "e.id"
	listed.Where = []string{"e.team_id = @team", "e.id = any(array(" + in.PageSQL(ids.SQL(string(in.Sort)), args) + "))"}

	rows, err := db.Select[Entry](ctx, tx, listed.SQL(string(in.Sort)), args)
	if err != nil {
		return nil, fmt.Errorf("list journal entries: %w", err)
	}

	// Then the totals. If all entries are on the first page, add those up instead of asking the database.
	out := &Entries{Data: rows}
	if in.Rows() == 0 && int64(len(rows)) < in.Limit {
		out.Pagination = in.Of(int64(len(rows)))
		for i := range rows {
			out.Totals.Debit += rows[i].Debit
			out.Totals.Credit += rows[i].Credit
		}

		return out, nil
	}

	// Otherwise the totals and the count come from a query of their own.
	all, err := sumEntries(ctx, tx, in.Selection)
	if err != nil {
		return nil, err
	}

	out.Pagination, out.Totals = in.Of(all.Count), all.EntryTotals

	return out, nil
}
