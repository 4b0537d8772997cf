package app_test

import (
	"context"
	"encoding/base64"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/file"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/test/world"
)

// vault is a service with sample books, an export in its file store, a sealed tax identifier and a sealed audit trail, in
// a database of its own that can be broken.
type vault struct {
	*world.World

	t      *testing.T
	config app.Config
	stored string // path of the content of the export
}

func newVault(t *testing.T) *vault {
	t.Helper()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	v := &vault{t: t, config: app.Config{DataDir: t.TempDir(), SecretKeys: []string{base64.StdEncoding.EncodeToString(world.Keys)}}}

	store, err := blob.Local(filepath.Join(v.config.DataDir, "files"))
	if err != nil {
		t.Fatal(err)
	}

	v.World = world.In(t, d, func(e *app.External) { e.Store = store })
	v.Post("/team/generate-demo-data", world.Object{"months": 2, "listings": 2}).Want(202)
	v.Post("/accounts/csv", world.Object{}).Want(202)
	v.Post("/contacts", world.Object{"type": "vendor", "name": "Plumber", "taxIdentifier": "12-3456789"}).Want(201)
	v.Exec(`insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
		select @team, gen_random_uuid(), id, '2026-01-01', 1, now(), now() from account where team_id = @team and code = '1000'`, nil)
	v.Work()
	v.Post("/reservations", world.Object{
		"listingId": v.Get("/listings?limit=1").String("data.0.id"), "checkIn": "2027-01-17", "checkOut": "2027-01-19", "confirmationCode": "OPEN",
		"lines": world.Array{world.Object{"type": "rent", "amount": 30_000}},
	}).Want(201)
	v.Work()

	// The service marks its store, folds its sums, settles stays and seals its trail.
	if err := file.Claim(t.Context(), d, store, false); err != nil {
		t.Fatal(err)
	}

	for _, task := range v.Parts.Every {
		if strings.HasSuffix(task.Name, "_fold") || task.Name == "ledger_settle" {
			if err := task.Do(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
	}

	trail, err := app.AuditLog(t.Context(), &v.config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	if err := trail.SealNow(t.Context(), d); err != nil {
		t.Fatal(err)
	}

	v.stored = v.path("files." + v.ID.String() + ".")

	return v
}

// path returns the path of the stored object with a name that begins so.
func (v *vault) path(prefix string) (found string) {
	v.t.Helper()

	if err := filepath.WalkDir(v.config.DataDir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), prefix) {
			found = path
		}

		return err
	}); err != nil || found == "" {
		v.t.Fatalf("no object %s: %v", prefix, err)
	}

	return found
}

// change runs statements with the triggers of a table off, as somebody does who owns the database.
func (v *vault) change(table string, statements ...string) {
	v.t.Helper()
	v.System(func(ctx context.Context, tx *db.Tx) error {
		all := append([]string{"alter table " + table + " disable trigger user"}, statements...)
		for _, sql := range append(all, "alter table "+table+" enable trigger user") {
			if _, err := tx.Exec(ctx, sql, nil); err != nil {
				return err
			}
		}

		return nil
	})
}

// write replaces the content of a stored object; nil removes it.
func (v *vault) write(path string, content []byte) {
	v.t.Helper()

	err := os.Remove(path)
	if content != nil {
		err = os.WriteFile(path, content, 0o600)
	}

	if err != nil {
		v.t.Fatal(err)
	}
}

// verify returns how many faults each unsound check has; -1 for one that could not be checked.
func (v *vault) verify(o app.Verification) map[string]int64 {
	v.t.Helper()

	checks, err := app.Verify(v.t.Context(), &v.config, v.DB, slog.New(slog.DiscardHandler), o)
	if err != nil {
		v.t.Fatal(err)
	}

	wrong := map[string]int64{}

	for _, c := range checks {
		if !c.IsSound() {
			wrong[c.Name] = c.Wrong
			v.t.Logf("%s: %d of %d, %+v %s", c.Name, c.Wrong, c.Checked, c.Faults, c.Error)
		}

		if c.Error != "" {
			wrong[c.Name] = -1
		}

		if c.IsSound() && c.Checked == 0 {
			v.t.Errorf("%s looked at nothing", c.Name)
		}
	}

	return wrong
}

