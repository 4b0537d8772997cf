package statement_test

import (
	"context"
	"encoding/json"
	"testing"

	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/test/world"
)

// severalBooks are two listings from January to March: published, draft, and imported before.
func severalBooks(t *testing.T) *world.World {
	t.Helper()
	w := world.New(t)
	ann, ben := w.Contact("owner", "Ann"), w.Contact("owner", "Ben")
	villa, barn := w.Listing("Villa", ann, ben), w.Listing("Barn", ann)
	w.Post("/statements/historic", world.Object{
		"uniqueRef": "old", "listingId": barn.ID, "startAt": "2025-12-01", "endAt": "2025-12-31", "currency": "usd", "status": "published", "centBalanceStart": 0,
		"lines": world.Array{
			world.Object{"uniqueRef": "1", "type": "line", "accountId": w.Account("4000"), "centTotal": 5000},
			world.Object{"uniqueRef": "2", "type": "payout", "centTotal": 5000},
		},
	}).Want(201)

	for _, l := range []world.Listing{villa, barn} {
		w.Post("/transactions", world.Object{
			"type": "deposit", "date": "2026-01-01", "accountId": w.Account("1000"), "isOpeningBalance": true,
			"lines": world.Array{world.Object{"assignment": "openingBalance", "amount": 700, "listingId": l.ID, "party": "owners"}},
		}).Want(201)
		w.Stay(l, "2026-01-09", 100_001)
		w.Expense(l, "2026-01-20", 25_000)
		w.Stay(l, "2026-02-09", 30_000)
		w.Expense(l, "2026-03-20", 1_000)
	}

	w.Publish("2026-01", villa)

	return w
}

// Reading many statements at a time shows of each the same as reading it alone.
func TestManyStatementsAreToldAsOne(t *testing.T) {
	t.Parallel()
	w := severalBooks(t)
	f := statement.Filter{Dates: months("2025-12-01...2026-03-31"), Sort: "startAt"}

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		for _, asOwner := range []bool{false, true} {
			if err := statement.EachDetail(ctx, tx, f, asOwner, func(d *statement.Detail) error {
				alone, err := statement.Read(ctx, tx, d.ID)
				if asOwner {
					alone, err = statement.ReadAsOwner(ctx, tx, d.ID)
				}

				if got, want := text(t, d), text(t, alone); got != want {
					t.Errorf("among others it is\n%s\nalone\n%s", got, want)
				}

				return err
			}); err != nil {
				return err
			}
		}

		var statements, lines int64

		if err := statement.EachWithLines(ctx, tx, f, func(s *statement.WithLines) error {
			sections := map[statement.Section]money.Cents{}
			for _, l := range s.Lines {
				sections[l.Section] += l.Total
			}

			figures := s.Financials
			if sections[statement.NetRevenue] != figures.NetRevenue || sections[statement.Expenses] != figures.Expenses || sections[statement.Payouts] != figures.Payouts {
				t.Errorf("the lines come to %v, the statement to %+v", sections, figures)
			}

			statements, lines = statements+1, lines+int64(len(s.Lines))

			return nil
		}); err != nil {
			return err
		}

		counted, err := statement.Count(ctx, tx, f)
		if err != nil {
			return err
		}
		// Three months of the villa, which has two owners, four of the barn, which has one.
		if want := (statement.Counts{Statements: 7, Periods: 2, Owners: 2, Parts: 10}); counted != want || statements != 7 {
			t.Errorf("counted %+v, read %d", counted, statements)
		}

		if n, err := statement.CountLines(ctx, tx, f); err != nil || n != lines || lines == 0 {
			t.Errorf("counted %d lines, read %d, %v", n, lines, err)
		}

		none := statement.Filter{Year: new(int64)}
		if n, err := statement.CountLines(ctx, tx, none); err != nil || n != 0 {
			t.Errorf("nothing has %d lines, %v", n, err)
		}

		return nil
	})
}

func text(t *testing.T, d *statement.Detail) string {
	t.Helper()

	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

// The figures of the lean reader are those of the statements, and this month ends with the current balances.
func TestFiguresAreTheStatements(t *testing.T) {
	t.Parallel()
	w := severalBooks(t)
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		all := map[id.ID]*statement.Figures{}
		last := map[id.ID]money.Cents{}

		var periods []id.ID

		if err := statement.EachFigures(ctx, tx, statement.Filter{Sort: "startAt"}, func(f *statement.Figures) error {
			all[f.ID] = f
			last[f.Ownership.ID], periods = f.Financials.BalanceEnd, append(periods, f.Ownership.ID)

			return nil
		}); err != nil {
			return err
		}

		if err := statement.Each(ctx, tx, statement.Filter{}, func(s *statement.Statement) error {
			if f := all[s.ID]; f == nil || f.Financials != s.Financials.Financials || f.ShortRef != s.ShortRef || f.Status != s.Status || len(f.Owners) != len(s.Shares) {
				t.Errorf("the figures are %+v, the statement is %+v", f, s)
			}

			return nil
		}); err != nil {
			return err
		}

		current, err := chain.CurrentShares(ctx, tx, periods, "usd")

		for period, cents := range last {
			var held money.Cents
			for _, part := range current[period] {
				held += part
			}

			if held != cents {
				t.Errorf("the books hold %d, the statement of this month ends with %d", held, cents)
			}
		}

		return err
	})
}

// A run is the same whatever order its statements come in. Gaps are adjustments; the rest is that of the last one.
func TestRun(t *testing.T) {
	t.Parallel()

	month := func(first string, f statement.Financials, received, left money.Cents) *statement.Figures {
		at := day.Day{}
		if err := at.UnmarshalText([]byte(first)); err != nil {
			t.Fatal(err)
		}

		return &statement.Figures{StartAt: at, EndAt: at.LastOfMonth(), Financials: f, Paid: []statement.Receipt{{Total: received}}, Left: left}
	}
	jan := month("2026-01-01", statement.Financials{BalanceStart: 100, NetRevenue: 1000, Expenses: -200, NetIncome: 800, BalanceEnd: 900, Reserve: 50, Available: 850},
		370, 500)

	march := month("2026-03-01", statement.Financials{BalanceStart: 620, NetRevenue: 500, NetIncome: 500, Payouts: -20, BalanceEnd: 1100, Reserve: 60, Available: 1040},
		1, 969)
	for _, order := range [][]*statement.Figures{{jan, march}, {march, jan}} {
		var r statement.Run
		for _, f := range order {
			r.Add(f)
		}

		want := statement.Financials{
			BalanceStart: 100, NetRevenue: 1500, Expenses: -200, NetIncome: 1300, Payouts: -20, BalanceEnd: 1100, Reserve: 60, Available: 1040,
		}
		if r.Financials != want || r.Statements != 2 || r.StartAt != jan.StartAt || r.EndAt != march.EndAt {
			t.Errorf("the run is %+v", r)
		}
		// 100 + 1300 − 20 are 1380; 280 went out in February, which is not in the run.
		if r.Adjustments() != -280 || r.Received != 371 || r.Left != 969 {
			t.Errorf("adjustments %d, received %d, left %d", r.Adjustments(), r.Received, r.Left)
		}
	}
}

// months are the dates of a filter.
func months(text string) page.Dates {
	span, err := day.ParseSpan(text)
	if err != nil {
		panic(err)
	}

	return page.Dates{DateRange: span}
}
