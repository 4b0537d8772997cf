package console_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/golden"
	"stayledger/web/reference"
)

// example is a request of the reference, and what the service answered when it was sent in one of the languages.
type example struct {
	name    string
	request reference.Request
}

type reply struct {
	status int
	body   string
}

// workbench sends examples as a reader would who copies them: with the environment that the first chapter asks for.
type workbench struct {
	t      *testing.T
	folder string
	env    []string
}

func (o *office) workbench() *workbench {
	b := &workbench{t: o.t, folder: o.t.TempDir(), env: append(os.Environ(), "STAYLEDGER_URL="+o.base, "STAYLEDGER_KEY="+o.key, "STAYLEDGER_TOKEN=none")}
	b.write("invoice.pdf", "%PDF-1.4\n%%EOF\n")
	b.write("dump.json", "{}")
	b.write("stays.csv", "listing,check-in,check-out,rent\nBeach House One,2026-03-01,2026-03-04,300.00\n")
	b.write("owners.csv", "name,email\nAnn Miller,ann@example.com\n")
	b.write("file", "content")

	return b
}

func (b *workbench) write(name, content string) {
	b.t.Helper()

	if err := os.WriteFile(filepath.Join(b.folder, name), []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run gives the output of a program.
func (b *workbench) run(name string, arguments ...string) string {
	b.t.Helper()
	program := exec.CommandContext(b.t.Context(), name, arguments...)
	program.Dir, program.Env = b.folder, b.env

	var problems bytes.Buffer

	program.Stderr = &problems

	out, err := program.Output()
	if err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, problems.String())
	}

	return string(out)
}

// curl sends an example in a shell. The status is asked for besides what the example does.
func (b *workbench) curl(e example) reply {
	b.t.Helper()

	command := strings.Replace(e.request.Curl(), "curl", `curl -sS -w '\n%{http_code}'`, 1)
	out := b.run("sh", "-c", command)
	at := strings.LastIndex(out, "\n")

	status, err := strconv.Atoi(out[at+1:])
	if err != nil {
		b.t.Fatalf("%s: %s", e.name, out)
	}

	return reply{status, out[:at]}
}

func (b *workbench) curls(examples []example) map[string]reply {
	b.t.Helper()

	replies := map[string]reply{}
	for _, e := range examples {
		replies[e.name] = b.curl(e)
	}

	return replies
}

const mark = "== "

// programs sends examples as Go programs. They are vetted and built as functions of one program, which is quicker than
// hundreds of them.
func (b *workbench) programs(examples []example) map[string]reply {
	b.t.Helper()

	imports := map[string]bool{"fmt": true}

	var functions, calls strings.Builder

	for i, e := range examples {
		head, body, found := strings.Cut(e.request.Go(), "func main() {")
		if !found {
			b.t.Fatalf("%s is no program: %s", e.name, head)
		}

		for _, one := range regexp.MustCompile(`(?m)^\t(".+")$`).FindAllStringSubmatch(head, -1) {
			imports[strings.Trim(one[1], `"`)] = true
		}

		fmt.Fprintf(&functions, "func example%d() {%s\n", i, body)
		fmt.Fprintf(&calls, "\tfmt.Println(%q)\n\texample%d()\n", mark+e.name, i)
	}

	b.write("examples.go", "package main\n\nimport (\n\t\""+strings.Join(slices.Sorted(maps.Keys(imports)), "\"\n\t\"")+"\"\n)\n\nfunc main() {\n"+calls.String()+"}\n\n"+functions.String())
	b.run("go", "vet", "examples.go")

	return b.replies(b.run("go", "run", "examples.go"))
}

// modules sends examples as the modules that they are for Node, which takes TypeScript without types as it is.
func (b *workbench) modules(examples []example) map[string]reply {
	b.t.Helper()

	var all strings.Builder

	for i, e := range examples {
		file := fmt.Sprintf("example%d.mjs", i)
		b.write(file, e.request.TypeScript())
		fmt.Fprintf(&all, "console.log(%q);\nawait import(%q);\n", mark+e.name, "./"+file)
	}

	b.write("examples.mjs", all.String())

	return b.replies(b.run("node", "examples.mjs"))
}

