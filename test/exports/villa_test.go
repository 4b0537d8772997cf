package exports_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/export"
	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/domain/reporting/report"
	"stayledger/domain/reporting/trust"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
	"stayledger/platform/pdf/pdftest"
	"stayledger/test/fixture"
)

const address = "https://books.example.com"

// villaTeam is a team with the standard chart, two owners of a villa, and all exports.
type villaTeam struct {
	*apitest.Team
	t                testing.TB
	endpoints        []api.Endpoint
	store            *blob.LocalStore
	accounts         map[string]id.ID // by code
	ann, ben, vendor id.ID
	villa, period    id.ID
}

func newVillaTeam(t testing.TB) *villaTeam {
	t.Helper()
	return newVillaTeamWith(t, export.Config{})
}

// newVillaTeamWith serves the exports of the contract.
func newVillaTeamWith(t testing.TB, c export.Config) *villaTeam {
	t.Helper()

	store, err := blob.Local(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	signer, err := blob.NewSigner([]byte("a test key of more than 32 bytes in all"))
	if err != nil {
		t.Fatal(err)
	}

	c.Store, c.Signer, c.PublicURL = store, signer, address

	declared := parts.Exports(
		account.Part(nil), bank.Part(rule.OfBank), contact.Part(nil), listing.New(nil, nil).Part(), mapping.Part(), reservation.Part(), transaction.Part(),
		statement.Part(), report.Part(nil), trust.Part(),
	)
	served := export.New(c, declared...).Part()
	w := &villaTeam{t: t, store: store, endpoints: slices.Concat(
		served.Endpoints, layout.Part().Endpoints, file.Part(store, signer).Endpoints, operation.Part(time.Hour).Endpoints, transaction.Part().Endpoints, statement.Part().Endpoints,
	)}

	scopes := []string{"statements:publish"} // checked besides those that endpoints declare
	for i := range w.endpoints {
		scopes = append(scopes, w.endpoints[i].Scopes...)
	}

	w.Team = apitest.New(t, apitest.Config{Endpoints: w.endpoints, Handlers: served.Handlers, Scopes: scopes})
	w.accounts = fixture.StandardChart(w.Team)
	w.Tx(mapping.InstallStandard)
	w.ann, w.ben, w.vendor = fixture.Contact(w.Team, "owner", "Ann Owner"), fixture.Contact(w.Team, "owner", "Ben Owner"), fixture.Contact(w.Team, "vendor", "=Fix-It, Inc.")
	w.villa = fixture.Listing(w.Team, "Villa Aurora")
	w.period = w.ownership(w.villa, w.ann, w.ben)

	return w
}

func (w *villaTeam) id() id.ID { return id.New(w.DB.Now()) }

// ownership is a period from inception on; owners have 60 and 40 percent, and there may be none.
func (w *villaTeam) ownership(listing id.ID, owners ...id.ID) id.ID {
	p := w.id()
	w.Exec(`insert into listing_ownership_period (team_id, id, listing_id, created_at, updated_at) values (@team, @id, @listing, now(), now())`,
		db.Args{"id": p, "listing": listing})

	for i, owner := range owners {
		w.Exec(`insert into listing_ownership_member (team_id, period_id, position, contact_id, split) values (@team, @period, @n, @owner, @split)`,
			db.Args{"period": p, "n": i + 1, "owner": owner, "split": []int{60000, 40000}[i]})
	}

	return p
}

// income gives the owners of the villa rent on a day.
func (w *villaTeam) income(at string, cents money.Cents) {
	w.t.Helper()

	on, err := day.Parse(at)
	if err != nil {
		w.t.Fatal(err)
	}

	source := w.id()
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := ledger.Replace(ctx, tx, []id.ID{source}, []ledger.Posting{{
			SourceID: source, TxnCode: source.String(), Ledger: ledger.Trust, Status: ledger.Active, TxnAt: on, Currency: "usd", Lines: []ledger.Line{
				{Ref: "a", AccountID: w.accounts["2000"], CentTotal: cents, Trigger: ledger.TriggerManual, Description: "Rent"},
				{
					Ref: "b", AccountID: w.accounts["4000"], CentTotal: -cents, Trigger: ledger.TriggerManual, Description: "Rent of a summer guest",
					Party: ledger.Owners, OwnershipPeriodID: w.period, ListingID: w.villa,
				},
			},
		}}, ledger.Lenience{})

		return err
	})
}

