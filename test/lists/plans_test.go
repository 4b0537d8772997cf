package lists_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// readings are what the database has read of a table or an index.
type readings struct {
	Name, Table  string
	Rows, Blocks int64
}

// readings returns all that the only connection has read so far, by table and index.
func (c *crowd) readings() map[string]readings {
	c.t.Helper()

	out := map[string]readings{}

	for _, sql := range []string{
		`select 'flushed' as name, '' as table, 0::bigint as rows, 0::bigint as blocks from (select pg_stat_force_next_flush()::text) f`,
		`select relname::text as name, coalesce((select indrelid from pg_index where indexrelid = c.oid), oid)::regclass::text as table, pg_stat_get_tuples_returned(oid) + case relkind when 'r' then pg_stat_get_tuples_fetched(oid) else 0 end as rows,
				pg_stat_get_blocks_fetched(oid) as blocks
			from pg_class c where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`,
	} {
		err := c.one.ReadOne(c.t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			rows, err := db.Select[readings](ctx, tx, sql, nil)
			for _, r := range rows {
				out[r.Name] = r
			}

			return err
		})
		if err != nil {
			c.t.Fatal(err)
		}
	}

	return out
}

// measured returns a team whose requests take the only connection.
func (c *crowd) measured(team id.ID) *apitest.Team {
	x := *c.Team
	x.DB, x.ID = c.one, team

	return x.As(x.Scopes, nil)
}

// mostValues is how many values of an enumeration are asked for: they hardly differ in how they are found.
const mostValues = 3

// queries are the queries of a list: one for each order, and for each value of each filter.
func (p promise) queries(c *crowd, team id.ID, filters map[string]described) []string {
	queries := []string{}
	for name := range strings.FieldsSeq(p.sorts) {
		queries = append(queries, "sort="+name, "sort=-"+name)
	}

	for name := range strings.FieldsSeq(strings.Join([]string{p.ids, p.refs, p.nullable}, " ")) {
		if example, ok := c.exampleFor(p.path, name); ok {
			queries = append(queries, name+"="+c.in(team, example), name+"=!"+c.in(team, example))
		}

		queries = append(queries, name+"="+unknown)
		if strings.Contains(" "+p.nullable+" ", " "+name+" ") {
			queries = append(queries, name+"=null")
		}
	}

	if p.date != "" {
		queries = append(queries, "dateRange=2026-05-20", "dateRange=2001")
	}

	if p.amount {
		queries = append(queries, "amount=100", "amount=-1000000...-900000")
	}

	for name := range strings.FieldsSeq(p.others) {
		values := filters[name].values()
		if value, ok := telling[p.path+" "+name]; ok {
			values = []string{value}
		} else if value, ok := telling[name]; ok && values == nil {
			values = append(values, value)
		}

		if without, excludes := strings.CutPrefix(name, "not"); excludes && values == nil {
			if value, ok := c.exampleFor(p.path, strings.ToLower(without[:1])+without[1:]); ok {
				values = append(values, c.in(team, value))
			}
		}

		for _, value := range values[:min(len(values), mostValues)] {
			queries = append(queries, name+"="+strings.ReplaceAll(value, " ", "+"))
		}
	}

	for i := range queries {
		queries[i] = "&" + queries[i]
	}

	return append(queries, "")
}

// rowsOf returns how many rows a team has in each table.
func (c *crowd) rowsOf(team id.ID) map[string]int64 {
	c.t.Helper()

	out := map[string]int64{}

	err := c.one.Read(c.t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		counts, err := db.Select[string](ctx, tx, `
			select format('select %L as name, text %L as table, count(*) as rows, 0::bigint as blocks from %I where team_id = @team', c.relname, '', c.relname)
			from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'team_id'
			where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`, nil)
		if err != nil {
			return err
		}

		rows, err := db.Select[readings](ctx, tx, strings.Join(counts, " union all "), db.Args{"team": team})
		for _, r := range rows {
			out[r.Name] = r.Rows
		}

		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}

	return out
}

