package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/mail"
	"stayledger/test/world"
)

var errDown = errors.New("no route to the mail server")

func (f *fixture) emails() string { return "/statements/" + f.january.String() + "/emails" }

// linkIn is the secret of the link that a text holds.
func linkIn(t *testing.T, text string) string {
	t.Helper()

	found := regexp.MustCompile(`http://127\.0\.0\.1/owner#([\w-]+)`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no link in %s", text)
	}

	return found[1]
}

func TestEveryOwnerWithAnAddressGetsTheStatement(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Exec(`update team set support_email = 'desk@stays.example', company_name = 'Seaside Stays' where id = @team`, nil)

	r := f.Post(f.emails(), nil).Want(202)
	if r.Len("data") != 2 || r.ID("data.0.contactId") != f.ada || r.String("data.0.to") != "Ada@example.com" || r.String("data.0.status") != "queued" || r.String("data.0.sentAt") != "null" {
		t.Errorf("queued are %s", r.Body)
	}

	if r := f.Post(f.emails(), object{"contactIds": array{f.ben, f.ben}}).Want(202); r.Len("data") != 1 || r.ID("data.0.contactId") != f.ben {
		t.Errorf("who waits is written to again: %s", r.Body)
	}

	if len(f.box.messages()) != 0 {
		t.Error("a request sends mail itself")
	}

	f.Work()

	took := f.box.messages()
	if len(took) != 2 {
		t.Fatalf("%d messages were sent", len(took))
	}

	m := took[0]
	if m.ToName != "Ada" {
		m = took[1]
	}

	if m.Key != r.String("data.0.id") || m.To != "Ada@example.com" || m.Subject != "Owner statement January 2026: Villa" || m.From != "Seaside Stays" || m.ReplyTo != "" {
		t.Errorf("the message is %+v", m)
	}

	for _, text := range []string{m.Text, m.HTML} {
		if !strings.Contains(text, "Hello Ada") || !strings.Contains(text, "January 2026") || !strings.Contains(text, "Seaside Stays") {
			t.Errorf("it reads %s", text)
		}
		// No amount, and no address that the layout does not show.
		if regexp.MustCompile(`1[,.]?2(34|11)|617|desk@`).MatchString(text) {
			t.Errorf("it tells too much: %s", text)
		}

		f.exchange(linkIn(t, text)).want(200)
	}

	if linkIn(t, m.Text) != linkIn(t, m.HTML) {
		t.Error("two links in one message")
	}

	r = f.Get(f.emails()).Want(200)
	if r.Len("data") != 2 || r.String("data.0.status") != "sent" || r.String("data.0.sentAt") == "null" || r.String("data.0.failure") != "null" {
		t.Errorf("the history is %s", r.Body)
	}

	if kept := f.rows("delivery_email"); !strings.Contains(kept, "sent") || strings.Contains(kept, `\\\\x`) {
		t.Errorf("the secret outlives the message: %s", kept)
	}

	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()

	if again := f.box.messages()[2]; again.Key == m.Key || linkIn(t, again.Text) == linkIn(t, m.Text) {
		t.Errorf("a second message is %+v", again)
	}
}

func TestTheLayoutDecidesWhetherTheManagerIsReached(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Exec(`update team set support_email = 'desk@stays.example' where id = @team`, nil)
	f.Exec(`update statement set layout = coalesce(layout, '{}') || '{"showTeamEmail": true}' where team_id = @team`, nil)
	f.Exec(`update contact set first_name = 'Augusta' where team_id = @team and id = @ada`, db.Args{"ada": f.ada})
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()

	m := f.box.messages()[0]
	if m.ReplyTo != "desk@stays.example" || !strings.Contains(m.Text, "desk@stays.example") || !strings.Contains(m.HTML, "mailto:desk@stays.example") || !strings.Contains(m.Text, "Hello Augusta,") || m.ToName != "Ada" {
		t.Errorf("the message is %+v", m)
	}
}

func TestNamesDoNotBecomeMarkup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Exec(`update contact set name = '<img src=x>' where team_id = @team and id = @ada`, db.Args{"ada": f.ada})
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()

	if m := f.box.messages()[0]; strings.Contains(m.HTML, "<img") {
		t.Errorf("the message is %s", m.HTML)
	}
}

func TestSendingRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Put("/contacts/"+f.ben.String(), object{"email": nil}).Want(200)

	for code, contact := range map[string]id.ID{"notMember": f.cleo, "notFound": id.New(f.DB.Now()), "emailMissing": f.ben} {
		f.Post(f.emails(), object{"contactIds": array{f.ada, contact}}).WantError(apierr.CodeBadRequest, "").WantIssue(code, "contactIds.1")
	}

	if r := f.Post(f.emails(), object{}).Want(202); r.Len("data") != 1 {
		t.Errorf("queued are %s", r.Body)
	}

	f.Put("/contacts/"+f.ada.String(), object{"status": "inactive"}).Want(200)
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).WantError(apierr.CodeBadRequest, "").WantIssue("inactive", "contactIds.0")
	f.Post(f.emails(), object{}).WantError(apierr.CodeBadRequest, "").WantIssue("emailMissing", "contactIds")
	f.Post(f.emails()+"?dryRun=true", object{}).Want(400)
	f.Post("/statements/"+f.Statement(f.villa, "2026-02").String()+"/emails", object{}).WantError(apierr.CodeBadRequest, "").WantIssue("notPublished", "id")
}

