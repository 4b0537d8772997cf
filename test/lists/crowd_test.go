package lists_test

import (
	"context"
	"crypto/md5"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/test/world"
)

// crowd are ten teams of unlike size in a database of their own: one has many rows of every noun, few have some, the
// others next to none.
type crowd struct {
	*books // of the big team; the rows of all others are copies of these

	t     *testing.T
	one   *db.DB // has a single connection
	small id.ID
}

// copies is how often the big team has each row of the world. Nothing that a page of ten rows may read comes near it.
const copies = 400

// newCrowd makes the teams, all of them small.
func newCrowd(t *testing.T) *crowd {
	t.Helper()

	url := apitest.Database(t)
	open := func(connections int32) *db.DB {
		d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: connections})
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(d.Close)

		return d
	}

	wide, one := open(8), open(1)
	c := &crowd{t: t, books: booksIn(t, wide), one: one}
	c.complete()

	// Statistics are as old as the test wants them to be.
	c.each("select format('alter table %I set (autovacuum_enabled = off)', c.oid::regclass) from pg_class c " +
		"where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace")

	for _, rows := range []int{1, 1, 1, 1, 1, 2, 2, 3, 5} {
		c.small = id.New(c.DB.Now())
		c.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `insert into team (id, type, name, region, statement_start_at, created_at, updated_at)
				values (@id, 'propertyManager', 'Another', 'us', '2026-01-01', now(), now())`, db.Args{"id": c.small})

			return err
		})
		c.copy(c.small, 0, rows-1)
	}

	return c
}

// complete adds rows of the nouns that the world lacks.
func (c *crowd) complete() {
	c.t.Helper()
	c.Publish("2026-01")
	c.Post("/statement-layouts", world.Object{"name": "Narrow"}).Want(201)
	c.Post("/transactions/recurring-templates", world.Object{
		"type": "expense", "date": "2026-01-01", "pattern": world.Object{"frequency": "monthly"},
		"lines": world.Array{world.Object{"accountId": c.Account("5200"), "amount": 5000}},
	}).Want(201)
	c.Work()

	next := func() id.ID { return id.New(c.DB.Now()) }
	args := db.Args{
		"connection": next(), "method": next(), "approval": next(), "batch": next(), "payment": next(), "source": next(), "sync": next(), "import": next(),
		"change": next(), "bank": c.Account("1000"), "requester": c.User, "owner": c.example["contactIds"], "expense": c.example["transactionIds"], "operation": next(), "channel_payout": next(),
	}
	c.example["connectionIds"] = args["connection"].(id.ID).String()
	c.example["approvalIds"] = args["approval"].(id.ID).String()
	c.example["contactPaymentMethodIds"] = args["method"].(id.ID).String()

	for _, sql := range []string{
		`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
			values (@team, @connection, 'c', 'nacha', 'Bank', 'active', now(), now())`,
		`update contact set connection_id = @connection, source_id = 'o' where team_id = @team and id = @owner`,
		`update transaction set connection_id = @connection, source_id = 't' where team_id = @team and id = @expense`,
		`insert into payee_method (team_id, id, contact_id, status, account_holder, account_type, last4, routing_last4, numbers, chosen_at, created_at, updated_at)
			values (@team, @method, @owner, 'verified', 'Ann', 'checking', '1234', '1234', '', now(), current_timestamp, now())`,
		`insert into payee_change (team_id, id, method_id, contact_id, kind, user_id, created_at) values (@team, @change, @method, @owner, 'added', @requester, now())`,
		`insert into payment_approval (team_id, id, connection_id, funding_account_id, allow_overdraft, requested_by, created_at)
			values (@team, @approval, @connection, @bank, false, @requester, now())`,
		`insert into payment_batch (team_id, id, connection_id, created_at) values (@team, @batch, @connection, now())`,
		`insert into payment (team_id, id, short_ref, connection_id, batch_id, transaction_id, contact_id, payee_method_id, funding_account_id, amount, currency, date,
				status, approval_id, sent_at, settled_at, created_at, updated_at)
			values (@team, @payment, 'p', @connection, @batch, @expense, @owner, @method, @bank, 100, 'usd', '2026-01-31', 'paid', @approval, current_timestamp, now(), current_timestamp, now())`,
		`insert into sync_source (team_id, id, connection_id) values (@team, @source, @connection)`,
		`insert into channel_payout (team_id, id, connection_id, source_id, status, channel, paid_on, currency, amount, created_at, updated_at)
			values (@team, @channel_payout, @connection, 'p', 'active', 'airbnb', '2026-01-31', 'usd', 100, now(), current_timestamp)`,
		`insert into sync (team_id, id, source_id, operation_id, view, mode, trigger, kinds, status, queued_at, started_at, finished_at)
			values (@team, @sync, @source, @operation, 'automate', 'full', 'manual', '{reservation}', 'completed', now(), current_timestamp, now())`,
		`insert into historical_import (team_id, id, operation_id, txn_count, entry_count, skipped_txn_count, debit, credit, start_at, end_at, created_at, posted_at)
			values (@team, @import, @operation, 1, 2, 0, 100, 100, '2025-01-01', '2025-01-31', now(), now())`,
		`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			select @team, r.id, @expense, @bank, -4000, now() from bank_record r where r.team_id = @team and r.account_id is not null`,
	} {
		of := db.Args{}

		for name, value := range args {
			if strings.Contains(sql, "@"+name) {
				of[name] = value
			}
		}

		c.Exec(sql, of)
	}
}

