package fee_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"stayledger/domain/activity/fee"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Fees build on fees and on accounts; their amount follows when those change, and their text when those are renamed.
func TestFeesOnFees(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay("2026-01-29")
	base := b.add()
	top := b.add("name", "Marketing", "formula", `10% * fee("Management") + account("4000")+ account("Rent") `, "type", "additionalFee", "defaultRate", 50_000)
	b.wantCharged(20_000 + 1_000)

	if got := b.Get(top).String("linkedAccounts"); got != `[{"id":"`+b.account("4000").String()+`","name":"Rent"}]` {
		t.Errorf("linked are %s", got)
	}

	b.Put(base, object{"name": `Commission "gross" \ net`}).Want(200)
	b.Exec(`update account set code = '4000-R' where team_id = @team and code = '4000'`, nil)

	formula := `10% * fee("Commission \"gross\" \\ net") + account("4000-R")+ account("4000-R") `
	if got := b.Get(top).String("formula"); got != formula {
		t.Errorf("the formula is %s", got)
	}

	if got := b.Get("/recurring-fees?search=market").String("data.0.formula"); got != formula {
		t.Errorf("in the list the formula is %s", got)
	}

	b.wantCharged(20_000 + 1_000)
	b.Put(top, object{"defaultRate": 100_000}).Want(200)
	b.wantCharged(20_000 + 2_000)
	b.Put(top, object{"formula": b.Get(top).String("formula")}).Want(200) // what is shown can be written
	b.Put(base, object{"defaultRate": 10_000}).Want(200)
	b.wantCharged(10_000 + 1_000)
	b.Put(base, object{"status": "inactive"}).Want(200)
	b.wantCharged(0) // what is not charged is worth nothing to others
	b.Put(top, object{"formula": `rent - fee("Commission \"gross\" \\ net")`}).Want(200)
	b.wantCharged(100_000)
}

// Two fees can swap their names; the formulas still mean the same fees.
func TestFormulasMeanFeesNotNames(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one := b.add("name", "One")
	two := b.add("name", "Two")
	top := b.add("name", "Top", "formula", `fee("One") - fee("Two")`)
	b.Put(one, object{"name": "Three"}).Want(200)
	b.Put(two, object{"name": "One"}).Want(200)
	b.Put(one, object{"name": "Two"}).Want(200)

	if got := b.Get(top).String("formula"); got != `fee("Two") - fee("One")` {
		t.Errorf("the formula is %s", got)
	}

	b.Put(top, object{"icon": "x"}).Want(200)

	if got := b.Get(top).String("formula"); got != `fee("Two") - fee("One")` {
		t.Errorf("after a change of something else the formula is %s", got)
	}
}

func TestRingsOfFees(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	refused := func(path, formula, message string, position int64) {
		t.Helper()

		r := b.Put(path, object{"formula": formula}).WantError(apierr.CodeBadRequest, "").WantIssue("formulaInvalid", "formula")
		if r.String("context.problem") != message || r.Int("context.position") != position {
			t.Errorf("%s", r.Body)
		}
	}
	one := b.add("name", "One")
	b.add("name", "Two", "formula", `rent - fee("One")`)
	b.add("name", "Three", "formula", `2% * fee("Two")`)

	const ring = "the recurring fees build on each other in a ring: "
	refused(one, `fee("One")`, ring+`"One" → "One"`, 5)
	refused(one, `rent + fee("Two")`, ring+`"One" → "Two" → "One"`, 12)
	refused(one, `rent - fee( "Three" )`, ring+`"One" → "Three" → "Two" → "One"`, 13)

	if r := b.Put(one, object{"name": "Four", "formula": `fee("Four")`}).WantError(apierr.CodeBadRequest, ""); r.String("context.problem") != ring+`"Four" → "Four"` {
		t.Errorf("%s", r.Body)
	}

	r := b.Post("/recurring-fees", b.fee("name", "Self", "formula", `fee("Self")`)).WantError(apierr.CodeBadRequest, "")
	if r.String("context.problem") != ring+`"Self" → "Self"` {
		t.Errorf("%s", r.Body)
	}

	if got := b.Get(one).String("formula"); got != "rent" {
		t.Errorf("the formula is %s", got)
	}
}

