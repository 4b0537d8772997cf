package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/settlement/payee"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/money"
	"stayledger/provider/pay"
)

// Order is a payment to ask for: of an active payout or expense transaction, to its contact.
type Order struct {
	TransactionID id.ID
	ContactID     id.ID
	Amount        money.Cents
	Currency      string
	Date          day.Day
}

// Payer is the account that pays over a connection, with the methods of the contacts that it can pay.
type Payer struct {
	Connection *connection.Connection
	// FundingAccountID is the bank account that pays.
	FundingAccountID id.ID
	// Methods are the ready payment methods by contact; a contact that is missing cannot be paid.
	Methods map[id.ID]payee.Method
	// Guard is about the first payment to a method, Payer the user who pays at the time of Now.
	Guard payee.Guard
	Payer id.ID
	Now   time.Time
}

// LoadPayer loads the payer of contacts over a connection, under the lock of the connection. If funding is the zero id,
// the connection's own account is used, else the one assigned to payout_bankAccount. It fails with 400 for an unknown
// connection (path connectionId) or account (path fundingAccountId), with the reasons payProviderConnectionInactive and
// payProviderAccountNotReady.
func LoadPayer(ctx context.Context, tx *db.Tx, connectionID, funding id.ID, contacts []id.ID) (*Payer, error) {
	// The connection cannot be closed until the payments are written.
	c, err := connection.Hold(ctx, tx, connectionID)
	if errors.Is(err, apierr.NotFound) {
		return nil, notFoundAt("connectionId")
	}

	if err != nil {
		return nil, err
	}

	if c.Status != connection.Active {
		return nil, errConnection
	}

	// Then the account that pays, and the recipients' methods.
	d := &Payer{Connection: c, FundingAccountID: funding, Payer: tx.Actor.User, Now: tx.Now}
	if err := d.findFunding(ctx, tx); err != nil {
		return nil, err
	}

	if d.Methods, err = payee.LockDefaults(ctx, tx, contacts); err != nil {
		return nil, err
	}

	if d.Guard, err = payee.LoadGuard(ctx, tx); err != nil {
		return nil, err
	}

	return d, nil
}

