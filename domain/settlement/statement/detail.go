package statement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/plain"
)

// Detail is a statement with the entries that its figures add up.
type Detail struct {
	Statement
	Lines        []Line        `json:"lines" doc:"The entries of the month by date; each section adds up to its figure."`
	Reservations []Reservation `json:"reservations" doc:"The net revenue per stay, by arrival."`
	// Layout is the copy that a saved statement keeps; a draft shows the one that its listing has now.
	Layout      *layout.Design `json:"layout" doc:"As the viewer may see it."`
	Tables      []Table        `json:"tables" doc:"The entries laid out by the sections of the layout."`
	Attachments []Attachment   `json:"attachments" doc:"Files of the statement's expenses; owners get those that are accessible to them."`
	Provenance  *Origin        `json:"provenance,omitempty" doc:"Only with include=provenance, and of a statement that a migration imported."`
}

// Section is the figure that a line belongs to.
type Section string

// The sections.
const (
	NetRevenue Section = "netRevenue"
	Expenses   Section = "expenses"
	Payouts    Section = "payouts"
)

// Enum lists the sections.
func (Section) Enum() []string {
	return []string{string(NetRevenue), string(Expenses), string(Payouts)}
}

// Line is one journal entry, owner-facing.
type Line struct {
	Date          day.Day         `json:"date"`
	Section       Section         `json:"section"`
	Description   string          `json:"description"`
	Account       account.NameRef `json:"account"`
	Reservation   *Stay           `json:"reservation"`
	TransactionID *id.ID          `json:"transactionId"`
	Total         money.Cents     `json:"total"`
	// AccountCode and BookingPlatform are for exports, which have no separate lists of accounts and stays.
	AccountCode     string  `json:"-"`
	BookingPlatform *string `json:"-"`
}

// Stay names a reservation.
type Stay struct {
	ID               id.ID   `json:"id"`
	GuestName        *string `json:"guestName"`
	ConfirmationCode *string `json:"confirmationCode"`
	CheckIn          day.Day `json:"checkIn"`
	CheckOut         day.Day `json:"checkOut" doc:"The day of departure."`
}

// Reservation is the earnings of the owners from one stay in the month.
type Reservation struct {
	Stay
	BookingPlatform *string         `json:"bookingPlatform"`
	Nights          int             `json:"nights"`
	Revenue         []AccountAmount `json:"revenue" doc:"By revenue account; every row has the same accounts in the same order."`
	Fees            money.Cents     `json:"fees" doc:"What is on other accounts; negative for charges."`
	Net             money.Cents     `json:"net"`
}

// AccountAmount is the total of an account.
type AccountAmount struct {
	account.NameRef

	Total money.Cents `json:"total"`
}

// entry is a line as read from the database.
type entry struct {
	Of               id.ID // the statement, which for a draft has no row
	ID               id.ID
	SourceID         id.ID
	TxnCode          string
	Ref              string
	Date             day.Day
	Section          Section
	Description      string
	AccountID        id.ID
	AccountName      string
	AccountCode      string
	Classification   string
	ReservationID    *id.ID
	GuestName        *string
	ConfirmationCode *string
	CheckIn          *day.Day
	CheckOut         *day.Day
	BookingPlatform  *string
	TransactionID    *id.ID
	Total            money.Cents

	ReservationStatus *string
	Files             []Attachment // of an expense, if they were asked for
}

// stay returns the reservation of the entry, nil if it has none.
func (e *entry) stay() *Stay {
	if e.ReservationID == nil {
		return nil
	}

	return &Stay{
		ID:               *e.ReservationID,
		GuestName:        e.GuestName,
		ConfirmationCode: e.ConfirmationCode,
		CheckIn:          *e.CheckIn,
		CheckOut:         *e.CheckOut,
	}
}

// entryRowsSQL returns the SQL that selects the entries e of statements by a join and a condition. The argument of is
// the SQL of the statement's id.
func entryRowsSQL(of, join, which string) string {
	return `
		select ` + of + ` as of, e.id, e.source_id, e.txn_code, e.ref, e.txn_at as date, ` + section + ` as section, e.description, e.account_id,
			e.reservation_id, e.transaction_id, -e.cent_total as total
		from ledger_entry e cross join ` + specialAccounts + ` ` + join + `
		where ` + which
}