func (b *workbench) replies(out string) map[string]reply {
	b.t.Helper()

	replies := map[string]reply{}

	for _, one := range strings.Split("\n"+out, "\n"+mark)[1:] {
		name, printed, _ := strings.Cut(one, "\n")
		status, body, _ := strings.Cut(printed, " ")

		n, err := strconv.Atoi(strings.TrimSpace(status))
		if err != nil {
			b.t.Fatalf("%s printed %q", name, printed)
		}

		replies[name] = reply{n, strings.TrimSpace(body)}
	}

	return replies
}

// node says whether the examples in TypeScript can be sent here.
func node(t *testing.T) bool {
	t.Helper()

	_, err := exec.LookPath("node")
	if err != nil {
		t.Log("no node is installed: the examples in TypeScript are not sent")
	}

	return err == nil
}

// site reads the reference of the service.
func (s *service) site(t *testing.T) *reference.Site {
	t.Helper()

	d, err := s.app.API.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	site, err := reference.New(d.JSON)
	if err != nil {
		t.Fatal(err)
	}

	return site
}

// malformed are the issues of a request that does not fit the description. What an example refers to need not be there,
// but it must fit.
var malformed = []string{
	"unknownField", "unknownParameter", "required", "uuid", "date", "dateTime", "dateRange", "malformed", "enum", "boolean", "integer", "range", "length", "unique", "items",
}

// TestEveryExampleOfTheReferenceFitsTheService sends the example of every operation in each language: each answers what
// the operation declares and testdata/examples.txt says, in each language the same, and none is refused as malformed.
// Where the description shows the answer, it is the one that the service gives.
func TestEveryExampleOfTheReferenceFitsTheService(t *testing.T) {
	t.Parallel()
	s := serve(t)
	operations := s.site(t).Operations()
	slices.SortStableFunc(operations, func(a, b *reference.Operation) int { return cmp.Compare(late(a), late(b)) })

	send := func(by func(*workbench, []example) map[string]reply) map[string]reply { // each language has a team of its own, so that all find the same
		o := s.office(t, "Seaside Stays")

		made, examples := o.scene(), make([]example, 0, len(operations))
		for _, op := range operations {
			examples = append(examples, made.of(op))
		}

		return by(o.workbench(), examples)
	}

	by := map[string]map[string]reply{"curl": send((*workbench).curls), "Go": send((*workbench).programs)}
	if node(t) {
		by["TypeScript"] = send((*workbench).modules)
	}

	statuses := make([]string, 0, len(operations))
	for _, op := range operations {
		statuses = append(statuses, fmt.Sprintf("%s %d\n", op.ID, by["curl"][op.ID].status))
		for language, replies := range by {
			got, want := replies[op.ID], by["curl"][op.ID]
			if got.status != want.status {
				t.Errorf("%s in %s: %d %s; with curl %d %s", op.ID, language, got.status, got.body, want.status, want.body)
			}
		}

		checkReply(t, op, by["curl"][op.ID])
	}

	if len(operations) < 200 {
		t.Errorf("%d operations", len(operations))
	}

	slices.Sort(statuses)
	golden.File(t, "testdata/examples.txt", []byte(strings.Join(statuses, "")))
	checkAnswers(t, operations, by["curl"])
}

// late orders operations so that none takes away what another speaks of, and answers tell of journals that nothing
// changes.
func late(op *reference.Operation) int {
	switch {
	case op.ID == "deleteTeam": // it takes all others away
		return 3
	case op.Method == "DELETE":
		return 2
	case op.ID == "createOwnershipPeriod":
		return 1
	default:
		return 0
	}
}

