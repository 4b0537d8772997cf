package export_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/record/export"
	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const address = "https://books.example.com"

// world is a team that can ask for the exports of a test.
type world struct {
	*apitest.Team
	t         testing.TB
	endpoints []api.Endpoint
	store     *blob.LocalStore
}

type object = map[string]any

// newWorld serves the given exports.
func newWorld(t testing.TB, c export.Config, exports ...parts.Export) *world {
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
	part := export.New(c, exports...).Part()
	w := &world{t: t, store: store, endpoints: slices.Concat(part.Endpoints, file.Part(store, signer).Endpoints, operation.Part(time.Hour).Endpoints)}

	var scopes []string
	for i := range w.endpoints {
		scopes = append(scopes, w.endpoints[i].Scopes...)
	}

	w.Team = apitest.New(t, apitest.Config{Endpoints: w.endpoints, Handlers: part.Handlers, Scopes: scopes})

	return w
}

// operations are the ids of all operations, newest first, with their total.
func (w *world) operations() string {
	w.t.Helper()
	return string(w.Get("/operations").Want(200).Body)
}

// follow downloads the file behind the answer of a GET, with a caller who holds nothing.
func (w *world) follow(r *apitest.Response) *apitest.Response {
	w.t.Helper()

	path, ok := strings.CutPrefix(r.Want(200).String("url"), address)
	if !ok {
		w.t.Fatalf("link %s", r.Body)
	}

	return w.As([]string{}, nil).Get(path)
}

// awaited exports by GET, and proves that no operation came of it.
func (w *world) awaited(path string, pairs ...string) *apitest.Response {
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
func (w *world) queued(path string, body any) *apitest.Response {
	w.t.Helper()
	operation := w.Post(path, body).Want(202).ID("operationId")
	w.Work()

	done := w.Get("/operations/" + operation.String()).Want(200)
	if done.String("status") != "completed" {
		w.t.Fatalf("operation %s", done.Body)
	}

	return w.Get(done.String("resources.0.url")).Want(200)
}

// soon fails unless an instant lies within 15 minutes from now, and is still ahead.
func soon(t testing.TB, text string) {
	t.Helper()

	at, err := time.Parse(time.RFC3339, text)
	if left := time.Until(at); err != nil || left <= 14*time.Minute || left > 15*time.Minute {
		t.Errorf("expires at %s, %v, in %v", text, err, left)
	}
}
