package file_test

import (
	"strings"
	"sync"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	whole "stayledger/test/world"
)

// books are a team with the whole service.
type books struct{ *whole.World }

func (b *books) attach(open bool) string {
	b.T.Helper()
	body, contentType := form(b.T, paper("bill.txt", text, "a bill"), value("isOwnerAccessible", map[bool]string{true: "1", false: "0"}[open]))

	return b.Post("/transaction-attachments", body, "Content-Type", contentType).Want(201).String("id")
}

// expense is an expense of a listing with papers.
func (b *books) expense(l whole.Listing, date string, papers ...string) string {
	b.T.Helper()
	one := b.Expense(l, date, 1_000).String()
	b.Put("/transactions/"+one, whole.Object{"attachmentIds": papers}).Want(200)

	return one
}

// Proves: ATT-10, ATT-15, ATT-16, ATT-21.
func TestUploadsOfExpensesReachTheirOwners(t *testing.T) {
	t.Parallel()
	b := &books{whole.New(t)}
	ada, ben := b.Contact("owner", "Ada"), b.Contact("owner", "Ben")
	villa, barn := b.Listing("Villa", ada), b.Listing("Barn", ben)
	open, closed, barns, loose := b.attach(true), b.attach(false), b.attach(true), b.attach(true)
	expense := b.expense(villa, "2026-01-20", open, closed)
	b.expense(barn, "2026-01-20", barns)

	if got := b.Patch(attachments+open, whole.Object{"isOwnerAccessible": true}).Want(200).String("transactionId"); got != expense {
		t.Errorf("linked to %s, want %s", got, expense)
	}

	b.Publish("2026-01")
	owner := b.As([]string{"statements:read", "files:read"}, &ada)

	detail := owner.Get("/statements/" + b.Statement(villa, "2026-01").String()).Want(200)
	if detail.Len("attachments") != 1 || detail.String("attachments.0.id") != open {
		t.Errorf("the owner is shown %s", detail.Value("attachments"))
	}

	link := detail.String("attachments.0.url")
	if got := owner.Get(strings.TrimPrefix(link, "http://127.0.0.1")).Want(200); string(got.Body) != "a bill" {
		t.Errorf("the link gives %s", got.Body)
	}

	for one, want := range map[string]int{open: 200, closed: 404, barns: 404, loose: 404} {
		for _, path := range []string{attachments + one, attachments + one + "/download", "/files/" + one, "/files/" + one + "/download"} {
			if got := owner.Get(path); got.Status != want {
				t.Errorf("%s: %d, want %d", path, got.Status, want)
			}
		}
	}

	owner.Patch(attachments+open, whole.Object{"isOwnerAccessible": false}).Want(403)
}

// An owner reads the papers of drafts when the team shows drafts, and then of those months alone that have one.
// Proves: ATT-16.
func TestPapersOfDraftsFollowTheDrafts(t *testing.T) {
	t.Parallel()
	b := &books{whole.New(t)}
	ada := b.Contact("owner", "Ada")
	villa := b.Listing("Villa", ada)
	now := b.DB.Now()
	months := map[string]string{
		"published": "2026-01", "in review": "2026-02", "draft": "2026-03", "present": now.Format("2006-01"), "to come": now.AddDate(0, 2, 0).Format("2006-01"),
	}

	papers := map[string]string{}
	for name, month := range months {
		papers[name] = b.attach(true)
		b.expense(villa, month+"-01", papers[name])
	}

	owner := b.As([]string{"statements:read", "files:read"}, &ada)
	sees := func(when string, names ...string) {
		t.Helper()

		for name, one := range papers {
			want := 404

			for _, n := range names {
				if n == name {
					want = 200
				}
			}

			if got := owner.Get(attachments + one + "/download"); got.Status != want {
				t.Errorf("%s: %s: %d, want %d", when, name, got.Status, want)
			}

			listed := owner.Get("/statements?month=" + months[name]).Want(200)
			if shown := listed.Len("data") == 1; shown != (want == 200) {
				t.Errorf("%s: %s: the statement is listed %v", when, name, shown)
			}
		}
	}
	sees("all drafts")
	b.Publish("2026-01")
	b.Put("/statements/"+b.Statement(villa, "2026-02").String(), whole.Object{"status": "inReview"}).Want(200)
	sees("drafts are the manager's", "published")
	b.Exec(`update team set owner_portal_show_draft_statements = true where id = @team`, nil)
	sees("drafts are shown", "published", "draft", "present")
	b.Exec(`update team set statement_start_at = '2026-04-01' where id = @team`, nil)
	sees("statements start later", "published", "present")
	b.Exec(`update team set statement_start_at = null where id = @team`, nil)
	b.Exec(`update listing_ownership_period set start_at = '2026-04-01' where team_id = @team`, nil)
	sees("the ownership starts later", "published", "draft", "present")
}