// each runs the statements that a statement makes.
func (c *crowd) each(sql string) {
	c.t.Helper()
	c.System(func(ctx context.Context, tx *db.Tx) error {
		made, err := db.Select[string](ctx, tx, sql, nil)
		if err != nil {
			return err
		}

		for _, sql := range made {
			if _, err := tx.Exec(ctx, sql, nil); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}

		return nil
	})
}

// grow gives the big team its rows. Half of them have accounts, listings, contacts and connections of their own, and
// the other half those of the world.
func (c *crowd) grow() {
	c.t.Helper()
	c.copy(c.ID, 1, copies)

	for _, fold := range []func(context.Context, *db.DB) error{page.Counts.Fold, ledger.Fold} {
		if err := fold(c.t.Context(), c.DB); err != nil {
			c.t.Fatal(err)
		}
	}

	// A connection counts what it has read when it ends, at the latest.
	wide := c.DB
	c.DB = c.one

	wide.Close()

	for others := int64(1); others > 0; {
		c.System(func(ctx context.Context, tx *db.Tx) (err error) {
			others, err = db.Get[int64](ctx, tx, `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`, nil)
			return err
		})
	}
}

// analyze renews the statistics of all tables. They say that a team has all of each, so that the planner chooses as it
// does for tables that are two hundred times as long, and taken to be those of two hundred teams.
func (c *crowd) analyze() {
	c.t.Helper()
	c.each("select format('alter table %s alter column team_id set statistics 100, alter column team_id set (n_distinct = 1)', a.attrelid::regclass) " +
		"from pg_attribute a join pg_class c on c.oid = a.attrelid " +
		"where a.attname = 'team_id' and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname not like '%_delta' and a.attgenerated = ''")
	c.each(`select 'analyze'`)
}

// in returns the id that a row of the world has in a team.
func (c *crowd) in(team id.ID, text string) string {
	if team == c.ID || text == unknown {
		return text
	}

	v := id.ID(md5.Sum([]byte(text + team.String() + "0")))

	return v.String()
}

// shared are the nouns that not every copy has rows of its own of, with the columns that name them.
var shared = []struct {
	tables, columns string
}{
	{"account account_category", "account_id category_id offset_account_id credit_account_id debit_account_id payment_account_id funding_account_id payout_account_id target_account_id"},
	{"listing listing_ownership_period statement statement_version", "listing_id ownership_period_id period_id statement_id parent_id"},
	{"contact payee_method", "contact_id vendor_contact_id payee_method_id payee_change.method_id"},
	{"connection sync_source", "connection_id sync.source_id"},
}

// derived are tables that triggers fill, and those that are no list's.
var derived = []string{"api_", "audit_", "access_", "job", "team", "list_", "ledger_delta", "ledger_guest", "ledger_large", "bank_delta", "bank_clearing", "operation_count"}

