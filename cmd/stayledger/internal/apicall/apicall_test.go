package apicall_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"stayledger/cmd/stayledger/internal/apicall"
)

// run sends a request with values of a command line to a service, and returns what it prints.
func run(t *testing.T, service http.HandlerFunc, call apicall.Call, values ...string) (string, error) {
	t.Helper()

	server := httptest.NewServer(service)
	t.Cleanup(server.Close)

	if err := call.AddValues(values); err != nil {
		return "", err
	}

	var out bytes.Buffer

	c := &apicall.Client{BaseURL: server.URL, APIKey: "secret", Team: "t1"}
	err := c.Run(t.Context(), call, &out)

	return out.String(), err
}

// request returns a call with a method and a path alone.
func request(method, path string) apicall.Call {
	return apicall.Call{Request: apicall.Request{Method: method, Path: path}}
}

// echo answers with the request as it arrived.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
}

// TestValuesBecomeParametersAndFields shows what each form of a value becomes.
func TestValuesBecomeParametersAndFields(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		method, path string
		values       []string
		want         string
	}{
		{"GET", "/statements", []string{"month=2026-10", "search=a b"}, "GET /statements?month=2026-10&search=a+b "},
		{"GET", "statements?limit=5", []string{"month=2026-10"}, "GET /statements?limit=5&month=2026-10 "},
		{"DELETE", "/x", []string{"force=true"}, "DELETE /x?force=true "},
		{"POST", "/x", []string{"name=a=b", `n:=12`, "q==1"}, `POST /x?q=1 {"name":"a=b","n":12}`},
		{
			"PUT", "/x",
			[]string{"lines.0.type=rent", "lines.0.amount:=-5", "lines.1.type=tax", "note:=null", "text=12"},
			`PUT /x {"lines":[{"type":"rent","amount":-5},{"type":"tax"}],"note":null,"text":"12"}`,
		},
		{"POST", "/x", []string{`list:=["a",{"b":1}]`, "empty="}, `POST /x {"list":["a",{"b":1}],"empty":""}`},
		{"POST", "/x", nil, "POST /x "},
	} {
		got, err := run(t, echo, request(c.method, c.path), c.values...)
		if err != nil || got != c.want {
			t.Errorf("%s %s %q: %q, %v, want %q", c.method, c.path, c.values, got, err, c.want)
		}
	}
}

// TestWrongValuesAreRefused shows the values that no request can be built from.
func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		method string
		values []string
	}{
		{"GET", []string{"month"}},
		{"GET", []string{"=x"}},
		{"GET", []string{"n:=1"}},
		{"POST", []string{"n:=one"}},
		{"POST", []string{"a=1", "a=2"}},
	} {
		if _, err := run(t, echo, request(c.method, "/x"), c.values...); !errors.Is(err, apicall.ErrUsage) {
			t.Errorf("%s %q: %v", c.method, c.values, err)
		}
	}

	withBody := request("POST", "/x")
	withBody.Body = apicall.FileBody("-")

	if _, err := run(t, echo, withBody, "a=1"); !errors.Is(err, apicall.ErrUsage) {
		t.Errorf("a field with a body: %v", err)
	}

	if _, err := apicall.FormBody([]string{"file"}); !errors.Is(err, apicall.ErrUsage) {
		t.Errorf("a part without a value: %v", err)
	}
}

// TestPickPrintsValuesForScripts shows how each kind of value is printed.
func TestPickPrintsValuesForScripts(t *testing.T) {
	t.Parallel()

	answer := `{"id":"a b","n":12345678901234567890,"null":null,"o":{"x":[1]},
		"data":[{"id":"1","code":"10","z":{"k":1}},{"id":"2","code":"20","z":{"k":2}}],"none":[]}`

	for path, want := range map[string]string{
		"id": "a b\n", "n": "12345678901234567890\n", "null": "\n", "o": "{\"x\":[1]}\n", "none": "",
		"data.1.id": "2\n", "data.#.id": "1\n2\n", `data.#(code=="20").id`: "2\n",
		"data.#.[id,z]": "1\t{\"k\":1}\n2\t{\"k\":2}\n",
	} {
		call := request("GET", "/x")
		call.Pick = path

		if got, err := run(t, jsonAnswer(200, answer), call); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}

	call := request("GET", "/x")

	call.Pick, call.JSON = "data.#.id", true
	if got, err := run(t, jsonAnswer(200, answer), call); err != nil || got != `["1","2"]`+"\n" {
		t.Errorf("a list as JSON: %q, %v", got, err)
	}

	call.Pick = `data.#(code=="30").id`
	if got, err := run(t, jsonAnswer(200, answer), call); err == nil || got != "" {
		t.Errorf("a path that leads nowhere: %q, %v", got, err)
	}
}

