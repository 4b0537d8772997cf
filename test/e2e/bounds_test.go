package e2e_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// memoryBound is how far the memory of a process may grow over what it has when idle, whatever it reads.
const memoryBound = 64 << 20

// hostileSystem speaks our own protocol in many ways, by the first part of the path. It makes its bytes while it sends
// them.
type hostileSystem struct{}

// pages are how the lists of some ways look.
type pages struct {
	rows     int // of a page
	filler   int // bytes of a text in each row
	listings bool
	last     int // the last page; 0 for none
}

// hostileWays are the ways in which lists never end, or come in pages as large as they may be.
var hostileWays = map[string]pages{
	"sane":               {rows: 3, last: 1},
	"listings":           {rows: 1000, listings: true},
	"large listings":     {rows: 900, filler: 8 << 10, listings: true},
	"single listings":    {rows: 1, listings: true},
	"reservations":       {rows: 1000},
	"large stays":        {rows: 900, filler: 8 << 10},
	"large stays synced": {rows: 900, filler: 8 << 10},
	"answers too large":  {rows: 1000, filler: 64 << 10},
}

func (hostileSystem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	way, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	way = strings.ReplaceAll(way, "-", " ")
	p := hostileWays[way]

	w.Header().Set("Content-Type", "application/json")

	out := bufio.NewWriterSize(w, 64<<10)
	defer func() { _ = out.Flush() }()

	isListings := path == "listings"

	switch {
	case path == "account":
		fmt.Fprintf(out, `{"id": "A-%s", "name": "Hostile"}`, strings.ReplaceAll(way, " ", "-"))
		return
	case path == "webhook":
		return
	case path != "listings" && path != "reservations":
		w.WriteHeader(http.StatusNotFound)
		return
	case isListings != p.listings:
		p = pages{rows: 1, last: 1}
	}

	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	filler := strings.Repeat("x", p.filler)

	fmt.Fprintf(out, `{%q: [`, path)

	for i := range p.rows {
		if i > 0 {
			_, _ = out.WriteString(",")
		}

		id := n*p.rows + i
		if isListings {
			fmt.Fprintf(out, `{"id": "L%d", "name": "House %d", "note": %q}`, id, id, filler)
		} else {
			fmt.Fprintf(out, `{"id": "R%d", "listingId": "L0", "status": "booked", "code": "C%d", "checkIn": "2026-01-05", "checkOut": "2026-01-08", "currency": "usd",
				"total": "100", "note": %q, "lines": [{"type": "rent", "amount": "100"}]}`, id, id, filler)
		}
	}

	next := strconv.Itoa(n + 1)
	if p.last > 0 {
		next = ""
	}

	fmt.Fprintf(out, `], "next": %q, "complete": true}`, next)
}

// memory is how much memory of a process is in use, and was since the last call.
func (p *process) memory() (now, peak int64) {
	p.t.Helper()

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}

	field := func(name string) int64 {
		_, rest, _ := strings.Cut(string(status), name+":")

		kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}

		return kilobytes << 10
	}

	now, peak = field("VmRSS"), field("VmHWM")

	// From here on the peak counts anew.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0o600); err != nil {
		p.t.Fatal(err)
	}

	return now, peak
}

// hostileScene is a team whose systems are hostile, and another one whose system is sane, on a server and a worker of
// their own.
type hostileScene struct {
	t              *testing.T
	server, worker *process
	database       string
	url            string
	victim         *client // has the hostile systems
	other          *client
	sane           string // the connection of the other team
}

