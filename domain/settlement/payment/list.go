package payment

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const from = `payment p join connection c on c.team_id = p.team_id and c.id = p.connection_id
	join payment_batch b on b.team_id = p.team_id and b.id = p.batch_id`

// The texts of a failure are fixed: what a provider says of it stays with us.
const columns = `p.id, p.short_ref, p.status, c.app_id as provider, p.connection_id, p.transaction_id, p.contact_id,
	p.payee_method_id as contact_payment_method_id, p.funding_account_id, p.approval_id, b.operation_id, p.amount, p.currency, p.date,
	jsonb_build_object('since', p.destination_since, 'by', p.destination_by, 'releasedBy', p.destination_released_by) as destination, case p.status
		when 'failed' then jsonb_build_object('code', 'paymentFailed', 'message', 'The payment failed')
		when 'canceled' then coalesce((select jsonb_build_object('code', 'paymentRejected', 'message', 'The payment was rejected') from payment_approval a
			where a.team_id = p.team_id and a.id = p.approval_id and a.status = 'rejected'), jsonb_build_object('code', 'paymentCanceled', 'message', 'The payment was canceled'))
		when 'returned' then jsonb_build_object('code', 'paymentReturned', 'message', 'The payment was returned') end as failure,
	b.file_id, '/files/' || b.file_id || '/download' as file_url, (select r.transaction_id from payment_return r
		where r.team_id = p.team_id and r.payment_id = p.id) as return_transaction_id, p.issues, p.created_at, p.sent_at, p.unknown_since, p.settled_at,
	p.recovered_at, p.updated_at`

var sorts = page.Sorts{
	{Name: "date", Expr: "p.date"},
	{Name: "amount", Expr: "p.amount"},
	{Name: "createdAt", Expr: "p.created_at"},
}

// listSort is an order of payments.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort           listSort `query:"sort" doc:"Default -date."`
	Status         []Status `query:"status"`
	ConnectionIDs  page.IDs `query:"connectionIds"`
	ConnectionID   page.IDs `query:"connectionId" deprecated:"true" doc:"Former name of connectionIds."`
	ContactIDs     page.IDs `query:"contactIds"`
	ContactID      page.IDs `query:"contactId" deprecated:"true" doc:"Former name of contactIds."`
	TransactionIDs page.IDs `query:"transactionIds"`
	TransactionID  page.IDs `query:"transactionId" deprecated:"true" doc:"Former name of transactionIds."`
	ApprovalIDs    page.IDs `query:"approvalIds" doc:"The payments that these approvals are about."`
	page.Dates
}

// list returns a page of payments.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Payment], error) {
	q := page.Query{
		Columns: columns,
		From:    from,
		Rows:    "payment p",
		Joined:  "c b",
		Sorts:   sorts,
		Default: "-date",
		ID:      "p.id",
	}
	q.And("p.team_id = @team", db.Args{"team": tx.Team})
	q.CountedAs("payment")
	q.Narrow("p.status = any(?)", in.Status)
	q.IDs("p.connection_id = any(?)", in.ConnectionIDs)
	q.IDs("p.connection_id = any(?)", in.ConnectionID)
	q.IDs("p.contact_id = any(?)", in.ContactIDs)
	q.IDs("p.contact_id = any(?)", in.ContactID)
	q.IDs("p.transaction_id = any(?)", in.TransactionIDs)
	q.IDs("p.transaction_id = any(?)", in.TransactionID)
	q.IDs("p.approval_id = any(?)", in.ApprovalIDs)
	q.Dates("p.date", in.Dates)

	return page.List[Payment](ctx, tx, q, in.Params, in.Sort)
}

// getInput names a record by its id.
type getInput struct {
	ID id.ID `path:"id"`
}

// get returns a payment. It fails with apierr.NotFound.
func get(ctx context.Context, tx *db.Tx, in *getInput) (*Payment, error) {
	p, err := db.One[Payment](ctx, tx,
		apierr.NotFound,
		"select "+columns+" from "+from+" where p.team_id = @team and p.id = @id",
		db.Args{
			"team": tx.Team,
			"id":   in.ID,
		},
	)
	if err != nil {
		return nil, fmt.Errorf("read a payment: %w", err)
	}

	return &p, nil
}

// Payments are the payments of a transaction.
type Payments struct {
	Data []Payment `json:"data" doc:"The newest first: each is an attempt."`
}

// listOfTransaction returns the payments of a transaction. It fails with apierr.NotFound for an unknown transaction.
func listOfTransaction(ctx context.Context, tx *db.Tx, in *getInput) (*Payments, error) {
	args := db.Args{"team": tx.Team, "id": in.ID}

	exists, err := db.Get[bool](ctx, tx, `select exists (select from transaction where team_id = @team and id = @id)`, args)
	if err != nil {
		return nil, fmt.Errorf("read a transaction: %w", err)
	}

	if !exists {
		return nil, apierr.NotFound
	}

	// No payments is an answer too, but only for a transaction that exists.
	found, err := db.Select[Payment](ctx, tx,
		"select "+columns+" from "+from+" where p.team_id = @team and p.transaction_id = @id order by p.id desc", args)
	if err != nil {
		return nil, fmt.Errorf("read the payments of a transaction: %w", err)
	}

	if found == nil {
		found = []Payment{}
	}

	return &Payments{Data: found}, nil
}