// Each thing that can be wrong after a restore is found by its own check, and a sound system has nothing wrong.
//
//nolint:paralleltest // Each case mends what it broke before the next one.
func TestVerifyFindsWhatIsWrong(t *testing.T) {
	v := newVault(t)

	content, err := os.ReadFile(v.stored)
	if err != nil {
		t.Fatal(err)
	}

	marker := v.path("stayledger-store")

	markerText, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}

	if wrong := v.verify(app.Verification{Hashes: true}); len(wrong) != 0 {
		t.Fatalf("a sound system: %v", wrong)
	}

	const (
		one    = ` where (team_id, id) = (select team_id, id from ledger_entry where status = 'active' and party = 'owners' and ownership_period_id is not null order by id limit 1)`
		secret = `update contact set tax_identifier = set_byte(tax_identifier, 20, 255 - get_byte(tax_identifier, 20)) where tax_identifier is not null`
	)

	for _, c := range []struct {
		what        string
		spoil, mend func()
		options     app.Verification
		want        map[string]int64
	}{
		{
			what:  "a file is gone",
			spoil: func() { v.write(v.stored, nil) },
			mend:  func() { _ = os.WriteFile(v.stored, content, 0o600) },
			want:  map[string]int64{"files": 1},
		},
		{
			what:  "a file was cut off",
			spoil: func() { v.write(v.stored, content[:len(content)-1]) },
			mend:  func() { v.write(v.stored, content) },
			want:  map[string]int64{"files": 1},
		},
		{
			what:  "a file has another content of the same size, and hashes are not compared",
			spoil: func() { v.write(v.stored, append([]byte("x"), content[1:]...)) },
			mend:  func() {},
			want:  map[string]int64{},
		},
		{
			what:    "a file has another content of the same size",
			spoil:   func() {},
			mend:    func() { v.write(v.stored, content) },
			options: app.Verification{Hashes: true},
			want:    map[string]int64{"files": 1},
		},
		{
			what:  "the store is that of another database",
			spoil: func() { v.write(marker, []byte("019ac8a4-0000-7000-8000-000000000000\n")) },
			mend:  func() { v.write(marker, markerText) },
			want:  map[string]int64{"file-store": 1},
		},
		{
			what:  "an entry has a cent more, which its posting and all sums notice",
			spoil: func() { v.change("ledger_entry", `update ledger_entry set cent_total = cent_total + 1`+one) },
			mend:  func() { v.change("ledger_entry", `update ledger_entry set cent_total = cent_total - 1`+one) },
			want:  map[string]int64{"postings": 1, "ledger-balance": 1, "ledger-month": 1, "ledger-day": 1, "ledger-owner": 1},
		},
		{
			what:  "an entry names a contact of no team",
			spoil: func() { v.change("ledger_entry", `update ledger_entry set contact_id = gen_random_uuid()`+one) },
			mend:  func() { v.change("ledger_entry", `update ledger_entry set contact_id = null`+one) },
			want:  map[string]int64{"entries": 1},
		},
		{
			what: "a kept sum is off",
			spoil: func() {
				v.change("ledger_day_kept", `update ledger_day_kept set debit = debit + 1 where ctid = (select min(ctid) from ledger_day_kept)`)
			},
			mend: func() {
				v.change("ledger_day_kept", `update ledger_day_kept k set debit = e.debit from (
					select team_id, ledger, currency, txn_at as day, account_id, coalesce(party, '') as party, sum(greatest(cent_total, 0)) as debit
					from ledger_entry where status = 'active' and ledger <> 'historical' group by 1, 2, 3, 4, 5, 6) e
					where (k.team_id, k.ledger, k.currency, k.day, k.account_id, k.party) = (e.team_id, e.ledger, e.currency, e.day, e.account_id, e.party)`)
			},
			want: map[string]int64{"ledger-day": 1},
		},
		{
			what: "a kept sum of bank records is missing",
			spoil: func() {
				v.change("bank_day_kept", `update bank_day_kept set cents = cents + 5 where day = '2026-01-01'`)
			},
			mend: func() {
				v.change("bank_day_kept", `update bank_day_kept set cents = cents - 5 where day = '2026-01-01'`)
			},
			want: map[string]int64{"bank-day": 1},
		},
		{
			what: "the kept sums of a listing over all months are off",
			spoil: func() {
				v.change("ledger_listing_kept", `update ledger_listing_kept set debit = debit + 5 where ctid = (select min(ctid) from ledger_listing_kept)`)
			},
			mend: func() {
				v.change("ledger_listing_kept", `update ledger_listing_kept k set debit = (select sum(b.debit) from ledger_balance_kept b
					where (b.team_id, b.ledger, b.currency, b.account_id, b.party, b.listing_id) = (k.team_id, k.ledger, k.currency, k.account_id, k.party, k.listing_id))`)
			},
			want: map[string]int64{"ledger-listing": 1},
		},
		{
			what: "what is kept of a source is off",
			spoil: func() {
				v.change("ledger_source", `update ledger_source set first_at = first_at + 1 where ctid = (select min(ctid) from ledger_source)`)
			},
			mend: func() {
				v.change("ledger_source", `update ledger_source k set first_at = (select min(e.txn_at) from ledger_entry e
					where e.team_id = k.team_id and e.source_id = k.source_id and e.status = 'active' and e.ledger <> 'historical')`)
			},
			want: map[string]int64{"ledger-source": 1},
		},
		{
			what: "a stay on which something is open is not kept",
			spoil: func() {
				v.change("ledger_unsettled", `delete from ledger_unsettled u using reservation r where r.id = u.reservation_id and r.confirmation_code = 'OPEN'`)
			},
			mend: func() {
				v.change("ledger_unsettled", `insert into ledger_unsettled (team_id, ownership_period_id, reservation_id)
					select distinct team_id, ownership_period_id, reservation_id from ledger_entry
					where party = 'owners' and ownership_period_id is not null and reservation_id is not null on conflict do nothing`)
			},
			want: map[string]int64{"ledger-unsettled": 1},
		},
		{
			what: "what is kept of a settled stay is off, and so is the sum that has it",
			spoil: func() {
				v.change("ledger_guest_settled", `update ledger_guest_settled set cents = cents + 5 where stay_id = (select stay_id from ledger_guest_settled order by 1 limit 1)`)
			},
			mend: func() {
				v.change("ledger_guest_settled", `update ledger_guest_settled set cents = cents - 5 where stay_id = (select stay_id from ledger_guest_settled order by 1 limit 1)`)
			},
			want: map[string]int64{"ledger-guest-settled": 1, "ledger-guest": 1},
		},
		{
			what: "a kept sum of guests is off",
			spoil: func() {
				v.change("ledger_guest_kept", `update ledger_guest_kept set cents = cents + 5 where (status, listing_id) = (
					select status, listing_id from ledger_guest_kept order by 1, 2 limit 1)`)
			},
			mend: func() {
				v.change("ledger_guest_kept", `update ledger_guest_kept set cents = cents - 5 where (status, listing_id) = (
					select status, listing_id from ledger_guest_kept order by 1, 2 limit 1)`)
			},
			want: map[string]int64{"ledger-guest": 1},
		},
		{
			what:  "a byte of a secret has changed",
			spoil: func() { v.change("contact", secret) },
			mend:  func() { v.change("contact", secret) },
			want:  map[string]int64{"secrets": 1},
		},
		{
			what: "the key of the secrets was dropped, that of the audit log among them",
			spoil: func() {
				v.config.SecretKeys = []string{base64.StdEncoding.EncodeToString([]byte("another key of thirty-two bytes!"))}
			},
			mend: func() { v.config.SecretKeys = []string{base64.StdEncoding.EncodeToString(world.Keys)} },
			want: map[string]int64{"secrets": 2, "audit-trail": -1},
		},
		{
			what: "the key was dropped, and one team is looked at",
			spoil: func() {
				v.config.SecretKeys = []string{base64.StdEncoding.EncodeToString([]byte("another key of thirty-two bytes!"))}
			},
			mend:    func() { v.config.SecretKeys = []string{base64.StdEncoding.EncodeToString(world.Keys)} },
			options: app.Verification{Team: v.ID},
			want:    map[string]int64{"secrets": 1},
		},
		{
			what: "an event was changed",
			spoil: func() {
				v.change("audit_event", `update audit_event set entity_name = 'Eve' where entity_name = 'Plumber'`)
			},
			mend: func() {
				v.change("audit_event", `update audit_event set entity_name = 'Plumber' where entity_name = 'Eve'`)
			},
			want: map[string]int64{"audit-trail": 1},
		},
		{
			what: "the schema is of a later program, so that nothing else is checked",
			spoil: func() {
				v.change("goose_db_version", `insert into goose_db_version (version_id, is_applied) values (9999, true)`)
			},
			mend: func() { v.change("goose_db_version", `delete from goose_db_version where version_id = 9999`) },
			want: map[string]int64{"schema": 1},
		},
		{what: "all is mended", spoil: func() {}, mend: func() {}, options: app.Verification{Hashes: true}, want: map[string]int64{}},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.spoil()
			defer c.mend()

			if got := v.verify(c.options); !maps.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

// What is wrong with one team is not seen by a verification of another one.
func TestVerifyLooksAtOneTeam(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.write(v.stored, nil)

	other := apitest.New(t, apitest.Config{DB: v.DB})
	if checks, err := app.Verify(t.Context(), &v.config, v.DB, slog.New(slog.DiscardHandler), app.Verification{Team: other.ID}); err != nil {
		t.Fatal(err)
	} else {
		for _, c := range checks {
			if !c.IsSound() || c.Name == "audit-trail" {
				t.Errorf("%s: %+v %s", c.Name, c.Faults, c.Error)
			}
		}
	}

	if wrong := v.verify(app.Verification{Team: v.ID}); !maps.Equal(wrong, map[string]int64{"files": 1}) {
		t.Errorf("the team itself: %v", wrong)
	}
}
