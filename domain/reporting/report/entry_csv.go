package report

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// entrySelection is the selector of the CSV: the filters of GET /reports/journal-entries, and the columns.
type entrySelection struct {
	Selection
	Sort    EntrySort     `query:"sort" json:"sort,omitempty" doc:"Default txnAt."`
	Columns []EntryColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// EntryColumn is a column of journal entries.
type EntryColumn string

// Enum returns the names of the columns in their own order.
func (EntryColumn) Enum() []string { return export.ColumnNames(entryCells) }

// entryCell is a column of journal entries. If a team has few of the named things, names is a query of ids and
// texts for a dictionary. Otherwise join is a join, which finds at most one row for an entry.
type entryCell struct {
	export.SQLColumn
	names, join string
}

// entryCells are the columns of the CSV. Debit and credit are empty if the entry has none, and amount is debit less
// credit.
var entryCells = []entryCell{
	newEntryCell("id", csv.ID, "e.id"),
	newEntryCell("txnCode", csv.ID, "e.txn_code"),
	newEntryCell("uniqueRef", csv.ID, "e.ref"),
	newEntryCell("ledger", csv.Text, "e.ledger"),
	newEntryCell("status", csv.Text, "e.status"),
	newEntryCell("txnAt", csv.Date, "e.txn_at"),
	newEntryCell("accountId", csv.ID, "e.account_id"),
	newEntryCell("accountCode", csv.ID, "e.account_id").withNames("select id, code as text from account where team_id = @team"),
	newEntryCell("account", csv.Text, "e.account_id").withNames("select id, name as text from account where team_id = @team"),
	newEntryCell("category", csv.Text, "e.account_id").withNames(`select a.id, c.name as text from account a
		join account_category c on c.team_id = a.team_id and c.id = a.category_id where a.team_id = @team`),
	newEntryCell("classification", csv.Text, "e.account_id").withNames(`select a.id, c.classification as text from account a
		join account_category c on c.team_id = a.team_id and c.id = a.category_id where a.team_id = @team`),
	newEntryCell("debit", csv.Amount, "case when e.cent_total > 0 then e.cent_total end"),
	newEntryCell("credit", csv.Amount, "case when e.cent_total < 0 then -e.cent_total end"),
	newEntryCell("amount", csv.Amount, "e.cent_total"),
	newEntryCell("currency", csv.Currency, "e.currency"),
	newEntryCell("party", csv.Text, "e.party"),
	newEntryCell("listingId", csv.ID, "e.listing_id"),
	newEntryCell("listing", csv.Text, "e.listing_id").withNames("select id, name as text from listing where team_id = @team"),
	newEntryCell("ownershipPeriodId", csv.ID, "e.ownership_period_id"),
	newEntryCell("contactId", csv.ID, "e.contact_id"),
	newEntryCell("contact", csv.Text, "c.name").withJoin("left join contact c on c.team_id = @team and c.id = e.contact_id"),
	newEntryCell("reservationId", csv.ID, "e.reservation_id"),
	newEntryCell("confirmationCode", csv.ID, "r.confirmation_code").withJoin(joinReservation),
	newEntryCell("guestName", csv.Text, "r.guest_name").withJoin(joinReservation),
	newEntryCell("transactionId", csv.ID, "e.transaction_id"),
	newEntryCell("recurringFeeId", csv.ID, "e.recurring_fee_id"),
	newEntryCell("recurringFee", csv.Text, "e.recurring_fee_id").
		withNames("select id, name as text from fee where team_id = @team"),
	newEntryCell("ownerStatementId", csv.ID, "e.statement_id"),
	newEntryCell("triggerType", csv.Text, "e.trigger_type"),
	newEntryCell("description", csv.Text, "e.description"),
	newEntryCell("createdAt", csv.Instant, "e.created_at"),
}

// joinReservation joins the reservation of an entry. Several columns use it; the list joins it once.
const joinReservation = "left join reservation r on r.team_id = @team and r.id = e.reservation_id"

// newEntryCell returns a column filled by an SQL expression over the entries e.
func newEntryCell(name string, kind csv.Kind, sql string) entryCell {
	return entryCell{SQLColumn: export.FromSQL(name, kind, sql)}
}

// Hide returns the column as one that is read and not written.
func (c entryCell) Hide() entryCell {
	c.SQLColumn = c.SQLColumn.Hide()
	return c
}

// withNames returns the column with a query of names: the ids of the column are written as these names.
func (c entryCell) withNames(query string) entryCell {
	c.names = query
	return c
}

// withJoin returns the column with a join that its expression needs.
func (c entryCell) withJoin(join string) entryCell {
	c.join = join
	return c
}

// journalEntriesCSV declares EXP-P17, the export of journal entries.
func journalEntriesCSV() export.Declaration[entrySelection] {
	return export.Declaration[entrySelection]{
		Path:    "/reports/journal-entries/csv",
		ID:      "JournalEntriesCSV",
		Tag:     "Reports",
		Summary: "Export journal entries as CSV",
		Doc: "One row per entry, by day unless sorted otherwise. Debit and credit are positive, amount is debit " +
			"less credit; all three can be added up. Without `ledger` the historical ledger is left out, without " +
			"`status` inactive entries are.",
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "journal-entries",
		Check:  checkBooks(func(s *entrySelection) (string, ledger.Ledger) { return s.Currency, s.Ledger }),
		Errors: apierr.List{apierr.OperationsDisabled},
		Count: func(ctx context.Context, tx *db.Tx, s *entrySelection) (export.Size, error) {
			// The sums of the report count its entries as well.
			all, err := sumEntries(ctx, tx, s.Selection)
			return export.Size{Rows: all.Count}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *entrySelection, out *export.Sink) error {
			return WriteEntries(ctx, tx, out, EntryList{
				EntryQuery(s.Selection),
				s.Columns,
				string(s.Sort),
				!s.hasIndex(),
			})
		},
	}
}

// CountEntries counts the entries of a query without its joins, since no condition names them.
func CountEntries(ctx context.Context, tx *db.Tx, q page.Query) (export.Size, error) {
	q.From = "ledger_entry e"
	return export.CountRows(ctx, tx, q)
}

// EntryList is a list of entries to be written: their query, the columns and the order.
type EntryList struct {
	Query   page.Query
	Columns []EntryColumn
	Sort    string
	// daily lists have no shorter way to their entries than by day.
	daily bool
}

// rows returns the list with its columns and the queries of their dictionaries, by the index of the column. It
// joins only tables that the columns or the order need.
func (l *EntryList) rows() (rows *export.RowList, dictionaries map[int]string) {
	cells := export.SelectColumns(entryCells, l.Columns)
	rows = &export.RowList{Columns: make([]export.SQLColumn, len(cells)), Names: map[int]export.Dictionary{}, Query: l.Query, Sort: l.Sort}
	dictionaries = map[int]string{}

	// Begin without the joins of the query, and add those that are needed.
	rows.Query.From = "ledger_entry e"
	if strings.TrimPrefix(l.Sort, "-") == "account" {
		rows.Query.From += " left join account a on a.team_id = @team and a.id = e.account_id"
	}

	for i := range cells {
		rows.Columns[i] = cells[i].SQLColumn

		// Columns may share a join: it must appear once.
		if join := cells[i].join; join != "" && !strings.Contains(rows.Query.From, join) {
			rows.Query.From += " " + join
		}

		if cells[i].names != "" {
			dictionaries[i] = cells[i].names
		}
	}

	return rows, dictionaries
}

// inOrder reports whether the index that leads to the entries by day has them in the order of the list.
func (l *EntryList) inOrder() bool {
	return l.daily && (l.Sort == "" || strings.TrimPrefix(l.Sort, "-") == "txnAt")
}

// WriteEntries writes a CSV row for each entry of the list.
func WriteEntries(ctx context.Context, tx *db.Tx, out *export.Sink, l EntryList) error {
	// First load the dictionaries: rows are written while they are read, and the connection is busy until the last
	// one.
	rows, dictionaries := l.rows()
	for i, query := range dictionaries {
		names, err := loadDictionary(ctx, tx, query)
		if err != nil {
			return err
		}

		rows.Names[i] = names
	}

	// Settings last until the end of the transaction, which does nothing but this export.
	if l.inOrder() {
		if err := tx.KeepIndexOrder(ctx); err != nil {
			return err
		}
	}

	return rows.Write(ctx, tx, out)
}

// loadDictionary loads the texts by id that a query selects. Ids with a null text are left out and are written as
// empty cells.
func loadDictionary(ctx context.Context, tx *db.Tx, query string) (export.Dictionary, error) {
	type entry struct {
		ID   id.ID
		Text *string
	}

	names := export.Dictionary{}

	err := db.Each(ctx, tx, db.Stmt{SQL: query, Args: db.Args{"team": tx.Team}}, func(e entry) error {
		if e.Text != nil {
			names[e.ID] = []byte(*e.Text)
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read names: %w", err)
	}

	return names, nil
}
