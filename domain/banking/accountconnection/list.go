package accountconnection

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/page"
)

// Sort is an order of account connections.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort          Sort      `query:"sort" default:"createdAt"`
	IDs           page.IDs  `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	AccountIDs    page.Refs `query:"accountIds" doc:"The bank accounts of the chart that they are attached to; null selects those that are attached to none."`
	ConnectionIDs page.Refs `query:"connectionIds" doc:"The feeds' connections; null selects those made by hand."`
	Status        []Status  `query:"status"`
	Currency      string    `query:"currency" pattern:"^[A-Za-z]{3}$"`
	LastDigits    string    `query:"lastDigits" pattern:"^[0-9]{4}$"`
	Search        string    `query:"search" maxLength:"200" doc:"Part of the name or the last digits."`
}

// list returns a page of account connections.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[AccountConnection], error) {
	q := query(tx)
	q.IDs("c.id = any(?)", in.IDs)
	q.Refs("c.account_id", in.AccountIDs)
	q.Refs("c.connection_id", in.ConnectionIDs)
	q.Narrow("c.status = any(?)", in.Status)
	q.Narrow("c.currency = lower(?::text)", in.Currency)
	q.Narrow("c.last_digits = ?", in.LastDigits)
	q.Search(in.Search, "c.name", "c.last_digits")

	return page.List[AccountConnection](ctx, tx, q, in.Params, in.Sort)
}
