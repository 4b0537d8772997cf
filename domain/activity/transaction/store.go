package transaction

import (
	"context"
	"fmt"
	"maps"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
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

var head = `t.id, t.short_ref, t.unique_ref, t.type, t.status, t.date, t.description, t.currency, t.is_opening_balance, t.account_id,
	` + account.RefSQL("t.account_id", "a") + ` as account, t.contact_id, ` + contact.RefSQL("c") + ` as contact, t.connection_id, t.source_id, ` + contact.SourceSQL("t") + ` as source,
	case when t.payment_date is not null then jsonb_build_object('date', t.payment_date, 'accountId', t.payment_account_id) end as payment,
	` + paidStatus + ` as paid_status, t.total, t.recurring_template_id, t.recurring_at, array(select x.id from transaction_attachment x
		where x.team_id = t.team_id and x.transaction_id = t.id order by x.position) as attachment_ids, t.created_at, t.updated_at, `

// paidStatus is the SQL of the paid status of a transaction t with account a. A bill is open until it was paid.
// Money of a bill or payout that did not arrive, or that was returned, is open again.
const paidStatus = `case
	when t.type = 'expense' and t.payment_date is null and a.type is distinct from 'bank' then 'unpaid'
	when t.type not in ('expense', 'payout') or t.total <= 0 then 'paid'
	else (select case when open.cents >= t.total then 'unpaid' when open.cents > 0 then 'underpaid' else 'paid' end from (select
			coalesce((select sum(n.missing) from payment_not_received n where n.team_id = t.team_id and n.transaction_id = t.id), 0)
			+ coalesce((select -sum(x.total) from payment_return r join transaction x on x.team_id = r.team_id and x.id = r.transaction_id
				where r.team_id = t.team_id and r.original_id = t.id and r.kind = 'return' and x.status = 'active'), 0) as cents) open) end`

// linesSQL returns the SQL of the lines l, with the columns of transaction_line, of a parent t that is a transaction
// or a template; template is the SQL of the template's id, condition the SQL that joins lines and parent.
func linesSQL(rows, template, condition string) string {
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

// columnsSQL returns the columns of a transaction, with its lines or with null in their place.
func columnsSQL(withLines bool) string {
	if withLines {
		return head + linesSQL(
			"transaction_line l", "t.recurring_template_id", "l.team_id = t.team_id and l.transaction_id = t.id",
		)
	}

	return head + "null::jsonb as lines"
}

// listColumnsSQL returns the columns of a list. Without lines it selects one for each listing that a transaction has
// lines on, with nothing but the listing: Show needs that.
func listColumnsSQL(withLines bool) string {
	if withLines {
		return columnsSQL(true)
	}

	return head + `(select jsonb_agg(distinct jsonb_build_object('listingId', l.listing_id)) from transaction_line l
		where l.team_id = t.team_id and l.transaction_id = t.id) as lines`
}

// loadAll loads transactions with their lines, in the order of their ids.
func loadAll(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Transaction, error) {
	query := "select " + columnsSQL(true) + " from " + from + " where t.team_id = @team and t.id = any(@ids) order " +
		"by t.id"

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

// headRow and lineRow carry rows to the database as one JSON document each, so that thousands travel in one statement.
type headRow struct {
	ID               id.ID       `json:"id"`
	ShortRef         string      `json:"short_ref"`
	UniqueRef        *string     `json:"unique_ref"`
	Type             Type        `json:"type"`
	Status           Status      `json:"status"`
	Date             day.Day     `json:"date"`
	PaymentDate      *day.Day    `json:"payment_date"`
	PaymentAccountID *id.ID      `json:"payment_account_id"`
	Description      *string     `json:"description"`
	Currency         string      `json:"currency"`
	IsOpeningBalance bool        `json:"is_opening_balance"`
	AccountID        id.ID       `json:"account_id"`
	ContactID        *id.ID      `json:"contact_id"`
	ConnectionID     *id.ID      `json:"connection_id"`
	SourceID         *string     `json:"source_id"`
	Total            money.Cents `json:"total"`
	TemplateID       *id.ID      `json:"recurring_template_id"`
	RecurringAt      *day.Day    `json:"recurring_at"`
}

// lineRow is the row of a line, see headRow.
type lineRow struct {
	ID                id.ID               `json:"id"`
	TransactionID     id.ID               `json:"transaction_id"`
	Position          int                 `json:"position"`
	UniqueRef         *string             `json:"unique_ref"`
	Description       *string             `json:"description"`
	Assignment        *account.Assignment `json:"assignment"`
	AccountID         id.ID               `json:"account_id"`
	Amount            money.Cents         `json:"amount"`
	TaxRateID         *id.ID              `json:"tax_rate_id"`
	TaxBehavior       *TaxBehavior        `json:"tax_behavior"`
	TaxPayee          *TaxPayee           `json:"tax_payee"`
	TaxAmount         money.Cents         `json:"tax_amount"`
	MarkupAmount      *money.Cents        `json:"markup_amount"`
	MarkupTaxRateID   *id.ID              `json:"markup_tax_rate_id"`
	MarkupTaxBehavior *TaxBehavior        `json:"markup_tax_behavior"`
	MarkupTaxAmount   money.Cents         `json:"markup_tax_amount"`
	Total             money.Cents         `json:"total"`
	ListingID         *id.ID              `json:"listing_id"`
	ReservationID     *id.ID              `json:"reservation_id"`
	ContactID         *id.ID              `json:"contact_id"`
	StatementID       *id.ID              `json:"statement_id"`
	OwnershipPeriodID *id.ID              `json:"ownership_period_id"`
	Party             *ledger.Party       `json:"party"`
	MatchCode         *string             `json:"match_confirmation_code"`
	MatchGuest        *string             `json:"match_stripe_guest_ref"`
	MatchType         *string             `json:"match_line_type_classification"`
	Follows           bool                `json:"follows_reservation"`
}

const insertHeads = `
	insert into transaction (team_id, id, short_ref, unique_ref, type, status, date, payment_date, payment_account_id, description, currency,
		is_opening_balance, account_id, contact_id, connection_id, source_id, total, recurring_template_id, recurring_at, created_at, updated_at)
	select @team, id, short_ref, unique_ref, type, status, date, payment_date, payment_account_id, description, currency,
		is_opening_balance, account_id, contact_id, connection_id, source_id, total, recurring_template_id, recurring_at, @now, @now
	from jsonb_to_recordset(@rows::jsonb) as x(id uuid, short_ref text, unique_ref text, type text, status text, date date, payment_date date,
		payment_account_id uuid, description text, currency text, is_opening_balance boolean, account_id uuid, contact_id uuid,
		connection_id uuid, source_id text, total bigint, recurring_template_id uuid, recurring_at date)`

const updateHeads = `
	update transaction t set unique_ref = x.unique_ref, status = x.status, date = x.date, payment_date = x.payment_date,
		payment_account_id = x.payment_account_id, description = x.description, currency = x.currency, account_id = x.account_id,
		contact_id = x.contact_id, connection_id = x.connection_id, source_id = x.source_id, total = x.total, updated_at = @now
	from jsonb_to_recordset(@rows::jsonb) as x(id uuid, unique_ref text, status text, date date, payment_date date,
		payment_account_id uuid, description text, currency text, account_id uuid, contact_id uuid, connection_id uuid, source_id text,
		total bigint)
	where t.team_id = @team and t.id = x.id`

// lineColumns are the columns of a line; lineTypes are their types in a JSON document.
const (
	lineColumns = `id, transaction_id, position, unique_ref, description, assignment, account_id, amount, tax_rate_id,
		tax_behavior, tax_payee, tax_amount, markup_amount, markup_tax_rate_id, markup_tax_behavior, markup_tax_amount, total, listing_id, reservation_id,
		contact_id, statement_id, ownership_period_id, party, match_confirmation_code, match_stripe_guest_ref, match_line_type_classification,
		follows_reservation`
	lineTypes = `id uuid, transaction_id uuid, position integer, unique_ref text, description text,
		assignment text, account_id uuid, amount bigint, tax_rate_id uuid, tax_behavior text, tax_payee text, tax_amount bigint, markup_amount bigint,
		markup_tax_rate_id uuid, markup_tax_behavior text, markup_tax_amount bigint, total bigint, listing_id uuid, reservation_id uuid,
		contact_id uuid, statement_id uuid, ownership_period_id uuid, party text, match_confirmation_code text, match_stripe_guest_ref text, match_line_type_classification text,
		follows_reservation boolean`
	insertLines = `insert into transaction_line (team_id, ` + lineColumns + `)
		select @team, ` + lineColumns + ` from jsonb_to_recordset(@rows::jsonb) as x(` + lineTypes + `)`
)

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

// saveRows saves drafts: new ones are inserted, others updated and their lines replaced. The stays are those that will
// be refreshed. It fails with a conflict for a reference, a key of a connection or a date of a template that is used already.
func saveRows(ctx context.Context, tx *db.Tx, drafts []*draft, stays idSet) error {
	var (
		added, changed []headRow
		changedIDs     []id.ID
		rows           []lineRow
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
	if added != nil {
		stmts = append(stmts, db.Stmt{SQL: insertHeads, Args: db.Args{"team": tx.Team, "now": tx.Now, "rows": added}})
	}

	if changed != nil {
		stmts = append(stmts,
			db.Stmt{SQL: updateHeads, Args: db.Args{"team": tx.Team, "now": tx.Now, "rows": changed}},
			db.Stmt{
				SQL:  `delete from transaction_line where team_id = @team and transaction_id = any(@ids)`,
				Args: db.Args{"team": tx.Team, "ids": changedIDs},
			})
	}

	stmts = append(stmts, db.Stmt{SQL: insertLines, Args: db.Args{"team": tx.Team, "rows": rows}})
	stmts = append(stmts, attachStatements(tx, drafts)...)

	// Then send everything in one round trip.
	err := tx.Pipeline(ctx, stmts...)
	switch db.Constraint(err) {
	case "transaction_unique_ref":
		return errDuplicateRef
	case "transaction_source":
		return errDuplicateSource.At(apierr.IssueDuplicateUniqueRef.InBody("sourceId"))
	case "transaction_recurring_once":
		return errRecurring
	}

	if err != nil {
		return fmt.Errorf("store transactions: %w", err)
	}

	return nil
}

// row returns the row of the transaction without its lines.
func (d *draft) row() headRow {
	r := headRow{
		ID:               d.ID,
		ShortRef:         d.ShortRef,
		UniqueRef:        d.UniqueRef,
		Type:             d.Type,
		Status:           d.Status,
		Date:             d.Date,
		Description:      d.Description,
		Currency:         d.Currency,
		IsOpeningBalance: d.IsOpeningBalance,
		AccountID:        d.AccountID,
		ContactID:        d.ContactID,
		ConnectionID:     d.ConnectionID,
		SourceID:         d.SourceID,
		Total:            d.Total,
		TemplateID:       d.RecurringTemplateID,
		RecurringAt:      d.RecurringAt,
	}
	if d.Payment != nil {
		r.PaymentDate, r.PaymentAccountID = &d.Payment.Date, &d.Payment.AccountID
	}

	return r
}

// lineRows appends the rows of the lines to rows.
func (d *draft) lineRows(rows []lineRow) []lineRow {
	for i := range d.Lines {
		l := &d.Lines[i]

		r := lineRow{
			ID:                l.ID,
			TransactionID:     d.ID,
			Position:          i,
			UniqueRef:         l.UniqueRef,
			Description:       l.Description,
			Assignment:        l.Assignment,
			AccountID:         l.AccountID,
			Amount:            l.Amount,
			Total:             l.Total,
			ListingID:         l.ListingID,
			ReservationID:     l.ReservationID,
			ContactID:         l.ContactID,
			StatementID:       l.OwnerStatementID,
			OwnershipPeriodID: l.OwnershipPeriodID,
			Party:             l.Party,
			MatchCode:         l.MatchReservationConfirmationCode,
			MatchGuest:        l.MatchReservationStripeGuestRef,
			MatchType:         l.MatchLineTypeClassification,
			Follows:           l.FollowsReservation,
		}

		// Columns of a tax or a markup stay null without one.
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
