package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a condition may take on a loaded machine.
const patience = 60 * time.Second

// chromium starts a browser. Without one the test is skipped, but not where all tests must run.
func chromium(t *testing.T) context.Context {
	t.Helper()

	var program string

	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}

	if program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no chromium is installed")
		}

		t.Skip("no chromium is installed")
	}

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.Flag("lang", "en-US"), chromedp.Env("LANGUAGE=en_US", "TZ=UTC"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it does not work for root
	}

	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)

	ctx, leave := chromedp.NewContext(allocator)
	t.Cleanup(leave)

	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}

	return ctx
}

// tab is a page of its own profile. What goes wrong in it is found when the test ends.
type tab struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // what chromedp knows a tab by
	base    string
	framed  string // the origin of what is in a frame of the page, if any
	folder  string // where downloads go
	mu      sync.Mutex
	trouble []string
	asked   []string
	// refused are answers of the API that the test provokes, which a browser reports as errors of its console.
	refused bool
}

// device is a screen.
type device struct {
	name          string
	width, height int64
}

var (
	desk  = device{name: "desk", width: 1280, height: 900}
	phone = device{name: "phone", width: 390, height: 844}
)

func open(t *testing.T, chrome context.Context, s *service, d device) *tab {
	t.Helper()

	ctx, leave := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	t.Cleanup(leave)

	p := &tab{t: t, ctx: ctx, base: s.base, folder: t.TempDir()}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}

	if _, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: p.folder, BrowserContextID: chromedp.FromContext(ctx).BrowserContextID,
	}); err != nil {
		t.Fatal(err)
	}

	p.prefer("light")
	p.do(chromedp.EmulateViewport(d.width, d.height), chromedp.Navigate(s.base+"/console"))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		for _, what := range p.trouble {
			t.Errorf("the page reports: %s", what)
		}
	})

	return p
}

// prefer makes the user one who prefers a colour scheme, and no movement.
func (p *tab) prefer(scheme string) {
	p.t.Helper()

	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	}); err != nil {
		p.t.Fatal(err)
	}
}

// block keeps the page from reaching addresses that match a pattern; without one it reaches all again.
func (p *tab) block(patterns ...string) {
	p.t.Helper()

	var blocked network.SetBlockedURLsParams
	for _, pattern := range patterns {
		blocked.URLPatterns = append(blocked.URLPatterns, &network.BlockPattern{URLPattern: pattern, Block: true})
	}

	if _, err := chromedp.Call(p.ctx, network.SetBlockedURLs, blocked); err != nil {
		p.t.Fatal(err)
	}
}

// hear notes errors, and requests that leave the service.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()

	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, e.ExceptionDetails.Text+" "+describe(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		p.trouble = append(p.trouble, "console."+string(e.Type))
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceNetwork && p.refused {
			return
		}

		p.trouble = append(p.trouble, string(e.Entry.Source)+" "+string(e.Entry.Level)+": "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		url := e.Request.URL

		p.asked = append(p.asked, e.Request.Method+" "+strings.TrimPrefix(url, p.base))
		if !strings.HasPrefix(url, p.base+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:"+p.base+"/") &&
			(p.framed == "" || !strings.HasPrefix(url, p.framed+"/")) {
			p.trouble = append(p.trouble, "a request to "+url)
		}
	}
}

func describe(d *runtime.ExceptionDetails) string {
	if d.Exception == nil {
		return ""
	}

	return d.Exception.Description
}

// requests are those with a method and path that begin so.
func (p *tab) requests(prefix string) int {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := 0

	for _, one := range p.asked {
		if strings.HasPrefix(one, prefix) {
			n++
		}
	}

	return n
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()

	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()

	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func evaluate[T any](p *tab, expression string) T {
	p.t.Helper()

	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()

	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}

	return v
}

// until waits for what an expression says of the page. While the page changes to another one, nothing can be said of it.
func (p *tab) until(expression string) {
	p.t.Helper()
	p.wait(expression, func() bool {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()

		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err != nil && !strings.Contains(err.Error(), "navigated") {
			p.t.Fatalf("%s: %v", expression, err)
		}

		return err == nil && holds
	})
}

func (p *tab) wait(what string, holds func() bool) {
	p.t.Helper()

	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()

	for late := time.After(patience); !holds(); {
		select {
		case <-late:
			p.keep("late")
			p.t.Fatalf("not so after %s: %s\nthe page says: %s", patience, what, evaluate[string](p, "document.body.innerText"))
		case <-tick.C:
		}
	}
}

// sees waits for a text in what is visible.
func (p *tab) sees(text string) {
	p.t.Helper()
	p.until("document.body.innerText.includes(" + quoted(text) + ")")
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// button is the script that finds a visible button or link by what it is called.
func button(name string) string {
	return `[...document.querySelectorAll("button, a, summary")].find((e) => e.checkVisibility() && (e.getAttribute("aria-label") || e.textContent).includes(` + quoted(name) + `))`
}

// click uses the mouse on a button or link.
func (p *tab) click(name string) {
	p.t.Helper()
	p.until(button(name))
	evaluate[bool](p, `{ for (const e of document.querySelectorAll("[data-test]")) e.removeAttribute("data-test"); `+button(name)+`.setAttribute("data-test", ""); true }`)
	p.do(chromedp.Click(chromedp.CSS("[data-test]")))
}

// fill gives a field a value as a user would leave it.
func (p *tab) fill(id, value string) {
	p.t.Helper()

	field := `document.getElementById(` + quoted(id) + `)`
	p.until(field + `?.checkVisibility()`)
	p.until(`(` + field + `.options === undefined || [...` + field + `.options].some((o) => o.value === ` + quoted(value) + `))`)
	evaluate[bool](p, `{ const e = `+field+`; e.focus(); e.value = `+quoted(value)+`; e.dispatchEvent(new Event("input", { bubbles: true })); e.dispatchEvent(new Event("change", { bubbles: true })); true }`)
}

// press uses the keyboard.
func (p *tab) press(keys string) { p.t.Helper(); p.do(chromedp.KeyEvent(keys)) }

func (p *tab) signIn(key string) {
	p.t.Helper()
	p.fill("key", key)
	p.click("Sign in")
}

// downloaded waits for a file with a name that ends so and gives its content.
func (p *tab) downloaded(ending string) []byte {
	p.t.Helper()

	var content []byte

	p.wait("a download of "+ending, func() bool {
		found, err := filepath.Glob(filepath.Join(p.folder, "*"+ending))
		if err != nil || len(found) == 0 {
			return false
		}

		content, err = os.ReadFile(found[0])
		if err != nil || len(bytes.TrimSpace(content)) == 0 {
			return false
		}

		return os.Remove(found[0]) == nil
	})

	return content
}

// keep writes a picture of the whole page into the folder KEEP_PNG, for people to look at.
func (p *tab) keep(name string) {
	p.t.Helper()

	folder := os.Getenv("KEEP_PNG")
	if folder == "" {
		return
	}

	picture, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}

	file := strings.NewReplacer("/", "-", " ", "-").Replace(p.t.Name() + "-" + name + ".png")
	if err := os.WriteFile(filepath.Join(folder, file), picture, 0o600); err != nil {
		p.t.Fatal(err)
	}
}
