package contact_test

import (
	"fmt"
	"testing"

	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	return apitest.New(t, apitest.Config{Endpoints: parts.Join(contact.Part(newBox(t)), access.Part(access.Portal{}), journal.Part(), ledger.Part(), listing.New(nil, nil).Part(), (&payment.Gateway{}).Part(), transaction.Part()).Endpoints})
}

func newBox(t *testing.T) *seal.Box {
	t.Helper()

	box, err := seal.New([]byte("a test key of at least 32 bytes, not for use"))
	if err != nil {
		t.Fatal(err)
	}

	return box
}

type object = map[string]any

// people creates n vendors named "Person 000" on.
func people(x *apitest.Team, n int) {
	data := make([]object, n)
	for i := range data {
		data[i] = object{"type": "vendor", "name": fmt.Sprintf("Person %03d", i)}
	}

	x.Post("/contacts/batch", object{"data": data}).Want(200)
}

// account adds an account, which is a later package's to do.
func account(x *apitest.Team, kind string) id.ID {
	category, account := id.New(x.DB.Now()), id.New(x.DB.Now())
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, @name, 'asset', 1, now())`,
		db.Args{"id": category, "name": category.String()})
	x.Exec(`insert into account (team_id, id, name, type, category_id, banking_category, created_at, updated_at)
		values (@team, @id, @name, @type::text, @category, case when @type = 'bank' then 'trust' end, now(), now())`,
		db.Args{"id": account, "name": account.String(), "type": kind, "category": category})

	return account
}

// own makes a contact the only owner of a new listing for the given days; empty days are open ends.
func own(x *apitest.Team, owner id.ID, start, end string) id.ID {
	listing := fixture.Listing(x, "Cabin")
	fixture.Period(x, listing, start, end, owner)

	return listing
}