// No amount depends on a paper, so nothing that locks amounts locks papers.
// Proves: OPEN-49.
func TestLocksDoNotHoldPapers(t *testing.T) {
	t.Parallel()
	b := &books{whole.New(t)}
	ada := b.Contact("owner", "Ada")
	villa := b.Listing("Villa", ada)
	first, second := b.attach(false), b.attach(true)
	expense := b.expense(villa, "2026-01-20", first)
	b.Publish("2026-01")
	owner := b.As([]string{"statements:read", "files:read"}, &ada)
	b.Patch(attachments+first, whole.Object{"isOwnerAccessible": true}).Want(200)
	owner.Get(attachments + first + "/download").Want(200)
	b.Put("/transactions/"+expense, whole.Object{"attachmentIds": whole.Array{first, second}}).Want(200)
	owner.Get(attachments + second + "/download").Want(200)
	b.Exec(`update team set books_closed_at = '2026-02-01' where id = @team`, nil)
	b.Patch(attachments+second, whole.Object{"isOwnerAccessible": false}).Want(200)
	owner.Get(attachments+second+"/download").WantError(apierr.CodeNotFound, "")
	b.Delete(attachments + first).Want(204)
	owner.Get(attachments+first+"/download").WantError(apierr.CodeNotFound, "")

	shown := b.Get("/transactions/" + expense).Want(200)
	if shown.Len("attachmentIds") != 1 || shown.String("attachmentIds.0") != second {
		t.Errorf("left are %s", shown.Value("attachmentIds"))
	}
}

// Proves: OPEN-49.
func TestTwoTransactionsWantOnePaper(t *testing.T) {
	t.Parallel()
	b := &books{whole.New(t)}

	villa := b.Listing("Villa", b.Contact("owner", "Ada"))
	for range 5 {
		one := b.attach(false)
		bodies := make(chan int, 4)

		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				bodies <- b.Post("/transactions?dryRun=false", whole.Object{
					"type": "expense", "date": "2026-01-15", "accountId": b.Account("1000"), "attachmentIds": whole.Array{one},
					"lines": whole.Array{whole.Object{"accountId": b.Account("5200"), "amount": 100, "listingId": villa.ID}},
				}).Status
			})
		}

		all.Wait()
		close(bodies)

		got := map[int]int{}
		for status := range bodies {
			got[status]++
		}

		if got[201] != 1 || got[409] != 3 {
			t.Errorf("answers %v", got)
		}

		holder := b.Get(attachments + one).Want(200).String("transactionId")
		if listed := b.Get("/transactions/" + holder).Want(200).String("attachmentIds.0"); listed != one {
			t.Errorf("the holder has %s", listed)
		}

		b.Delete("/transactions/" + holder).Want(204)

		if got := b.Get(attachments + one).Want(200).String("transactionId"); got != "null" {
			t.Errorf("still linked to %s", got)
		}
	}
}

// A deleted or purged paper cannot be linked.
// Proves: OPEN-49.
func TestWhatIsGoneCannotBeLinked(t *testing.T) {
	t.Parallel()
	b := &books{whole.New(t)}
	villa := b.Listing("Villa", b.Contact("owner", "Ada"))
	expense := "/transactions/" + b.Expense(villa, "2026-01-15", 100).String()
	deleted, due := b.attach(false), b.attach(false)
	b.Delete(attachments + deleted).Want(204)
	b.Exec(`update file set purge_at = now() - interval '1 second' where team_id = @team`, nil)

	for _, gone := range []string{deleted, due, id.New(b.DB.Now()).String()} {
		b.Put(expense, whole.Object{"attachmentIds": whole.Array{gone}}).WantError(apierr.CodeBadRequest, "").WantIssue("attachmentNotFound", "attachmentIds.0")
	}
}
