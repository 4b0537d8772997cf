package onboarding

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/layout"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// row is a row of another team as JSON, with the names of its columns.
type row = map[string]any

// settings are what can be copied from another team.
type settings struct {
	Categories  []row
	Accounts    []row
	Assignments []row
	Mappings    []row
	TaxRates    []row
	Fees        []row
	References  []row
	Conditions  []row

	layouts []layout.Design `db:"-"`
}

const readSettings = `
	select
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.position), '[]') from account_category x where x.team_id = @team) as categories,
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.id), '[]') from account x where x.team_id = @team and x.status = 'active') as accounts,
		(select coalesce(jsonb_agg(to_jsonb(x)), '[]') from account_assignment x where x.team_id = @team) as assignments,
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.id), '[]') from reservation_line_mapping x where x.team_id = @team) as mappings,
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.id), '[]') from tax_rate x where x.team_id = @team and x.status = 'active') as tax_rates,
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.id), '[]') from fee x where x.team_id = @team and x.status = 'active') as fees,
		(select coalesce(jsonb_agg(to_jsonb(x)), '[]') from fee_reference x where x.team_id = @team) as "references",
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.position), '[]') from fee_condition x where x.team_id = @team) as conditions`

// Each insert leaves out what the team has already, so that running it again adds nothing. Last four digits and opening balances, being of
// real bank accounts, are not copied.
const (
	copyCategories = `
		insert into account_category (team_id, id, name, classification, position, created_at)
		select @team, x.new_id, x.name, x.classification, x.position, @now
		from jsonb_to_recordset(@rows) as x (new_id uuid, name text, classification text, position integer)
		on conflict (team_id, name) do nothing`
	copyAccounts = `
		insert into account (team_id, id, code, name, unique_ref, type, category_id, banking_category, banking_type, banking_currency, created_at, updated_at)
		select @team, x.new_id, x.code, x.name, x.unique_ref, x.type, c.id, x.banking_category, x.banking_type, x.banking_currency, @now, @now
		from jsonb_to_recordset(@rows) as x (new_id uuid, code text, name text, unique_ref text, type text, category text, banking_category text,
			banking_type text, banking_currency text)
		join account_category c on c.team_id = @team and c.name = x.category
		where not exists (select from account a where a.team_id = @team and (a.name = x.name or a.code = x.code or a.unique_ref = x.unique_ref))`
	copyTaxRates = `
		insert into tax_rate (team_id, id, name, basis_points, unique_ref, created_at, updated_at)
		select @team, x.new_id, x.name, x.basis_points, x.unique_ref, @now, @now
		from jsonb_to_recordset(@rows) as x (new_id uuid, name text, basis_points integer, unique_ref text)
		on conflict do nothing`
	copyAssignments = `
		insert into account_assignment (team_id, assignment, account_id)
		select @team, x.assignment, x.account_id from jsonb_to_recordset(@rows) as x (assignment text, account_id uuid)
		on conflict (team_id, assignment) do nothing`
	copyMappings = `
		insert into reservation_line_mapping (team_id, line_type, app_id, channel, status, account_id, party, revenue_recognition, created_at, updated_at)
		select @team, x.line_type, x.app_id, x.channel, x.status, x.account_id, x.party, x.revenue_recognition, @now, @now
		from jsonb_to_recordset(@rows) as x (line_type text, app_id text, channel text, status text, account_id uuid, party text,
			revenue_recognition text)
		on conflict do nothing`
	copyFees = `
		insert into fee (team_id, id, unique_ref, name, icon, type, formula, rate_type, default_rate, revenue_recognition, credit_party, debit_party,
			credit_account_id, debit_account_id, booking_channels_filter, charge_basis, status_filter, owner_stay_filter, tax_rate_id, tax_behavior,
			created_at, updated_at)
		select @team, x.new_id, x.unique_ref, x.name, x.icon, x.type, x.formula, x.rate_type, x.default_rate, x.revenue_recognition, x.credit_party,
			x.debit_party, x.credit_account_id, x.debit_account_id, array(select jsonb_array_elements_text(x.booking_channels_filter)),
			x.charge_basis, x.status_filter, x.owner_stay_filter, x.tax_rate_id, x.tax_behavior, @now, @now
		from jsonb_to_recordset(@rows) as x (new_id uuid, unique_ref text, name text, icon text, type text, formula text, rate_type text,
			default_rate bigint, revenue_recognition text, credit_party text, debit_party text, credit_account_id uuid, debit_account_id uuid,
			booking_channels_filter jsonb, charge_basis text, status_filter text, owner_stay_filter text, tax_rate_id uuid, tax_behavior text)`
	copyReferences = `
		insert into fee_reference (team_id, fee_id, kind, name, target_fee_id, target_account_id)
		select @team, x.fee_id, x.kind, x.name, x.target_fee_id, x.target_account_id
		from jsonb_to_recordset(@rows) as x (fee_id uuid, kind text, name text, target_fee_id uuid, target_account_id uuid)`
	copyConditions = `
		insert into fee_condition (team_id, fee_id, position, account_id, operator, cent_value)
		select @team, x.fee_id, x.position, x.account_id, x.operator, x.cent_value
		from jsonb_to_recordset(@rows) as x (fee_id uuid, position integer, account_id uuid, operator text, cent_value bigint)`
)