// publish makes the job that publishing leaves.
func (f *fixture) told(statements ...id.ID) {
	f.t.Helper()
	f.Tx(func(ctx context.Context, tx *db.Tx) error {
		for _, s := range statements {
			if err := job.Insert(ctx, tx, job.New{Kind: statement.MailKind, Args: statement.MailArgs{StatementID: s}}); err != nil {
				return err
			}
		}

		return nil
	})
	f.Work()
}

func TestPublishingTellsTheOwners(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Put("/contacts/"+f.ben.String(), object{"email": nil}).Want(200)
	f.told(f.january, f.hers)

	to := map[string]bool{}
	for _, m := range f.box.messages() {
		to[m.To] = true
	}

	if len(to) != 2 || !to["Ada@example.com"] || !to["Cleo@example.com"] {
		t.Errorf("told were %v", to)
	}
	// A statement that is not published when its turn comes is sent to no one, and neither is one without an address.
	f.Put("/statements/"+f.january.String(), object{"status": "draft"}).Want(200)
	f.Put("/contacts/"+f.cleo.String(), object{"email": nil}).Want(200)
	f.told(f.january, f.hers, id.New(f.DB.Now()))

	if n := len(f.box.messages()); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// later makes the appointments of the team's jobs due.
func (f *fixture) later() {
	f.Exec(`update job set due_at = clock_timestamp() where team_id = @team`, nil)
	f.Work()
}

func (f *fixture) wantEmail(status, failure string) {
	f.t.Helper()

	r := f.Get(f.emails()).Want(200)
	if r.String("data.0.status") != status || r.String("data.0.failure") != failure {
		f.t.Errorf("the message is %s, want %s %s", r.Body, status, failure)
	}
}

func TestAServerThatIsDownIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.box.answer = func(n int) error {
		if n < 2 {
			return errDown
		}

		return nil
	}
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()
	f.wantEmail("queued", "null")
	f.later()
	f.wantEmail("queued", "null")
	f.later()
	f.wantEmail("sent", "null")

	took := f.box.messages()
	if len(took) != 3 || took[0] != took[1] || took[1] != took[2] {
		t.Errorf("the attempts differ: %+v", took)
	}

	f.exchange(linkIn(t, took[0].Text)).want(200)
}

func TestAServerThatStaysDownIsGivenUpAfterADay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.box.answer = func(int) error { return errDown }
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()

	var waited time.Duration

	attempts := 1
	for ; attempts < 50; attempts++ {
		var waits []time.Time

		f.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			waits, err = db.Select[time.Time](ctx, tx, `select due_at from job where team_id = @team`, db.Args{"team": tx.Team})
			return err
		})

		if len(waits) == 0 {
			break
		}

		f.wantEmail("queued", "null")

		waited += time.Until(waits[0])

		f.later()
	}

	f.wantEmail("failed", "undeliverable")

	if waited < 20*time.Hour || waited > 28*time.Hour || len(f.box.messages()) != attempts {
		t.Errorf("given up after %s and %d attempts, %d messages", waited, attempts, len(f.box.messages()))
	}
}

func TestAMessageThatIsRefusedIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.box.answer = func(int) error { return fmt.Errorf("%w: no such mailbox", mail.ErrRefused) }
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()
	f.wantEmail("failed", "refused")
	f.later()

	if n := len(f.box.messages()); n != 1 {
		t.Errorf("%d messages", n)
	}

	f.box.answer = nil
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()
	f.wantEmail("sent", "null")
}

func TestAMessageIsWithdrawnWithItsStatement(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func(f *fixture){
		"reopened":        func(f *fixture) { f.Put("/statements/"+f.january.String(), object{"status": "draft"}).Want(200) },
		"another address": func(f *fixture) { f.Put("/contacts/"+f.ada.String(), object{"email": "other@example.com"}).Want(200) },
		"revoked": func(f *fixture) {
			links := "/statements/" + f.january.String() + "/owner-links"
			f.Delete(links + "/" + f.Get(links).Want(200).String("data.0.id")).Want(204)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
			end(f)
			f.Work()
			f.wantEmail("failed", "withdrawn")

			if n := len(f.box.messages()); n != 0 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// The worker loses its job between the send and the commit, as in a crash: the next one sends the same message under
// the same key.
func TestACrashAfterTheSendRepeatsTheSameMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.box.answer = func(n int) error {
		if n == 0 {
			f.Exec(`update job set worker_id = null, due_at = clock_timestamp() where team_id = @team`, nil)
		}

		return nil
	}
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()
	f.wantEmail("sent", "null")

	took := f.box.messages()
	if len(took) != 2 || took[0] != took[1] {
		t.Fatalf("sent were %+v", took)
	}

	f.exchange(linkIn(t, took[0].Text)).want(200)
}

func TestAWorkerThatDiesEveryTimeGivesTheMessageUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.box.answer = func(int) error { panic("out of memory") }
	f.Post(f.emails(), object{"contactIds": array{f.ada}}).Want(202)
	f.Work()
	f.wantEmail("failed", "undeliverable")
}

func TestAServiceWithoutAMailServerSaysSo(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	owner := w.Contact("owner", "Ada")
	villa := w.Listing("Villa", owner)
	w.Publish("2026-01", villa)
	path := "/statements/" + w.Statement(villa, "2026-01").String() + "/emails"
	w.Post(path, nil).Want(202)
	w.Work()

	if r := w.Get(path).Want(200); r.String("data.0.failure") != "refused" {
		t.Errorf("the message is %s", r.Body)
	}
}
