package console_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"stayledger/app"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// embedding is a service whose portal is at localhost, as its hosts are, with an office that a partner shows.
type embedding struct {
	*office

	portal  string
	partner *office
}

// embed starts one.
func embed(t *testing.T) *embedding {
	t.Helper()

	s := serve(t, func(c *app.Config) { c.PublicURL = local(c.Listen) })
	e := &embedding{office: s.office(t, "Alpha Stays"), portal: s.config.PublicURL}
	e.partner = &office{service: s, t: t, name: "Partner"}

	s.across(t, func(ctx context.Context, tx *db.Tx) (err error) {
		if e.partner.id, err = team.Create(ctx, tx, team.New{Name: "Partner", Type: team.Partner, Region: "us"}); err != nil {
			return err
		}

		if _, err = tx.Exec(ctx, `update team set partner_id = @partner where id = @team`, db.Args{"partner": e.partner.id, "team": e.id}); err != nil {
			return err
		}

		k, err := access.IssueKey(ctx, tx, access.NewKey{Teams: []id.ID{e.partner.id}, Partner: true, Scopes: access.Scopes()})
		if err == nil {
			e.partner.key = k.Secret
		}

		return err
	})

	return e
}

// in is the same for a part of a test.
func (e *embedding) in(t *testing.T) *embedding {
	t.Helper()

	shown, partner := *e.office, *e.partner
	shown.t, partner.t = t, t

	return &embedding{office: &shown, portal: e.portal, partner: &partner}
}

// local is a loopback address as a page at localhost.
func local(address string) string {
	return "http://localhost:" + address[strings.LastIndexByte(address, ':')+1:]
}

// show makes an address for a frame in the pages of some origins.
func (e *embedding) show(other object, origins ...string) string {
	e.t.Helper()

	body := object{"teamId": e.id, "allowedOrigins": origins}
	maps.Copy(body, other)

	url, _ := e.partner.call("POST", "/partner/embed-sessions", body, 201)["url"].(string)

	return url
}

// host is a page of another product with a frame in it, which notes what it hears.
const host = `<!doctype html><html lang="en"><title>Host</title><link rel="icon" href="data:,"><body><h1>Host</h1><script>
window.heard = []; addEventListener("message", (e) => heard.push([e.origin, e.source === frame.contentWindow, e.data]));
</script><iframe id="frame" width="900" height="700" onload="window.loads = (window.loads || 0) + 1"></iframe></body></html>`

// product serves the host page at an origin of its own and opens it.
func (e *embedding) product(chrome context.Context) *tab {
	e.t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, host)
	}))
	e.t.Cleanup(server.Close)

	p := open(e.t, chrome, &service{base: local(server.URL)}, desk)
	p.framed = e.portal

	return p
}

// put opens an address in the frame.
func (p *tab) put(url string) {
	p.t.Helper()
	evaluate[bool](p, `heard.length = 0; frame.src = `+quoted(url)+`; true`)
}

// inFrame evaluates a script in the frame, out of sight of the host. It returns nil while there is no page in it.
func (p *tab) inFrame(expression string) any {
	p.t.Helper()

	tree, err := chromedp.Call(p.ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil || len(tree.FrameTree.ChildFrames) == 0 {
		return nil
	}

	world, err := chromedp.Call(p.ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.ChildFrames[0].Frame.ID})
	if err != nil {
		return nil
	}

	byValue := true

	out, err := chromedp.Call(p.ctx, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ContextID: world.ExecutionContextID, ReturnByValue: &byValue,
	})
	if err != nil || out.Result == nil {
		return nil
	}

	var v any
	if json.Unmarshal(out.Result.Value, &v) != nil {
		return nil
	}

	return v
}

// frameSees waits for a text in the frame.
func (p *tab) frameSees(text string) {
	p.t.Helper()
	p.wait("the frame shows "+text, func() bool {
		shown, _ := p.inFrame(`document.body.innerText`).(string)
		return strings.Contains(shown, text)
	})
}

// hears waits for a message of a type from the frame.
func (p *tab) hears(message string) {
	p.t.Helper()
	p.until(`heard.some(([, , data]) => data.type === ` + quoted(message) + `)`)
}

