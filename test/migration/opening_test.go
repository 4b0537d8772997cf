package migration_test

import (
	"maps"
	"testing"

	"stayledger/platform/apitest"
)

// couple returns a legacy team of one house that Anna and Bert own, with statements.
func couple(splits [2]int, statements ...object) object {
	list := array{}
	for _, s := range statements {
		list = append(list, s)
	}

	return object{
		"accounts": array{object{"key": "k-rent", "name": "Rental income", "classification": "revenue"}},
		"owners":   array{object{"id": "o-anna", "name": "Anna"}, object{"id": "o-bert", "name": "Bert"}},
		"listings": array{object{"id": "l-1", "name": "House", "owners": array{
			object{"ownerId": "o-anna", "split": splits[0]}, object{"ownerId": "o-bert", "split": splits[1]},
		}}},
		"statements": list,
	}
}

// final returns a published statement of a month of 2025 with its rent and its payouts to Bert.
func final(month, currency string, start, rent, bert int) object {
	lines := array{}
	if rent != 0 {
		lines = append(lines, object{"id": "1", "type": "line", "accountKey": "k-rent", "amount": rent, "description": "Rent"})
	}

	if bert != 0 {
		lines = append(lines, object{"id": "2", "type": "payout", "amount": bert, "ownerId": "o-bert", "date": month + "-20"})
	}

	last := map[string]string{"2025-01": "31", "2025-02": "28", "2025-03": "31"}[month]

	return object{
		"id": "s-" + month + currency, "listingId": "l-1", "startAt": month + "-01", "endAt": month + "-" + last, "currency": currency,
		"status": "published", "balanceStart": start, "balanceEnd": start + rent - bert, "lines": lines,
	}
}

// start imports the statements with their opening balances.
func (s *scene) start() {
	s.T.Helper()
	s.importOpenings().Want(202)
	s.Work()

	if team := s.target.Get("/team").Want(200); team.String("statementStartAt") != "2025-04-01" {
		s.T.Fatalf("the statements begin on %s", team.String("statementStartAt"))
	}
}

// importOpenings asks for the import with opening balances.
func (s *scene) importOpenings() *apitest.Response {
	s.T.Helper()

	body := s.request(nil)
	body["openingBalances"] = true

	return s.Post("/partner/vri-to-vrt/statements", body)
}

// wantShares compares the balance at the start, the shares of Anna and Bert, and their rows of a statement in a currency.
func (s *scene) wantShares(month, currency string, start int64, want ...int64) (statement string) {
	s.T.Helper()

	found := s.target.Get("/statements?month=" + month + "&limit=50").Want(200)
	for i := range found.Len("data") {
		at := "data." + itoa(i) + "."
		if found.String(at+"currency") != currency {
			continue
		}

		shares := map[string]int64{}
		for n := range found.Len(at + "shares") {
			shares[found.String(at+"shares."+itoa(n)+".name")] = found.Int(at + "shares." + itoa(n) + ".amount")
		}

		if got := found.Int(at + "financials.balanceStart"); got != start || shares["Anna"] != want[0] || shares["Bert"] != want[1] {
			s.T.Errorf("%s starts with %d and is shared as %v, want %d and %v: %s", month, got, shares, start, want, found.String(at+"issues"))
		}

		return found.String(at + "id")
	}

	s.T.Fatalf("no statement of %s in %s: %s", month, currency, found.Body)

	return ""
}

// earn books rent of the house on a day in the live books.
func (s *scene) earn(date, bank string, cents int) {
	s.T.Helper()

	house := s.target.Get("/listings").Want(200).ID("data.0.id")
	currency := s.target.Get("/accounts/" + bank).Want(200).String("banking.currency")
	s.target.Post("/transactions", object{"type": "deposit", "date": date, "accountId": bank, "currency": currency, "lines": array{
		object{"accountId": s.account("4000"), "amount": cents, "listingId": house},
	}}).Want(201)
	s.target.Work()
}

// wantPayouts compares what is suggested to pay to each owner from a bank account on a statement.
func (s *scene) wantPayouts(statement, bank string, want map[string]int64) {
	s.T.Helper()

	body := object{"statementIds": array{statement}, "date": "2025-05-02", "bankAccountId": bank}
	preview := s.target.Post("/statements/payouts/preview", body).Want(202).String("operationId")
	s.target.Work()

	result := s.target.Get("/operations/" + preview + "/result").Want(200)
	got := map[string]int64{}

	for i := range result.Len("results.0.payouts") {
		at := "results.0.payouts." + itoa(i) + "."
		got[s.target.Get("/contacts/"+result.String(at+"contactId")).Want(200).String("name")] = result.Int(at + "amount")
	}

	if !maps.Equal(got, want) {
		s.T.Errorf("%v is suggested to pay, want %v: %s", got, want, result.Body)
	}
}