// entriesSQL returns the SQL and arguments of the entries of statements: for saved ones the attached entries, for
// drafts those of the month. Without rows it selects nothing.
func entriesSQL(tx *db.Tx, rows []row) (string, db.Args) {
	args := db.Args{"team": tx.Team}

	var (
		saved, drafts []id.ID
		at            []key
	)

	// Saved statements and drafts find their entries in different ways.
	for i := range rows {
		if rows[i].isDraft() {
			drafts, at = append(drafts, rows[i].id()), append(at, rows[i].key())
		} else {
			saved = append(saved, rows[i].ID)
		}
	}

	// Leave out the half that has no statements: it would only cost time to plan.
	var parts []string
	if len(saved) > 0 || len(drafts) == 0 {
		parts = append(
			parts,
			entryRowsSQL("e.statement_id", "", "e.team_id = @team and e.statement_id = any(@statements)"),
		)
		args["statements"] = saved
	}

	if len(drafts) > 0 {
		parts = append(parts, entryRowsSQL("k.id", draftKeys, ledger.OwnersEntry))
		args["drafts"] = drafts
		args["periods"], args["currencies"], args["starts"] = columns(at)
	}

	return "(" + strings.Join(parts, " union all ") + ")", args
}

// loadEntries loads the entries of statements by statement id. Entries of published statements have the names that
// the statement keeps. Opening balances are left out: they belong to the balance at the start.
func loadEntries(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID][]entry, error) {
	var (
		words map[id.ID]*Words
		out   map[id.ID][]entry
	)

	err := tx.Together(ctx, db.LoadBy(&words, loadWords, rows), func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = loadEntriesOfToday(ctx, tx, rows, noFiles)
		return err
	})
	if err != nil {
		return nil, err
	}

	// Last, replace today's names by the kept ones.
	for of, own := range out {
		out[of] = words[of].describeEntries(own)
	}

	return out, nil
}

// loadEntriesOfToday loads the entries of statements by statement id, in the names of today. The argument files is the SQL
// of the files of an entry.
func loadEntriesOfToday(ctx context.Context, tx *db.Tx, rows []row, files string) (map[id.ID][]entry, error) {
	out := make(map[id.ID][]entry, len(rows))

	err := eachEntry(ctx, tx, rows, files, func(e entry) error {
		out[e.Of] = append(out[e.Of], e)
		return nil
	})

	return out, err
}

// eachEntry gives the entries of statements to a function, in the order that readers see: by day, then stay, then
// account. Rows are read one at a time since there may be many. The argument files is the SQL of the files of an entry e.
func eachEntry(ctx context.Context, tx *db.Tx, rows []row, files string, use func(entry) error) error {
	from, args := entriesSQL(tx, rows)

	err := db.Each(ctx, tx, db.Stmt{Args: args, SQL: `
		select e.of, e.id, e.source_id, e.txn_code, e.ref, e.date, e.section, e.description, e.account_id, a.name as account_name, coalesce(a.code, '') as account_code, c.classification,
			r.id as reservation_id, r.guest_name, r.confirmation_code, r.check_in, r.check_out, r.booking_platform, r.status as reservation_status,
			e.transaction_id, e.total, ` + files + ` as files
		from ` + from + ` e
		join account a on a.team_id = @team and a.id = e.account_id
		join account_category c on c.team_id = @team and c.id = a.category_id
		left join reservation r on r.team_id = @team and r.id = e.reservation_id
		where e.section <> 'balanceStart'
		order by e.of, e.date, r.id, ` + page.TextSQL("a.code") + `, ` + page.TextSQL("a.name") + `, e.id`}, use)
	if err != nil {
		return fmt.Errorf("read statement lines: %w", err)
	}

	return nil
}

// draftKeys is the SQL that joins entries e with the drafts k of their month.
const draftKeys = `join unnest(@drafts::uuid[], @periods::uuid[], @currencies::text[], @starts::date[]) as k (id, period, currency, start_at)
	on e.ownership_period_id = k.period and e.currency = k.currency and e.txn_at >= k.start_at and e.txn_at < k.start_at + interval '1 month'`

// renderLines returns entries as the API shows them.
func renderLines(entries []entry) []Line {
	lines := make([]Line, len(entries))
	for i := range entries {
		e := &entries[i]
		lines[i] = Line{
			Date:            e.Date,
			Section:         e.Section,
			Description:     e.Description,
			Account:         account.NameRef{ID: e.AccountID, Name: e.AccountName},
			Reservation:     e.stay(),
			TransactionID:   e.TransactionID,
			Total:           e.Total,
			AccountCode:     e.AccountCode,
			BookingPlatform: e.BookingPlatform,
		}
	}

	return lines
}