// findFunding finds the account that pays: the given one, the connection's own or the assigned one. It refuses an
// account that cannot pay.
func (d *Payer) findFunding(ctx context.Context, tx *db.Tx) error {
	given := !d.FundingAccountID.IsZero()
	if !given {
		d.FundingAccountID = payapp.FundingAccount(d.Connection)
	}

	// Last resort: the account that the team assigned to payouts.
	if d.FundingAccountID.IsZero() {
		assigned, err := account.LoadAssigned(ctx, tx)
		if err != nil {
			return fmt.Errorf("read the account assignments: %w", err)
		}

		d.FundingAccountID = assigned[account.PayoutBankAccount]
	}

	// Only an active trust or operating bank account can pay. An unknown account is the caller's fault only if the
	// caller gave it.
	ready, err := db.Maybe[bool](ctx, tx, `
		select type = 'bank' and status = 'active' and coalesce(banking_category, '') in ('trust', 'operating') from account
		where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": d.FundingAccountID})
	switch {
	case err != nil:
		return fmt.Errorf("read the funding account: %w", err)
	case ready == nil && given:
		return notFoundAt("fundingAccountId")
	case ready == nil || !*ready:
		return errFunding
	}

	return nil
}

// SendKind is the kind of the task that sends a batch of payments.
var SendKind = job.NewKind("payment.send")

// batchSize returns how many payments go out together. Providers take one payment at a time, so a batch is a
// portion of work that may have to be repeated. A bank takes a whole file, and few files a day.
func (d *Payer) batchSize() int {
	if payapp.Can(d.Connection.AppID, payapp.PaysByFile) {
		return 10_000
	}

	return 200
}

// emptyKind is the kind of the task of an operation without work: its payments wait for a second person, or all is
// done. Every operation has a task, and this one succeeds at once.
var emptyKind = job.NewKind("payment.nothing")

// Terms are the conditions under which payments are asked for: the limits of the team, as CheckFunds returns them, and
// whether the payments may exceed the funds.
type Terms struct {
	*CurrentLimits
	Overdraft bool
}

// Request inserts the payments of orders. It returns their ids in the order given and the tasks of the
// provider-payment operation that sends them. Payments that need approval are inserted with an approval of their
// own, and no task sends them. It fails with 409 alreadyPaid or paymentAttempted for a transaction that has an
// attempt, with 400 payProviderRecipientNotReady for a contact without a method, and with
// payProviderPaymentNotSupported for money that no provider moves.
func (d *Payer) Request(ctx context.Context, tx *db.Tx, orders []Order, terms Terms) ([]id.ID, []operation.Task, error) {
	if len(orders) == 0 {
		return nil, nil, nil
	}

	// First the checks: of the orders themselves, then of earlier attempts, which locks the transactions.
	if err := d.checkOrders(orders); err != nil {
		return nil, nil, err
	}

	transactions := make([]id.ID, len(orders))
	for i := range orders {
		transactions[i] = orders[i].TransactionID
	}

	if err := lockUnattempted(ctx, tx, transactions); err != nil {
		return nil, nil, err
	}

	// Choose the ids here, since callers need them in the order of the orders.
	ids := make([]id.ID, len(orders))
	for i := range ids {
		ids[i] = tx.NewID()
	}

	var (
		rows    []requestRow
		batches []id.ID
		tasks   []operation.Task
	)

	// A batch has either only payments that leave now or only those of one approval.
	write := func(of []int, approval *id.ID) {
		status := Requested
		if approval != nil {
			status = Awaiting
		}

		for chunk := range slices.Chunk(of, d.batchSize()) {
			batch := tx.NewID()

			batches = append(batches, batch)
			// Payments that wait get their task from approve.
			if approval == nil {
				tasks = append(tasks, operation.Task{Kind: SendKind, Args: sendArgs{BatchID: batch}})
			}

			for _, i := range chunk {
				o := &orders[i]
				rows = append(rows, requestRow{
					ID:            ids[i],
					ShortRef:      ids[i].ShortRef(),
					BatchID:       batch,
					TransactionID: o.TransactionID,
					ContactID:     o.ContactID,
					PayeeMethodID: d.Methods[o.ContactID].ID,
					Amount:        o.Amount,
					Currency:      o.Currency,
					Date:          o.Date,
					Status:        status,
					ApprovalID:    approval,
					LimitDay:      tx.Today(),

					ConnectionID:     d.Connection.ID,
					FundingAccountID: d.FundingAccountID,

					DestinationSince:      d.Methods[o.ContactID].Destination.Since,
					DestinationBy:         d.Methods[o.ContactID].Destination.By,
					DestinationReleasedBy: d.Methods[o.ContactID].Destination.ReleasedBy,
				})
			}
		}
	}
	leaving, waiting := terms.splitOrders(orders)
	write(leaving, nil)

	// All payments of the request that wait are decided on together.
	if len(waiting) > 0 {
		approval := tx.NewID()
		if err := d.insertApproval(ctx, tx, approval, terms.Overdraft); err != nil {
			return nil, nil, err
		}

		write(waiting, &approval)
	}

	// An operation needs a task, even if everything waits.
	if len(tasks) == 0 {
		tasks = []operation.Task{{Kind: emptyKind}}
	}

	return ids, tasks, d.insertPayments(ctx, tx, batches, rows)
}

// splitOrders returns the places of the orders that leave at once and of those that wait for a second person.
func (t *Terms) splitOrders(orders []Order) (leaving, waiting []int) {
	for i := range orders {
		if t.waits(orders[i].Amount, orders[i].Currency) {
			waiting = append(waiting, i)
		} else {
			leaving = append(leaving, i)
		}
	}

	return leaving, waiting
}

// insertApproval inserts the approval that a second person decides on.
func (d *Payer) insertApproval(ctx context.Context, tx *db.Tx, approval id.ID, overdraft bool) error {
	_, err := tx.Exec(ctx, `
		insert into payment_approval (team_id, id, connection_id, funding_account_id, allow_overdraft, requested_by, created_at)
		values (@team, @id, @connection, @funding, @overdraft, @by, @now)`, db.Args{
		"team":       tx.Team,
		"id":         approval,
		"connection": d.Connection.ID,
		"funding":    d.FundingAccountID,
		"overdraft":  overdraft,
		"by":         tx.Actor.User,
		"now":        tx.Now,
	})
	if err != nil {
		return fmt.Errorf("ask for an approval: %w", err)
	}

	audit.Note(tx,
		audit.Created,
		audit.PaymentApproval,
		approval,
		nil,
		map[string]any{
			"status": Pending, "fundingAccountId": d.FundingAccountID, "allowOverdraft": overdraft,
		},
		audit.Ref(audit.RoleConnection, audit.Connection, d.Connection.ID),
		audit.Ref(audit.RoleAccount, audit.Account, d.FundingAccountID),
	)

	return nil
}

// maxNamed bounds how many contacts a refusal names.
const maxNamed = 100

// checkOrders refuses orders that the connection can never pay. Orders that no recipient could get come first, then all
// recipients who cannot be paid for the same cause.
func (d *Payer) checkOrders(orders []Order) error {
	contacts := map[string][]id.ID{}

	var first *Fault

	for i := range orders {
		// A payment that no one can receive ends the check; recipients are collected.
		fault := d.Fault(&orders[i])
		switch {
		case fault == nil:
			continue
		case fault.Reason == errNotSupported.Reason():
			return errNotSupported.With(fault.Context())
		case first == nil:
			first = fault
		}

		if len(contacts[fault.Cause]) < maxNamed {
			contacts[fault.Cause] = append(contacts[fault.Cause], fault.ContactID)
		}
	}

	// Name the recipients with the cause of the first one, because each cause is corrected in its own way.
	if first != nil {
		context := first.Context()
		delete(context, "contactId")
		context["contactIds"] = contacts[first.Cause]

		return errRecipient.With(context)
	}

	return nil
}

// Fault says why an order cannot be paid because of its data, whatever the provider says.
type Fault struct {
	Reason    apierr.Reason
	Cause     string
	ContactID id.ID
	Currency  string
	Amount    money.Cents
	Date      day.Day
	// Destination is the one that is held, FreeAt when its hold ends.
	Destination *payee.Destination
	FreeAt      *day.Instant
}

// Context returns the data about the fault for a finding or for the refusal of a payment.
func (f *Fault) Context() map[string]any {
	context := map[string]any{"contactId": f.ContactID, "cause": f.Cause}
	if d := f.Destination; d != nil {
		context["destinationSince"], context["destinationBy"], context["freeAt"] = d.Since, d.By, f.FreeAt
	}

	if f.Reason == errNotSupported.Reason() {
		context["currency"], context["amount"], context["date"] = f.Currency, f.Amount, f.Date
	}

	return context
}

// The causes that hold for every app; apps add their own.
const (
	causeNoMethod    = "paymentMethodMissing"
	causeNotVerified = "paymentMethodNotVerified"
	causeCurrency    = "currencyNotSupported"
	causeAmount      = "amountNotSupported"
	causeHolder      = "holderInvalid"
)

// Fault returns why an order cannot be paid over the connection because of its data, or nil. The numbers of
// accounts were checked when they came in and are not decrypted before they are sent.
func (d *Payer) Fault(o *Order) *Fault {
	f := &Fault{
		Reason: errNotSupported.Reason(), ContactID: o.ContactID, Currency: o.Currency, Amount: o.Amount, Date: o.Date,
	}

	// First the rules for every app, last those of the connection's app.
	method, ready := d.Methods[o.ContactID]
	switch {
	case o.Currency != "usd":
		f.Cause = causeCurrency
	case o.Amount <= 0:
		f.Cause = causeAmount
	case !ready:
		f.Reason, f.Cause = errRecipient.Reason(), causeNoMethod
	default:
		f.Cause = payapp.Fault(d.Connection.AppID, &pay.Payment{
			Amount: o.Amount, Currency: o.Currency, Date: o.Date,
			Recipient: pay.Account{Holder: method.AccountHolder, Type: method.AccountType},
		})
		if f.Cause == causeHolder {
			f.Reason = errRecipient.Reason()
		}

		if f.Cause == "" {
			f.guard(d, &method.Destination)
		}
	}

	if f.Cause == "" {
		return nil
	}

	return f
}

// guard sets the cause for which the first payment to a destination is refused.
func (f *Fault) guard(d *Payer, to *payee.Destination) {
	if f.Cause = d.Guard.Refusal(to, d.Payer, d.Now); f.Cause == "" {
		return
	}

	f.Reason, f.Destination = errRecipient.Reason(), to
	if f.Cause == payee.CauseHeld {
		at := day.At(d.Guard.FreeAt(to))
		f.FreeAt = &at
	}
}

// lockUnattempted locks transactions. It refuses those with an attempt that was not put away, and those with
// returned money.
func lockUnattempted(ctx context.Context, tx *db.Tx, transactions []id.ID) error {
	args := db.Args{"team": tx.Team, "ids": transactions}
	if _, err := tx.Exec(ctx, `select from transaction where team_id = @team and id = any(@ids) order by id for update`, args); err != nil {
		return fmt.Errorf("hold what is to be paid: %w", err)
	}

	type attempt struct {
		TransactionID id.ID
		Paid          bool
	}

	// One of them is enough for the refusal; those that are paid come first.
	attempts, err := db.Select[attempt](ctx, tx, `
		select transaction_id, status in ('paid', 'returned') as paid from payment
			where team_id = @team and transaction_id = any(@ids) and recovered_at is null
		union all select original_id, true from payment_return where team_id = @team and original_id = any(@ids)
		order by 2 desc, 1 limit 1`, args)
	if err != nil {
		return fmt.Errorf("read earlier attempts: %w", err)
	}

	if len(attempts) == 0 {
		return nil
	}

	// A payment that may still fail is an attempt, a successful one is final.
	refusal := transaction.ErrAttempted
	if attempts[0].Paid {
		refusal = ErrAlreadyPaid
	}

	return refusal.With(map[string]any{"transactionId": attempts[0].TransactionID})
}

// paymentTable has the columns of a payment that is requested. It counts for limits on the day limit_day.
var paymentTable = db.NewTable[requestRow]("payment", `
	id uuid, short_ref text, connection_id uuid, batch_id uuid, transaction_id uuid, contact_id uuid, payee_method_id uuid, funding_account_id uuid,
	amount bigint, currency text, date date, status text, approval_id uuid, limit_day date, destination_since timestamptz, destination_by uuid,
	destination_released_by uuid, created_at now, updated_at now`)

// requestRow is a payment as it is requested.
type requestRow struct {
	ID               id.ID
	ShortRef         string
	ConnectionID     id.ID
	BatchID          id.ID
	TransactionID    id.ID
	ContactID        id.ID
	PayeeMethodID    id.ID
	FundingAccountID id.ID
	Amount           money.Cents
	Currency         string
	Date             day.Day
	Status           Status
	ApprovalID       *id.ID
	LimitDay         day.Day

	DestinationSince      day.Instant
	DestinationBy         *id.ID
	DestinationReleasedBy *id.ID
}

// insertPayments inserts batches and their payments and writes the audit events. It fails with ErrAttempted if another
// request was first.
func (d *Payer) insertPayments(ctx context.Context, tx *db.Tx, batches []id.ID, rows []requestRow) error {
	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL:  `insert into payment_batch (team_id, id, connection_id, created_at) select @team, b, @connection, @now from unnest(@ids::uuid[]) b`,
			Args: db.Args{"team": tx.Team, "connection": d.Connection.ID, "now": tx.Now, "ids": batches},
		},
		paymentTable.Insert(tx, db.Refs(rows)...))

	// A unique index allows one open attempt per transaction.
	if db.Constraint(err) == "payment_once" {
		return transaction.ErrAttempted
	}

	if err != nil {
		return fmt.Errorf("request payments: %w", err)
	}

	for i := range rows {
		r := &rows[i]

		audit.Note(tx,
			audit.Created,
			audit.Payment,
			r.ID,
			nil,
			map[string]any{
				"status":                 r.Status,
				"amount":                 r.Amount,
				"currency":               r.Currency,
				"date":                   r.Date,
				"contactPaymentMethodId": r.PayeeMethodID,
				"approvalId":             r.ApprovalID,
			},
			audit.Ref(audit.RoleParent, audit.Transaction, r.TransactionID),
			audit.Ref(audit.RoleOwner, audit.Contact, r.ContactID),
			audit.Ref(audit.RoleConnection, audit.Connection, d.Connection.ID),
			audit.Ref(audit.RoleAccount, audit.Account, d.FundingAccountID),
		)
	}

	return nil
}

// sendArgs name the batch of a send task.
type sendArgs struct {
	BatchID id.ID `json:"batchId"`
}
