package onboarding

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// settings are what can be copied from another team, each row as JSON with the names of its columns.
type settings struct {
	Categories  []map[string]any
	Accounts    []map[string]any
	Assignments []map[string]any
	Mappings    []map[string]any
	TaxRates    []map[string]any
	Fees        []map[string]any
}

const readSettings = `
	select
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.position), '[]') from account_category x where x.team_id = @team) as categories,
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.id), '[]') from account x where x.team_id = @team and x.status = 'active') as accounts,
		(select coalesce(jsonb_agg(to_jsonb(x)), '[]') from account_assignment x where x.team_id = @team) as assignments,
		(select coalesce(jsonb_agg(to_jsonb(x)), '[]') from reservation_line_mapping x where x.team_id = @team) as mappings,
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.id), '[]') from tax_rate x where x.team_id = @team and x.status = 'active') as tax_rates,
		(select coalesce(jsonb_agg(to_jsonb(x) order by x.id), '[]') from fee x where x.team_id = @team and x.status = 'active') as fees`

// Each insert matches by name what the team has already, so that running it again adds nothing. Last four digits, being of real bank
// accounts, are not copied.
const (
	copyCategories = `
		insert into account_category (team_id, id, name, classification, position, created_at)
		select @team, x.id, x.name, x.classification, x.position, @now
		from jsonb_to_recordset(@rows) as x (id uuid, name text, classification text, position integer)
		on conflict (team_id, name) do nothing`
	copyAccounts = `
		insert into account (team_id, id, code, name, unique_ref, type, category_id, banking_category, banking_type, banking_currency, created_at, updated_at)
		select @team, x.id, x.code, x.name, x.unique_ref, x.type, c.id, x.banking_category, x.banking_type, x.banking_currency, @now, @now
		from jsonb_to_recordset(@rows) as x (id uuid, code text, name text, unique_ref text, type text, category text, banking_category text,
			banking_type text, banking_currency text)
		join account_category c on c.team_id = @team and c.name = x.category
		where not exists (select from account a where a.team_id = @team and (a.name = x.name or a.code = x.code or a.unique_ref = x.unique_ref))`
	copyAssignments = `
		insert into account_assignment (team_id, assignment, account_id)
		select @team, x.assignment, a.id from jsonb_to_recordset(@rows) as x (assignment text, account text)
		join account a on a.team_id = @team and a.name = x.account
		on conflict (team_id, assignment) do nothing`
	copyMappings = `
		insert into reservation_line_mapping (team_id, line_type, account_id, party)
		select @team, x.line_type, a.id, x.party from jsonb_to_recordset(@rows) as x (line_type text, account text, party text)
		join account a on a.team_id = @team and a.name = x.account
		on conflict (team_id, line_type) do nothing`
	copyTaxRates = `
		insert into tax_rate (team_id, id, name, basis_points, unique_ref, created_at, updated_at)
		select @team, x.id, x.name, x.basis_points, x.unique_ref, @now, @now
		from jsonb_to_recordset(@rows) as x (id uuid, name text, basis_points integer, unique_ref text)
		on conflict do nothing`
	copyFees = `
		insert into fee (team_id, id, unique_ref, name, icon, type, formula, rate_type, default_rate, revenue_recognition, credit_party, debit_party,
			credit_account_id, debit_account_id, booking_channels_filter, created_at, updated_at)
		select @team, x.id, x.unique_ref, x.name, x.icon, x.type, x.formula, x.rate_type, x.default_rate, x.revenue_recognition, x.credit_party,
			x.debit_party, c.id, d.id, array(select jsonb_array_elements_text(x.booking_channels_filter)), @now, @now
		from jsonb_to_recordset(@rows) as x (id uuid, unique_ref text, name text, icon text, type text, formula text, rate_type text,
			default_rate bigint, revenue_recognition text, credit_party text, debit_party text, credit_account text, debit_account text,
			booking_channels_filter jsonb)
		join account c on c.team_id = @team and c.name = x.credit_account
		join account d on d.team_id = @team and d.name = x.debit_account
		on conflict do nothing`
)

// copySettings copies the parts from another team. Accounts are found again by their names, so a part whose accounts the team lacks
// brings what it can.
func copySettings(ctx context.Context, tx *db.Tx, from id.ID, include []Part) error {
	var s settings
	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		s, err = db.Get[settings](ctx, tx, readSettings, db.Args{"team": from})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the team to copy: %w", err)
	}
	s.name(tx)
	steps := []struct {
		part   Part
		sql    string
		rows   []map[string]any
		stamps bool
	}{
		{Accounts, copyCategories, s.Categories, true},
		{Accounts, copyAccounts, s.Accounts, true},
		{Accounts, copyAssignments, s.Assignments, false},
		{LineMappings, copyMappings, s.Mappings, false},
		{TaxRates, copyTaxRates, s.TaxRates, true},
		{RecurringFees, copyFees, s.Fees, true},
	}
	var writes []db.Stmt
	for _, step := range steps {
		if include != nil && !slices.Contains(include, step.part) {
			continue
		}
		args := db.Args{"team": tx.Team, "rows": step.rows}
		if step.stamps {
			args["now"] = tx.Now
		}
		writes = append(writes, db.Stmt{SQL: step.sql, Args: args})
	}
	if err := tx.Pipeline(ctx, writes...); err != nil {
		return fmt.Errorf("copy settings: %w", err)
	}
	return nil
}

// name gives the rows new ids and refers to accounts and categories by name, which both teams share.
func (s *settings) name(tx *db.Tx) {
	categories, accounts := names(s.Categories), names(s.Accounts)
	for _, a := range s.Accounts {
		a["category"] = categories[a["category_id"]]
	}
	for _, rows := range [][]map[string]any{s.Assignments, s.Mappings} {
		for _, r := range rows {
			r["account"] = accounts[r["account_id"]]
		}
	}
	for _, f := range s.Fees {
		f["credit_account"], f["debit_account"] = accounts[f["credit_account_id"]], accounts[f["debit_account_id"]]
	}
	for _, rows := range [][]map[string]any{s.Categories, s.Accounts, s.TaxRates, s.Fees} {
		for _, r := range rows {
			r["id"] = tx.NewID()
		}
	}
}

func names(rows []map[string]any) map[any]any {
	out := map[any]any{}
	for _, r := range rows {
		out[r["id"]] = r["name"]
	}
	return out
}
