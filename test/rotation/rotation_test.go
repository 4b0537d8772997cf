// Package rotation_test replaces the secret keys of a team with books, as an operator would: the new key is put in
// front, everything is sealed anew, the old key is dropped.
package rotation_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/file"
	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// key is a secret key of 32 bytes.
func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func box(t *testing.T, keys ...[]byte) *seal.Box {
	t.Helper()

	b, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// Proves: OPEN-48.
func TestLinksOfAnOldKey(t *testing.T) {
	t.Parallel()

	store, err := blob.Local(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	signer := func(keys ...[]byte) *blob.Signer {
		s, err := blob.NewSigner(keys...)
		if err != nil {
			t.Fatal(err)
		}

		return s
	}
	before, during, after := signer(key(1)), signer(key(2), key(1)), signer(key(2))
	x := apitest.New(t, apitest.Config{Endpoints: file.Part(store, before).Endpoints})

	kept, err := file.Keep(t.Context(), x.DB, x.Scope(), store, func(w io.Writer) error {
		_, err := io.WriteString(w, "content")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := file.Insert(ctx, tx, file.New{Stored: kept, Kind: file.Export, Filename: "a.csv", ContentType: "text/csv"})
		return err
	})
	expires := x.DB.Now().Add(time.Minute)

	oldLink, newLink := file.Link(before, "", x.ID, kept.ID, expires), file.Link(during, "", x.ID, kept.ID, expires)
	for _, c := range []struct {
		when     string
		signer   *blob.Signer
		old, new int
	}{{"before", before, 200, 404}, {"during", during, 200, 200}, {"after", after, 404, 200}} {
		server := api.NewServer(x.Server().Config, file.Part(store, c.signer).Endpoints)
		for link, want := range map[string]int{oldLink: c.old, newLink: c.new} {
			answer := httptest.NewRecorder()
			server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, link, nil))

			if answer.Code != want || want == 200 && answer.Body.String() != "content" {
				t.Errorf("%s the rotation: %s answered %d %s, want %d", c.when, link, answer.Code, answer.Body, want)
			}
		}
	}
}

// secrets is a team with a value in every column of secrets.
type secrets struct {
	*apitest.Team
	contact, connection, method, message id.ID
}

