package lists_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/test/world"
)

// withoutRead are the lists that the contract gives no read of one row.
var withoutRead = []string{
	"/account-categories", "/general-ledger/historical", "/recurring-fees/listing-periods", "/reports/journal-entries",
}

// unpaid adds stays that guests have paid in part, so that what owners have collected differs from what they have
// by the books, on listings made in no order of their names.
func (b *books) unpaid(random *rand.Rand) {
	b.T.Helper()

	for i := range 10 {
		listing := b.Listing(fmt.Sprintf("Cabin %d", random.IntN(1000)), b.Contact("owner", "Owner "+strconv.Itoa(i)))
		for month := 1; month <= 3; month++ {
			at := fmt.Sprintf("2026-%02d-%02d", month, 1+random.IntN(20))
			stay := b.Stay(listing, at, int64(10000+random.IntN(90000)))
			b.Post("/reservations", world.Object{
				"listingId": listing.ID, "checkIn": at[:8] + "22", "checkOut": at[:8] + "24", "bookedAt": at,
				"lines": world.Array{world.Object{"type": "rent", "amount": 1000 + random.IntN(50000)}},
			}).Want(201)
			b.Post("/transactions", world.Object{
				"type": "deposit", "date": at,
				"lines": world.Array{world.Object{"assignment": "accountsReceivable", "amount": -1 - random.IntN(9000), "reservationId": stay}},
			}).Want(201)
		}
	}

	b.Work()
}

// Each row of each list is the same as the read of that row alone, whatever the page, order and selection it came with.
func TestARowOfAListIsItsSingleRead(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	b := newBooks(t)
	b.unpaid(random)

	for _, p := range promises {
		if !strings.Contains(" "+strings.Join(withoutRead, " ")+" ", " "+p.path+" ") {
			p.rowsAreReads(t, b, random)
		}
	}
}

// rowsAreReads compares the rows of random pages of a list with the reads of each row alone.
func (p promise) rowsAreReads(t *testing.T, b *books, random *rand.Rand) {
	t.Helper()

	all := list(b.Team, p.path, "")
	alone := map[string]any{}

	sorts := append(strings.Fields(p.sorts), "")

	for range 12 {
		query := randomPage(p, all, sorts, random)

		page := b.Get(p.path + query).Want(200)
		for i := range page.Len("data") {
			at := "data." + strconv.Itoa(i)
			row := page.Value(at)

			v := page.String(at + ".id")
			if alone[v] == nil {
				alone[v] = b.read(p.path + "/" + v)
			}

			if diff := difference("", row, alone[v]); diff != "" {
				p.errorf(t, "%s, row %s: %s", query, v, diff)

				return
			}
		}
	}
}

// read returns the answer of a GET, with its numbers as they are written.
func (b *books) read(path string) any {
	b.T.Helper()

	var v any

	decoder := json.NewDecoder(bytes.NewReader(b.Get(path).Want(200).Body))
	decoder.UseNumber()

	if err := decoder.Decode(&v); err != nil {
		b.T.Fatal(err)
	}

	return v
}

// randomPage returns the query of a random page of a list: its size, place, order, and some rows left out.
func randomPage(p promise, all, sorts []string, random *rand.Rand) string {
	query := fmt.Sprintf("?limit=%d&offset=%d", 1+random.IntN(len(all)+2), random.IntN(len(all)/2+1))
	if sort := sorts[random.IntN(len(sorts))]; sort != "" {
		query += "&sort=" + []string{"", "-"}[random.IntN(2)] + sort
	}

	if p.ids != "" && len(all) > 2 && random.IntN(2) == 0 {
		query += "&" + p.ids + "=!" + all[random.IntN(len(all))] + ",!" + all[random.IntN(len(all))]
	}

	return query
}

// difference returns where a row says something else than the read of it, or "". A read may say more.
func difference(at string, row, read any) string {
	if fields, ok := row.(map[string]any); ok {
		own, ok := read.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, and alone %v", at, row, read)
		}

		for name, value := range fields {
			if diff := difference(at+"."+name, value, own[name]); diff != "" {
				return diff
			}
		}

		return ""
	}

	if !reflect.DeepEqual(row, read) {
		return fmt.Sprintf("%s is %v, and alone %v", at, row, read)
	}

	return ""
}

// A payout of many statements suggests for each the same as the payout of that one alone.
func TestAPayoutOfManyIsThePayoutOfEach(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	b := newBooks(t)
	b.unpaid(random)
	b.Publish("2026-01")
	b.Publish("2026-02")

	// One statement of each chain: two of one chain share what is there.
	ids := list(b.Team, "/statements", "status=published&month=2026-02")
	if len(ids) < 12 {
		t.Fatalf("%d statements are published, want 12 and more", len(ids))
	}

	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })

	together := b.suggested(ids...)
	for i, v := range ids {
		if alone := b.suggested(v)[0]; !reflect.DeepEqual(alone, together[i]) {
			t.Errorf("statement %s: together %v, alone %v", v, together[i], alone)
		}
	}
}

// suggested returns what the preview of a payout says of statements.
func (b *books) suggested(ids ...string) []any {
	b.T.Helper()

	op := b.Post("/statements/payouts/preview", world.Object{"statementIds": ids, "date": "2026-06-01"}).Want(202).String("operationId")
	b.Work()
	results := b.Get("/operations/" + op + "/result").Want(200)

	return results.Value("results").([]any)
}