// renderReservations groups the net revenue by reservation. Every row has the same columns: the revenue accounts that
// any of the stays has.
func renderReservations(entries []entry) []Reservation {
	var stays []*entry

	for i := range entries {
		if entries[i].Section == NetRevenue && entries[i].ReservationID != nil {
			stays = append(stays, &entries[i])
		}
	}

	// Fix the columns before the rows: a stay without an amount on an account shows 0 there.
	columns, at := revenueColumns(stays)
	rows := []Reservation{}

	rowAt := map[id.ID]int{}
	for _, e := range stays {
		i, seen := rowAt[*e.ReservationID]
		if !seen {
			i = len(rows)
			rowAt[*e.ReservationID] = i
			rows = append(rows, Reservation{
				Stay:            *e.stay(),
				BookingPlatform: e.BookingPlatform,
				Nights:          e.CheckIn.DaysUntil(*e.CheckOut),
				Revenue:         slices.Clone(columns),
			})
		}

		// Amounts on revenue accounts go to their column; everything else counts as fees.
		if column, revenue := at[e.AccountID]; revenue {
			rows[i].Revenue[column].Total += e.Total
		} else {
			rows[i].Fees += e.Total
		}

		rows[i].Net += e.Total
	}

	slices.SortStableFunc(rows, func(a, b Reservation) int {
		return cmp.Or(a.CheckIn.Compare(b.CheckIn), a.ID.Compare(b.ID))
	})

	return rows
}

// revenueColumns returns the revenue accounts by code and name, and the place of each.
func revenueColumns(stays []*entry) (columns []AccountAmount, at map[id.ID]int) {
	accounts := slices.Clone(stays)
	slices.SortFunc(accounts, func(a, b *entry) int {
		return cmp.Or(
			plain.Compare(a.AccountCode, b.AccountCode),
			plain.Compare(a.AccountName, b.AccountName),
			a.AccountID.Compare(b.AccountID),
		)
	})

	// The same account occurs in many entries: its first one adds the column.
	columns, at = []AccountAmount{}, map[id.ID]int{}
	for _, e := range accounts {
		if _, seen := at[e.AccountID]; !seen && e.Classification == "revenue" {
			at[e.AccountID] = len(columns)
			columns = append(columns, AccountAmount{NameRef: account.NameRef{ID: e.AccountID, Name: e.AccountName}})
		}
	}

	return columns, at
}

// Read returns a statement, saved or draft, with its lines. It fails with apierr.NotFound for an id that names
// none, that is another team's, or that the actor may not see. An owner gets the owner's view.
func Read(ctx context.Context, tx *db.Tx, statement id.ID) (*Detail, error) {
	return read(ctx, tx, statement, tx.Actor.SeesAsOwner())
}

// ReadAsOwner returns what Read returns, in the owner's view for every actor. Documents for owners show this.
func ReadAsOwner(ctx context.Context, tx *db.Tx, statement id.ID) (*Detail, error) {
	return read(ctx, tx, statement, true)
}

// read returns a statement with its lines, in the owner's view if asOwner is set.
func read(ctx context.Context, tx *db.Tx, statement id.ID, asOwner bool) (*Detail, error) {
	r, err := loadOne(ctx, tx, statement)
	if err != nil {
		return nil, err
	}

	return renderDetail(ctx, tx, r, asOwner)
}

// renderDetail returns one statement with its lines. If the row has a design, its draft must be computed, and it is shown
// with that design.
func renderDetail(ctx context.Context, tx *db.Tx, r *row, asOwner bool) (*Detail, error) {
	details, err := renderDetails(ctx, tx, []row{*r}, asOwner)
	if err != nil {
		return nil, err
	}

	return &details[0], nil
}

// renderDetails returns statements with their lines. The number of queries does not depend on the number of statements.
func renderDetails(ctx context.Context, tx *db.Tx, rows []row, asOwner bool) ([]Detail, error) {
	view := viewData{asOwner: asOwner, withLines: true}
	if err := view.load(ctx, tx, rows); err != nil {
		return nil, err
	}

	statements := view.statements(rows)

	out := make([]Detail, len(rows))
	for i := range rows {
		// The figures add up all entries; an owner does not see the lines that the layout hides.
		kept, design := view.kept[statements[i].ID], view.design(&rows[i])
		own := kept.Words.describeEntries(view.entries[statements[i].ID])

		shown := own
		if asOwner {
			shown = dropHidden(design, own)
		}

		out[i] = Detail{
			Statement:    statements[i],
			Lines:        renderLines(shown),
			Reservations: renderReservations(shown),
			Layout:       design.ForViewer(asOwner),
			Tables:       kept.renderTables(&rows[i], design, own, asOwner),
			Attachments:  expenseFiles(own),
		}
	}

	return out, nil
}