// jsonAnswer answers with JSON.
func jsonAnswer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestPagesAreFollowed reads lists with numbers and with cursors to their ends.
func TestPagesAreFollowed(t *testing.T) {
	t.Parallel()

	numbered := func(w http.ResponseWriter, r *http.Request) {
		page := r.FormValue("page")
		body := map[string]string{
			"":  `{"data":[{"id":1},{"id":2}],"pagination":{"page":1,"nextPage":2}}`,
			"2": `{"data":[{"id":3}],"pagination":{"page":2,"nextPage":null}}`,
		}[page]
		jsonAnswer(200, body)(w, r)
	}
	cursors := func(w http.ResponseWriter, r *http.Request) {
		body := map[string]string{
			"":      `{"items":[{"id":1},{"id":2}],"nextCursor":"a/b="}`,
			"a/b=":  `{"items":[],"nextCursor":"end"}`,
			"end":   `{"items":[{"id":3}],"nextCursor":null}`,
			"other": "",
		}[r.FormValue("cursor")]
		jsonAnswer(200, body)(w, r)
	}
	inPage := func(w http.ResponseWriter, r *http.Request) {
		body := `{"data":[{"id":1},{"id":2}],"page":{"hasMore":true,"nextCursor":"c"}}`
		if r.FormValue("cursor") == "c" {
			body = `{"data":[{"id":3}],"page":{"hasMore":false,"nextCursor":"from here later"}}`
		}

		jsonAnswer(200, body)(w, r)
	}

	for name, service := range map[string]http.HandlerFunc{"numbered": numbered, "cursors": cursors, "in page": inPage} {
		call := request("GET", "/list?limit=2")
		call.All = true

		if got, err := run(t, service, call); err != nil || got != "[{\"id\":1},\n{\"id\":2},\n{\"id\":3}]\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	call := request("GET", "/list")
	call.All, call.Pick = true, "data.#.id"

	if got, err := run(t, numbered, call); err != nil || got != "1\n2\n3\n" {
		t.Errorf("picked of each page: %q, %v", got, err)
	}

	call.Pick = ""
	if got, err := run(t, jsonAnswer(200, `{"data":[],"pagination":{"nextPage":null}}`), call); err != nil || got != "[]\n" {
		t.Errorf("an empty list: %q, %v", got, err)
	}

	if _, err := run(t, jsonAnswer(200, `{"id":1}`), call); !errors.Is(err, apicall.ErrUsage) {
		t.Errorf("an answer that is no list: %v", err)
	}
}

// operation is a service with one operation, which settles at the third read.
func operation(status, failure, resources, result string) http.HandlerFunc {
	var reads atomic.Int64

	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/start":
			jsonAnswer(202, `{"operationId":"op_1","type":"export","status":"queued"}`)(w, r)
		case "/operations/op_1":
			now := "running"
			if reads.Add(1) == 3 {
				now = status
			}

			if r.FormValue("waitSeconds") != "20" {
				now = "asked without waiting"
			}

			jsonAnswer(200, `{"id":"op_1","type":"export","status":"`+now+`","failure":`+failure+`,"resources":[`+resources+`]}`)(w, r)
		case "/files/1":
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = io.WriteString(w, "%PDF-"+r.Header.Get("X-Api-Key"))
		default:
			if result == "" {
				jsonAnswer(404, `{"code":"NOT_FOUND","message":"Not found"}`)(w, r)
			} else {
				jsonAnswer(200, result)(w, r)
			}
		}
	}
}