func newSecrets(t *testing.T, b *seal.Box) secrets {
	t.Helper()
	x := apitest.New(t, apitest.Config{Silent: true}) // what is sealed anew changes no record that somebody sees
	made := func() id.ID { return id.New(x.DB.Now()) }
	s := secrets{x, made(), made(), made(), made()}
	x.Exec(`insert into contact (team_id, id, short_ref, type, name, tax_identifier, created_at, updated_at) values (@team, @id, @ref, 'owner', 'Ann', @sealed, now(), now())`,
		db.Args{"id": s.contact, "ref": s.contact.ShortRef(), "sealed": b.Seal([]byte("123-45-6789"), "contact:"+s.contact.String())})
	x.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, credentials, created_at, updated_at)
		values (@team, @id, @ref, 'payProvider', 'Bank', 'active', @sealed, now(), now())`,
		db.Args{"id": s.connection, "ref": s.connection.ShortRef(), "sealed": b.Seal([]byte(`{"apiKey":"k"}`), "connection:"+s.connection.String())})
	x.Exec(`insert into connection_token (team_id, id, token, credentials_sum) values (@team, @id, @sealed, 'x')`,
		db.Args{"id": s.connection, "sealed": b.Seal([]byte(`{"Access":"a"}`), "connection-token:"+s.connection.String())})
	x.Exec(`insert into connection_authorization (team_id, id, hash, user_id, app_id, redirect_uri, code, created_at)
		values (@team, @id, '', @id, 'ownerrez', '', @sealed, now())`,
		db.Args{"id": s.connection, "sealed": b.Seal([]byte("code"), "connection-authorization:"+s.connection.String())})
	x.Exec(`insert into payee_method (team_id, id, contact_id, status, account_holder, account_type, last4, routing_last4, numbers, is_default, chosen_at, created_at, updated_at)
		values (@team, @id, @contact, 'verified', 'Ann', 'checking', '6789', '0021', @sealed, true, @now, @now, @now)`,
		db.Args{"now": x.DB.Now(), "id": s.method, "contact": s.contact, "sealed": b.Seal([]byte(`{"routing":"021000021","account":"123456789"}`), "payee_method:"+s.method.String())})
	x.Exec(`insert into delivery_email (team_id, id, statement_id, contact_id, version, address, status, link_id, token, created_at)
		values (@team, @id, @id, @contact, 1, 'ann@example.com', 'queued', @id, @sealed, now())`,
		db.Args{"id": s.message, "contact": s.contact, "sealed": b.Seal([]byte("token"), "delivery_email:"+s.message.String())})

	return s
}

// open fails unless a box opens all secrets.
func (s secrets) open(t *testing.T, b *seal.Box) {
	t.Helper()
	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		whole, err := contact.TaxIdentifiers(ctx, tx, b, []id.ID{s.contact})
		if err != nil || whole[s.contact] != "123-45-6789" {
			t.Errorf("tax identifiers %v, %v", whole, err)
		}

		for _, c := range []struct{ sql, label, want string }{
			{`select credentials from connection where team_id = @team`, "connection:" + s.connection.String(), `{"apiKey":"k"}`},
			{`select token from connection_token where team_id = @team`, "connection-token:" + s.connection.String(), `{"Access":"a"}`},
			{`select code from connection_authorization where team_id = @team`, "connection-authorization:" + s.connection.String(), "code"},
			{`select numbers from payee_method where team_id = @team`, "payee_method:" + s.method.String(), `{"routing":"021000021","account":"123456789"}`},
			{`select token from delivery_email where team_id = @team`, "delivery_email:" + s.message.String(), "token"},
		} {
			sealed, err := db.Get[[]byte](ctx, tx, c.sql, db.Args{"team": tx.Team})
			if err != nil {
				return err
			}

			if plain, err := b.Open(sealed, c.label); err != nil || string(plain) != c.want {
				t.Errorf("%s: %q, %v", c.label, plain, err)
			}
		}

		return nil
	})
}

// crowd gives a team many contacts with a tax identifier, for several batches.
func (s secrets) crowd(b *seal.Box, n int) {
	ids, refs, values := make([]id.ID, n), make([]string, n), make([][]byte, n)
	for i := range n {
		ids[i] = id.New(s.DB.Now())
		refs[i], values[i] = ids[i].ShortRef(), b.Seal([]byte("123-45-6789"), "contact:"+ids[i].String())
	}

	s.Exec(`insert into contact (team_id, id, short_ref, type, name, tax_identifier, created_at, updated_at)
		select @team, id, ref, 'owner', 'Crowd', value, now(), now() from unnest(@ids::uuid[], @refs::text[], @values::bytea[]) as c (id, ref, value)`,
		db.Args{"ids": ids, "refs": refs, "values": values})
}

// reseal does the work of `stayledger reseal`; it gives the counts by table and column.
func reseal(ctx context.Context, d *db.DB, keys ...[]byte) (map[string]app.Resealed, error) {
	c, counts := app.Config{}, map[string]app.Resealed{}
	for _, k := range keys {
		c.SecretKeys = append(c.SecretKeys, base64.StdEncoding.EncodeToString(k))
	}

	err := app.Reseal(ctx, d, &c, func(n app.Resealed) error {
		counts[n.Table+"."+n.Column] = n
		return nil
	})

	return counts, err
}

// The only test of the package that seals, since the work is across all teams of its database.
func TestSecretsMoveToTheNewKey(t *testing.T) {
	t.Parallel()
	old, both, next := box(t, key(1)), box(t, key(2), key(1)), box(t, key(2))
	first, second := newSecrets(t, old), newSecrets(t, old)
	first.crowd(old, 700)
	second.crowd(next, 600)
	first.open(t, both)

	// Broken off after some of the work, and run again to its end.
	ctx, stop := context.WithCancel(t.Context())
	c := app.Config{SecretKeys: []string{base64.StdEncoding.EncodeToString(key(2)), base64.StdEncoding.EncodeToString(key(1))}}

	err := app.Reseal(ctx, first.DB, &c, func(app.Resealed) error {
		stop()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}

	first.open(t, both)

	counts, err := reseal(t.Context(), first.DB, key(2), key(1))
	if err != nil {
		t.Fatal(err)
	}

	for column, want := range map[string][2]int{"contact.tax_identifier": {0, 1302}, "connection.credentials": {2, 0}, "connection_token.token": {2, 0}, "connection_authorization.code": {2, 0}, "payee_method.numbers": {2, 0}, "delivery_email.token": {2, 0}} {
		if n := counts[column]; n.Resealed != want[0] || n.Current != want[1] || len(n.Lost) != 0 {
			t.Errorf("%s: %+v", column, n)
		}
	}

	first.open(t, next)
	second.open(t, next)
	columnsAreKnown(t, first.DB, counts)

	// A second run finds nothing to do, and one with the old key alone says what it cannot open and touches nothing.
	if counts, err = reseal(t.Context(), first.DB, key(2)); err != nil || counts["contact.tax_identifier"].Current != 1302 {
		t.Errorf("again: %+v, %v", counts, err)
	}

	counts, err = reseal(t.Context(), first.DB, key(1))
	if n := counts["connection.credentials"]; !errors.Is(err, app.ErrLost) || len(n.Lost) != 2 || !slices.Contains(n.Lost, first.connection) || n.Resealed != 0 {
		t.Errorf("with the wrong key: %+v, %v", n, err)
	}

	first.open(t, next)
}

// columnsAreKnown fails when there is a column of bytes that is neither sealed anew nor known to hold no secret.
func columnsAreKnown(t *testing.T, d *db.DB, counts map[string]app.Resealed) {
	t.Helper()

	plain := []string{ // hashes, and content that is no secret of ours
		"access_key.hash", "access_token.hash", "access_owner_link.hash", "access_owner_session.hash", "access_embed_session.code_hash", "access_embed_session.token_hash", "external_record.hash", "connection_token.credentials_sum", "connection_authorization.hash", "api_idempotency.request_hash", "api_idempotency.body",
		"csv_import.sha256", "file.sha256", "historical_txn.content", "team_logo.content", "team_logo.sha256",
		"audit_checkpoint.root", "audit_leaf.hash", "audit_leaf.salt", "audit_tile.hashes",
	}

	var columns []string

	err := d.Read(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		columns, err = db.Select[string](ctx, tx, `
			select table_name || '.' || column_name from information_schema.columns where table_schema = 'public' and data_type = 'bytea' order by 1`, nil)

		return err
	})
	if err != nil || len(columns) < 8 {
		t.Fatalf("columns %v, %v", columns, err)
	}

	for _, column := range columns {
		if _, sealed := counts[column]; !sealed && !slices.Contains(plain, column) {
			t.Errorf("%s holds bytes that are not sealed anew; declare it in its package and in app/reseal.go, or add it to the list here", column)
		}
	}
}

func TestResealNeedsKeys(t *testing.T) {
	t.Parallel()

	for _, keys := range [][]string{nil, {"short"}, {strings.Repeat("A", 40)}} {
		if err := app.Reseal(t.Context(), nil, &app.Config{SecretKeys: keys}, nil); err == nil {
			t.Errorf("%q are enough", keys)
		}
	}
}
