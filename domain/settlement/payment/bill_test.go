package payment_test

import (
	"maps"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// A bill is paid with the money of the owners who bear it, never with that of others: by a provider it is refused without an
// overdraft and its scope; by hand it has a finding, or is refused if the team wants that. The reserve is there for costs,
// and the money for other bills that wait is still there.
func TestBillsArePaidWithTheMoneyOfTheirOwners(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	cabin := w.Listing("Cabin", w.Contact("owner", "Cleo"))
	w.Put("/listings/ownership-periods/"+cabin.Period.String(), object{"reserve": 20000})
	w.Work()
	w.Stay(cabin, "2026-02-03", 25000)

	bill := func(cents int64) id.ID {
		t.Helper()

		return w.Post("/transactions", object{
			"type": "expense", "date": "2026-02-10", "contactId": w.vendor,
			"lines": list{object{"accountId": w.Account("5200"), "amount": cents, "listingId": cabin.ID}},
		}).Want(201).ID("id")
	}
	pay := func(of id.ID, more object) *apitest.Response {
		t.Helper()

		o := object{"connectionId": w.connection}
		maps.Copy(o, more)

		return w.Post("/transactions/"+of.String()+"/pay", o)
	}

	// 250.00 are there: enough for one of the two, however much the other has taken in the books.
	large, small := bill(30000), bill(20000)
	pay(large, nil).WantError(apierr.CodeConflict, "").WantFields("context", object{
		"reason": "insufficientOwnerFunds", "balance": "owner", "requested": 30000, "available": 25000, "ownershipPeriodId": cabin.Period,
	})
	pay(small, nil).Want(202)
	w.work()
	pay(large, nil).WantError(apierr.CodeConflict, "").WantFields("context", object{"requested": 30000, "available": 5000})
	w.As([]string{"transactions:pay", "transactions:write", "transactions:read"}, nil).
		Post("/transactions/"+large.String()+"/pay", object{"connectionId": w.connection, "allowOverdraft": true}).WantError(apierr.CodeForbidden, "")

	// By hand there is a finding; the team can have it refused, on every path.
	w.Put("/team", object{"ownerOverdraft": "refuse"}).Want(200)
	w.Post("/transactions/"+large.String()+"/pay", object{"date": "2026-02-11"}).WantError(apierr.CodeConflict, "").
		WantFields("context", object{"reason": "insufficientOwnerFunds", "requested": 30000, "available": 5000})
	w.Put("/transactions/"+large.String(), object{"payment": object{"date": "2026-02-11"}}).WantError(apierr.CodeConflict, "")

	atOnce := object{
		"type": "expense", "date": "2026-02-12", "accountId": w.Account("1000"),
		"lines": list{object{"accountId": w.Account("5200"), "amount": 5001, "listingId": cabin.ID}},
	}
	w.Post("/transactions", atOnce).WantError(apierr.CodeConflict, "").WantFields("context", object{"requested": 5001, "available": 5000})
	w.Put("/team", object{"ownerOverdraft": "warn"}).Want(200)
	w.Post("/transactions", atOnce).Want(201).WantFields("issues.0", object{
		"code": "insufficientOwnerFunds", "severity": "warning", "context.amount": 5001, "context.available": 5000,
	})
	w.Post("/transactions/"+large.String()+"/pay", object{"date": "2026-02-12"}).Want(200).
		WantFields("issues.0", object{"code": "insufficientOwnerFunds", "context.amount": 30000, "context.available": -1})

	// A bill that is dated in a later month takes nothing before it is paid, and its money is no one else's.
	barn := w.Listing("Barn", w.Contact("owner", "Dan"))
	w.Stay(barn, "2026-02-03", 10000)

	later := func() id.ID {
		return w.Post("/transactions", object{
			"type": "expense", "date": day.Of(w.DB.Now()).AddDays(70), "contactId": w.vendor,
			"lines": list{object{"accountId": w.Account("5200"), "amount": 6000, "listingId": barn.ID}},
		}).Want(201).ID("id")
	}
	first, second := later(), later()
	pay(first, nil).Want(202)
	w.work()
	pay(second, nil).WantError(apierr.CodeConflict, "").WantFields("context", object{"requested": 6000, "available": 4000})
	w.Post("/transactions/"+second.String()+"/pay", object{"date": "2026-02-11"}).Want(200).
		WantFields("issues.0", object{"code": "insufficientOwnerFunds", "context.available": 4000})

	// A bill of the manager is borne by no owner, and one of another listing by its own.
	pay(w.bill(100), nil).Want(202)
	pay(bill(1), object{"allowOverdraft": true}).Want(202)
}