// Two changes at once cannot close a ring that neither of them sees.
func TestRingsAreNotRacedInto(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one, two := b.add("name", "One"), b.add("name", "Two")

	var both sync.WaitGroup

	statuses := make([]int, 2)

	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		// Both changes have to wait for the listing when they have been checked.
		if _, err := tx.Exec(ctx, `select from listing where team_id = @team for update`, db.Args{"team": tx.Team}); err != nil {
			return err
		}

		for i, change := range [][2]string{{one, "Two"}, {two, "One"}} {
			// The harness would send a dry run first and compare the whole team, which the other is changing.
			both.Go(func() {
				statuses[i] = b.Call("PUT", change[0]+"?dryRun=false", object{"formula": `fee("` + change[1] + `")`}).Status
			})
		}

		_, err := tx.Exec(ctx, `select pg_sleep(0.3)`, db.Args{})

		return err
	})
	both.Wait()
	slices.Sort(statuses)

	if !slices.Equal(statuses, []int{200, 400}) {
		t.Errorf("answered %v", statuses)
	}
}

// A formula that is not part of a change does not stand in its way.
func TestFormulasAreCheckedWhenWritten(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Exec(`insert into reservation_line_mapping (team_id, id, line_type, account_id) values (@team, @id, 'petFee', @account)`,
		db.Args{"id": id.New(b.DB.Now()), "account": b.credit})
	path := b.add("formula", "petFee")
	b.Exec(`delete from reservation_line_mapping where team_id = @team and line_type = 'petFee'`, nil)
	b.Put(path, object{"icon": "dog"}).Want(200)
	b.Put(path, object{"formula": "petFee + rent"}).WantError(apierr.CodeBadRequest, "").WantIssue("formulaInvalid", "formula")
}

func TestFormulaPositions(t *testing.T) {
	t.Parallel()

	b := newBooks(t)
	for formula, position := range map[string]int64{
		"rent + rnet":                       8,
		"rentals + rent":                    1,
		"rent + renta":                      8,
		`"é" + rent`:                        1,
		`rent + fee("é") + account("x")`:    12,
		`account("4000") + account("4711")`: 27,
		`rent + fee("Villa")`:               12,
	} {
		if got := b.Post("/recurring-fees", b.fee("formula", formula)).WantError(apierr.CodeBadRequest, ""); got.Int("context.position") != position {
			t.Errorf("%s: %s", formula, got.Body)
		}
	}
}

// A formula of another team's fees and accounts names unknown ones.
// Proves: PAG-31.
func TestFormulasStayInTheirTeam(t *testing.T) {
	t.Parallel()
	b, other := newBooks(t), newBooks(t)
	other.add("name", "Theirs")
	other.Exec(`update account set code = '9999' where team_id = @team and code = '4000'`, nil)
	b.Post("/recurring-fees", b.fee("formula", `fee("Theirs")`)).WantError(apierr.CodeBadRequest, "").WantIssue("formulaInvalid", "formula")
	b.Post("/recurring-fees", b.fee("formula", `account("9999")`)).WantError(apierr.CodeBadRequest, "").WantIssue("formulaInvalid", "formula")
	b.Post("/recurring-fees", b.fee("creditAccountId", other.account("9999"))).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "creditAccountId")
}

// An account of the name that is another one's code does not stand in its way.
func TestAccountsByCodeBeforeName(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Exec(`update account set code = null, name = '4000' where team_id = @team and code = '4010'`, nil)
	top := b.add("formula", `account("4000")`)
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		got, err := db.Get[id.ID](ctx, tx, `select target_account_id from fee_reference where team_id = @team`, db.Args{"team": tx.Team})
		if got != b.account("4000") {
			t.Errorf("the formula of %s means %s", top, got)
		}

		return err
	})
}

func TestSubscribed(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.add()
	b.add("name", "Marketing", "formula", `fee("Management")`)
	archived := b.add("name", "Archived")
	b.Put(archived, object{"status": "inactive"}).Want(200)
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		found, err := fee.ListSubscriptions(ctx, tx, []id.ID{b.listing, tx.NewID()})
		if err != nil {
			return err
		}

		of := found[b.listing]
		if len(found) != 1 || len(of) != 2 || of[0].Fee.Name != "Management" || of[0].Rate != 20_000 {
			t.Fatalf("%+v", found)
		}

		charges := fee.Charges(of, stay(t))
		if charges[0].Amount != 20_000 || charges[1].Amount != 4_000 {
			t.Errorf("%+v", charges)
		}

		none, err := fee.ListSubscriptions(ctx, tx, []id.ID{tx.NewID()})
		if len(none) != 0 {
			t.Errorf("%+v", none)
		}

		return err
	})
}
