package demo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/setup/demo"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

// Proves: INIT-04.
func TestDemoDataBalancesAndRepeats(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	ack := x.Post("/team/generate-demo-data", map[string]any{"months": 3, "listings": 2, "seed": 3}).Want(202)
	if ack.String("type") != "team-demo-data" {
		t.Errorf("acknowledgement %s", ack.Body)
	}

	x.Work()

	if done := x.Get("/operations/" + ack.String("operationId")).Want(200); done.String("status") != "completed" {
		t.Fatalf("operation %s", done.Body)
	}

	x.Post("/team/generate-demo-data", nil).Want(400)

	y := newTeam(t)

	var today day.Day

	y.Tx(func(_ context.Context, tx *db.Tx) error { today = day.Of(tx.Now); return nil })

	err := demo.Fill(t.Context(), y.DB, y.Scope(), demo.Data{Months: 3, Listings: 2, Seed: 3, Today: today}, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}

	query := "/reports/trial-balance?startDate=2020&endDate=2035"

	a, b := x.Get(query).Want(200), y.Get(query).Want(200)
	if a.Int("totals.ending") != 0 || a.Int("totals.debit") == 0 {
		t.Errorf("books do not balance: %s", a.Body)
	}

	for i := range a.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		if a.String(at+"account.code") != b.String(at+"account.code") || a.String(at+"ending") != b.String(at+"ending") {
			t.Errorf("the same seed gave %s and %s", a.Value(at+"ending"), b.Value(at+"ending"))
		}
	}

	if one, other := reported(x), reported(y); len(one) < 30 || !slices.Equal(one, other) {
		t.Errorf("the same seed gave the bank records\n%s\nand\n%s", strings.Join(one, "\n"), strings.Join(other, "\n"))
	}

	template := x.Get("/transactions/recurring-templates").Want(200)
	if template.Len("data") != 1 || template.Int("data.0.instancesCount") != 3 || template.String("data.0.lines.0.party") != "manager" ||
		template.String("data.0.nextTransactionInstanceAt") != today.Month().Next().First().String() {
		t.Errorf("template %s", template.Body)
	}

	for _, missing := range lacking(x) {
		t.Errorf("the demo lacks %s", missing)
	}
}

// reported lists the figures of the bank with their parts, but for identifiers.
func reported(x *apitest.Team) (lines []string) {
	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		lines, err = db.Select[string](ctx, tx, `
			select concat_ws(' ', r.date, a.code, r.type, r.amount, r.balance, r.description, r.unique_ref, r.source, p.parts) from bank_record r
			join account a on a.team_id = r.team_id and a.id = r.account_id
			cross join lateral (
				select string_agg(concat_ws(' ', t.date, t.type, t.description, n.cent_total), ', ' order by t.date, t.description, n.cent_total) as parts
				from bank_reconciliation n join transaction t on t.team_id = n.team_id and t.id = n.transaction_id
				where n.team_id = r.team_id and n.bank_record_id = r.id) p
			where r.team_id = @team order by 1`, db.Args{"team": tx.Team})

		return err
	})

	return lines
}

// lacking names what the sample books do not show, or show wrongly.
func lacking(x *apitest.Team) (names []string) {
	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		names, err = db.Select[string](ctx, tx, `
			with entry as (select e.*, a.code from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id where e.team_id = @team),
				stay as (select * from reservation where team_id = @team),
				money as (select t.*, l.tax_amount, l.markup_amount, l.markup_tax_amount, l.account_id as line_account, l.amount, l.reservation_id
					from transaction t join transaction_line l on l.team_id = t.team_id and l.transaction_id = t.id where t.team_id = @team)
			select name from (values
				('a canceled stay that kept money', exists (select from stay s join entry e on e.source_id = s.id where s.status = 'canceled' and e.code = '4090' and e.cent_total < 0)),
				('canceled stays that owe nothing', not exists (select from stay s join entry e on e.reservation_id = s.id where s.status = 'canceled' and e.code = '2000' group by s.id having sum(e.cent_total) <> 0)),
				('a commission on a cancellation', exists (select from stay s join entry e on e.source_id = s.id where s.status = 'canceled' and e.code = '4100')),
				('a refund', exists (select from money where description = 'Refund' and amount < 0)),
				('an owner stay with its cleaning', exists (select from stay s join entry e on e.source_id = s.id where s.type = 'ownerStay' and e.code = '4110')),
				('a stay over the end of a month, recognised in both', exists (select from entry where code = '4000' and trigger_type <> 'adjustment'
					group by source_id having count(distinct date_trunc('month', txn_at)) > 1)),
				('deferred revenue', exists (select from entry where code = '2010' group by source_id having count(*) > 1 and sum(cent_total) = 0)),
				('a fee on a fee', exists (select from entry e join fee f on f.team_id = e.team_id and f.id = e.recurring_fee_id where f.name = 'Marketing fund')),
				('a fee with tax', exists (select from entry e join fee f on f.team_id = e.team_id and f.id = e.recurring_fee_id where f.name = 'Linen' and e.code = '2110')),
				('a bill with markup and tax on both', exists (select from money where tax_amount <> 0 and markup_amount <> 0 and markup_tax_amount <> 0)),
				('an expense of the operating account', exists (select from entry where trigger_type = 'intercompany' and ledger = 'operating')),
				('a reimbursement of it', exists (select from money where type = 'transfer' and description = 'Reimbursement')),
				('a security deposit', exists (select from entry where code = '2300' and cent_total < 0)),
				('a security deposit that went back', exists (select from entry where code = '2300' and cent_total > 0)),
				('a manager draw', exists (select from entry where code = '2400' and party = 'manager')),
				('a recurring template with instances', exists (select from transaction_template p join money m on m.recurring_template_id = p.id)),
				('a financial adjustment', exists (select from reservation_adjustment where team_id = @team and type = 'financial' and description = 'Late check-out')),
				('a fee adjustment', exists (select from reservation_adjustment where team_id = @team and type = 'fee')),
				('an owner payout', exists (select from money where description = 'Owner payout')),
				('ledgers that balance', not exists (select from entry group by ledger having sum(cent_total) <> 0))
			) v (name, shown) where not shown`, db.Args{"team": tx.Team})

		return err
	})

	return names
}