// copySettings copies the parts from another team. Accounts are found again by name, code or reference, so a part whose accounts the team
// lacks brings what it can.
func copySettings(ctx context.Context, tx *db.Tx, from id.ID, include []Copied) error {
	var s settings
	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		if s, err = db.Get[settings](ctx, tx, readSettings, db.Args{"team": from}); err != nil {
			return err
		}
		s.layouts, err = layout.All(ctx, tx, from)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the team to copy: %w", err)
	}
	s.prepare(tx)
	included := func(p Copied) bool { return include == nil || slices.Contains(include, p) }
	var own []copied
	if included(Accounts) {
		own = append(own, copied{copyCategories, s.Categories, true}, copied{copyAccounts, s.Accounts, true})
	}
	if included(TaxRates) {
		own = append(own, copied{copyTaxRates, s.TaxRates, true})
	}
	if err := write(ctx, tx, own); err != nil {
		return err
	}
	t, err := readTarget(ctx, tx)
	if err != nil {
		return err
	}
	t.match(&s)
	var building []copied
	if included(Accounts) {
		building = append(building, copied{copyAssignments, t.assignments(s.Assignments), false})
	}
	if included(LineMappings) {
		building = append(building, copied{copyMappings, t.mappings(s.Mappings), true})
	}
	if included(RecurringFees) {
		fees, references, conditions := t.fees(&s)
		building = append(building, copied{copyFees, fees, true}, copied{copyReferences, references, false}, copied{copyConditions, conditions, false})
	}
	if err := write(ctx, tx, building); err != nil || !included(StatementLayouts) {
		return err
	}
	return layout.Copy(ctx, tx, s.layouts, t.accountIDs())
}

// copied is a statement that inserts rows; stamped ones carry the time.
type copied struct {
	sql     string
	rows    []row
	stamped bool
}

func write(ctx context.Context, tx *db.Tx, all []copied) error {
	var writes []db.Stmt
	for _, c := range all {
		if len(c.rows) == 0 {
			continue
		}
		args := db.Args{"team": tx.Team, "rows": c.rows}
		if c.stamped {
			args["now"] = tx.Now
		}
		writes = append(writes, db.Stmt{SQL: c.sql, Args: args})
	}
	if len(writes) == 0 {
		return nil
	}
	if err := tx.Pipeline(ctx, writes...); err != nil {
		return fmt.Errorf("copy settings: %w", err)
	}
	return nil
}

// prepare gives the rows ids of their own and names the categories of accounts, which both teams share.
func (s *settings) prepare(tx *db.Tx) {
	categories := map[any]any{}
	for _, c := range s.Categories {
		categories[c["id"]] = c["name"]
	}
	for _, a := range s.Accounts {
		a["category"] = categories[a["category_id"]]
	}
	for _, rows := range [][]row{s.Categories, s.Accounts, s.TaxRates, s.Fees} {
		for _, r := range rows {
			r["new_id"] = tx.NewID().String()
		}
	}
}
