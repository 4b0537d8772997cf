package merge

import (
	"fmt"
	"slices"
	"strings"
)

// kind is a kind of records that a merge moves.
type kind string

// The kinds.
const (
	kindPeriods      kind = "ownershipPeriods"
	kindFees         kind = "recurringFeePeriods"
	kindReservations kind = "reservations"
	kindTransactions kind = "transactions"
	kindJournals     kind = "journals"
	kindHistorical   kind = "historicalEntries"
	kindEntries      kind = "journalEntries"
	kindStatements   kind = "statements"
	kindImports      kind = "statementImports"
	kindPayments     kind = "payments"
	kindMethods      kind = "paymentMethods"
	kindTemplates    kind = "recurringTemplates"
	kindRules        kind = "bankRules"
	kindLinks        kind = "ownerLinks"
	kindUsers        kind = "users"
	kindBlocks       kind = "calendarBlocks"
	kindMappings     kind = "listingMappings"
	kindSources      kind = "externalRecords"
	kindShares       kind = "legacyShares"
	kindLegacy       kind = "legacyStatements"
	kindLayouts      kind = "layouts"
)

// Enum lists the kinds.
func (kind) Enum() []string {
	var out []string
	for _, k := range []kind{
		kindPeriods, kindFees, kindReservations, kindTransactions, kindJournals, kindHistorical, kindEntries,
		kindStatements, kindImports, kindPayments, kindMethods, kindTemplates, kindRules, kindLinks, kindUsers,
		kindBlocks, kindMappings, kindSources, kindShares, kindLegacy, kindLayouts,
	} {
		out = append(out, string(k))
	}

	return out
}

// rows are the rows of a table that name the record to merge.
type rows struct {
	kind  kind // empty for rows that are hashed but do not move
	table string
	// columns have the id of the record; a JSON column anywhere in its text.
	columns []string
	// where replaces the condition on columns.
	where string
	// version is the part of a row that must not change between plan and merge; empty for the whole row.
	version string
}

// sql returns the query that counts and hashes the rows. Its place sorts the results of all tables.
func (r *rows) sql(place int) string {
	conditions := make([]string, len(r.columns))
	for i, c := range r.columns {
		conditions[i] = "t." + c + " = @id"
		if c == "lines" {
			conditions[i] = "position(@id::uuid::text in t.lines::text) > 0"
		}
	}

	where := r.where
	if where == "" {
		where = "(" + strings.Join(conditions, " or ") + ")"
	}

	version := r.version
	if version == "" {
		version = "t::text"
	}

	return fmt.Sprintf(`select '%s' as kind, %d::bigint as place, count(*) as count, coalesce(md5(string_agg(v.hash, '' order by v.hash)), '') as hash
		from (select md5(%s) as hash from %s t where t.team_id = @team and %s) v`, r.kind, place, version, r.table, where)
}

// contactRows are the contacts themselves, and all rows that name a contact.
var contactRows = []rows{
	{table: "contact", where: "t.id in (@id, @into)"},
	{kind: kindPeriods, table: "listing_ownership_member", columns: []string{"contact_id"}},
	{table: "listing_ownership_period", where: `t.id in (select m.period_id from listing_ownership_member m where m.team_id = @team and m.contact_id = @id)`},
	{kind: kindTransactions, table: "transaction", columns: []string{"contact_id"}},
	{kind: kindTransactions, table: "transaction_line", columns: []string{"contact_id"}},
	{kind: kindJournals, table: "journal_line", columns: []string{"contact_id"}},
	{kind: kindHistorical, table: "historical_entry", columns: []string{"contact_id"}},
	{kind: kindEntries, table: "ledger_entry", columns: []string{"contact_id"}},
	{kind: kindPayments, table: "payment", columns: []string{"contact_id"}},
	{kind: kindMethods, table: "payee_method", columns: []string{"contact_id"}},
	{table: "payee_change", columns: []string{"contact_id"}},
	{
		kind: kindTemplates, table: "transaction_template", columns: []string{"contact_id", "lines"},
		version: "t.id::text || t.updated_at::text",
	},
	{kind: kindRules, table: "bank_rule", columns: []string{"vendor_contact_id"}},
	{kind: kindLinks, table: "access_owner_link", columns: []string{"contact_id"}, version: "t.id::text"},
	{kind: kindUsers, table: "access_member", columns: []string{"contact_id"}},
	{kind: kindShares, table: "legacy_ownership", columns: []string{"contact_id"}},
	{kind: kindLegacy, table: "legacy_statement", columns: []string{"lines"}},
	{
		kind: kindSources, table: "external_record", where: "t.kind = 'contact' and t.entity_id = @id",
		version: "t.source_id::text || t.external_id",
	},
}

