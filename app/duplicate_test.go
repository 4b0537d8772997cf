package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// copied are the tables of which a whole duplicate has as many rows as its original.
var copied = []string{
	"account", "account_assignment", "account_category", "contact", "fee", "fee_condition", "fee_listing_period", "fee_reference", "layout",
	"layout_listing", "listing", "listing_ownership_member", "listing_ownership_period", "reservation_line_mapping", "tax_rate",
	"transaction_line_mapping",
}

// identity are the columns of a team that say whose company it is; a copy is for another one.
const identity = `'company_name', 'email', 'support_email', 'phone', 'tax_id', 'statement_address', 'billing_address'`

// shared are the columns in which a duplicate names what its original names too: people, and what made it.
var shared = []string{"audit_", "access_", "operation", "team.partner_id"}

// A duplicate has the settings, listings and contacts of its original under ids of its own, and nothing else. The original
// stays as it is.
//
// Proves: INIT-02.
func TestATeamIsDuplicated(t *testing.T) {
	t.Parallel()
	from, _ := furnished(t)
	from.Put("/team", world.Object{"companyName": "Sea Stays LLC", "timeZone": "America/Chicago", "payoutBasis": "books", "phone": "1"}).Want(200)
	from.Post("/contacts", world.Object{
		"type": "owner", "name": "Rivera", "email": "rivera@example.com", "uniqueRef": "R-1", "taxIdentifier": "123-45-6789",
		"payoutAccountId": from.Account("1000"),
	}).Want(201)
	from.Work()

	original := lasting(from)

	started := from.Post("/team/duplicate", world.Object{"name": "Lake Stays"}).Want(202)
	if started.String("type") != "team-duplicate" || started.String("resource.id") != from.ID.String() {
		t.Errorf("acknowledgement: %s", started.Body)
	}

	from.Work()

	made := duplicateOf(t, from, started)
	was, is := rows(t, from), rowsOf(t, from, made)

	for _, table := range copied {
		if is[table] != was[table] || was[table] == 0 && table != "fee_condition" && table != "fee_reference" && table != "transaction_line_mapping" {
			t.Errorf("%s has %d rows, its original has %d", table, is[table], was[table])
		}

		delete(is, table)
	}

	for table := range is {
		if table != "team" && !strings.HasPrefix(table, "audit_") && !strings.HasPrefix(table, "access_") && !strings.HasPrefix(table, "webhook_") && table != "list_delta" {
			t.Errorf("%s has %d rows in the duplicate", table, is[table])
		}
	}

	for _, reference := range strays(t, from, made) {
		t.Errorf("the duplicate names a record of its original in %s", reference)
	}

	settings := func(team id.ID) (row string) {
		from.System(func(ctx context.Context, tx *db.Tx) (err error) {
			row, err = db.Get[string](ctx, tx, `
				select (to_jsonb(t) - array['id', 'team_id', 'name', 'created_at', 'updated_at', 'initialized_at', 'statement_start_at', 'reference_version', `+identity+`])::text from team t where id = @team`,
				db.Args{"team": team})

			return err
		})

		return row
	}
	// Nothing says whose company the original is.
	from.System(func(ctx context.Context, tx *db.Tx) error {
		known, err := db.Get[bool](ctx, tx, `select num_nonnulls(company_name, email, support_email, phone, tax_id, statement_address, billing_address) > 0 from team where id = @team`,
			db.Args{"team": made})
		if known {
			t.Error("the duplicate has the identity of its original")
		}

		return err
	})

	if settings(made) != settings(from.ID) {
		t.Errorf("settings:\n%s\n%s", settings(made), settings(from.ID))
	}

	// Who asked works in the new team; its contact has the tax identifier, sealed for its own id.
	other := from.In(made)
	if got := other.Get("/contacts?search=Rivera").Want(200); got.String("data.0.taxIdentifier") != "***6789" || len(got.String("data.0.payoutAccountId")) != 36 || got.String("data.0.uniqueRef") != "R-1" {
		t.Errorf("the copied contact: %s", got.Body)
	}

	if got := other.Get("/team").Want(200); got.String("name") != "Lake Stays" || got.String("initializedAt") == "" {
		t.Errorf("the duplicate: %s", got.Body)
	}

	if after := lasting(from); after != original {
		t.Errorf("the original changed:\n%s\n%s", original, after)
	}
}