// wantOwners compares what the trust reconciliation holds for each owner in a currency at the end of a day, and that it
// agrees with bank and books.
func (s *scene) wantOwners(date, currency string, want map[string]int64) {
	s.T.Helper()

	trust := s.target.Get("/reports/trust-reconciliation?date=" + date + "&currency=" + currency).Want(200)
	trust.WantFields("difference", object{"bankToBook": 0, "bookToLiabilities": 0})

	got := map[string]int64{}

	for i := range trust.Len("liabilities.ownerBalances.owners") {
		at := "liabilities.ownerBalances.owners." + itoa(i) + "."
		got[trust.String(at+"name")] = trust.Int(at + "centTotal")
	}

	if !maps.Equal(got, want) {
		s.T.Errorf("%s: the trust holds %v, want %v: %s", date, got, want, trust.String("liabilities.ownerBalances"))
	}
}

// wantSummary compares what an owner's statements of April come to.
func (s *scene) wantSummary(name string, want object) {
	s.T.Helper()
	s.target.Get("/reports/owner-statement-summaries-per-layout?startAt=2025-04&endAt=2025-04&search="+name).Want(200).
		WantFields("data.0.financials", want)
}

// Bert was paid his part in the former system and Anna was not: her part of the balance stays hers in the live books, and
// what is earned from then on is split. Of 800.00 by 60 to 40 Bert had 320.00, of 960.00 by halves 480.00.
func TestMembersKeepTheirOwnBalances(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name        string
		splits      [2]int
		rent, bert  int
		anna, other int64 // at the end of April, with 100.00 of rent
	}{
		{"60 to 40", [2]int{60_000, 40_000}, 80_000, 32_000, 54_000, 4_000},
		{"halves", [2]int{50_000, 50_000}, 96_000, 48_000, 53_000, 5_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.moveDump(couple(c.splits, final("2025-01", "usd", 0, c.rent, 0), final("2025-03", "usd", c.rent, 0, c.bert)), nil)
			s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)
			s.start()

			s.wantShares("2025-03", "usd", int64(c.rent), 48_000, 0)
			s.wantShares("2025-04", "usd", 48_000, 48_000, 0)

			opening := s.target.Get("/listings/opening-balance").Want(200)
			if opening.Len("data") != 1 || opening.Int("data.0.amount") != 48_000 {
				t.Errorf("the opening balances are %s", opening.Body)
			}

			s.earn("2025-04-10", s.account("1000"), 10_000)
			april := s.wantShares("2025-04", "usd", 48_000, c.anna, c.other)

			owners := map[string]int64{"Anna": c.anna, "Bert": c.other}
			s.wantOwners("2025-04-30", "usd", owners)
			s.wantSummary("Anna", object{"balanceStart": 48_000, "netRevenue": c.anna - 48_000, "payouts": 0, "adjustments": 0, "balanceEnd": c.anna})
			s.wantSummary("Bert", object{"balanceStart": 0, "netRevenue": c.other, "payouts": 0, "adjustments": 0, "balanceEnd": c.other})
			s.target.Post("/statements", object{"month": "2025-04", "status": "published"}).Want(201)
			s.wantPayouts(april, s.account("1000"), owners)

			// Again it is as it was.
			s.start()
			s.wantShares("2025-04", "usd", 48_000, c.anna, c.other)
			s.wantPayouts(april, s.account("1000"), owners)

			// What is paid leaves nothing.
			s.target.Post("/statements/payouts", object{"statementIds": array{april}, "date": "2025-05-02"}).Want(202)
			s.target.Work()
			s.wantShares("2025-05", "usd", c.anna+c.other, 0, 0)
			s.wantOwners("2025-05-31", "usd", map[string]int64{})
		})
	}
}

// Where nothing is left for the members together, one can have what the other owes: of 200.00 by halves Bert had all.
func TestAMemberHasWhatTheOtherOwes(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.moveDump(couple([2]int{50_000, 50_000}, final("2025-03", "usd", 0, 20_000, 20_000)), nil)
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)
	s.start()
	s.wantShares("2025-04", "usd", 0, 10_000, -10_000)
	s.earn("2025-04-10", s.account("1000"), 50_000)
	s.wantShares("2025-04", "usd", 0, 35_000, 15_000)
}

