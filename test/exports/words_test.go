package exports_test

import (
	"bytes"
	"strings"
	"testing"

	"stayledger/test/world"
)

// told has all forms of a statement of a month: the answer itself, the list, and the text of the documents.
func (g *goldenTeam) told(t *testing.T, month string, l world.Listing) map[string]string {
	t.Helper()

	selector := world.Object{"month": month, "listingIds": world.Array{l.ID}}

	out := map[string]string{"/statements": string(g.Get("/statements" + query(selector)).Want(200).Body)}
	for _, view := range []string{"manager", "owner"} {
		path := "/statements/" + g.Statement(l, month).String() + "?viewAs=" + view
		out[path] = string(g.Get(path).Want(200).Body)
	}

	for _, path := range []string{"/statements/csv", "/statements/detail/csv", "/statements/pdf"} {
		content := g.fetch(t, g.Get(path+query(selector)).Want(200).String("url"))
		if strings.HasSuffix(path, "pdf") {
			content = pdfText(t, content)
		}

		out[path] = string(content)
	}

	return out
}

func (g *goldenTeam) rename(t *testing.T) {
	t.Helper()

	address := world.Object{"line1": "1 New Road", "city": "Elsewhere"}
	g.Put("/listings/"+g.villa.ID.String(), world.Object{"name": "Renamed villa", "address": address}).Want(200)
	g.Put("/contacts/"+g.ann.String(), world.Object{"name": "Renamed Ann", "address": address}).Want(200)
	g.Put("/accounts/"+g.Account("4000").String(), world.Object{"name": "Renamed revenue"}).Want(200)

	var stays struct{ Data []struct{ ID string } }
	g.Get("/reservations?limit=100").Want(200).Into(&stays)

	for _, stay := range stays.Data {
		g.Put("/reservations/"+stay.ID, world.Object{"guestName": "Renamed guest", "confirmationCode": "NEW" + stay.ID[30:]}).Want(200)
	}

	g.Work()
}

// A published statement keeps the names of guests, owners, accounts and its listing, and the order of its lines,
// wherever it is read. A draft has those of today, and so has a published one that is reopened, until it is published
// again.
func TestPublishedStatementsKeepTheirWords(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	villa, flat, drafted := g.told(t, "2026-01", g.villa), g.told(t, "2026-01", g.flat), g.told(t, "2026-02", g.villa)
	g.rename(t)

	unchanged := func(was, is map[string]string) {
		t.Helper()

		for what := range was {
			if is[what] != was[what] {
				t.Errorf("%s was\n%s\nand is\n%s", what, was[what], is[what])
			}
		}
	}
	unchanged(villa, g.told(t, "2026-01", g.villa))
	unchanged(flat, g.told(t, "2026-01", g.flat))

	renamed := g.told(t, "2026-02", g.villa)
	for what, was := range drafted {
		if is := renamed[what]; is == was || !strings.Contains(is, "Renamed") {
			t.Errorf("%s of a draft is still\n%s", what, is)
		}
	}

	path := "/statements/" + g.Statement(g.villa, "2026-01").String()
	g.Put(path, world.Object{"status": "inReview"}).Want(200)

	if in := g.Get(path).Want(200); !bytes.Contains(in.Body, []byte("Renamed guest")) || in.String("listing.name") != "Renamed villa" {
		t.Errorf("in review: %s", in.Body)
	}

	if d := g.Get(path + "/difference").Want(200); d.Len("added")+d.Len("removed")+d.Len("changed") != 0 {
		t.Errorf("names are no difference: %s", d.Body)
	}

	g.Put(path, world.Object{"status": "published"}).Want(200)
	g.Put("/listings/"+g.villa.ID.String(), world.Object{"name": "Villa again"}).Want(200)

	if again := g.Get(path).Want(200); again.String("listing.name") != "Renamed villa" || !strings.Contains(string(again.Body), "Renamed Ann") {
		t.Errorf("published again: %s", again.Body)
	}

	g.Put(path, world.Object{"status": "draft"}).Want(200)

	if draft := g.Get(path).Want(200); draft.String("listing.name") != "Villa again" {
		t.Errorf("a draft: %s", draft.Body)
	}
}