// checkAnswers holds each answer that the description shows to those that were given: of the operations that share its
// schema, one has to give it.
func checkAnswers(t *testing.T, operations []*reference.Operation, replies map[string]reply) {
	t.Helper()

	given, departures := map[string]bool{}, map[string][]string{}

	for _, op := range operations {
		for _, a := range op.Answers {
			if a.Content == nil || !a.Content.Shown || given[a.Content.Schema.Type] {
				continue
			}

			var shown, actual any

			_ = json.Unmarshal([]byte(a.Content.Example), &shown)
			_ = json.Unmarshal([]byte(replies[op.ID].body), &actual)

			var departs []string

			c := comparison{known: map[string]string{}, say: func(form string, values ...any) { departs = append(departs, fmt.Sprintf(form, values...)) }}
			c.compare(op.ID, shown, actual)

			given[a.Content.Schema.Type] = len(departs) == 0
			departures[a.Content.Schema.Type] = append(departures[a.Content.Schema.Type], departs...)
		}
	}

	for schema, is := range given {
		if !is {
			t.Errorf("no operation answers the example of %s:\n%s", schema, strings.Join(departures[schema], "\n"))
		}
	}

	if len(given) < 25 {
		t.Errorf("%d answers are shown", len(given))
	}
}

func checkReply(t *testing.T, op *reference.Operation, got reply) {
	t.Helper()

	declared := func(a reference.Answer) bool { return a.Answers(got.status) }
	if !slices.ContainsFunc(op.Answers, declared) && !slices.ContainsFunc(op.Failures, declared) {
		t.Errorf("%s answers %d, which it does not declare: %s", op.ID, got.status, got.body)
	}

	if got.status == 401 && slices.Contains(op.Callers, "team keys") || got.status == 405 || got.status >= 500 && got.status != 501 {
		t.Errorf("%s: %d %s", op.ID, got.status, got.body)
	}

	if got.status != 400 || op.Body != nil && op.Body.Type == "application/octet-stream" { // the file of the workbench is not what it takes
		return
	}

	var refusal struct{ Issues []struct{ Code string } }
	if err := json.Unmarshal([]byte(got.body), &refusal); err != nil {
		t.Fatalf("%s: %s", op.ID, got.body)
	}

	for _, issue := range refusal.Issues {
		if slices.Contains(malformed, issue.Code) {
			t.Errorf("%s: its example is malformed: %s\n%s", op.ID, got.body, op.Request.Curl())
			return
		}
	}
}

// TestChaptersShowWhatTheServiceAnswers sends what the chapters show, in each language, in their order: the service
// answers what is shown there.
func TestChaptersShowWhatTheServiceAnswers(t *testing.T) {
	t.Parallel()

	samples, err := reference.Samples()
	if err != nil {
		t.Fatal(err)
	}

	languages := []string{"curl", "Go"}
	if node(t) {
		languages = append(languages, "TypeScript")
	}

	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.work(t)
			b := s.office(t, "Seaside Stays").workbench()
			send := map[string]func([]example) map[string]reply{"curl": b.curls, "Go": b.programs, "TypeScript": b.modules}[language]
			known := map[string]string{"$STAYLEDGER_URL": s.base}

			for rest := samples; len(rest) > 0; {
				together := independent(rest)
				checkSamples(t, known, rest[:together], send)
				rest = rest[together:]
			}
		})
	}
}

// independent says how many samples can be sent before the answer of one of them is needed for the next.
func independent(samples []reference.Sample) int {
	answers := ""

	for i, sample := range samples {
		if ids := volatileInside.FindAllString(sample.Path, -1); slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(answers, id) }) {
			return i
		}

		answers += sample.Answer
	}

	return len(samples)
}

func checkSamples(t *testing.T, known map[string]string, samples []reference.Sample, send func([]example) map[string]reply) {
	t.Helper()

	var examples []example

	for _, sample := range samples {
		for shown, actual := range known {
			sample.Path = strings.ReplaceAll(sample.Path, shown, actual)
		}

		examples = append(examples, example{sample.Name, sample.Request})
	}

	replies := send(examples)
	for _, sample := range samples {
		got := replies[sample.Name]
		if got.status != sample.Status {
			t.Fatalf("%s: %d %s", sample.Name, got.status, got.body)
		}

		var shown, actual any
		if err := json.Unmarshal([]byte(sample.Answer), &shown); err != nil {
			t.Fatal(err)
		}

		if err := json.Unmarshal([]byte(got.body), &actual); err != nil {
			t.Fatalf("%s: %v: %s", sample.Name, err, got.body)
		}

		c := comparison{say: t.Errorf, known: known, part: sample.Part}
		c.compare(sample.Name, shown, actual)
	}
}

