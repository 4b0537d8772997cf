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

// Detail is a statement with the entries that its figures add up from.
type Detail struct {
	Statement
	Lines        []Line        `json:"lines" doc:"The entries of the month by date; each section adds up to its figure."`
	Reservations []Reservation `json:"reservations" doc:"The net revenue per stay, by arrival."`
	// Layout is the copy that a saved statement keeps; a draft shows the one that its listing has now.
	Layout      *layout.Design `json:"layout" doc:"As the viewer may see it."`
	Tables      []Table        `json:"tables" doc:"The entries laid out by the sections of the layout."`
	Attachments []Attachment   `json:"attachments" doc:"Files of the statement's expenses; owners get those that are accessible to them."`
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
	// AccountCode and BookingPlatform are told in exports, which have no lists of accounts and stays beside.
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

// Reservation is what one stay brought the owners in the month.
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

// entry is a line as it is read.
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
}

func (e *entry) stay() *Stay {
	if e.ReservationID == nil {
		return nil
	}

	return &Stay{ID: *e.ReservationID, GuestName: e.GuestName, ConfirmationCode: e.ConfirmationCode, CheckIn: *e.CheckIn, CheckOut: *e.CheckOut}
}

// entryRows are the entries e of statements, chosen by a join and a condition; of is the id of their statement.
func entryRows(of, join, which string) string {
	return `
		select ` + of + ` as of, e.id, e.source_id, e.txn_code, e.ref, e.txn_at as date, ` + section + ` as section, e.description, e.account_id,
			e.reservation_id, e.transaction_id, -e.cent_total as total
		from ledger_entry e cross join ` + specialAccounts + ` ` + join + `
		where ` + which
}

// entriesSQL are the entries that statements are made of: those attached to saved ones, those of the month of drafts.
// Nothing is read for none.
func entriesSQL(tx *db.Tx, rows []row) (string, db.Args) {
	args := db.Args{"team": tx.Team}

	var (
		saved, drafts []id.ID
		at            []key
	)

	for i := range rows {
		if rows[i].isDraft() {
			drafts, at = append(drafts, rows[i].id()), append(at, rows[i].key())
		} else {
			saved = append(saved, rows[i].ID)
		}
	}

	var parts []string
	if len(saved) > 0 || len(drafts) == 0 {
		parts = append(parts, entryRows("e.statement_id", "", "e.team_id = @team and e.statement_id = any(@statements)"))
		args["statements"] = saved
	}

	if len(drafts) > 0 {
		parts = append(parts, entryRows("k.id", draftKeys, ledger.OwnersEntry))
		args["drafts"] = drafts
		args["periods"], args["currencies"], args["starts"] = columns(at)
	}

	return "(" + strings.Join(parts, " union all ") + ")", args
}