// directory are the tables of which a team has few rows, hundreds at most times, and sums: to read all of them costs
// less than to look each up.
var directory = strings.Fields(`account account_category account_connection bank_rule connection contact fee fee_listing_period historical_import
	layout layout_listing ledger_balance_kept ledger_listing_kept ledger_month_kept ledger_owner_kept listing listing_ownership_member listing_ownership_period payee_method
	payment_approval payment_batch reservation_line_mapping sync sync_source tax_rate team transaction_line_mapping transaction_template`)

const (
	// Of each table, a request may read so many rows and entries of indexes for each row that it shows, or that it counts
	// because a filter is asked, and so many at least.
	rowsPerShown, rowsPerCounted, rowsAtLeast = 30, 4, 400
	// Of the directory, an answer may look up more for each row.
	directoryPerShown = 100
	// It may read the rows of its team as often as walk says where it has to go through them: for the page, the lines and the
	// total, each by the entries of an index.
	walk = 8
)

// walking are the pages and filters that go through the rows of their team, with the reason.
var walking = []struct {
	reason string
	times  int64
	names  string
}{
	{"no index has the order", walk, `
		/bank-records sort=amount sort=description sort=createdAt /general-ledger/journals sort=total sort=createdAt sort=description
		/payments sort=amount sort=createdAt /reports/journal-entries sort=amount sort=createdAt sort=account
		/reservations sort=bookedAt sort=guestName sort=createdAt /transactions sort=amount sort=createdAt sort=description`},
	{"it has few values, or is a part of a text, an amount or an instant", walk, `
		/bank-records amount reconcileStatus reservationLineFilter status search hasDuplicates hasMatchingTransactions
		/channel-payouts status channel /general-ledger/journals ledger reversed search /payments status /payment-methods/changes kind
		/reports/journal-entries amount transactionTypes triggerTypes channels occupancyStatus ledger status search txnCode currency createdAtFrom createdAtTo
		/reservations amount type status generalLedgerStatus search bookingChannel businessModel lineType appId
		/transactions amount type status isOpeningBalance last4 reconciled search`},
	{"it is decided from the entries or lines of every row", walk, `
		/accounts hasEntries /listings openingBalance issue
		/transactions isLocked hasActiveJournalEntries paidAtRange paidStatus`},
	{"there is an index, and the kept plan prefers the order of the list, since it cannot know how few rows the values select", walk, `
		/bank-records ids accountIds /channel-payouts ids connectionIds /general-ledger/journals ids shortRefs accountIds
		/payments connectionIds contactIds transactionIds approvalIds /payment-methods/changes contactIds contactPaymentMethodIds /reservations ids listingIds shortRefs
		/reports/journal-entries reservationIds ownershipPeriodIds accountIds categoryIds listingIds
		/transactions ids accountIds contactIds listingIds connectionIds shortRefs`},
	{"an account shows how many of its bank records are open", walk, `/accounts categoryIds assignment single`},
	{"a draft is derived from all entries of its ownership period", walk, `
		/statements page sort=startAt sort=listing sort=status statementIds periodIds ownershipPeriodIds listingIds recurringFeeIds year search single`},
	{"it is computed from the lines of each row", 60, `
		/reservations paidStatus /reports/journal-entries businessModels locked balanceSheetRows`},
	{"the names of the lines are looked up in tables that each row goes through", 30, `
		/transactions/recurring-templates page sort=date sort=amount sort=createdAt sort=description status type single`},
}

// walks returns how often a request may read the rows of its team, 0 for one that goes through none.
func walks(path, name string) (times int64) {
	for _, w := range walking {
		at := ""
		for word := range strings.FieldsSeq(w.names) {
			if strings.HasPrefix(word, "/") {
				at = word
			} else if at == path && word == name {
				times = max(times, w.times)
			}
		}
	}

	return times
}