func newHostileScene(t *testing.T) *hostileScene {
	t.Helper()

	system := httptest.NewServer(hostileSystem{})
	t.Cleanup(system.Close)

	database, data := emptyDatabase(t), t.TempDir()
	s := &hostileScene{t: t, database: database, url: system.URL}
	s.server = start(t, database, data, "serve", "--local-providers", "--workers", "0")
	s.worker = start(t, database, data, "work", "--local-providers")

	for _, c := range []**client{&s.victim, &s.other} {
		team := command(t, database, "team", "create", "Seaside Stays", "--start", "2025-01-01")
		*c = &client{t: t, base: s.server.base, key: command(t, database, "key", "issue", "--team", team)}
		(*c).settled((*c).post("/team/init", object{"template": "standard"}).want(http.StatusAccepted).text("operationId"))
	}

	sane := s.connect(s.other, "sane")
	s.other.settled(sane.text("operationId"))
	s.sane = sane.text("resource.id")

	return s
}

// times are how long the other team waits, in the middle, for a list and for a sync of its small system.
type times struct{ read, sync time.Duration }

// measure reads and syncs as the other team until the work is done, three times at least.
func (s *hostileScene) measure(done <-chan struct{}) times {
	var reads, syncs []time.Duration

	for n := 0; ; n++ {
		select {
		case <-done:
			if n >= 3 {
				return times{middle(reads), middle(syncs)}
			}
		default:
		}

		for range 5 {
			began := time.Now()

			s.other.get("/reservations?limit=50").want(http.StatusOK)

			reads = append(reads, time.Since(began))
		}

		began := time.Now()

		s.other.settled(s.other.post("/connections/"+s.sane+"/sync", object{"mode": "full"}).want(http.StatusAccepted).text("operationId"))

		syncs = append(syncs, time.Since(began))
	}
}

// middle returns the median.
func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestHostileSystemsTakeNoMemory connects, reads and extracts systems whose lists never end or are as large as they may
// be, and sends dumps and files of the same kind. The memory of server and worker stays within a bound of what they have
// when idle. How long another team waits meanwhile is logged.
func TestHostileSystemsTakeNoMemory(t *testing.T) {
	t.Parallel()

	s := newHostileScene(t)

	idle := make(chan struct{})
	close(idle)

	s.measure(idle) // once, so that everything is warm
	rest := s.measure(idle)

	serverIdle, _ := s.server.memory()
	workerIdle, _ := s.worker.memory()
	t.Logf("idle: server %d MiB, worker %d MiB, a list %v, a sync %v", serverIdle>>20, workerIdle>>20, rest.read, rest.sync)

	for _, c := range []struct {
		name string
		do   func() string
	}{
		{"connect, listings", func() string { return s.tryConnect("listings") }},
		{"connect, large listings", func() string { return s.tryConnect("large listings") }},
		{"connect, single listings", func() string { return s.tryConnect("single listings") }},
		{"file, reservations", func() string { return s.tryExtract("reservations") }},
		{"file, large stays", func() string { return s.tryExtract("large stays") }},
		{"sync, large stays", func() string { return s.trySync("large stays synced") }},
		{"sync, answers too large", func() string { return s.trySync("answers too large") }},
		{"upload, one line of 250 MB", func() string {
			return s.send("/csv-imports/previews", "contacts", "name,email\n", "\n", 250<<20)
		}},
		{"upload, one line of 40 MB", func() string {
			return s.send("/csv-imports/previews", "contacts", "name,email\n", "\n", 40<<20)
		}},
	} {
		done := make(chan struct{})

		var outcome string

		go func() { defer close(done); outcome = c.do() }()

		meanwhile := s.measure(done)
		<-done

		_, server := s.server.memory()
		_, worker := s.worker.memory()
		t.Logf("%-28s server %+4d MiB, worker %+4d MiB, list %.1f x, sync %.1f x: %s", c.name, (server-serverIdle)>>20, (worker-workerIdle)>>20,
			float64(meanwhile.read)/float64(rest.read), float64(meanwhile.sync)/float64(rest.sync), outcome)

		if server-serverIdle > memoryBound || worker-workerIdle > memoryBound {
			t.Errorf("%s: memory grew by more than %d MiB", c.name, memoryBound>>20)
		}
	}
}