type object = map[string]any

type list = []any

func (w *villaTeam) transaction(body object) {
	w.t.Helper()
	w.Post("/transactions", body).Want(201)
}

// transactions books one of each kind that bookkeepers export.
func (w *villaTeam) transactions() {
	w.t.Helper()
	w.transaction(object{
		"type": "expense", "date": "2026-02-10", "accountId": w.accounts["1000"], "contactId": w.vendor, "uniqueRef": "INV-7",
		"description": `Boiler, "urgent"`, "lines": list{
			object{"accountId": w.accounts["5200"], "amount": 12345, "listingId": w.villa, "description": "+parts"},
			object{"accountId": w.accounts["5200"], "amount": 5000, "listingId": w.villa, "party": "owners", "markup": object{"amount": 500}},
		},
	})
	w.transaction(object{
		"type": "payout", "date": "2026-02-20", "description": "Payout to Ann",
		"lines": list{object{"amount": 10000, "listingId": w.villa, "contactId": w.ann}},
	})
	w.transaction(object{
		"type": "expense", "date": "2026-03-01", "accountId": w.accounts["1000"],
		"lines": list{object{"accountId": w.accounts["5200"], "amount": 1, "listingId": w.villa}},
	})
}

// operations are the ids of all operations, newest first, with their total.
func (w *villaTeam) operations() string {
	w.t.Helper()
	return string(w.Get("/operations").Want(200).Body)
}

// follow downloads the file behind the answer of a GET, with a caller who holds nothing.
func (w *villaTeam) follow(r *apitest.Response) *apitest.Response {
	w.t.Helper()

	path, ok := strings.CutPrefix(r.Want(200).String("url"), address)
	if !ok {
		w.t.Fatalf("link %s", r.Body)
	}

	return w.As([]string{}, nil).Get(path)
}

// awaited exports by GET, and proves that no operation came of it.
func (w *villaTeam) awaited(path string, pairs ...string) *apitest.Response {
	w.t.Helper()
	before := w.operations()

	answer := w.Get(fixture.Query(path, pairs...))
	if after := w.operations(); after != before {
		w.t.Errorf("GET %s: operations before %s, after %s", path, before, after)
	}

	var fields map[string]string
	if answer.Want(200).Into(&fields); len(fields) != 2 || fields["url"] == "" || fields["expiresAt"] == "" {
		w.t.Errorf("GET %s answered %s, which is no link", path, answer.Body)
	}

	soon(w.t, fields["expiresAt"])

	return w.follow(answer).Want(200)
}

// queued exports by POST, runs the operation, and downloads its file.
func (w *villaTeam) queued(path string, body any) *apitest.Response {
	w.t.Helper()
	operation := w.Post(path, body).Want(202).ID("operationId")
	w.Work()

	done := w.Get("/operations/" + operation.String()).Want(200)
	if done.String("status") != "completed" {
		w.t.Fatalf("operation %s", done.Body)
	}

	return w.Get(done.String("resources.0.url")).Want(200)
}

// texts are the pieces of text that a PDF shows.
func texts(t *testing.T, pdf []byte) []string {
	t.Helper()

	file, err := pdftest.Read(pdf)
	if err != nil {
		t.Fatal(err)
	}

	pages, err := file.Pages()
	if err != nil {
		t.Fatal(err)
	}

	var out []string

	for i := range pages {
		for _, text := range pages[i].Texts {
			out = append(out, text.Text)
		}
	}

	return out
}

// wantTexts fails unless a PDF shows every text.
func wantTexts(t *testing.T, pdf []byte, wanted ...string) {
	t.Helper()

	shown := texts(t, pdf)
	for _, want := range wanted {
		if !slices.Contains(shown, want) {
			t.Errorf("%q is not shown in %q", want, shown)
		}
	}
}

// entries are the files of a ZIP by name.
func entries(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()

	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}

	out := map[string][]byte{}

	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}

		if out[f.Name], err = io.ReadAll(content); err != nil {
			t.Fatal(err)
		}
	}

	return out
}

// soon fails unless an instant lies within 15 minutes from now, and is still ahead.
func soon(t testing.TB, text string) {
	t.Helper()

	at, err := time.Parse(time.RFC3339, text)
	if left := time.Until(at); err != nil || left <= 14*time.Minute || left > 15*time.Minute {
		t.Errorf("expires at %s, %v, in %v", text, err, left)
	}
}
