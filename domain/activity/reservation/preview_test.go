package reservation_test

import (
	"fmt"
	"slices"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/id"
)

// previewed are the entries of a preview as books.entries shows stored ones.
func previewed(b *books, r *apitest.Response) []string {
	codes := map[string]string{"": "none"}
	for _, code := range []string{"2000", "2100", "4000", "4010", "4100", "5100"} {
		codes[b.account(code).String()] = code
	}

	out := make([]string, r.Len("entries"))
	for i := range out {
		at := fmt.Sprintf("entries.%d.", i)

		account := ""
		if r.String(at+"account") != "null" {
			account = r.String(at + "account.id")
		}

		party := map[string]string{"null": "", "owners": "o", "manager": "m"}[r.String(at+"party")]
		out[i] = r.String(at+"txnAt") + " " + codes[account] + party + " " + r.String(at+"centTotal")
	}

	slices.Sort(out)

	return out
}

// The preview shows the journal that would be derived now, whether or not it is stored.
// Proves: VER-05.
func TestJournalPreview(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee()).Want(201)
	path := "/reservations/" + b.Post("/reservations", b.stay()).Want(201).String("id") + "/journal-preview"

	r := b.Get(path).Want(200)
	if r.Has("blocker") || r.String("lock.status") != "open" || r.Len("issues") != 0 || r.String("entries.0.account.name") != "Guest deposits, net of receivables" {
		t.Errorf("%s", r.Body)
	}

	if got, stored := previewed(b, r), b.entries(); !slices.Equal(got, stored) {
		t.Errorf("previewed %q, stored %q", got, stored)
	}

	stored := b.entries()
	b.Exec(`update team set default_revenue_recognition = 'checkOut', books_closed_at = '2026-02-01' where team_id = @team`, nil)
	b.Exec(`delete from account_assignment where team_id = @team and assignment = 'accountsReceivable'`, nil)
	b.Exec(`delete from reservation_line_mapping where team_id = @team and line_type = 'tax'`, nil)

	r = b.Get(path).Want(200)
	if r.String("lock.booksClosed.date") != "2026-02-01" || r.Len("issues") != 2 || r.String("issues.0.context.lineType") != "tax" ||
		r.String("issues.1.context.assignment") != "accountsReceivable" || r.String("issues.1.code") != "unassignedAccount" {
		t.Errorf("%s", r.Body)
	}

	want := []string{"2026-02-03 4000o -100000", "2026-02-03 4010o -15000", "2026-02-03 4100m -20000", "2026-02-03 5100o 20000", "2026-02-03 none 115000"}
	if got := previewed(b, r); !slices.Equal(got, want) {
		t.Errorf("previewed %q, want %q", got, want)
	}

	b.wantEntries(stored...)
	b.Get("/reservations/"+id.New(b.DB.Now()).String()+"/journal-preview").WantError(apierr.CodeNotFound, "")
}

// A change of the recognition settings starts one operation that derives all journals which no lock holds.
func TestTeamSettingsRefreshJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	stay := b.Post("/reservations", b.stay()).Want(201).String("id")
	b.Post("/reservations", b.stay("checkIn", "2026-01-01", "checkOut", "2026-01-05", "lines", []any{map[string]any{"type": "rent", "amount": 700}})).Want(201)
	b.Exec(`update team set books_closed_at = '2026-01-10' where team_id = @team`, nil)

	polls := func(body map[string]any, want string) {
		t.Helper()

		if got := b.Put("/team", body).Want(200); got.Header.Get("X-Service-Audit-Should-Poll") != want || got.String("id") != b.ID.String() {
			t.Errorf("%v: poll %s: %s", body, got.Header.Get("X-Service-Audit-Should-Poll"), got.Body)
		}
	}
	polls(map[string]any{"name": "Other", "defaultRevenueRecognition": "checkIn", "longTermStayNights": nil}, "false")
	polls(map[string]any{"defaultRevenueRecognition": "checkOut"}, "true")

	operations := b.Get("/operations").Want(200)
	if operations.Int("total") != 1 || operations.String("items.0.type") != "reservation-journal-refresh" || operations.String("items.0.resource.type") != "team" {
		t.Errorf("%s", operations.Body)
	}

	if got := b.Get("/reservations/" + stay); got.String("journalStatus.status") != "recalculating" {
		t.Errorf("%s", got.String("journalStatus"))
	}

	b.Work()
	b.wantEntries("2026-01-01 2000 700", "2026-01-01 4000o -700", "2026-02-03 2000 128800", "2026-02-03 2100 -13800", "2026-02-03 4000o -100000", "2026-02-03 4010o -15000")

	if got := b.Get("/operations").String("items.0.status"); got != "completed" {
		t.Error(got)
	}

	polls(map[string]any{"longTermStayNights": 4}, "true")
	polls(map[string]any{"longTermStayNights": 4}, "false")
	polls(map[string]any{"longTermStayNights": 5}, "true")
	b.Work()
	b.wantEntries("2026-01-01 2000 700", "2026-01-01 4000o -700", "2026-02-03 2000 128800", "2026-02-03 2100 -13800", "2026-02-03 4000o -100000", "2026-02-03 4010o -15000")

	if got := b.Get("/reservations/" + stay); got.String("journalStatus.status") != "current" || got.Len("journalStatus.operationIds") != 0 {
		t.Errorf("%s", got.String("journalStatus"))
	}
}