// Balances in two currencies are two openings, each with the bank account, the statements and the shares of its own.
func TestBalancesInTwoCurrenciesAreCarriedOver(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.moveDump(couple([2]int{60_000, 40_000},
		final("2025-02", "usd", 0, 80_000, 0), final("2025-03", "usd", 80_000, 0, 32_000),
		final("2025-02", "eur", 0, 25_000, 0), final("2025-03", "eur", 25_000, 5_001, 0)), nil)
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	// Money in euros is on no account in dollars.
	s.importOpenings().WantError("BAD_REQUEST", "").WantIssue("currencyMismatch", "openingBalances")

	trust := s.target.Get("/accounts/" + s.account("1000")).Want(200)
	euros := s.target.Post("/accounts", object{
		"name": "Euros", "code": "1090", "type": "bank", "categoryId": trust.String("category.id"),
		"banking": object{"category": "trust", "currency": "eur"},
	}).Want(201).String("id")
	s.start()

	s.wantShares("2025-03", "eur", 25_000, 18_001, 12_000) // 18000.6 and 12000.4 cents
	s.wantShares("2025-04", "usd", 48_000, 48_000, 0)
	s.wantShares("2025-04", "eur", 30_001, 18_001, 12_000)

	openings := s.target.Get("/listings/opening-balance").Want(200)
	got := map[string]int64{}

	for i := range openings.Len("data") {
		at := "data." + itoa(i) + "."
		got[openings.String(at+"currency")] = openings.Int(at + "amount")
	}

	if !maps.Equal(got, map[string]int64{"usd": 48_000, "eur": 30_001}) {
		t.Errorf("the opening balances are %s", openings.Body)
	}

	for account, want := range map[string]int64{trust.String("id"): 48_000, euros: 30_001} {
		if got := s.target.Get("/accounts/" + account).Want(200).Int("banking.balance.ending"); got != want {
			t.Errorf("the bank account is at %d, want %d", got, want)
		}
	}

	// Each goes on by itself.
	s.earn("2025-04-10", euros, 1_000)
	s.wantShares("2025-04", "usd", 48_000, 48_000, 0)
	april := s.wantShares("2025-04", "eur", 30_001, 18_601, 12_400)
	s.wantOwners("2025-04-30", "usd", map[string]int64{"Anna": 48_000, "Bert": 0})
	s.wantOwners("2025-04-30", "eur", map[string]int64{"Anna": 18_601, "Bert": 12_400})
	s.target.Post("/statements", object{"month": "2025-04", "status": "published"}).Want(201)
	s.wantPayouts(april, euros, map[string]int64{"Anna": 18_601, "Bert": 12_400})

	// One is put without the other, and an opening balance can be put in a currency that has none.
	path := "/listings/" + openings.String("data.0.listingId") + "/opening-balance"
	s.target.Put(path, object{"amount": 48_000, "currency": "USD"}).Want(200).WantFields("", object{"amount": 48_000, "currency": "usd"})
	s.target.Put(path, object{"amount": 30_001, "currency": "eur"}).Want(200).WantFields("", object{"amount": 30_001, "currency": "eur"})
	s.wantShares("2025-04", "usd", 48_000, 48_000, 0)
}

// Nothing is left in Canadian dollars for the members together, and Anna has what Bert owes: of 200.00 by halves Bert had
// all. That is money on an account, too, which the team does not have. With one, and with 800.00 in its own currency, of
// which Bert was paid nothing, both begin.
func TestOpeningBalancesWithoutAnAccountAreRefused(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.moveDump(couple([2]int{50_000, 50_000},
		final("2025-02", "usd", 0, 80_000, 0), final("2025-03", "CAD", 0, 20_000, 20_000)), nil)
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	before := s.target.Fingerprint()
	refused := s.importOpenings().WantError("BAD_REQUEST", "").WantIssue("currencyMismatch", "openingBalances")
	refused.WantFields("context", object{"currencies": array{"cad"}})

	if s.target.Fingerprint() != before {
		t.Error("a refusal changed something")
	}

	// Without opening balances the statements need no account.
	s.Post("/partner/vri-to-vrt/statements", s.request(nil)).Want(202)
	s.Work()

	trust := s.target.Get("/accounts/" + s.account("1000")).Want(200)
	s.target.Post("/accounts", object{
		"name": "Canadian dollars", "code": "1091", "type": "bank", "categoryId": trust.String("category.id"),
		"banking": object{"category": "trust", "currency": "cad"},
	}).Want(201)
	s.start()
	s.wantShares("2025-04", "cad", 0, 10_000, -10_000)
	s.wantShares("2025-04", "usd", 80_000, 40_000, 40_000)

	// An account for opening balances is needed, too.
	s.target.Exec(`delete from account_assignment where team_id = @team and assignment = 'openingBalance'`, nil)
	s.importOpenings().WantError("BAD_REQUEST", "requiredAccountMissing").WantFields("context", object{"assignments": array{"openingBalance"}})
}

// Opening balances in closed books are refused in the request and not by an operation that fails. Where each listing has
// its opening balance there is nothing to book.
func TestOpeningBalancesInClosedBooksAreRefused(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.moveDump(couple([2]int{50_000, 50_000}, final("2025-03", "usd", 0, 80_000, 0)), nil)
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)
	s.target.Exec(`update team set books_closed_at = '2025-04-01' where id = @team`, nil)

	before := s.target.Fingerprint()
	s.importOpenings().WantError("FORBIDDEN", "booksClosed").WantFields("context", object{"booksClosedAt": "2025-04-01", "lockReason": "period"})

	if s.target.Fingerprint() != before {
		t.Error("a refusal changed something")
	}

	s.target.Exec(`update team set books_closed_at = null where id = @team`, nil)
	s.start()
	s.target.Exec(`update team set books_closed_at = '2025-04-01' where id = @team`, nil)
	s.start()
}
