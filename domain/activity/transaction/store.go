package transaction

import (
	"context"
	"fmt"
	"maps"

	"stayledger/domain/books/account"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/file"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

const from = `transaction t left join account a on a.team_id = t.team_id and a.id = t.account_id
	left join contact c on c.team_id = t.team_id and c.id = t.contact_id`

// headSQL returns the columns of a transaction without its lines, with the SQL of its paid status.
func headSQL(paid string) string {
	return `t.id, t.short_ref, t.unique_ref, t.type, t.status, t.date, t.description, t.currency, t.is_opening_balance, t.account_id,
	` + account.RefSQL("t.account_id", "a") + ` as account, t.contact_id, ` + contact.RefSQL("c") + ` as contact, t.connection_id, t.source_id, ` + contact.SourceSQL("t") + ` as source,
	case when t.payment_date is not null then jsonb_build_object('date', t.payment_date, 'accountId', t.payment_account_id) end as payment,
	` + paid + ` as paid_status, ` + mayBeOpen + ` as may_be_open, t.total, t.recurring_template_id, t.recurring_at, array(select x.id from transaction_attachment x
		where x.team_id = t.team_id and x.transaction_id = t.id order by x.position) as attachment_ids, t.created_at, t.updated_at, `
}

// unpaidSQL is the SQL condition: a bill t with account a was not paid.
const unpaidSQL = `t.type = 'expense' and t.payment_date is null and a.type is distinct from 'bank'`

// paidStatus is the SQL of the paid status of a transaction t with account a. A bill is open until it was paid.
// Money of a bill or payout that did not arrive, or that was returned, is open again.
const paidStatus = `case
	when ` + unpaidSQL + ` then 'unpaid'
	when t.type not in ('expense', 'payout') or t.total <= 0 then 'paid'
	else (select case when open.cents >= t.total then 'unpaid' when open.cents > 0 then 'underpaid' else 'paid' end from (select
			coalesce((select sum(n.missing) from payment_not_received n where n.team_id = t.team_id and n.transaction_id = t.id), 0)
			+ coalesce((select -sum(x.total) from payment_return r join transaction x on x.team_id = r.team_id and x.id = r.transaction_id
				where r.team_id = t.team_id and r.original_id = t.id and r.kind = 'return' and x.status = 'active'), 0) as cents) open) end`

// bookedStatus is the SQL for the paid status while all money has arrived.
const bookedStatus = `case when ` + unpaidSQL + ` then 'unpaid' else 'paid' end`

// mayBeOpen is the SQL condition: a payment may not have arrived, or was returned.
const mayBeOpen = `(exists (select from payment p where p.team_id = t.team_id and p.transaction_id = t.id
		and (p.status in ('awaitingApproval', 'sending', 'failed', 'canceled', 'returned') or p.unknown_since is not null))
	or exists (select from payment_return r where r.team_id = t.team_id and r.original_id = t.id))`

// linesSQL returns the SQL of the lines l, with the columns of transaction_line, of a parent t that is a transaction
// or a template; template is the SQL of the template's id, condition the SQL that joins lines and parent.
func linesSQL(rows, template, condition string) string {
	// One object for each line. Joins find the records that a line names; a line keeps its ids when they are gone.
	return `(select coalesce(jsonb_agg(jsonb_build_object(
		'id', l.id, 'uniqueRef', l.unique_ref, 'description', l.description, 'assignment', l.assignment, 'accountId', l.account_id,
		'account', ` + account.RefSQL("l.account_id", "la") + `, 'amount', l.amount,
		'appliedAmount', case when l.tax_rate_id is not null then
			jsonb_build_object('taxRateId', l.tax_rate_id, 'taxBehavior', l.tax_behavior, 'taxPayee', coalesce(l.tax_payee, 'authority'),
				'taxAmount', l.tax_amount) end,
		'markup', case when l.markup_amount is not null then jsonb_build_object('amount', l.markup_amount,
			'taxRateId', l.markup_tax_rate_id, 'taxBehavior', l.markup_tax_behavior, 'taxAmount', l.markup_tax_amount) end,
		'total', l.total, 'listingId', l.listing_id, 'listing', ` + listing.RefSQL("li") + `,
		'reservationId', l.reservation_id, 'reservation', case when r.id is not null then jsonb_build_object('id', r.id, 'shortRef', r.short_ref,
			'confirmationCode', r.confirmation_code, 'uniqueRef', r.unique_ref, 'status', r.status, 'checkIn', r.check_in, 'checkOut', r.check_out) end,
		'followsReservation', coalesce(l.follows_reservation, false), 'ownerStatementId', l.statement_id, 'ownershipPeriodId', l.ownership_period_id, 'party', l.party, 'contactId', l.contact_id,
		'contact', ` + contact.RefSQL("lc") + `,
		'recurringTemplate', case when ` + template + ` is not null then jsonb_build_object('id', ` + template + `) end,
		'matchReservationConfirmationCode', l.match_confirmation_code, 'matchReservationStripeGuestRef', l.match_stripe_guest_ref,
		'matchLineTypeClassification', l.match_line_type_classification, 'matchStatus', case
			when l.match_confirmation_code is null and l.match_stripe_guest_ref is null then null
			when l.reservation_id is null then 'unmatched' else 'matched' end,
		'issues', case when la.id is null or l.assignment is not null and not exists (
				select from account_assignment s where s.team_id = t.team_id and s.assignment = l.assignment)
			then jsonb_build_array(jsonb_build_object('code', 'unassignedAccount', 'severity', 'error',
				'context', jsonb_build_object('lineType', coalesce(l.assignment, '')))) else '[]'::jsonb end
		) order by l.position), '[]'::jsonb)
	from ` + rows + ` left join account la on la.team_id = t.team_id and la.id = l.account_id
		left join listing li on li.team_id = t.team_id and li.id = l.listing_id
		left join reservation r on r.team_id = t.team_id and r.id = l.reservation_id
		left join contact lc on lc.team_id = t.team_id and lc.id = l.contact_id
	where ` + condition + `) as lines`
}

// linesOf is the SQL for a transaction's lines.
var linesOf = linesSQL("transaction_line l", "t.recurring_template_id", "l.team_id = t.team_id and l.transaction_id = t.id")

// shownSQL returns the columns of a transaction to which Show adds what they lack. Without lines it has one line for each
// listing that the transaction has lines on, with nothing but the listing: Show needs that.
func shownSQL(withLines bool) string {
	head := headSQL(bookedStatus)
	if withLines {
		return head + linesOf
	}

	return head + `(select jsonb_agg(distinct jsonb_build_object('listingId', l.listing_id)) from transaction_line l
		where l.team_id = t.team_id and l.transaction_id = t.id) as lines`
}

// loadAll loads transactions with their lines, in the order of their ids.
func loadAll(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Transaction, error) {
	query := "select " + headSQL(paidStatus) + linesOf + " from " + from + " where t.team_id = @team and t.id = any(@ids) " +
		"order by t.id"

	found, err := db.Select[Transaction](ctx, tx, query, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read transactions: %w", err)
	}

	return found, nil
}

// load loads one transaction with its lines, or fails with apierr.NotFound.
func load(ctx context.Context, tx *db.Tx, one id.ID) (*Transaction, error) {
	found, err := loadAll(ctx, tx, []id.ID{one})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	return &found[0], nil
}

// Lock locks one transaction until the end and loads it, or fails with apierr.NotFound.
func Lock(ctx context.Context, tx *db.Tx, one id.ID) (*Transaction, error) {
	var found *Transaction

	err := tx.Together(ctx, db.Send(lockSQL(tx, one)), db.LoadBy(&found, load, one))

	return found, err
}

// lockSQL returns the statement that locks a transaction until the end.
func lockSQL(tx *db.Tx, one id.ID) db.Stmt {
	return db.Stmt{SQL: `select from transaction where team_id = @team and id = @id for update`, Args: db.Args{"team": tx.Team, "id": one}}
}

// headTable has the columns of a transaction without its lines.
var headTable = db.NewTable[headRow]("transaction", `
	id uuid key, short_ref text fixed, unique_ref text, type text fixed, status text, date date, payment_date date, payment_account_id uuid,
	description text, currency text, is_opening_balance boolean fixed, account_id uuid, contact_id uuid, connection_id uuid, source_id text, total bigint,
	recurring_template_id uuid fixed, recurring_at date fixed, created_at now fixed, updated_at now`)

// headRow is the row of a transaction without its lines.
type headRow struct {
	Transaction
	PaymentDate      *day.Day
	PaymentAccountID *id.ID
}

// lineTable has the columns of a line of a transaction.
var lineTable = db.NewTable[lineRow]("transaction_line", `
	id uuid, transaction_id uuid, position int, unique_ref text, description text, assignment text, account_id uuid, amount bigint, tax_rate_id uuid,
	tax_behavior text, tax_payee text, tax_amount bigint, markup_amount bigint, markup_tax_rate_id uuid, markup_tax_behavior text,
	markup_tax_amount bigint, total bigint, listing_id uuid, reservation_id uuid, contact_id uuid, statement_id uuid, ownership_period_id uuid,
	party text, match_confirmation_code text, match_stripe_guest_ref text, match_line_type_classification text, follows_reservation boolean`)

// lineRow is the row of a line. Columns of a tax or a markup are null without one.
type lineRow struct {
	Line
	TransactionID     id.ID
	Position          int64
	TaxRateID         *id.ID
	TaxBehavior       *TaxBehavior
	TaxPayee          *TaxPayee
	TaxAmount         money.Cents
	MarkupAmount      *money.Cents
	MarkupTaxRateID   *id.ID
	MarkupTaxBehavior *TaxBehavior
	MarkupTaxAmount   money.Cents
}

// lockStays returns the statement that locks reservations as strongly as refreshing them will, before anything else
// locks them. Lines that name them would take a shared lock first, so that two deposits for one stay would block
// each other. Balances are locked after reservations everywhere.
func lockStays(tx *db.Tx, stays idSet) db.Stmt {
	return db.Stmt{
		SQL:  `select from reservation where team_id = @team and id = any(@ids) order by id for update`,
		Args: db.Args{"team": tx.Team, "ids": stays.list()},
	}
}

// lockFollowedStays returns the statements that lock the stays that will be refreshed and the stays that lines have
// their listing from. If a stay was moved since it was read, the second statement makes the transaction start
// again: whoever moved the stay could not see these lines and move them along.
func lockFollowedStays(tx *db.Tx, drafts []*draft, stays idSet) []db.Stmt {
	locked, ids, listings := maps.Clone(stays), []id.ID{}, []id.ID{}

	// The listings travel with their stays, so that the database can compare them.
	for _, d := range drafts {
		for i := range d.Lines {
			if l := &d.Lines[i]; l.FollowsReservation {
				locked.add(*l.ReservationID)
				ids, listings = append(ids, *l.ReservationID), append(listings, *l.ListingID)
			}
		}
	}

	if len(locked) == 0 {
		return nil
	}

	return []db.Stmt{lockStays(tx, locked), {
		SQL: `
			select stay_has_moved() from unnest(@stays::uuid[], @listings::uuid[]) f (id, listing_id)
			join reservation r on r.team_id = @team and r.id = f.id and r.listing_id <> f.listing_id`,
		Args: db.Args{"team": tx.Team, "stays": ids, "listings": listings},
	}}
}

// saveRows saves drafts: new ones are inserted, others updated and their lines replaced. The stays are those that
// will be refreshed. It fails with a conflict for a reference, a key of a connection or a date of a template that is
// used already.
func saveRows(ctx context.Context, tx *db.Tx, drafts []*draft, stays idSet) error {
	var (
		added, changed []*headRow
		changedIDs     []id.ID
		rows           []*lineRow
	)

	// First turn the drafts into rows: one statement for new transactions, one for changed ones, one for all lines.
	for _, d := range drafts {
		if d.old == nil {
			added = append(added, d.row())
		} else {
			changed, changedIDs = append(changed, d.row()), append(changedIDs, d.ID)
		}

		rows = d.lineRows(rows)
	}

	// Reservations are locked before the lines that name them are written.
	stmts := lockFollowedStays(tx, drafts, stays)
	lines := lineTable.Insert(tx, rows...)

	if added != nil {
		lines = db.Both(lines, headTable.Insert(tx, added...))
	}

	// The old lines are gone before the new ones are inserted: a line keeps its id.
	if changed != nil {
		gone := db.Stmt{
			SQL:  `delete from transaction_line where team_id = @team and transaction_id = any(@ids)`,
			Args: db.Args{"team": tx.Team, "ids": changedIDs},
		}
		stmts = append(stmts, db.Both(gone, headTable.Update(tx, changed...)))
	}

	stmts = append(stmts, lines)
	stmts = append(stmts, attachStatements(tx, drafts)...)

	// Then send everything in one round trip.
	err := tx.Pipeline(ctx, stmts...)
	switch db.Constraint(err) {
	case "transaction_unique_ref":
		return errDuplicateRef.Because(err)
	case "transaction_source":
		return errDuplicateSource.At(apierr.IssueDuplicateUniqueRef.InBody("sourceId")).Because(err)
	case "transaction_recurring_once":
		return errRecurring
	}

	if err != nil {
		return fmt.Errorf("store transactions: %w", err)
	}

	return nil
}

// row returns the row of the transaction without its lines.
func (d *draft) row() *headRow {
	r := &headRow{Transaction: d.Transaction}
	if d.Payment != nil {
		r.PaymentDate, r.PaymentAccountID = &d.Payment.Date, &d.Payment.AccountID
	}

	return r
}

// lineRows appends the rows of the lines to rows.
func (d *draft) lineRows(rows []*lineRow) []*lineRow {
	for i, l := range d.Lines {
		r := &lineRow{Line: l, TransactionID: d.ID, Position: int64(i)}

		if a := l.AppliedAmount; a != nil {
			r.TaxRateID, r.TaxBehavior, r.TaxPayee, r.TaxAmount = &a.TaxRateID, &a.TaxBehavior, &a.TaxPayee, a.TaxAmount
		}

		if m := l.Markup; m != nil {
			r.MarkupAmount, r.MarkupTaxRateID = &m.Amount, m.TaxRateID
			r.MarkupTaxBehavior, r.MarkupTaxAmount = m.TaxBehavior, m.TaxAmount
		}

		rows = append(rows, r)
	}

	return rows
}

// deleteRow deletes a transaction with its lines. It fails with reason inUse if another record refers to it; a
// savepoint then leaves the work before it intact.
func deleteRow(ctx context.Context, tx *db.Tx, one id.ID) error {
	return deletionError(tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		return tx.Pipeline(ctx, file.Detach(tx, one, []id.ID{}), db.Stmt{
			SQL: `delete from transaction where team_id = @team and id = @id`, Args: db.Args{"team": tx.Team, "id": one},
		})
	}))
}