// lasting is the fingerprint of a team without its operations and the trail.
func lasting(w *world.World) string {
	return strings.Join(slices.DeleteFunc(strings.Split(w.Fingerprint(), "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.HasPrefix(line, "operation") || strings.HasPrefix(line, "audit_")
	}), "\n")
}

// Parts that are not asked for are left out, and what needs them too.
//
// Proves: INIT-02.
func TestADuplicateHasThePartsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	from, _ := furnished(t)

	from.Post("/team/duplicate", world.Object{"name": ""}).Want(400)
	from.Post("/team/duplicate", world.Object{"name": "X", "include": world.Array{"stays"}}).Want(400)

	for _, c := range []struct {
		include world.Array
		has     []string
		lacks   []string
	}{
		{world.Array{}, nil, copied},
		{world.Array{"listings"}, []string{"listing"}, []string{"listing_ownership_period", "account", "fee", "contact", "layout"}},
		{world.Array{"listings", "contacts"}, []string{"listing", "contact", "listing_ownership_period"}, []string{"account", "fee"}},
		{world.Array{"accounts", "taxRates", "recurringFees"}, []string{"account", "fee"}, []string{"fee_listing_period", "listing", "layout"}},
		// What a part needs comes along: a fee without its tax, or without accounts, would be none.
		{world.Array{"recurringFees"}, []string{"account", "tax_rate", "fee"}, []string{"reservation_line_mapping", "layout"}},
		{world.Array{"lineMappings"}, []string{"account", "reservation_line_mapping"}, []string{"fee", "layout"}},
		{world.Array{"layouts"}, []string{"layout", "account"}, []string{"layout_listing", "fee"}},
	} {
		started := from.Post("/team/duplicate", world.Object{"name": "Part", "include": c.include}).Want(202)
		from.Work()

		is := rowsOf(t, from, duplicateOf(t, from, started))
		for _, table := range c.has {
			if is[table] == 0 {
				t.Errorf("%v: no %s", c.include, table)
			}
		}

		for _, table := range c.lacks {
			if is[table] > 0 {
				t.Errorf("%v: %d rows of %s", c.include, is[table], table)
			}
		}
	}

	from.Exec(`update team set type = 'partner' where team_id = @team`, nil)
	from.Post("/team/duplicate", world.Object{"name": "Partners"}).WantError(apierr.CodeConflict, "")
}

// duplicateOf returns the team that an operation has made.
func duplicateOf(t *testing.T, w *world.World, started *apitest.Response) (made id.ID) {
	t.Helper()

	done := w.Get("/operations/" + started.String("operationId")).Want(200)
	if done.String("status") != "completed" {
		t.Fatalf("the operation: %s", done.Body)
	}

	w.System(func(ctx context.Context, tx *db.Tx) (err error) {
		made, err = db.Get[id.ID](ctx, tx, `select resource_id from operation_resource where operation_id = @id and role = 'result'`,
			db.Args{"id": started.String("operationId")})

		return err
	})

	return made
}

// strays walks the catalogue: it returns the columns in which rows of a team name a row of another one, or have its id.
func strays(t *testing.T, w *world.World, in id.ID) (out []string) {
	t.Helper()

	type column struct{ Name, Column string }

	w.System(func(ctx context.Context, tx *db.Tx) error {
		columns, err := db.Select[column](ctx, tx, `
			select c.relname::text as name, a.attname::text as column from pg_class c join pg_attribute a on a.attrelid = c.oid
			where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped and a.atttypid = 'uuid'::regtype
				and a.attname <> 'team_id' and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'team_id')
			order by 1, 2`, nil)
		if err != nil {
			return err
		}

		// All ids of the other team, without those of people and of what made the duplicate.
		ids := []string{}

		for _, c := range columns {
			if c.Column == "id" && c.Name != "operation" {
				ids = append(ids, fmt.Sprintf(`select id from %s where team_id = @of`, c.Name))
			}
		}

		for _, c := range columns {
			where := c.Name + "." + c.Column

			if slices.ContainsFunc(shared, func(prefix string) bool { return strings.HasPrefix(where, prefix) }) {
				continue
			}

			n, err := db.Get[int64](ctx, tx, fmt.Sprintf(`select count(*) from %s where team_id = @in and %s in (%s)`, c.Name, c.Column, strings.Join(ids, " union all ")),
				db.Args{"in": in, "of": w.ID})
			if err != nil {
				return err
			}

			if n > 0 {
				out = append(out, where)
			}
		}

		return nil
	})

	return out
}