// TestOperationsAreAwaited shows what is printed of operations that complete and that fail.
func TestOperationsAreAwaited(t *testing.T) {
	t.Parallel()

	call := request("POST", "/start")

	if got, err := run(t, operation("completed", "null", "", ""), call); err != nil ||
		got != `{"id":"op_1","type":"export","status":"completed","failure":null,"resources":[]}` {
		t.Errorf("without a result: %s, %v", got, err)
	}

	if got, err := run(t, operation("completed", "null", "", `{"results":[]}`), call); err != nil || got != `{"results":[]}` {
		t.Errorf("with a result: %s, %v", got, err)
	}

	got, err := run(t, operation("failed", `{"code":"exportFailed","message":"It failed"}`, "", `{"results":[1]}`), call)
	if f, isFailure := errors.AsType[*apicall.OperationError](err); !isFailure || f.Code != "exportFailed" || got != `{"results":[1]}` {
		t.Errorf("a failed one: %s, %v", got, err)
	}

	call.NoWait = true
	if got, err := run(t, operation("completed", "null", "", ""), call); err != nil || !strings.Contains(got, "queued") {
		t.Errorf("not awaited: %s, %v", got, err)
	}
}

// TestWaitingIsShown asks how far an operation is while somebody watches.
func TestWaitingIsShown(t *testing.T) {
	t.Parallel()

	var reads atomic.Int64

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]string{
			"/start":                    `{"operationId":"op_1"}`,
			"/operations/op_1":          `{"id":"op_1","type":"export","status":"running"}`,
			"/operations/op_1/progress": `{"done":3,"total":4}`,
			"/operations/op_1/result":   `{}`,
		}[r.URL.Path]

		switch {
		case r.URL.Path == "/start":
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path == "/operations/op_1" && reads.Add(1) == 2:
			body = strings.Replace(body, "running", "completed", 1)
		}

		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)

	var shown []string

	c := &apicall.Client{BaseURL: server.URL, Waiting: func(p apicall.Progress) {
		if p.Total != nil {
			shown = append(shown, fmt.Sprint(p.Type, " ", p.Done, " of ", *p.Total))
		}

		if p.HasEnded {
			shown = append(shown, "ended")
		}
	}}
	if err := c.Run(t.Context(), request("POST", "/start"), io.Discard); err != nil || strings.Join(shown, ", ") != "export 3 of 4, ended" {
		t.Errorf("shown: %q, %v", shown, err)
	}
}

// TestFilesAreSaved saves the file of an operation, the file behind a link, and an answer.
func TestFilesAreSaved(t *testing.T) {
	t.Parallel()

	name := filepath.Join(t.TempDir(), "file")
	save := func(service http.HandlerFunc, method, path string) (string, error) {
		call := request(method, path)
		call.Output = name

		printed, err := run(t, service, call)
		if printed != "" {
			t.Errorf("%s prints %q", path, printed)
		}

		text, readErr := os.ReadFile(name)
		_ = os.Remove(name)

		return string(text), errors.Join(err, readErr)
	}

	if got, err := save(operation("completed", "null", `{"type":"file","url":"/files/1"}`, ""), "POST", "/start"); err != nil || got != "%PDF-secret" {
		t.Errorf("the file of an operation: %q, %v", got, err)
	}

	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.RawQuery+r.Header.Get("X-Api-Key")+r.Header.Get("X-Team-Id"))
	}))
	t.Cleanup(elsewhere.Close)

	// A store of files has its own address and must not get the key.
	link := jsonAnswer(200, `{"url":"`+elsewhere.URL+`/a?z=1&b=%2F","expiresAt":"2026-01-01T00:00:00Z"}`)
	if got, err := save(link, "GET", "/csv"); err != nil || got != "z=1&b=%2F" {
		t.Errorf("the file behind a link: %q, %v", got, err)
	}

	moved := http.RedirectHandler(elsewhere.URL+"/a?z=1", http.StatusFound)
	if got, err := save(moved.ServeHTTP, "GET", "/files/1"); err != nil || got != "z=1" {
		t.Errorf("the file behind a redirect: %q, %v", got, err)
	}

	webhook := `{"id":"1","url":"` + elsewhere.URL + `"}`
	if got, err := save(jsonAnswer(200, webhook), "GET", "/webhooks/1"); err != nil || got != webhook {
		t.Errorf("a record with an address: %q, %v", got, err)
	}

	if _, err := save(jsonAnswer(404, `{"code":"NOT_FOUND","message":"Not found"}`), "GET", "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failure leaves a file: %v", err)
	}
}