// entriesOf reads what statements are made of, by their ids, in the words that the published ones keep. Opening
// balances are in no section: they are part of the balance at the start.
func entriesOf(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID][]entry, error) {
	words, err := wordsOf(ctx, tx, rows)
	if err != nil {
		return nil, err
	}

	from, args := entriesSQL(tx, rows)
	out := make(map[id.ID][]entry, len(rows))

	err = db.Each(ctx, tx, db.Stmt{Args: args, SQL: `
		select e.of, e.id, e.source_id, e.txn_code, e.ref, e.date, e.section, e.description, e.account_id, a.name as account_name, coalesce(a.code, '') as account_code, c.classification,
			r.id as reservation_id, r.guest_name, r.confirmation_code, r.check_in, r.check_out, r.booking_platform, r.status as reservation_status,
			e.transaction_id, e.total
		from ` + from + ` e
		join account a on a.team_id = @team and a.id = e.account_id
		join account_category c on c.team_id = @team and c.id = a.category_id
		left join reservation r on r.team_id = @team and r.id = e.reservation_id
		where e.section <> 'balanceStart'
		order by e.of, e.date, r.id, ` + page.TextSQL("a.code") + `, ` + page.TextSQL("a.name") + `, e.id`}, func(e entry) error {
		out[e.Of] = append(out[e.Of], e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read statement lines: %w", err)
	}

	for of, own := range out {
		out[of] = words[of].describeEntries(own)
	}

	return out, nil
}

// draftKeys joins entries e with the drafts k whose month they are in.
const draftKeys = `join unnest(@drafts::uuid[], @periods::uuid[], @currencies::text[], @starts::date[]) as k (id, period, currency, start_at)
	on e.ownership_period_id = k.period and e.currency = k.currency and e.txn_at >= k.start_at and e.txn_at < k.start_at + interval '1 month'`

func linesOf(entries []entry) []Line {
	lines := make([]Line, len(entries))
	for i := range entries {
		e := &entries[i]
		lines[i] = Line{
			Date: e.Date, Section: e.Section, Description: e.Description, Account: account.NameRef{ID: e.AccountID, Name: e.AccountName},
			Reservation: e.stay(), TransactionID: e.TransactionID, Total: e.Total, AccountCode: e.AccountCode, BookingPlatform: e.BookingPlatform,
		}
	}

	return lines
}

// reservationsOf groups the net revenue by reservation. Its columns are the revenue accounts that any of the stays has.
func reservationsOf(entries []entry) []Reservation {
	var stays []*entry

	for i := range entries {
		if entries[i].Section == NetRevenue && entries[i].ReservationID != nil {
			stays = append(stays, &entries[i])
		}
	}

	columns, at := revenueColumns(stays)
	rows := []Reservation{}

	rowAt := map[id.ID]int{}
	for _, e := range stays {
		i, seen := rowAt[*e.ReservationID]
		if !seen {
			i = len(rows)
			rowAt[*e.ReservationID] = i
			rows = append(rows, Reservation{
				Stay: *e.stay(), BookingPlatform: e.BookingPlatform, Nights: e.CheckIn.DaysUntil(*e.CheckOut), Revenue: slices.Clone(columns),
			})
		}

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

// revenueColumns are the revenue accounts by code and name, and the place of each.
func revenueColumns(stays []*entry) (columns []AccountAmount, at map[id.ID]int) {
	accounts := slices.Clone(stays)
	slices.SortFunc(accounts, func(a, b *entry) int {
		return cmp.Or(plain.Compare(a.AccountCode, b.AccountCode), plain.Compare(a.AccountName, b.AccountName), a.AccountID.Compare(b.AccountID))
	})

	columns, at = []AccountAmount{}, map[id.ID]int{}
	for _, e := range accounts {
		if _, seen := at[e.AccountID]; !seen && e.Classification == "revenue" {
			at[e.AccountID] = len(columns)
			columns = append(columns, AccountAmount{NameRef: account.NameRef{ID: e.AccountID, Name: e.AccountName}})
		}
	}

	return columns, at
}

// Read gives a statement, saved or draft, with its lines. It fails with apierr.NotFound for an id that names none,
// another team's, and one that the actor may not see. An owner gets the owner's view.
func Read(ctx context.Context, tx *db.Tx, statement id.ID) (*Detail, error) {
	return read(ctx, tx, statement, tx.Actor.Owner != nil)
}

// ReadAsOwner is Read with the owner's view whoever asks: what a document for the owners shows.
func ReadAsOwner(ctx context.Context, tx *db.Tx, statement id.ID) (*Detail, error) {
	return read(ctx, tx, statement, true)
}

func read(ctx context.Context, tx *db.Tx, statement id.ID, asOwner bool) (*Detail, error) {
	r, err := one(ctx, tx, statement, false)
	if err != nil {
		return nil, err
	}

	if err := drawOne(ctx, tx, r); err != nil {
		return nil, err
	}

	return detail(ctx, tx, r, asOwner)
}

// detail tells one drawn statement whole; a saved one that was given another design is shown with that.
func detail(ctx context.Context, tx *db.Tx, r *row, asOwner bool) (*Detail, error) {
	details, err := detailsOf(ctx, tx, []row{*r}, asOwner)
	if err != nil {
		return nil, err
	}

	return &details[0], nil
}

// detailsOf tells statements whole, in as many queries as one takes.
func detailsOf(ctx context.Context, tx *db.Tx, rows []row, asOwner bool) ([]Detail, error) {
	statements, err := present(ctx, tx, rows, asOwner)
	if err != nil {
		return nil, err
	}

	entries, err := entriesOf(ctx, tx, rows)
	if err != nil {
		return nil, err
	}

	designs, err := designsOf(ctx, tx, rows)
	if err != nil {
		return nil, err
	}

	accounts, err := specialOf(ctx, tx)
	if err != nil {
		return nil, err
	}

	files, err := attachmentsOf(ctx, tx, entries, asOwner)
	if err != nil {
		return nil, err
	}

	out := make([]Detail, len(rows))
	for i := range rows {
		own, design := entries[statements[i].ID], designs[statements[i].ID]

		shown := own
		if asOwner {
			shown = shownToOwners(design, own)
		}

		out[i] = Detail{
			Statement: statements[i], Lines: linesOf(shown), Reservations: reservationsOf(shown),
			Layout: design.Seen(asOwner), Tables: accounts.tablesOf(&rows[i], design, own, asOwner), Attachments: files.of(own),
		}
	}

	return out, nil
}
