package app_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/exchange/archive"
	"stayledger/domain/property/contact"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/test/world"
)

// archived returns the bytes of an archive of a team.
func archived(t *testing.T, w *world.World, external app.External) []byte {
	t.Helper()

	started := w.Post("/team/export", nil).Want(202)
	if started.String("type") != "export" {
		t.Errorf("acknowledgement: %s", started.Body)
	}

	w.Work()

	var key string

	w.System(func(ctx context.Context, tx *db.Tx) (err error) {
		key, err = db.Get[string](ctx, tx, `select f.blob_key from file f join operation_resource r on r.team_id = f.team_id and r.resource_id = f.id
			where r.operation_id = @id and r.role = 'result'`, db.Args{"id": started.String("operationId")})

		return err
	})

	object, err := external.Store.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = object.Close() }()

	content, err := io.ReadAll(object)
	if err != nil {
		t.Fatal(err)
	}

	return content
}

// An archive makes a team whose every list and report is that of its original.
func TestAnArchivedTeamIsRestored(t *testing.T) {
	t.Parallel()
	from, external := furnished(t)
	all := app.Parts(external, app.Config{})
	content := archived(t, from, external)

	made, err := archive.Restore(t.Context(), from.DB, int64(len(content)), bytes.NewReader(content), &archive.Restoring{
		Store: external.Store, Tables: all.Tables, Name: "Restored",
	})
	if err != nil {
		t.Fatal(err)
	}

	sameRows(t, from, made, all.Tables)

	other := from.In(made)

	// What tells of the file, of access and of who did what differs.
	differs := regexp.MustCompile(`^/(team$|teams|operations|audit|partner|me$|files|webhooks|status|sync|connections|docs|openapi|changelog|apps|metrics|links)`)
	ids := strings.NewReplacer(made.String(), "TEAM", from.ID.String(), "TEAM")
	compared := 0

	for _, e := range all.Endpoints {
		if e.Method != http.MethodGet || strings.Contains(e.Path, "{") || e.Public || differs.MatchString(e.Path) {
			continue
		}

		for _, query := range []string{"", "?startDate=2025-01-01&endDate=2027-12-31", "?dateRange=2025-01-01...2027-12-31", "?date=2026-11-01", "?month=2026-10"} {
			want := from.Get(e.Path + query)
			if want.Status != 200 {
				continue
			}

			compared++

			got := other.Get(e.Path + query)
			if a, b := ids.Replace(string(want.Body)), ids.Replace(string(got.Body)); a != b && !strings.HasSuffix(e.Path, "/csv") && !strings.HasSuffix(e.Path, "/pdf") {
				t.Errorf("GET %s%s:\n%.2000s\n%.2000s", e.Path, query, a, b)
			}

			break
		}
	}

	if compared < 50 {
		t.Errorf("only %d lists and reports were compared", compared)
	}

	// Settings too.
	settings := func(team id.ID) string {
		var row string

		from.System(func(ctx context.Context, tx *db.Tx) (err error) {
			row, err = db.Get[string](ctx, tx, `select (to_jsonb(t) - array['id', 'team_id', 'name', 'created_at', 'updated_at', 'reference_version'])::text from team t where id = @team`, db.Args{"team": team})
			return err
		})

		return row
	}
	if settings(made) != settings(from.ID) {
		t.Errorf("settings:\n%s\n%s", settings(made), settings(from.ID))
	}
}

// sameRows compares the tables that archives restore, row by row, but for the columns that a restored team has anew.
func sameRows(t *testing.T, w *world.World, made id.ID, tables []parts.Table) {
	t.Helper()

	w.System(func(ctx context.Context, tx *db.Tx) error {
		for _, table := range tables {
			if table.Archived != parts.Restored && table.Name != "bank_clearing" || table.Name == "team" {
				continue
			}

			where := "true"
			if table.Name == "file" {
				where = "kind <> 'archive'" // the archive itself
			}

			anew := append(slices.Collect(maps.Keys(table.Instead)), "team_id")

			differ, err := db.Get[int64](ctx, tx, fmt.Sprintf(`
				select count(*) from (select to_jsonb(x) - @anew::text[] from %[1]s x where team_id = @from and %[2]s) a (row)
				full join (select to_jsonb(x) - @anew::text[] from %[1]s x where team_id = @made and %[2]s) b (row) on a.row = b.row where a.row is null or b.row is null`, table.Name, where),
				db.Args{"from": w.ID, "made": made, "anew": anew})
			if err != nil {
				return err
			}

			if differ > 0 {
				t.Errorf("%d rows of %s differ", differ, table.Name)
			}
		}

		return nil
	})
}