// TestFailuresAreReadable shows a failure as people see it.
func TestFailuresAreReadable(t *testing.T) {
	t.Parallel()

	_, err := run(t, jsonAnswer(409, `{"code":"CONFLICT","reason":"duplicateName","message":"The name is taken","requestId":"r1",
		"docs":"http://x/docs","context":{"id":"7"},"issues":[{"path":["lines",0,"name"],"message":"is taken","code":"duplicate"}]}`), request("POST", "/x"))

	want := `The name is taken (409 CONFLICT)
  lines.0.name: is taken (duplicate)
  reason   duplicateName
  context  {"id":"7"}
  request  r1
  docs     http://x/docs`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}

	proxy := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>no</h1>", http.StatusBadGateway) }
	if _, err := run(t, proxy, request("GET", "/x")); err == nil || err.Error() != "<h1>no</h1> (502)" {
		t.Errorf("an answer that is not of the service: %v", err)
	}
}

// lossy breaks the connection of the first request, answers the second one with a status, and counts all.
func lossy(count *atomic.Int64, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch count.Add(1) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Retry-After", "1")
			jsonAnswer(status, `{"code":"SERVICE_UNAVAILABLE","message":"Wait"}`)(w, r)
		default:
			jsonAnswer(200, `{}`)(w, r)
		}
	}
}

// TestOnlyReadsAreRepeated loses connections and asks callers to wait.
func TestOnlyReadsAreRepeated(t *testing.T) {
	t.Parallel()

	var count atomic.Int64
	if got, err := run(t, lossy(&count, 503), request("GET", "/x")); err != nil || got != "{}" || count.Load() != 3 {
		t.Errorf("a read: %q, %v after %d requests", got, err, count.Load())
	}

	// A write without an answer may have been done: the caller gets the key to repeat it with.
	count.Store(0)

	call := request("POST", "/x")
	call.IdempotencyKey = "k1"

	if _, err := run(t, lossy(&count, 503), call); err == nil || !strings.Contains(err.Error(), "--idempotency-key=k1") || count.Load() != 1 {
		t.Errorf("a write: %v after %d requests", err, count.Load())
	}

	count.Store(1)

	if _, err := run(t, lossy(&count, 429), call); err == nil || count.Load() != 2 {
		t.Errorf("a write that is refused for now: %v after %d requests", err, count.Load()-1)
	}

	// Where nobody listens, repeating helps nobody.
	c := &apicall.Client{BaseURL: "http://127.0.0.1:1"}
	if err := c.Run(t.Context(), request("GET", "/x"), io.Discard); err == nil || !strings.Contains(err.Error(), "is the service running there") {
		t.Errorf("no service: %v", err)
	}
}

// TestFormsHaveFiles sends a multipart form.
func TestFormsHaveFiles(t *testing.T) {
	t.Parallel()

	name := filepath.Join(t.TempDir(), "owners.csv")
	if err := os.WriteFile(name, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	form := func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		text, _ := io.ReadAll(file)
		_, _ = fmt.Fprintf(w, "%s %s %s %q", r.FormValue("kind"), r.URL.Query().Get("dryRun"), head.Filename, text)
	}

	for part, want := range map[string]string{name: `contacts true owners.csv "a,b\n"`, name + "none": ""} {
		call := request("POST", "/x")

		var err error
		if call.Body, err = apicall.FormBody([]string{"kind=contacts", "file=@" + part}); err != nil {
			t.Fatal(err)
		}

		got, err := run(t, form, call, "dryRun==true")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", part, got, err)
		}
	}
}

// TestTracesHideCredentials reads what --verbose prints.
func TestTracesHideCredentials(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)

	var trace bytes.Buffer

	c := &apicall.Client{BaseURL: server.URL, APIKey: "secret1", Token: "secret2", Trace: &trace}
	if err := c.Run(t.Context(), request("POST", "/x"), io.Discard); err != nil {
		t.Fatal(err)
	}

	if got := trace.String(); strings.Contains(got, "secret") || !strings.Contains(got, "> POST "+server.URL+"/x\n") || !strings.Contains(got, "< 200 OK\n") {
		t.Errorf("the trace is\n%s", got)
	}
}
