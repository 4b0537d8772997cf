package e2e_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/s3test"
)

// nextKey takes the place of secretKey.
const nextKey = "OTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2NTQzMjEwOTg="

// The service keeps its files in an object store, and its secret key is replaced while it works: links and sealed
// values live on.
func TestObjectStoreAndRotatedKeys(t *testing.T) {
	t.Parallel()
	s3 := s3test.Start(t)
	database, data := emptyDatabase(t), t.TempDir()
	serve := func(keys string) *process {
		return start(t, database, data, "serve", "--store-url", "s3://"+s3test.Bucket+"/e2e?endpoint=http://"+s3.Address,
			"--store-access-key", s3test.AccessKey, "--store-secret-key", s3test.SecretKey, "--secret-keys", keys)
	}
	before := serve(secretKey)
	team := command(t, database, "team", "create", "Harbour")
	c := &client{t: t, base: before.base, key: command(t, database, "key", "issue", "--team", team)}
	c.post("/contacts", map[string]any{"type": "vendor", "name": "Plumber", "taxIdentifier": "12-3456789"}).want(201)
	done := c.settled(c.post("/transactions/csv", map[string]any{}).want(202).text("operationId"))
	path := done.text("resources.0.url")

	whole := c.get(path).want(200)

	// The audit trail puts a checkpoint there when its time has come.
	names := slices.DeleteFunc(s3.Names(t, "e2e"), func(name string) bool { return strings.HasPrefix(name, "audit-checkpoint.") })
	if len(names) != 2 || !strings.HasPrefix(names[0], "files."+team+".") || names[1] != "stayledger-store" || !bytes.Contains(whole.body, []byte("\r\n")) {
		t.Errorf("the store keeps %v, the file is %q", names, whole.body)
	}

	if _, err := os.Stat(filepath.Join(data, "files")); err == nil {
		t.Error("there is a folder of files, too")
	}

	if part := c.part(path, "bytes=1-4"); part.status != http.StatusPartialContent || !bytes.Equal(part.body, whole.body[1:5]) {
		t.Errorf("part: %d %q", part.status, part.body)
	}

	link := strings.TrimPrefix(c.get("/transactions/csv").want(200).text("url"), before.base)
	before.kill()

	during := serve(nextKey + "," + secretKey)
	c.base = during.base
	c.get(link).want(200)

	if said := command(t, database, "reseal", "--secret-keys", nextKey+","+secretKey); !strings.Contains(said, "contact.tax_identifier: 1 sealed anew, 0 were already") {
		t.Errorf("resealing said %s", said)
	}

	// An operator sees that files, books and keys belong together, and that a key is missing.
	verify := func(keys string) (said string, code int) {
		cmd := exec.CommandContext(t.Context(), binary, "verify", "--hashes", "--secret-keys", keys, "--store-url", "s3://"+s3test.Bucket+"/e2e?endpoint=http://"+s3.Address,
			"--store-access-key", s3test.AccessKey, "--store-secret-key", s3test.SecretKey)

		cmd.Env = append(os.Environ(), "DATABASE_URL="+database)
		out, _ := cmd.Output()

		return string(out), cmd.ProcessState.ExitCode()
	}

	if said, code := verify(nextKey); code != 0 || strings.Contains(said, "WRONG") || !strings.Contains(said, "as it was written: 2 checked, well") {
		t.Errorf("verifying ended with %d and said %s", code, said)
	}

	if said, code := verify(secretKey); code != 1 || !strings.Contains(said, "tax_identifier cannot be opened with any of the keys") {
		t.Errorf("verifying without a key ended with %d and said %s", code, said)
	}

	next := strings.TrimPrefix(c.get("/transactions/csv").want(200).text("url"), during.base)
	during.kill()

	c.base = serve(nextKey).base
	c.get(link).want(404)
	c.get(next).want(200)
	c.get(path).want(200)

	if said := command(t, database, "reseal", "--secret-keys", nextKey); !strings.Contains(said, "contact.tax_identifier: 0 sealed anew, 1 were already, 0 cannot") {
		t.Errorf("resealing again said %s", said)
	}
}

// part asks for a range of a file.
func (c *client) part(path, asked string) *answer {
	c.t.Helper()

	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.base+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}

	request.Header.Set("x-api-key", c.key)
	request.Header.Set("Range", asked)

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}

	defer func() { _ = response.Body.Close() }()

	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		c.t.Fatal(err)
	}

	return &answer{t: c.t, status: response.StatusCode, header: response.Header, body: body.Bytes()}
}

// A service does not start when its object store refuses it, and says what to look at.
func TestWrongStoreCredentials(t *testing.T) {
	t.Parallel()
	s3 := s3test.Start(t)
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--no-migrate", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--secret-keys", secretKey,
		"--database-url", "postgres://nobody@127.0.0.1:1/none", "--store-url", "s3://"+s3test.Bucket+"?endpoint=http://"+s3.Address,
		"--store-access-key", s3test.AccessKey, "--store-secret-key", "wrong-and-secret")

	said, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(said, []byte("STAYLEDGER_STORE_URL")) || !bytes.Contains(said, []byte("refuses the keys")) || bytes.Contains(said, []byte("wrong-and-secret")) {
		t.Errorf("%v: %s", err, said)
	}
}