// reader asks for the pages of a team and compares what they read with what they show.
type reader struct {
	*apitest.Team
	*testing.T

	c      *crowd
	when   string
	own    map[string]int64
	before map[string]readings
}

// newReader returns a reader of a team.
func (c *crowd) newReader(t *testing.T, when string, team id.ID) *reader {
	t.Helper()

	x := c.measured(team)
	x.Get("/tax-rates").Want(200) // the first request reads what every connection reads once

	return &reader{Team: x, T: t, c: c, when: when, own: c.rowsOf(team), before: c.readings()}
}

// hold reports the tables of which the request before it read more than it may.
func (r *reader) hold(request string, shown, counted, times int64) {
	r.Helper()

	after := r.c.readings()
	read := map[string]int64{}

	for name, now := range after {
		read[now.Table] += now.Rows - r.before[name].Rows
	}

	r.before = after

	for _, table := range slices.Sorted(maps.Keys(read)) {
		limit := rowsPerShown*shown + rowsPerCounted*counted + rowsAtLeast + times*r.own[table]
		if slices.Contains(directory, table) {
			limit += directoryPerShown*shown + walk*r.own[table]
		}

		// What was folded of notes is still in their indexes, until it is cleaned up; and a team has at most one assignment
		// of each name, where every line is looked up.
		if read[table] > limit && !strings.HasSuffix(table, "_delta") && table != "account_assignment" {
			r.Errorf("%s: GET %s shows %d rows, counts %d and reads %d of %s, at most %d", r.when, request, shown, counted, read[table], table, limit)
		}
	}
}

// list asks for the pages of a list, in each order and with each filter, and for its first row alone.
func (r *reader) list(p promise, filters map[string]described) (single bool) {
	r.Helper()

	for _, q := range p.queries(r.c, r.ID, filters) {
		page := r.Get(p.path + "?limit=10" + q).Want(200)

		name, _, _ := strings.Cut(cmp.Or(strings.TrimPrefix(q, "&"), "page"), "=")
		if name == "sort" {
			name = strings.ReplaceAll(q[1:], "-", "")
		}

		counted := page.Int("pagination.total")
		if q == "" || strings.HasPrefix(q, "&sort=") {
			counted = 0 // it is kept
		}

		r.hold(p.path+"?limit=10"+q, int64(page.Len("data")), counted, walks(p.path, name))

		if q == "" && page.Len("data") > 0 && page.Has("data.0.id") {
			path := p.path + "/" + page.String("data.0.id")
			single = r.Get(path).Status == 200
			r.hold(path, 1, 0, walks(p.path, "single"))
		}
	}

	return single
}

// No page reads much more than it shows, whatever its order and filters, of a large team or of a small one next to it:
// PostgreSQL plans each statement once for all teams, and a small one must not pay for the rows of others. Statistics
// that were taken when all teams were small make no difference to them.
func TestNoPageReadsMuchMoreThanItShows(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	filters := describedLists(t, c.World)

	c.each(`select 'analyze'`)
	c.grow()

	for _, team := range []struct {
		when    string
		id      id.ID
		analyze bool
	}{
		{"small team, old statistics", c.small, false},
		{"small team", c.small, true},
		{"large team", c.ID, true},
	} {
		if team.analyze {
			c.analyze()
		}

		r, singles := c.newReader(t, team.when, team.id), 0

		for _, p := range promises {
			if r.list(p, filters[p.path]) {
				singles++
			}
		}

		if singles < 15 {
			t.Errorf("%s: only %d single resources were read", team.when, singles)
		}

		for _, body := range []world.Object{{"dateRange": "2026"}, {"dateRange": "2026", "accountIds": world.Array{c.in(team.id, c.Account("1000").String())}}} {
			r.Post("/bank-rules/preview", body).Want(200)
			r.hold("POST /bank-rules/preview", 0, 0, walk)
		}
	}
}