// The books in an archive are those of hledger too: every account has the balance of the trial balance.
func TestTheJournalOfAnArchiveIsReadByHledger(t *testing.T) {
	t.Parallel()

	from, external := furnished(t)
	// A currency without places, and names that mean something to hledger.
	from.Exec(`update account set name = '*Odd: name;  with (marks)' where team_id = @team and code = '1010'`, nil)
	from.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, trigger_type, created_at, description)
		select @team, gen_random_uuid(), '00000000-0000-0000-0000-000000000001', 'yen', a.code, 'operating', '2026-02-01', a.id,
			case a.code when '1010' then 5000 else -5000 end, 'jpy', 'transaction', now(), 'a | b; c' from account a where a.team_id = @team and a.code in ('1010', '4000')`, nil)
	content := archived(t, from, external)

	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}

	journal, err := z.Open("journal.hledger")
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(journal)
	if err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "journal.hledger")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	out, err := exec.CommandContext(t.Context(), "hledger", "-f", path, "balance", "--flat", "--no-total", "-O", "csv").CombinedOutput()
	if err != nil {
		t.Fatalf("hledger: %v\n%s\n%.3000s", err, out, text)
	}

	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for _, r := range rows[1:] {
		got[r[0]] = r[1]
	}

	if strict, err := exec.CommandContext(t.Context(), "hledger", "-f", path, "check", "accounts", "commodities", "ordereddates").CombinedOutput(); err != nil {
		t.Errorf("the strict checks: %v: %s", err, strict)
	}

	type sum struct{ Account, Amount string }

	var want []sum

	from.System(func(ctx context.Context, tx *db.Tx) (err error) {
		want, err = db.Select[sum](ctx, tx, `
			select case c.classification when 'asset' then 'assets' when 'liability' then 'liabilities' when 'revenue' then 'revenues' else 'expenses' end
				|| ':' || coalesce(a.code || ' ', '') || a.name as account,
				upper(min(e.currency)) || ' ' || trim(to_char(sum(e.cent_total) / 100.0, 'FM999999990.00')) as amount
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
				join account_category c on c.team_id = a.team_id and c.id = a.category_id
			where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical' and e.currency = 'usd' and a.code <> '1010' and a.code <> '4000' group by a.id, a.code, a.name, c.classification having sum(e.cent_total) <> 0`,
			db.Args{"team": from.ID})

		return err
	})

	odd := 0

	for account, amount := range got {
		if strings.Contains(amount, "JPY ") && strings.Contains(amount, "5000") && (account == "assets:1010 *Odd- name- with (marks)" || account == "revenues:4000 Rent") {
			odd++
		}
	}

	if odd != 2 {
		t.Errorf("the accounts with yen: %v", got)
	}

	if len(want) < 5 || len(got) != len(want)+2 {
		t.Errorf("hledger has %d accounts, the books %d", len(got), len(want))
	}

	for _, s := range want {
		if got[s.Account] != s.Amount {
			t.Errorf("%s: hledger has %q, the books %q", s.Account, got[s.Account], s.Amount)
		}
	}
}