// tryConnect connects the victim to a system and returns how it went.
func (s *hostileScene) tryConnect(way string) string {
	a := s.connect(s.victim, way)
	s.victim.settled(a.text("operationId"))

	got := s.victim.get("/connections/" + a.text("resource.id")).want(http.StatusOK)

	return fmt.Sprint(got.text("status"), " ", got.list("issues"))
}

// reach connects the victim to a system that has no hostile listings.
func (s *hostileScene) reach(way string) string {
	a := s.connect(s.victim, way)
	if got := s.victim.settled(a.text("operationId")); got.text("status") != "completed" {
		s.t.Errorf("%s: %s", way, got.body)
	}

	return a.text("resource.id")
}

// lastSync returns how the last sync of the victim went.
func (s *hostileScene) lastSync() string {
	got := s.victim.get("/syncs?limit=1").want(http.StatusOK)
	return fmt.Sprint(got.text("data.0.status"), " ", got.at("data.0.error"), " ", got.at("data.0.counts"))
}

func (s *hostileScene) tryExtract(way string) string {
	s.victim.settled(s.victim.post("/connections/extract", object{"connectionId": s.reach(way), "extractor": "reservations"}).want(http.StatusAccepted).text("operationId"))
	return s.lastSync()
}

// trySync reads a system until some pages are taken in, and cancels then, unless it has failed.
func (s *hostileScene) trySync(way string) string {
	connection := s.reach(way)
	s.victim.put("/connections/"+connection+"/listing-mappings", object{"data": []any{}})
	operation := s.victim.post("/connections/"+connection+"/sync", object{"mode": "full"}).want(http.StatusAccepted).text("operationId")

	eventually(s.t, "read", func() bool {
		if s.victim.get("/operations/"+operation).text("status") == "failed" {
			return true
		}

		counts, _ := s.victim.get("/syncs?limit=1").at("data.0.counts").(map[string]any)
		stays, _ := counts["reservation"].(map[string]any)
		taken, _ := strconv.Atoi(fmt.Sprint(stays["completed"]))

		return taken >= 2*hostileWays[way].rows
	})

	s.victim.post("/syncs/"+s.victim.get("/syncs?limit=1").text("data.0.id")+"/cancel", nil)

	return s.lastSync()
}

// send sends a file of a head, as many letters and a tail as a form, and returns the answer, or how the preview ends.
func (s *hostileScene) send(path, kind, head, tail string, size int64) string {
	body, out := io.Pipe()
	form := multipart.NewWriter(out)

	go func() {
		err := form.WriteField("kind", kind)

		part, wrong := form.CreateFormFile("file", kind+".csv")
		if err = cmp.Or(err, wrong); err == nil {
			_, err = io.Copy(part, io.MultiReader(strings.NewReader(head), io.LimitReader(letters{}, size), strings.NewReader(tail)))
		}

		_ = out.CloseWithError(cmp.Or(err, form.Close()))
	}()

	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.victim.base+path, body)
	if err != nil {
		return err.Error()
	}

	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("X-Api-Key", s.victim.key)

	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}

	defer func() { _ = resp.Body.Close() }()

	content, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
	got := &answer{t: s.t, call: path, status: resp.StatusCode, body: content}

	if resp.StatusCode != http.StatusAccepted {
		return fmt.Sprint(resp.StatusCode, " ", got.at("code"))
	}

	return fmt.Sprint("202, then ", s.victim.settled(got.text("operationId")).at("failure"))
}

// letters are without an end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}

	return len(p), nil
}

// connect connects a team to a system that behaves in a way, and returns the acknowledgement.
func (s *hostileScene) connect(c *client, way string) *answer {
	s.t.Helper()

	return c.post("/connections", object{
		"appId": "pmsProtocol", "name": way, "settings": object{"baseUrl": s.url + "/" + strings.ReplaceAll(way, " ", "-")},
		"credentials": object{"token": "secret"},
	}).want(http.StatusAccepted)
}