// Proves: AUTH-03, AUTH-27, AUTH-28, LIM-10.
func TestEmbeddedSessionsInABrowser(t *testing.T) {
	t.Parallel()

	chrome, e := chromium(t), embed(t)
	e.books()

	statement, _ := e.call("GET", "/statements?month=2026-01&sort=listing&limit=1", nil, 200)["data"].(array)[0].(object)

	t.Run("in an allowed page", func(t *testing.T) {
		t.Parallel()

		e := e.in(t)
		p := e.product(chrome)

		// One statement: the page keeps nothing, and the host hears of it without any figure.
		one := e.show(object{"view": "statement", "resourceId": statement["id"]}, p.base)
		p.put(one)
		p.frameSees(hostile)
		p.frameSees("$1,234.56")
		p.hears("stayledger.ready")
		p.hears("stayledger.resize")

		if kept := p.inFrame(`JSON.stringify([localStorage.length, sessionStorage.length, document.cookie, location.hash, "hit" in window])`); kept != `[0,0,"","",false]` {
			t.Errorf("the frame keeps %v", kept)
		}

		if told := evaluate[string](p, `JSON.stringify(heard.filter(([origin, own, data]) => origin !== `+quoted(e.portal)+` || !own ||
			Object.keys(data).some((name) => !["type", "height"].includes(name))))`); told != "[]" {
			t.Errorf("the host hears %s", told)
		}

		p.keep("statement")

		// A list of statements, one of which opens.
		p.put(e.show(object{"view": "statement"}, p.base))
		p.frameSees("Owner statements")
		p.inFrame(`[...document.querySelectorAll("button")].find((b) => b.textContent.includes("Beach House")).click()`)
		p.frameSees("Back to the statements")
		p.frameSees("Available to the owners")

		// A report of a period.
		p.put(e.show(object{"view": "report"}, "https://app.example.com", p.base))
		p.frameSees("Trial balance")
		p.inFrame(`for (const [id, day] of [["from", "2026-01-01"], ["to", "2026-01-31"]]) { const e = document.getElementById(id); e.value = day; e.dispatchEvent(new Event("change")); }`)
		p.frameSees("$2,469.12")
		p.hears("stayledger.ready")
		p.keep("report")

		// The address works once.
		p.refused = true
		p.put(one)
		p.hears("stayledger.expired")
		p.frameSees("This view has ended.")
	})

	t.Run("in another page", func(t *testing.T) {
		t.Parallel()

		e := e.in(t)
		p := e.product(chrome)
		url := e.show(object{"view": "report"}, "https://app.example.com", "http://localhost:1")
		p.put(url)
		p.wait("the browser refuses to show the frame", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()

			return slices.ContainsFunc(p.trouble, func(what string) bool { return strings.Contains(what, "frame-ancestors") })
		})

		if heard := evaluate[int](p, "heard.length"); heard != 0 {
			t.Errorf("the host hears %d messages", heard)
		}

		p.mu.Lock()
		p.trouble = slices.DeleteFunc(p.trouble, func(what string) bool { return strings.Contains(what, "frame-ancestors") })
		p.mu.Unlock()

		// No script of the page has run: its code is not spent.
		_, code, _ := strings.Cut(url, "#code=")
		e.call("POST", "/embed-sessions/exchange", object{"code": code}, 200)
	})
}

// Proves: AUTH-28.
func TestThePageOfAnEmbeddedSessionIsShownByItsOriginsAlone(t *testing.T) {
	t.Parallel()
	e := embed(t)

	url, _, _ := strings.Cut(e.show(object{"view": "report"}, "https://app.example.com", "http://localhost:3000"), "#")
	path := strings.TrimPrefix(url, e.portal)

	for _, c := range []struct {
		path, ancestors string
		status          int
	}{
		{path, "frame-ancestors https://app.example.com http://localhost:3000;", 200},
		{"/embed/" + e.id.String(), "frame-ancestors 'none';", 404},
		{"/embed/nothing", "frame-ancestors 'none';", 404},
		{path + "?origin=https://evil.example&next=https://evil.example", "frame-ancestors https://app.example.com http://localhost:3000;", 200},
	} {
		answer := e.fetch(t, c.path, "")

		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}

		_ = answer.Body.Close()

		policy := answer.Header.Get("Content-Security-Policy")
		if answer.StatusCode != c.status || !strings.Contains(policy, c.ancestors) || strings.Count(policy, "frame-ancestors") != 1 || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %s", c.path, answer.StatusCode, policy)
		}

		for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "style-src 'self'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part+";") {
				t.Errorf("%s: the policy lacks %s", c.path, part)
			}
		}

		for name, want := range map[string]string{
			"X-Frame-Options": "", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "Access-Control-Allow-Origin": "", "Set-Cookie": "", "Location": "",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", c.path, name, got)
			}
		}

		if answer.Header.Get("Permissions-Policy") == "" || strings.Contains(string(body), "evil") {
			t.Errorf("%s: %v %s", c.path, answer.Header, body)
		}
	}
}