// listingRows are the listings themselves, all rows that name a listing, and the periods and shares of the listing
// that stays.
var listingRows = []rows{
	{table: "listing", where: "t.id in (@id, @into)"},
	{table: "listing_ownership_period", where: "t.listing_id = @into"},
	{table: "fee_listing_period", where: "t.listing_id = @into"},
	{kind: kindPeriods, table: "listing_ownership_period", columns: []string{"listing_id"}},
	{kind: kindFees, table: "fee_listing_period", columns: []string{"listing_id"}},
	{kind: kindReservations, table: "reservation", columns: []string{"listing_id"}},
	{kind: kindTransactions, table: "transaction_line", columns: []string{"listing_id"}},
	{kind: kindJournals, table: "journal_line", columns: []string{"listing_id"}},
	{kind: kindHistorical, table: "historical_entry", columns: []string{"listing_id"}},
	{kind: kindEntries, table: "ledger_entry", columns: []string{"listing_id"}},
	{kind: kindStatements, table: "statement", columns: []string{"listing_id"}},
	{kind: kindImports, table: "statement_import", columns: []string{"listing_id"}},
	{
		kind: kindTemplates, table: "transaction_template", columns: []string{"lines"},
		version: "t.id::text || t.updated_at::text",
	},
	{kind: kindRules, table: "bank_rule", columns: []string{"lines"}},
	{kind: kindBlocks, table: "calendar_block", columns: []string{"listing_id"}, version: "t.id::text || t.status"},
	{kind: kindMappings, table: "listing_connection", columns: []string{"listing_id"}, version: "t.id::text"},
	{table: "legacy_ownership", where: "t.listing_id = @into"},
	{kind: kindShares, table: "legacy_ownership", columns: []string{"listing_id"}},
	{kind: kindLegacy, table: "legacy_statement", columns: []string{"listing_id"}},
	{kind: kindLayouts, table: "layout_listing", columns: []string{"listing_id"}},
	{
		kind: kindSources, table: "external_record", where: "t.kind = 'listing' and t.entity_id = @id",
		version: "t.source_id::text || t.external_id",
	},
}

// bulk are the kinds that a cutover moves for many listings at once.
var bulk = []kind{kindReservations, kindTransactions, kindEntries, kindMappings, kindSources}

// busySQL returns the query for listings of @ids that have a reference, or that records of other kinds than bulk
// name.
func busySQL() string {
	conditions := []string{"l.unique_ref is not null"}

	for i := range listingRows {
		r := &listingRows[i]
		if r.kind == "" || slices.Contains(bulk, r.kind) {
			continue
		}

		for _, c := range r.columns {
			condition := "t." + c + " = l.id"
			if c == "lines" {
				condition = "position(l.id::text in t.lines::text) > 0"
			}

			exists := "exists (select from " + r.table + " t where t.team_id = @team and " + condition + ")"
			conditions = append(conditions, exists)
		}
	}

	return "select l.id from listing l where l.team_id = @team and l.id = any(@ids) and (" +
		strings.Join(conditions, " or ") + ") order by l.id"
}

// Columns returns the columns with ids of a table that a merge moves, as table.column.
func Columns(table string) []string {
	var out []string

	for _, r := range map[string][]rows{"contact": contactRows, "listing": listingRows}[table] {
		for _, c := range r.columns {
			out = append(out, r.table+"."+c)
		}
	}

	return out
}