// A file that is no archive, one of another version and one that lacks rows make no team and leave no bytes.
func TestADamagedArchiveMakesNoTeam(t *testing.T) {
	t.Parallel()
	from, external := furnished(t)
	all := app.Parts(external, app.Config{})
	content := archived(t, from, external)

	teams := func() (n int64) {
		from.System(func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = db.Get[int64](ctx, tx, `select count(*) from team where name = 'Damaged'`, nil)
			return err
		})

		return n
	}

	for name, damage := range map[string]func(entry string, text []byte) []byte{
		"no archive": nil,
		"another version": func(entry string, text []byte) []byte {
			return bytes.Replace(text, []byte(`"schema": `), []byte(`"schema": 9`), 1)
		},
		"another format": func(entry string, text []byte) []byte {
			return bytes.Replace(text, []byte(`stayledger-team-1`), []byte(`stayledger-team-0`), 1)
		},
		"a row less": func(entry string, text []byte) []byte {
			if lines := bytes.SplitAfter(text, []byte("\n")); entry == "tables/ledger_entry.csv" {
				return bytes.Join(slices.Delete(lines, 1, 2), nil)
			}

			return text
		},
		"another amount": func(entry string, text []byte) []byte {
			if entry == "tables/ledger_entry.csv" {
				return bytes.Replace(text, []byte("000,usd"), []byte("001,usd"), 1)
			}

			return text
		},
		"a file less": func(entry string, text []byte) []byte {
			if entry == "manifest.json" {
				return bytes.Replace(text, []byte(`"files": [`), []byte(`"files": ["0198c3a2-7b1e-7a23-9fd2-d2965dc429bc"`), 1)
			}

			return text
		},
	} {
		bad := []byte("PK no zip")
		if damage != nil {
			bad = rewritten(t, content, damage)
			if bytes.Equal(bad, content) {
				t.Errorf("%s: nothing was damaged", name)
			}
		}

		if _, err := archive.Restore(t.Context(), from.DB, int64(len(bad)), bytes.NewReader(bad), &archive.Restoring{
			Store: external.Store, Tables: all.Tables, Name: "Damaged",
		}); err == nil || teams() != 0 {
			t.Errorf("%s: restored, %d teams", name, teams())
		}
	}
}

// rewritten returns a ZIP with changed entries.
func rewritten(t *testing.T, content []byte, change func(entry string, text []byte) []byte) []byte {
	t.Helper()

	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer

	w := zip.NewWriter(&out)

	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		to, err := w.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}

		if _, err := to.Write(change(f.Name, text)); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

// Only who may delete the team reads its archive.
func TestAnArchiveIsNotForReaders(t *testing.T) {
	t.Parallel()
	from, _ := furnished(t)
	started := from.Post("/team/export", nil).Want(202)
	from.Work()

	done := from.Get("/operations/" + started.String("operationId")).Want(200)

	var file struct {
		Resources []struct{ ID, Role string }
	}
	if err := json.Unmarshal(done.Body, &file); err != nil || len(file.Resources) != 1 {
		t.Fatalf("%s: %v", done.Body, err)
	}

	path := "/files/" + file.Resources[0].ID
	if got := from.Get(path).Want(200); got.String("kind") != "archive" {
		t.Errorf("%s", got.Body)
	}

	reader := from.As([]string{"files:read"}, nil)
	reader.Get(path).Want(404)
	reader.Get(path + "/download").Want(404)
}

// An archive of a region that is not served here, or with secrets that none of the keys opens, makes no team, and neither
// does one under what is no partner.
func TestAnArchiveIsRestoredWhereItCanBeUsed(t *testing.T) {
	t.Parallel()
	from, external := furnished(t)
	from.Post("/contacts", world.Object{"type": "owner", "name": "Rivera", "taxIdentifier": "123-45-6789"}).Want(201)
	from.Work()

	tables := app.Parts(external, app.Config{}).Tables
	content := archived(t, from, external)

	foreign, err := seal.New(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}

	columns := []seal.Column{contact.SealedColumn()}
	restore := func(r archive.Restoring) error {
		r.Store, r.Tables = external.Store, tables
		_, err := archive.Restore(t.Context(), from.DB, int64(len(content)), bytes.NewReader(content), &r)

		return err
	}

	for name, r := range map[string]archive.Restoring{
		"another region": {Regions: []string{"eu"}},
		"other keys":     {Box: foreign, Sealed: columns},
		"no partner":     {Partner: from.ID},
	} {
		if err := restore(r); err == nil {
			t.Errorf("%s: restored", name)
		}
	}

	if err := restore(archive.Restoring{Regions: []string{"us"}, Box: external.Box, Sealed: columns}); err != nil {
		t.Errorf("the same keys and region: %v", err)
	}
}