// deletionError returns the error of a deletion: errInUse if a record refers to a row that was to be deleted.
func deletionError(err error) error {
	const foreignKeyViolation = "23503"
	if db.SQLState(err) == foreignKeyViolation {
		return errInUse.With(apierr.InUse{LockReasons: []string{"inUse"}, SuggestedOnLocked: apierr.Archive})
	}

	if err != nil {
		return fmt.Errorf("delete a transaction: %w", err)
	}

	return nil
}

// Unlink removes statements that are about to be deleted from the archived payouts that once paid them.
func Unlink(ctx context.Context, tx *db.Tx, statements []id.ID) error {
	// Joining the line with itself gives the statement before the update, for the audit event.
	freed, err := db.Select[moved](ctx, tx, `
		update transaction_line n set statement_id = null from transaction x, transaction_line o
		where o.team_id = n.team_id and o.id = n.id and n.team_id = @team and n.statement_id = any(@statements) and x.team_id = n.team_id and x.id = n.transaction_id and x.status = 'inactive'
		returning n.transaction_id, n.id as line_id, null::uuid as old_listing_id, n.listing_id, null::uuid as reservation_id, o.statement_id as old_statement`,
		db.Args{"team": tx.Team, "statements": statements})
	if err != nil {
		return fmt.Errorf("unlink archived payouts: %w", err)
	}

	for i := range freed {
		noteLine(tx, audit.Updated, &freed[i], map[string]*id.ID{"ownerStatementId": freed[i].OldStatement}, nil)
	}

	return nil
}