// number is SQL for the number of a copy in which a row is that a table or column names: its own, or 0.
func number(table, column string) string {
	for bit, noun := range shared {
		if slices.Contains(strings.Fields(noun.columns), column) || slices.Contains(strings.Fields(noun.columns), table+"."+column) || column == "id" && slices.Contains(strings.Fields(noun.tables), table) {
			return fmt.Sprintf("(case when n & %d = 0 then 0 else n end)", 1<<bit)
		}
	}

	return "n"
}

// catalogued is what the catalog says of a column.
type catalogued struct {
	Table, Name, Type string
	// Once says that no two rows of a team have the same.
	Once bool
}

// copySQL is SQL for a column of a copy.
func (k catalogued) copySQL() string {
	own := "n"
	if k.Table != "" {
		own = number(k.Table, "id")
	}

	at := number(k.Table, k.Name)

	switch {
	case k.Name == "team_id":
		return "@to::uuid"
	case slices.Contains([]string{"user_id", "actor_id", "initiated_by", "requested_by", "decided_by", "created_by", "action_id"}, k.Name):
		return k.Name
	case k.Table == "account_connection" && k.Name == "account_id":
		return "case when n & 1 = 0 and n > 0 then null else md5(account_id::text || @to::text || n)::uuid end"
	case k.Table == "account_connection" && k.Name == "status":
		return "case when account_id is not null and n & 1 = 0 and n > 0 then 'detached' else status end"
	case k.Type == "uuid":
		return fmt.Sprintf("case when @to::uuid = @from::uuid and %[2]s = 0 then %[1]s else md5(%[1]s::text || @to::text || %[2]s)::uuid end", k.Name, at)
	case k.Name == "last_digits" || k.Name == "banking_last4":
		return "case when n = 0 then " + k.Name + " end"
	case k.Type == "text" && k.Once && k.Name != "assignment":
		return fmt.Sprintf("%[1]s || case when %[2]s = 0 then '' else %[2]s::text end", k.Name, own)
	case k.Type == "date":
		return fmt.Sprintf("(%s + make_interval(months => %s %% 10))::date", k.Name, own)
	case strings.HasPrefix(k.Type, "timestamp") && !strings.HasSuffix(k.Type, "[]"):
		return fmt.Sprintf("%s - %s * interval '1 minute'", k.Name, own)
	default:
		return k.Name
	}
}

// copy gives a team copies of the rows of the world, numbered from first to last. One statement inserts all of them, so
// that the order of the tables makes no difference.
func (c *crowd) copy(team id.ID, first, last int) {
	c.t.Helper()
	c.System(func(ctx context.Context, tx *db.Tx) error {
		columns, err := db.Select[catalogued](ctx, tx, `
			select c.relname::text as table, quote_ident(a.attname) as name, format_type(a.atttypid, null) as type, exists (select from pg_index i
				where i.indrelid = c.oid and i.indisunique and a.attnum = any(i.indkey)) as once
			from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
			where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
				and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'team_id')
			order by 1, a.attnum`, nil)
		if err != nil {
			return err
		}

		var names, inserts []string

		into, values := map[string][]string{}, map[string][]string{}

		for _, k := range columns {
			if strings.HasSuffix(k.Table, "_kept") || slices.ContainsFunc(derived, func(d string) bool { return strings.HasPrefix(k.Table, d) }) {
				continue
			}

			if into[k.Table] == nil {
				names = append(names, k.Table)
			}

			into[k.Table] = append(into[k.Table], k.Name)
			values[k.Table] = append(values[k.Table], k.copySQL())
		}

		for _, table := range names {
			again := "on conflict do nothing"
			if table == "account_connection" {
				again = "" // its constraints are deferred, and each copy has its own
			}

			inserts = append(inserts, fmt.Sprintf("copy_%[1]s as (insert into %[1]s (%[2]s) select %[3]s from %[1]s, generate_series(@first::int, @last::int) n "+
				"where team_id = @from %[4]s)", table, strings.Join(into[table], ", "), strings.Join(values[table], ", "), again))
		}

		_, err = tx.Exec(ctx, "with "+strings.Join(inserts, ",\n")+"\nselect 1", db.Args{"from": c.ID, "to": team, "first": first, "last": last})

		return err
	})
}