// comparison compares the shown answer with the real one. Identifiers and instants differ each time; it remembers which
// belong together.
type comparison struct {
	say   func(form string, values ...any)
	known map[string]string
	part  bool
}

var volatileInside = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)

// signed is a link that lets anybody read a file for a while.
var signed = regexp.MustCompile(`^https?://[^/]+(/links/.+)\?expires=\d+&signature=[\w-]+$`)

var volatile = regexp.MustCompile(`^(?:[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z)$`)

func (c comparison) compare(at string, shown, actual any) {
	switch want := shown.(type) {
	case object:
		got, _ := actual.(object)
		for name, value := range want {
			if _, there := got[name]; !there {
				c.say("%s: the service does not answer %s", at, name)
				continue
			}

			c.compare(at+"."+name, value, got[name])
		}

		for name := range got {
			if _, there := want[name]; !there && !c.part {
				c.say("%s: %s is not shown", at, name)
			}
		}
	case array:
		got, _ := actual.(array)
		if len(got) != len(want) {
			c.say("%s: %d items are shown, and the service answers %d", at, len(want), len(got))
			return
		}

		for i := range want {
			c.compare(fmt.Sprintf("%s[%d]", at, i), want[i], got[i])
		}
	case string:
		got, _ := actual.(string)
		if strings.HasSuffix(at, ".shortRef") && len(want) == len(got) {
			return
		}

		if volatile.MatchString(want) && volatile.MatchString(got) && len(want) == len(got) {
			c.known[want] = got
			return
		}

		for from, to := range c.known {
			want = strings.ReplaceAll(want, from, to)
		}

		want, got = signed.ReplaceAllString(want, "$1"), signed.ReplaceAllString(got, "$1")
		if strings.HasPrefix(want, "/files/") || strings.HasPrefix(want, "/links/") { // of a file that is shown for the first time
			want, got = volatileInside.ReplaceAllString(want, "ID"), volatileInside.ReplaceAllString(got, "ID")
		}

		if got != want {
			c.say("%s: shown %q, answered %q", at, want, got)
		}
	default:
		if shown != actual {
			c.say("%s: shown %v, answered %v", at, shown, actual)
		}
	}
}

