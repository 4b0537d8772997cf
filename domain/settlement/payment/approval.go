package payment

import (
	"cmp"
	"context"
	"fmt"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/payee"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// ApprovalStatus is the state of payments that a second person has to approve.
type ApprovalStatus string

// The states of an approval. It is canceled when all its payments were taken back before anybody had decided.
const (
	Pending          ApprovalStatus = "pending"
	Approved         ApprovalStatus = "approved"
	Rejected         ApprovalStatus = "rejected"
	ApprovalCanceled ApprovalStatus = "canceled"
)

// Enum lists the states.
func (ApprovalStatus) Enum() []string { return []string{"pending", "approved", "rejected", "canceled"} }

// Approval is the subject of a second person's decision: the payments of one request that reach the team's limit.
type Approval struct {
	ID               id.ID            `json:"id"`
	Status           ApprovalStatus   `json:"status" doc:"canceled: the payments were taken back, or their transactions archived, before anybody had decided."`
	Provider         connection.AppID `json:"provider"`
	ConnectionID     id.ID            `json:"connectionId"`
	FundingAccountID id.ID            `json:"fundingAccountId"`
	Amount           money.Cents      `json:"amount" doc:"Cents; of its payments. While it is pending or approved, those that were taken back do not count."`
	Currency         string           `json:"currency"`
	PaymentCount     int64            `json:"paymentCount" doc:"How many payments are decided on together; listPayments gives them by approvalIds."`
	AllowOverdraft   bool             `json:"allowOverdraft" doc:"The request allows them to take more than there is."`
	RequestedBy      id.ID            `json:"requestedBy" doc:"The user who has asked for the payments, and who decides on none of them."`
	DecidedBy        *id.ID           `json:"decidedBy"`
	DecidedAt        *day.Instant     `json:"decidedAt"`
	Reason           *string          `json:"reason" doc:"Why it was rejected."`
	OperationID      *id.ID           `json:"operationId" doc:"The operation that sends what was approved."`
	CreatedAt        day.Instant      `json:"createdAt"`
}

var errDecided = apierr.New(apierr.CodeConflict, "", "The approval is not pending any more")

// approvalStatus is the SQL of an approval's status. A pending one without waiting payments is canceled; that is
// not stored.
const approvalStatus = `case when a.status = 'pending' and not exists (
		select from payment w where w.team_id = a.team_id and w.approval_id = a.id and w.status = 'awaitingApproval') then 'canceled' else a.status end`

const approvalColumns = `a.id, ` + approvalStatus + ` as status, c.app_id as provider, a.connection_id, a.funding_account_id, s.amount, s.currency,
	s.payment_count, a.allow_overdraft, a.requested_by, a.decided_by, a.decided_at, a.reason, a.operation_id, a.created_at`

// approvalTables is the SQL of approvals with the sums of their payments. Canceled payments count only if the whole
// approval was rejected or canceled.
const approvalTables = `payment_approval a join connection c on c.team_id = a.team_id and c.id = a.connection_id
	cross join lateral (select sum(p.amount)::bigint as amount, min(p.currency) as currency, count(*) as payment_count
		from payment p where p.team_id = a.team_id and p.approval_id = a.id
			and (p.status <> 'canceled' or ` + approvalStatus + ` in ('rejected', 'canceled'))) s`

var approvalSorts = page.Sorts{{Name: "createdAt", Expr: "a.created_at"}, {Name: "amount", Expr: "s.amount"}}

// approvalSort is an order of approvals.
type approvalSort string

// Enum lists the orders.
func (approvalSort) Enum() []string { return approvalSorts.Enum() }

type approvalsInput struct {
	page.Params
	Sort          approvalSort     `query:"sort" doc:"Default -createdAt."`
	Status        []ApprovalStatus `query:"status"`
	ConnectionIDs page.IDs         `query:"connectionIds"`
	ConnectionID  page.IDs         `query:"connectionId" deprecated:"true" doc:"Former name of connectionIds."`
	RequestedBy   *id.ID           `query:"requestedBy" doc:"The user who has asked for the payments."`
}

// listApprovals returns a page of approvals.
func listApprovals(ctx context.Context, tx *db.Tx, in *approvalsInput) (*page.Page[Approval], error) {
	q := page.Query{
		Columns: approvalColumns,
		From:    approvalTables,
		Sorts:   approvalSorts,
		Default: "-createdAt",
		ID:      "a.id",
	}
	q.And("a.team_id = @team", db.Args{"team": tx.Team})
	q.Narrow("("+approvalStatus+") = any(?)", in.Status)
	q.IDs("a.connection_id = any(?)", in.ConnectionIDs)
	q.IDs("a.connection_id = any(?)", in.ConnectionID)
	q.Narrow("a.requested_by = ?", in.RequestedBy)

	return page.List[Approval](ctx, tx, q, in.Params, in.Sort)
}

// getApproval returns an approval. It fails with apierr.NotFound.
func getApproval(ctx context.Context, tx *db.Tx, in *getInput) (*Approval, error) {
	a, err := db.One[Approval](ctx, tx,
		apierr.NotFound,
		"select "+approvalColumns+" from "+approvalTables+" where a.team_id = @team and a.id = @id",
		db.Args{"team": tx.Team, "id": in.ID},
	)
	if err != nil {
		return nil, fmt.Errorf("read an approval: %w", err)
	}

	return &a, nil
}

// waiting is a payment that an approval is about.
type waiting struct {
	ID            id.ID
	BatchID       id.ID
	TransactionID id.ID
	Type          transaction.Type
	ContactID     id.ID
	MethodID      id.ID
	Amount        money.Cents
	Currency      string
	Date          day.Day
}

// lockApproval locks an approval, then the transactions, then the payments that still wait, and returns the
// approval and these payments. It fails with 404, with 403 selfModification for the user who asked for the
// payments, and with 409 when nothing is left to decide.
func lockApproval(ctx context.Context, tx *db.Tx, one id.ID) (*Approval, []waiting, error) {
	args := db.Args{"team": tx.Team, "id": one}
	if _, err := tx.Exec(ctx, `select from payment_approval where team_id = @team and id = @id for update`, args); err != nil {
		return nil, nil, fmt.Errorf("hold an approval: %w", err)
	}

	// Transactions are locked before payments, as by everyone who changes both.
	err := tx.Pipeline(ctx, db.Stmt{SQL: `
		select from transaction t where t.team_id = @team and t.id in (
			select p.transaction_id from payment p where p.team_id = @team and p.approval_id = @id and p.status = 'awaitingApproval')
		order by t.id for update`, Args: args})
	if err != nil {
		return nil, nil, fmt.Errorf("hold what is to be paid: %w", err)
	}

	// Read the approval after the lock: another decision may have come first.
	a, err := getApproval(ctx, tx, &getInput{ID: one})
	switch {
	case err != nil:
		return nil, nil, err
	case a.RequestedBy == tx.Actor.User:
		return nil, nil, payee.ErrSelf
	case a.Status != Pending:
		return nil, nil, errDecided.With(map[string]any{"reason": "approvalDecided", "status": a.Status})
	}

	// The payments that were taken back meanwhile are not part of the decision.
	of, err := db.Select[waiting](ctx, tx, `
		select p.id, p.batch_id, p.transaction_id, t.type, p.contact_id, p.payee_method_id as method_id, p.amount, p.currency, p.date
		from payment p join transaction t on t.team_id = p.team_id and t.id = p.transaction_id
		where p.team_id = @team and p.approval_id = @id and p.status = 'awaitingApproval' order by p.id for update of p`, args)
	if err != nil {
		return nil, nil, fmt.Errorf("hold the payments of an approval: %w", err)
	}

	return a, of, nil
}

// approve releases payments: the checks are repeated, bills are booked as paid, and an operation sends the
// payments.
func approve(ctx context.Context, tx *db.Tx, in *getInput) (*Approval, error) {
	// First take the lock under which funds and limits are decided; it comes before all others.
	if err := LockDecisions(ctx, tx); err != nil {
		return nil, err
	}

	a, of, err := lockApproval(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Methods, connection and funds may have changed since the payments were asked for.
	if err := checkMethods(ctx, tx, a, of); err != nil {
		return nil, err
	}

	if _, err := LoadPayer(ctx, tx, a.ConnectionID, a.FundingAccountID, nil); err != nil {
		return nil, err
	}

	if err := checkWaiting(ctx, tx, a, of); err != nil {
		return nil, err
	}

	today := tx.Today()

	// Then release the payments. A date that has passed becomes today, and today's limit counts them.
	released, err := db.Select[changedPayment](ctx, tx, `
		update payment p set status = 'requested', date = greatest(p.date, @today), limit_day = @today, updated_at = @now from payment o
		where p.team_id = @team and p.approval_id = @id and p.status = 'awaitingApproval' and o.team_id = p.team_id and o.id = p.id returning `+toldColumns,
		db.Args{"team": tx.Team, "id": a.ID, "today": today, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("release payments: %w", err)
	}

	notePayments(tx, released)

	// Each batch is sent by a task of its own.
	var tasks []operation.Task

	batches := map[id.ID]bool{}
	resources := []operation.Resource{{Type: operation.Connection, ID: a.ConnectionID, Role: operation.Source}}

	for i := range of {
		w := &of[i]

		resources = append(resources, operation.Resource{
			Type: operation.Transaction,
			ID:   w.TransactionID,
			Role: operation.Target,
		})
		if !batches[w.BatchID] {
			batches[w.BatchID] = true
			tasks = append(tasks, operation.Task{Kind: SendKind, Args: sendArgs{BatchID: w.BatchID}})
		}

		// A payout was booked before; a bill is booked as paid now.
		if w.Type != transaction.Expense {
			continue
		}

		booked := transaction.PaymentInput{Date: day.Max(w.Date, today), AccountID: api.Set(a.FundingAccountID)}
		if _, err := transaction.BookPayment(ctx, tx, w.TransactionID, &booked); err != nil {
			return nil, err
		}
	}

	// Last, start the operation that sends them and record the decision.
	sends := operation.New{Type: operation.ProviderPayment, Resources: resources, Tasks: tasks}
	if len(of) == 1 {
		sends.Primary = &resources[1]
	}

	ack, err := operation.Start(ctx, tx, sends)
	if err != nil {
		return nil, fmt.Errorf("send what was approved: %w", err)
	}

	return a.decide(ctx, tx, Approved, nil, &ack.OperationID)
}

// checkMethods refuses payments to an account that its provider has rejected since they were asked for, and the first one
// to a destination that has been chosen since by whoever approves. The methods are locked for sharing until the payments
// are released, so that they do not change in between.
func checkMethods(ctx context.Context, tx *db.Tx, a *Approval, of []waiting) error {
	guard, err := payee.LoadGuard(ctx, tx)
	if err != nil {
		return err
	}

	rows, err := payee.LockMethods(ctx, tx, methodsOf(of))
	if err != nil {
		return err
	}

	// Name all recipients who cannot be paid, not only the first.
	var (
		rejected []id.ID
		cause    string
	)

	for i := range rows {
		m := &rows[i]

		// Whoever approves is the second person, unless the destination is his own.
		fault := guard.Refusal(&m.Destination, a.RequestedBy, tx.Now)
		if by := m.Destination.By; by == nil || *by != tx.Actor.User {
			fault = ""
		}

		if m.Status != payee.Verified {
			fault = causeNotVerified
		}

		if fault != "" {
			rejected, cause = append(rejected, m.ContactID), cmp.Or(cause, fault)
		}
	}

	if rejected != nil {
		return errRecipient.With(map[string]any{"contactIds": rejected, "cause": cause})
	}

	return nil
}

// methodsOf returns the methods of payments.
func methodsOf(of []waiting) []id.ID {
	methods := make([]id.ID, len(of))
	for i := range of {
		methods[i] = of[i].MethodID
	}

	return id.Distinct(methods)
}

// checkWaiting refuses payments that lack funds or exceed a limit on the day of the approval.
func checkWaiting(ctx context.Context, tx *db.Tx, a *Approval, of []waiting) error {
	transactions := make([]id.ID, len(of))
	for i := range of {
		transactions[i] = of[i].TransactionID
	}

	claims, err := loadClaims(ctx, tx, transactions)
	if err != nil {
		return err
	}

	// The payment ids keep a waiting payment from being counted twice.
	for i := range claims {
		claims[i].FundingAccountID, claims[i].PaymentID, claims[i].LeavesOn = a.FundingAccountID, of[i].ID, of[i].Date
	}

	found, _, err := CheckFunds(ctx, tx, claims, a.AllowOverdraft)
	if err != nil {
		return err
	}

	return firstRefusal(found)
}

// firstRefusal returns the first refusal among findings, nil if there is none.
func firstRefusal(found [][]finding.Finding) error {
	for _, of := range found {
		for i := range of {
			if refusal, _ := Refusal(&of[i]); refusal != nil {
				return refusal
			}
		}
	}

	return nil
}

// loadClaims loads the claims of transactions, in the order given. Payouts are booked, so their entries say which
// owners the money comes from. Of bills the owners bear what is booked for them.
func loadClaims(ctx context.Context, tx *db.Tx, transactions []id.ID) ([]Claim, error) {
	type row struct {
		ID                id.ID
		Type              transaction.Type
		Date              day.Day
		Total             money.Cents
		Currency          string
		OwnershipPeriodID *id.ID
		Cents             money.Cents
	}

	// A row for each ownership period of a payout, a single one for a bill.
	rows, err := db.Select[row](ctx, tx, `
		select t.id, t.type, t.date, t.total, t.currency, e.ownership_period_id, coalesce(e.cents, 0)::bigint as cents
		from transaction t left join lateral (
			select ownership_period_id, sum(cent_total) as cents from ledger_entry
			where team_id = t.team_id and source_id = t.id and party = 'owners' and status = 'active' and ownership_period_id is not null
				and ledger in ('trust', 'operating') group by 1) e on t.type = 'payout'
		where t.team_id = @team and t.id = any(@ids)`, db.Args{"team": tx.Team, "ids": transactions})
	if err != nil {
		return nil, fmt.Errorf("read what is to be paid: %w", err)
	}

	// Collect the rows of a transaction into one claim.
	byID := map[id.ID]*Claim{}
	for _, r := range rows {
		c := byID[r.ID]
		if c == nil {
			c = &Claim{Owners: map[chain.Chain]money.Cents{}, Amount: r.Total, Currency: r.Currency}
			if r.Type == transaction.Payout {
				c.BookedOn = &r.Date
			}

			byID[r.ID] = c
		}

		if r.OwnershipPeriodID != nil && r.Cents > 0 {
			c.Owners[chain.Chain{OwnershipPeriodID: *r.OwnershipPeriodID, Currency: r.Currency}] += r.Cents
		}
	}

	borne, err := transaction.LoadBorne(ctx, tx, transactions)
	if err != nil {
		return nil, err
	}

	for i := range borne {
		if c := byID[borne[i].BillID]; c != nil {
			c.Borne = append(c.Borne, borne[i])
		}
	}

	// Callers rely on the order of the ids.
	out := make([]Claim, len(transactions))
	for i, t := range transactions {
		if c := byID[t]; c != nil {
			out[i] = *c
		}
	}

	return out, nil
}

type rejectInput struct {
	ID   id.ID `path:"id"`
	Body struct {
		Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Why; shown with the approval."`
	}
}

// reject cancels payments that no provider knows of.
func reject(ctx context.Context, tx *db.Tx, in *rejectInput) (*Approval, error) {
	a, of, err := lockApproval(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	ids := make([]id.ID, len(of))
	for i := range of {
		ids[i] = of[i].ID
	}

	if err := cancelAwaiting(ctx, tx, ids); err != nil {
		return nil, err
	}

	return a.decide(ctx, tx, Rejected, &in.Body.Reason, nil)
}

// cancelAwaiting cancels payments that wait and corrects the books as for a canceled payment: a payout is
// archived, or returned if a lock keeps it in the books; a bill was never booked as paid.
func cancelAwaiting(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	all, err := lockPayments(ctx, tx, ids)
	if err != nil {
		return err
	}

	now := day.At(tx.Now)

	for i := range all {
		h := &all[i]
		h.Status, h.SettledAt = Canceled, &now

		// A bill needs no correction, so its payment is only put away.
		mend := h.recover
		if h.TransactionType == transaction.Expense {
			mend = h.markRecovered
		}

		if err := mend(ctx, tx); err != nil {
			return err
		}
	}

	return nil
}

// decide saves the decision on an approval, writes the audit event and returns the approval.
func (a *Approval) decide(
	ctx context.Context,
	tx *db.Tx,
	s ApprovalStatus,
	reason *string,
	operation *id.ID,
) (*Approval, error) {
	_, err := tx.Exec(ctx, `
		update payment_approval set status = @status, decided_by = @by, decided_at = @now, reason = @reason, operation_id = @operation
		where team_id = @team and id = @id`, db.Args{
		"team":      tx.Team,
		"id":        a.ID,
		"status":    string(s),
		"by":        tx.Actor.User,
		"now":       tx.Now,
		"reason":    reason,
		"operation": operation,
	})
	if err != nil {
		return nil, fmt.Errorf("decide on payments: %w", err)
	}

	// The event shows the decision before and after.
	type view struct {
		Status    ApprovalStatus `json:"status"`
		DecidedBy *id.ID         `json:"decidedBy"`
		Reason    *string        `json:"reason"`
	}

	before, after := view{a.Status, a.DecidedBy, a.Reason}, view{s, &tx.Actor.User, reason}
	audit.Note(tx, audit.Updated, audit.PaymentApproval, a.ID, before, after,
		audit.Ref(audit.RoleConnection, audit.Connection, a.ConnectionID))

	return getApproval(ctx, tx, &getInput{ID: a.ID})
}
