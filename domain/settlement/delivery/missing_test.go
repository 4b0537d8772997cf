package delivery_test

import (
	"strings"
	"testing"
)

// wantMissing checks that a statement names the owners that it could not be mailed to, as warnings, and no others.
func (f *fixture) wantMissing(path string, want ...any) {
	f.t.Helper()

	r := f.Get(path).Want(200)
	if r.Len("issues") != len(want) {
		f.t.Errorf("%s has the issues %s, want %d", path, r.Body, len(want))
		return
	}

	for i, contact := range want {
		r.WantFields("issues."+string(rune('0'+i)), object{"code": "emailMissing", "severity": "warning", "context": object{"contactId": contact}})
	}
}

// An owner without an address keeps no statement from being published; the statement, its e-mails and whoever reads
// them say that nothing was sent to that owner (decision of 2026-11-25).
func TestPublishingSaysWhichOwnersHaveNoAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Put("/contacts/"+f.ben.String(), object{"email": nil}).Want(200)
	february := "/statements/" + f.Statement(f.villa, "2026-02").String()

	// The answer that publishes says so already, dry runs too; without e-mails there is nothing to say.
	publish := object{"status": "published", "emailDelivery": true}
	for _, dryRun := range []string{"?dryRun=true", ""} {
		r := f.Put(february+dryRun, publish).Want(200)
		if r.String("status") != "published" || r.Len("issues") != 1 || r.ID("issues.0.context.contactId") != f.ben {
			t.Errorf("%q answers %s", dryRun, r.Body)
		}
	}

	f.wantMissing("/statements/" + f.january.String())
	f.wantMissing(february, f.ben)

	// Every owner has a row once the messages are made, however often that is done.
	f.told(f.Statement(f.villa, "2026-02"))

	r := f.Get(february + "/emails").Want(200)
	if r.Len("data") < 2 {
		t.Fatalf("the e-mails are %s", r.Body)
	}

	statuses := map[string]int{}

	for i := range r.Len("data") {
		at := "data." + string(rune('0'+i))

		statuses[r.String(at+".status")]++
		if r.ID(at+".contactId") == f.ben && (r.String(at+".status") != "notSent" || r.String(at+".failure") != "emailMissing" || r.String(at+".to") != "null") {
			t.Errorf("the row of who has no address is %s", r.Body)
		}
	}

	if statuses["notSent"] != 1 {
		t.Errorf("the e-mails are %s", r.Body)
	}

	f.wantMissing(february, f.ben)

	// An address alone sends nothing: the warning goes when a message does.
	f.Put("/contacts/"+f.ben.String(), object{"email": "ben@example.com"}).Want(200)
	f.wantMissing(february, f.ben)
	f.Post(february+"/emails", object{"contactIds": array{f.ben}}).Want(202)
	f.wantMissing(february)
	f.Work()
	f.wantMissing(february)

	if m := f.box.messages(); !strings.EqualFold(m[len(m)-1].To, "ben@example.com") {
		t.Errorf("the last message is %+v", m[len(m)-1])
	}
}

// The warning is about a publication: it goes with the publication, and saves nothing from being published again.
func TestAMissingAddressBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Put("/contacts/"+f.ada.String(), object{"email": nil}).Want(200)
	february := "/statements/" + f.Statement(f.villa, "2026-02").String()
	f.Put(february, object{"status": "published", "emailDelivery": true}).Want(200)
	f.Work()
	f.wantMissing(february, f.ada)

	f.Put(february, object{"status": "inReview"}).Want(200)
	f.wantMissing(february)
	f.Put(february, object{"status": "published"}).Want(200)
	f.wantMissing(february)
	f.Put(february, object{"status": "inReview"}).Want(200)
	f.Put("/contacts/"+f.ada.String(), object{"email": "ada@example.com"}).Want(200)

	if r := f.Put(february, object{"status": "published", "emailDelivery": true}).Want(200); r.Len("issues") != 0 {
		t.Errorf("the old row counts: %s", r.Body)
	}
}

// Archived owners get no messages, so they lack no address.
func TestAnArchivedOwnerLacksNoAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Put("/contacts/"+f.ben.String(), object{"email": nil, "status": "inactive"}).Want(200)
	february := "/statements/" + f.Statement(f.villa, "2026-02").String()
	f.Put(february, object{"status": "published", "emailDelivery": true}).Want(200)
	f.Work()
	f.wantMissing(february)

	if r := f.Get(february + "/emails").Want(200); r.Len("data") != 1 {
		t.Errorf("the e-mails are %s", r.Body)
	}
}

// Saving a month and the batch say the same as a single change.
func TestSavingManyStatementsSaysWhichOwnersHaveNoAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Put("/contacts/"+f.cleo.String(), object{"email": nil}).Want(200)

	saved := f.Post("/statements", object{"month": "2026-02", "status": "published", "emailDelivery": true, "listingPeriodIds": array{f.hut.Period}}).Want(201)
	if saved.Len("data.0.issues") != 1 || saved.ID("data.0.issues.0.context.contactId") != f.cleo {
		t.Errorf("saved is %s", saved.Body)
	}

	run := f.Post("/statements/batch?dryRun=false", object{"month": "2026-03", "status": "published", "emailDelivery": true}).Want(202).String("id")
	f.Work()

	r := f.Get("/statements/batch/" + run).Want(200)
	if r.String("state") != "completed" || r.Len("data") != 2 {
		t.Fatalf("the batch is %s", r.Body)
	}

	villa, hut := "data.0", "data.1"
	if r.ID(hut+".listingPeriodId") != f.hut.Period {
		villa, hut = hut, villa
	}

	r.WantFields(hut, object{"outcome": "changed", "issues": array{
		object{"code": "emailMissing", "severity": "warning", "context": object{"contactId": f.cleo}},
	}})
	r.WantFields(villa, object{"outcome": "changed", "issues": array{}})

	// Another run finds them published, and sends nothing that could lack an address.
	run = f.Post("/statements/batch?dryRun=false", object{"month": "2026-03", "status": "published", "emailDelivery": true}).Want(202).String("id")
	f.Work()
	f.Get("/statements/batch/"+run).Want(200).WantFields("data.0", object{"outcome": "unchanged", "issues": array{}})
}
