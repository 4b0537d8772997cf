package onboarding

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// target is what the team that copies has, and what the rows of the other team are there: ids by ids, all as text.
type target struct {
	Accounts []row
	TaxRates []row
	Fees     []row

	account map[any]any `db:"-"`
	rate    map[any]any `db:"-"`
}

func readTarget(ctx context.Context, tx *db.Tx) (*target, error) {
	t, err := db.Get[target](ctx, tx, `
		select
			(select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'name', x.name, 'code', x.code, 'unique_ref', x.unique_ref)), '[]')
				from account x where x.team_id = @team and x.status = 'active') as accounts,
			(select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'name', x.name)), '[]')
				from tax_rate x where x.team_id = @team and x.status = 'active') as tax_rates,
			(select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'name', x.name, 'unique_ref', x.unique_ref)), '[]')
				from fee x where x.team_id = @team) as fees`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team that copies: %w", err)
	}
	return &t, nil
}

// found gives the ids of rows by the text of a column, empty ones aside.
func found(rows []row, column string) map[any]any {
	out := map[any]any{}
	for _, r := range rows {
		if r[column] != nil {
			out[r[column]] = r["id"]
		}
	}
	return out
}

// match finds the other team's accounts and rates here: accounts by name, else by code, else by reference, rates by name.
func (t *target) match(s *settings) {
	names, codes, refs, rates := found(t.Accounts, "name"), found(t.Accounts, "code"), found(t.Accounts, "unique_ref"), found(t.TaxRates, "name")
	t.account, t.rate = map[any]any{}, map[any]any{}
	for _, a := range s.Accounts {
		for _, here := range []any{names[a["name"]], codes[a["code"]], refs[a["unique_ref"]]} {
			if here != nil {
				t.account[a["id"]] = here
				break
			}
		}
	}
	for _, r := range s.TaxRates {
		if here := rates[r["name"]]; here != nil {
			t.rate[r["id"]] = here
		}
	}
}

// accountIDs are the other team's accounts that are here.
func (t *target) accountIDs() map[id.ID]id.ID {
	out := make(map[id.ID]id.ID, len(t.account))
	for there, here := range t.account {
		out[idOf(there)] = idOf(here)
	}
	return out
}

// idOf reads an id that the database wrote.
func idOf(text any) id.ID {
	s, _ := text.(string)
	v, _ := id.Parse(s)
	return v
}

// points moves the columns of a row to what they name here, and reports whether all of it is here. An empty column stays empty.
func points(r row, here map[any]any, columns ...string) bool {
	for _, c := range columns {
		if r[c] == nil {
			continue
		}
		if here[r[c]] == nil {
			return false
		}
		r[c] = here[r[c]]
	}
	return true
}

func (t *target) assignments(rows []row) (out []row) {
	for _, r := range rows {
		if points(r, t.account, "account_id") {
			out = append(out, r)
		}
	}
	return out
}

func (t *target) mappings(rows []row) []row { return t.assignments(rows) }

// fees are those that can be charged here: whose accounts, tax rate and whatever their formula and conditions name are here. A fee that the
// team has by name or reference is not copied, and stands for the other team's in what builds on it.
func (t *target) fees(s *settings) (fees, references, conditions []row) {
	names, refs := found(t.Fees, "name"), found(t.Fees, "unique_ref")
	fee := map[any]any{} // the other team's fees that are here, or will be
	left := map[any]row{}
	for _, f := range s.Fees {
		switch here := names[f["name"]]; {
		case here != nil:
			fee[f["id"]] = here
		case f["unique_ref"] != nil && refs[f["unique_ref"]] != nil:
			fee[f["id"]] = refs[f["unique_ref"]]
		case points(f, t.account, "credit_account_id", "debit_account_id") && points(f, t.rate, "tax_rate_id"):
			left[f["id"]], fee[f["id"]] = f, f["new_id"]
		}
	}
	drop := func(rows []row, here map[any]any, column string) (dropped bool) {
		for _, r := range rows {
			if left[r["fee_id"]] != nil && r[column] != nil && here[r[column]] == nil {
				delete(left, r["fee_id"])
				delete(fee, r["fee_id"])
				dropped = true
			}
		}
		return dropped
	}
	drop(s.Conditions, t.account, "account_id")
	drop(s.References, t.account, "target_account_id")
	for again := true; again; { // what builds on a fee that was dropped is dropped
		again = drop(s.References, fee, "target_fee_id")
	}
	for _, f := range s.Fees {
		if left[f["id"]] != nil {
			fees = append(fees, f)
		}
	}
	kept := func(rows []row) (out []row) {
		for _, r := range rows {
			if left[r["fee_id"]] != nil && points(r, t.account, "target_account_id", "account_id") && points(r, fee, "target_fee_id", "fee_id") {
				out = append(out, r)
			}
		}
		return out
	}
	return fees, kept(s.References), kept(s.Conditions)
}
