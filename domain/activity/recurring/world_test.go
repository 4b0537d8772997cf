package recurring_test

import (
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/id"
	whole "stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = whole.Object
	list   = whole.Array
)

// world is a team with a villa that somebody owns, a vendor and a tax rate.
type world struct {
	*whole.World
	accounts           map[string]id.ID // by code
	villa, vendor, tax id.ID
}

func newWorld(tb testing.TB) *world {
	tb.Helper()

	w := &world{World: whole.New(tb), accounts: map[string]id.ID{}}
	for _, code := range []string{"1000", "5200"} {
		w.accounts[code] = w.Account(code)
	}

	w.villa, w.vendor = w.Listing("Villa", w.Contact("owner", "Ann Owner")).ID, w.Contact("vendor", "Fix-It")
	w.tax = w.Post("/tax-rates", object{"name": "Sales tax", "basisPoints": 15000}).Want(201).ID("id")

	return w
}

func (w *world) id() id.ID { return id.New(w.DB.Now()) }

func (w *world) expense(date string, cents int64) object {
	return object{
		"type": "expense", "date": date, "accountId": w.accounts["1000"],
		"lines": list{object{"accountId": w.accounts["5200"], "amount": cents, "listingId": w.villa}},
	}
}

func date(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}
