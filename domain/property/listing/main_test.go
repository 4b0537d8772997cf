package listing_test

import (
	"testing"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

// newTeam is a team without a general ledger: its changes of ownership are done when they are answered.
func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	x := newLedgerTeam(t)
	x.KeepLedger(false)

	return x
}

// newLedgerTeam is a team with a general ledger.
func newLedgerTeam(t *testing.T) *apitest.Team {
	t.Helper()

	all := parts.Join(fee.Part(), ledger.Part(), statement.Part(), listing.New(journal.Sources(), fee.EndPeriods).Part(), contact.Part(nil), operation.Part(time.Hour), reservation.Part(), transaction.Part(), journal.Part())

	return apitest.New(t, apitest.Config{Endpoints: all.Endpoints, Handlers: all.Handlers})
}

func owner(x *apitest.Team, name string) id.ID {
	return x.Post("/contacts", object{"type": "owner", "name": name}).Want(201).ID("id")
}

func home(x *apitest.Team, name string) id.ID {
	return x.Post("/listings", object{"name": name}).Want(201).ID("id")
}

func member(contact id.ID, split int) object { return object{"contactId": contact, "split": split} }

// period creates an ownership period of one owner; empty days are open ends.
func period(x *apitest.Team, home, owner id.ID, start, end string) *apitest.Response {
	body := object{"listingId": home, "members": []object{member(owner, 100_000)}}
	if start != "" {
		body["startAt"] = start
	}

	if end != "" {
		body["endAt"] = end
	}

	return x.Post("/listings/ownership-periods", body)
}

// post puts a balanced posting of the owners on an ownership period, in dollars.
func post(x *apitest.Team, home, period id.ID, day string) { postIn(x, home, period, day, "usd") }

// postIn does as post in a currency.
func postIn(x *apitest.Team, home, period id.ID, day, currency string) {
	source, category, account := id.New(x.DB.Now()), id.New(x.DB.Now()), id.New(x.DB.Now())
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, @name, 'asset', 1, now())`,
		db.Args{"id": category, "name": category.String()})
	x.Exec(`insert into account (team_id, id, name, type, category_id, created_at, updated_at)
		values (@team, @id, @name, 'ledger', @category, now(), now())`, db.Args{"id": account, "name": account.String(), "category": category})
	x.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, party, listing_id,
			ownership_period_id, trigger_type, created_at)
		select @team, gen_random_uuid(), @source::uuid, @source::uuid::text, v.ref, 'trust', @day::text::date, @account, v.cents, @currency, 'owners',
			@listing, @period, 'manual', now()
		from (values ('d', 100), ('c', -100)) v (ref, cents)`,
		db.Args{"source": source, "day": day, "account": account, "listing": home, "period": period, "currency": currency})
}
