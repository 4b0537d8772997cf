package reservation_test

import (
	"testing"

	"stayledger/platform/apierr"
)

const mappings = "/reservations/line-mappings"

// A new line type can be found and mapped, for all or for some, and the journals follow.
// Proves: DRY-55.
func TestLineMappings(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	lines := []any{object{"type": "rent", "amount": 1_000}, object{"type": "spa", "amount": 500}}
	plain := b.Post("/reservations", b.stay("lines", lines, "appId", "pms")).Want(201)
	airbnb := b.Post("/reservations", b.stay("lines", lines, "appId", "pms", "bookingPlatform", "AirBnB")).Want(201)

	if plain.String("issues.0.context.lineType") != "spa" || plain.Int("financials.total") != 1_500 {
		t.Errorf("%s", plain.Body)
	}

	b.wantEntries("2026-01-29 2000 1000", "2026-01-29 4000o -1000", "2026-01-29 2000 1000", "2026-01-29 4000o -1000")

	found := b.Get(mappings + "?status=unmapped").Want(200)
	if found.Len("data") != 1 || found.String("data.0.lineType") != "spa" || found.String("data.0.appId") != "pms" || found.String("data.0.accountId") != "null" {
		t.Fatalf("%s", found.Body)
	}

	unmapped := mappings + "/" + found.String("data.0.id")
	if got := b.Put(unmapped, object{"accountId": b.account("4020"), "party": "manager"}).Want(200); got.String("status") != "mapped" || got.String("account.name") != "Guest fees" {
		t.Errorf("%s", got.Body)
	}

	if got := b.Get("/reservations/" + plain.String("id")); got.String("journalStatus.status") != "recalculating" || got.String("journalStatus.reason") != "mappingChanged" || got.Len("issues") != 0 {
		t.Errorf("%s", got.Body)
	}

	b.Work()

	spa := []string{"2026-01-29 2000 1500", "2026-01-29 4000o -1000", "2026-01-29 4020m -500"}
	b.wantEntries(append(spa, spa...)...)

	if got := b.Get("/reservations/" + plain.String("id")); got.String("journalStatus.status") != "current" {
		t.Errorf("%s", got.Body)
	}

	excluded := b.Post(mappings, object{"lineType": "spa", "appId": "pms", "channel": "airbnb", "status": "excluded"}).Want(201)
	b.Work()
	b.wantEntries(append(spa, "2026-01-29 2000 1000", "2026-01-29 4000o -1000")...)

	if got := b.Get("/reservations/" + airbnb.String("id")); got.Int("financials.total") != 1_000 || got.String("lines.1.inactiveReason") != "lineTypeExcluded" || got.Len("issues") != 0 {
		t.Errorf("%s", got.Body)
	}

	for query, want := range map[string]int{"amount=1000": 1, "amount=1500": 1, "lineType=spa": 2, "lineType=other": 0, "appId=pms": 2, "appId=null": 0, "connectionId=null": 2} {
		if got := b.Get("/reservations?" + query).Want(200); got.Len("data") != want {
			t.Errorf("%s: %s", query, got.Body)
		}
	}

	b.Delete(mappings + "/" + excluded.String("id")).Want(204)
	b.Put(unmapped, object{"revenueRecognition": "checkOut"}).Want(200)
	b.Work()

	later := []string{"2026-01-29 2000 1500", "2026-01-29 4000o -1000", "2026-01-29 2010 -500", "2026-02-03 2010 500", "2026-02-03 4020m -500"}
	b.wantEntries(append(later, later...)...)
	b.Get(mappings+"/"+excluded.String("id")).WantError(apierr.CodeNotFound, "")
	b.Put(unmapped+"?dryRun=true", object{}).WantError(apierr.CodeBadRequest, "")
	b.Post(mappings+"?dryRun=true", object{"lineType": "sauna", "status": "excluded"}).WantError(apierr.CodeBadRequest, "")
	b.Delete(unmapped+"?dryRun=true").WantError(apierr.CodeBadRequest, "")
	b.Post(mappings+"?dryRun=true", object{"lineType": "x"}).WantError(apierr.CodeBadRequest, "")
	b.Delete(unmapped+"?dryRun=true").WantError(apierr.CodeBadRequest, "")
}

// A lock keeps a journal as it is when its mapping changes, and the reservation says so.
// Proves: STM-11.
func TestMappingOfALockedStay(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	r := b.Post("/reservations", b.stay("lines", []any{object{"type": "rent", "amount": 1_000}})).Want(201)
	b.Exec(`update team set books_closed_at = '2026-02-01' where id = @team`, nil)
	rent := b.Get(mappings + "?lineType=rent").Want(200).String("data.0.id")
	b.Put(mappings+"/"+rent, object{"accountId": b.account("4020")}).Want(200)
	b.Work()
	b.wantEntries("2026-01-29 2000 1000", "2026-01-29 4000o -1000")

	if got := b.Get("/reservations/" + r.String("id")); got.String("journalStatus.status") != "stale" || got.String("journalStatus.reason") != "journalLocked" {
		t.Errorf("%s", got.Body)
	}
}
