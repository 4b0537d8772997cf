package world_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/test/world"
)

// around matches the statements that a transaction sends for itself.
var around = regexp.MustCompile(`^(begin|commit|select set_config)\b`)

// The counts are the cost of reading a noun: they may fall, and whoever raises one says why. A transaction's own
// statements do not count.
func TestReadsOfNounsSendFewStatements(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	villa := w.Listing("Villa", ada)
	w.Stay(villa, "2026-01-09", 100_000)
	fee := w.Call("POST", "/recurring-fees", world.Object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "creditParty": "manager",
		"debitParty": "owners", "creditAccountId": w.Account("4100"), "debitAccountId": w.Account("5200"),
		"accountTotalConditions": world.Array{world.Object{"accountId": w.Account("4100"), "operator": ">=", "centValue": 0}},
		"listingSubscriptions":   world.Array{world.Object{"listingId": villa.ID}},
	}).String("id")
	period := w.Call("GET", "/listings/ownership-periods", nil).String("data.0.id")

	for _, c := range []struct {
		path                   string
		statements, roundTrips int
	}{
		{"/recurring-fees/" + fee, 4, 1},
		{"/recurring-fees", 5, 2},
		{"/accounts/" + w.Account("1000").String(), 1, 1},
		{"/accounts", 1, 1},
		{"/listings/" + villa.ID.String(), 2, 2},
		{"/listings", 2, 2},
		{"/listings/ownership-periods/" + period, 2, 1},
		{"/listings/ownership-periods", 2, 2},
		{"/team", 1, 1},
		{"/teams", 1, 1},
	} {
		r := w.Call("GET", c.path, nil)
		if r.Status != 200 {
			t.Fatalf("%s: %s", c.path, r.Body)
		}

		sent := slices.DeleteFunc(slices.Clone(r.Sent.Statements), around.MatchString)
		if len(sent) != c.statements || r.Sent.RoundTrips != c.roundTrips {
			t.Errorf("%s sent %d statements in %d round trips, want %d in %d", c.path, len(sent), r.Sent.RoundTrips, c.statements, c.roundTrips)
			t.Log(strings.Join(sent, "\n"))
		}
	}
}