// TestEveryOperationIsOnItsPage holds the pages to the published description: path, parameters with their texts, fields
// of bodies and answers, statuses of errors, scopes.
func TestEveryOperationIsOnItsPage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site := s.site(t)

	d, err := s.app.API.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	var published object
	if err := json.Unmarshal(d.JSON, &published); err != nil {
		t.Fatal(err)
	}

	n := 0

	for path, item := range published["paths"].(object) {
		common, _ := item.(object)["parameters"].(array)
		for method, raw := range item.(object) {
			op, is := raw.(object)
			if !is {
				continue
			}

			name, _ := op["operationId"].(string)

			asset, found, err := site.Asset("/docs/operations/" + name)
			if err != nil || !found {
				t.Errorf("%s has no page (%v)", name, err)
				continue
			}

			n++
			c := pageCheck{t: t, name: name, page: string(asset.Body), text: visible(asset.Body), root: published, seen: map[string]bool{}}
			c.has(`<span class="m `+method+`">`, "<code>"+path+"</code>", name)

			for _, scope := range op["x-scopes"].(array) {
				c.has("<code>" + scope.(string) + "</code>")
			}

			own, _ := op["parameters"].(array)
			for _, one := range slices.Concat(common, own) {
				p := c.resolve(one)
				c.has(`<code class="name">` + p["name"].(string) + "</code>")
				c.says(p)
			}

			if op["requestBody"] != nil {
				c.content(c.resolve(op["requestBody"]))
			}

			for status, one := range op["responses"].(object) {
				if answer := c.resolve(one); status != "default" {
					c.has(`<span class="good">` + status + "</span>")
					c.content(answer)
				}
			}

			failures := c.resolve(op["responses"].(object)["default"])["x-errors"].(array)
			for _, failure := range slices.Concat(op["x-errors"].(array), failures) {
				status, rest, _ := strings.Cut(failure.(string), " ")
				label, message, _ := strings.Cut(rest, ": ")

				c.has(`<span class="bad">`+status+"</span>", ">"+label+"<", html.EscapeString(message))
			}
		}
	}

	if n < 200 {
		t.Errorf("%d operations", n)
	}

	chapter, _, err := site.Asset("/docs/chapters/errors")
	if err != nil {
		t.Fatal(err)
	}

	errors := pageCheck{t: t, name: "the chapter of errors", page: string(chapter.Body)}
	for _, code := range apierr.Codes() {
		errors.has(`<code id="` + string(code) + `">` + string(code) + "</code>")
	}

	for _, reason := range apierr.Reasons() {
		errors.has(`<tr id="` + string(reason) + `">`)
	}

	chapter, _, err = site.Asset("/docs/chapters/issues")
	if err != nil {
		t.Fatal(err)
	}

	issues := pageCheck{t: t, name: "the chapter of issues", page: string(chapter.Body)}
	for _, code := range apierr.IssueCodes() {
		issues.has(`<tr id="issue-` + string(code) + `">`)
	}

	if strings.Contains(errors.page, "</code><td><details>") || strings.Contains(errors.page, "</code><td>\n") {
		t.Error("a reason has no meaning in the chapter of errors")
	}
}

// pageCheck looks for what a description says in a page.
type pageCheck struct {
	t    *testing.T
	name string
	page string
	text string // what a reader sees of it
	root object
	seen map[string]bool
}

var markup = regexp.MustCompile(`<[^>]*>`)

func visible(page []byte) string {
	return strings.Join(strings.Fields(html.UnescapeString(markup.ReplaceAllString(string(page), ""))), " ")
}

func (c pageCheck) has(wants ...string) {
	c.t.Helper()

	for _, want := range wants {
		if !strings.Contains(c.page, want) {
			c.t.Errorf("the page of %s lacks %s", c.name, want)
		}
	}
}

// says looks for the text of a field.
func (c pageCheck) says(field object) {
	c.t.Helper()

	text, _ := field["description"].(string)
	if want := strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " "); !strings.Contains(c.text, want) {
		c.t.Errorf("the page of %s does not say %q", c.name, want)
	}
}

func (c pageCheck) resolve(raw any) object {
	n, _ := raw.(object)
	for {
		ref, is := n["$ref"].(string)
		if !is {
			return n
		}

		target := c.root
		for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			target, _ = target[step].(object)
		}

		merged := maps.Clone(target)

		for name, value := range n { // fields next to a reference go before those that it leads to
			if name != "$ref" {
				merged[name] = value
			}
		}

		n = merged
	}
}

// content looks for every field of a body, however deep.
func (c pageCheck) content(holder object) {
	c.t.Helper()

	media, _ := holder["content"].(object)
	for _, one := range media {
		c.schema(one.(object)["schema"])
	}
}

func (c pageCheck) schema(raw any) {
	c.t.Helper()

	if ref, _ := raw.(object)["$ref"].(string); ref != "" {
		if c.seen[ref] {
			return
		}

		c.seen[ref] = true
	}

	n := c.resolve(raw)

	fields, _ := n["properties"].(object)
	for name, field := range fields {
		c.has(`<code class="name">` + name + "</code>")
		c.says(c.resolve(field))
		c.schema(field)
	}

	for _, word := range []string{"anyOf", "allOf", "oneOf"} {
		options, _ := n[word].(array)
		for _, option := range options {
			c.schema(option)
		}
	}

	if n["items"] != nil {
		c.schema(n["items"])
	}
}
