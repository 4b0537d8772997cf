package delivery_test

import (
	"context"
	"io"
	"slices"
	"testing"

	"stayledger/domain/record/file"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// signIn makes an owner who signs in with a token of his or her own.
func (f *fixture) signIn(contact id.ID) string {
	f.t.Helper()

	var token string

	f.System(func(ctx context.Context, tx *db.Tx) error {
		user, err := access.AddUser(ctx, tx, "Owner", tx.NewID().String()+"@example.com")
		if err != nil {
			return err
		}

		if err := access.SetMember(ctx, tx, access.Member{Team: f.ID, User: user, Contact: &contact, Scopes: access.OwnerScopes()}); err != nil {
			return err
		}

		token, err = access.IssueToken(ctx, tx, user, nil)

		return err
	})

	return token
}

func TestOwnersSeeTheStatementsOfTheirListings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	ada, cleo := f.signIn(f.ada), f.signIn(f.cleo)
	if got := f.call("GET", "/statements", ada, "").ids(); !slices.Equal(got, []string{f.january.String()}) {
		t.Errorf("Ada sees %v", got)
	}

	if got := f.call("GET", "/statements", cleo, "").ids(); !slices.Equal(got, []string{f.hers.String()}) {
		t.Errorf("Cleo sees %v", got)
	}

	f.call("GET", "/statements/"+f.january.String(), ada, "").want(200)
	f.call("GET", "/statements/"+f.january.String(), cleo, "").refused(apierr.CodeNotFound, "")
	f.call("GET", "/statements/"+f.january.String(), ada, "", "x-team-id", world.New(t).ID.String()).refused(apierr.CodeNotFound, "")
	f.call("GET", "/statements/"+f.january.String()+"/owner-links", ada, "").refused(apierr.CodeForbidden, "")
	f.call("POST", "/statements/"+f.january.String()+"/emails", ada, "{}").refused(apierr.CodeForbidden, "")
	f.call("GET", "/operations", ada, "").want(200)
	f.call("GET", "/me", ada, "").want(200)

	february := f.Statement(f.villa, "2026-02").String()
	f.call("GET", "/statements/"+february, ada, "").refused(apierr.CodeNotFound, "")
	f.Exec(`update team set owner_portal_show_draft_statements = true where id = @team`, nil)
	f.call("GET", "/statements/"+february, ada, "").want(200)
	f.call("GET", "/statements/"+february, cleo, "").refused(apierr.CodeNotFound, "")
	f.Put("/statements/"+february, object{"status": "inReview"}).Want(200)
	f.call("GET", "/statements/"+february, ada, "").refused(apierr.CodeNotFound, "")
}

// attach keeps a file and links it to a transaction.
func (f *fixture) attach(transaction id.ID, accessible bool) id.ID {
	f.t.Helper()

	stored, err := file.Keep(f.t.Context(), f.DB, f.Scope(), f.outside.Store, func(w io.Writer) error {
		_, err := io.WriteString(w, "a bill")
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}

	f.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := file.Insert(ctx, tx, file.New{Stored: stored, Kind: file.Attachment, Filename: "bill.txt", ContentType: "text/plain"}); err != nil {
			return err
		}

		_, err := tx.Exec(ctx, `insert into transaction_attachment (team_id, id, transaction_id, is_owner_accessible, created_at, updated_at)
			values (@team, @id, @transaction, @accessible, @now, @now)`,
			db.Args{"team": tx.Team, "id": stored.ID, "transaction": transaction, "accessible": accessible, "now": tx.Now})

		return err
	})

	return stored.ID
}

func TestOwnersDownloadWhatIsOpenedToThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	published := f.Get("/statements/" + f.january.String()).Want(200)

	var expense id.ID

	for i := range published.Len("lines") {
		if at := "lines." + string(rune('0'+i)); published.String(at+".section") == "expenses" {
			expense = published.ID(at + ".transactionId")
		}
	}

	draft := f.Expense(f.villa, "2026-02-10", 4_500)
	open, closed, drafted := f.attach(expense, true), f.attach(expense, false), f.attach(draft, true)
	loose := f.attach(id.Zero, true)
	link := f.session(f.link(f.january, f.ada))
	ada, cleo := f.signIn(f.ada), f.signIn(f.cleo)

	reads := func(token string, of id.ID, want int) {
		t.Helper()

		for _, suffix := range []string{"", "/download"} {
			if a := f.call("GET", "/files/"+of.String()+suffix, token, ""); a.status != want || want == 200 && suffix != "" && a.body != "a bill" {
				t.Errorf("%s answered %d, want %d: %s", a.call, a.status, want, a.body)
			}
		}
	}
	for _, token := range []string{link, ada} {
		reads(token, open, 200)
		reads(token, closed, 404)
		reads(token, drafted, 404)
		reads(token, loose, 404)
	}

	reads(cleo, open, 404)
	f.Get("/files/" + closed.String()).Want(200)
	world.New(t).Get("/files/"+open.String()).WantError(apierr.CodeNotFound, "")

	f.Exec(`update team set owner_portal_show_draft_statements = true where id = @team`, nil)
	reads(ada, drafted, 200)
	reads(cleo, drafted, 404)
	f.Exec(`update team set owner_portal_show_draft_statements = false where id = @team`, nil)
	f.Exec(`update transaction_attachment set is_owner_accessible = false where team_id = @team`, nil)
	reads(ada, open, 404)
	f.Exec(`update transaction_attachment set is_owner_accessible = true where team_id = @team`, nil)
	f.Put("/statements/"+f.january.String(), object{"status": "inReview"}).Want(200)
	reads(ada, open, 404)
}
