package app

import (
	"bytes"
	"cmp"
	"net/http"
	"sync"
	"time"

	"stayledger/domain/tenant/access"
	"stayledger/platform/id"
	"stayledger/web"
	"stayledger/web/reference"
)

// pages adds what is not part of the contract: probes, the published description, the guides and the reference, and the
// pages for people. Everything is rendered once, except guides and reference, which are rendered when they are read.
func (a *App) pages() error {
	description, err := a.API.OpenAPI()
	if err != nil {
		return err
	}

	// Every page gets the headers that keep a browser from doing more than the page needs.
	serve := func(path, contentType, policy string, body []byte) {
		a.API.Handle(http.MethodGet, path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Cache-Control", "public, max-age=300")
			w.Header().Set("Content-Security-Policy", policy)
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Referrer-Policy", "no-referrer")
			_, _ = w.Write(body)
		})
	}
	page := func(path, contentType string, body []byte) {
		serve(path, contentType, "default-src 'none'; style-src 'unsafe-inline'", body)
	}

	// The description in three forms, and the reference made from it.
	page("/openapi.json", "application/json", description.JSON)
	page("/openapi.yaml", "application/yaml", description.YAML)
	page("/openapi-3.0.json", "application/json", description.JSON30)
	a.reference(description.JSON)

	// The pages for owners and for the back office.
	owner := web.Owner()
	serve("/owner", "text/html; charset=utf-8", owner.Policy, owner.HTML)

	if err := a.console(); err != nil {
		return err
	}

	a.embed()

	// Then the start and the probes.
	a.API.Handle(http.MethodGet, "/", http.RedirectHandler("/docs", http.StatusFound).ServeHTTP)
	a.API.Handle(http.MethodGet, "/healthz", answerHealth)
	a.API.Handle(http.MethodGet, "/readyz", a.readiness(a.ready.Load))

	return nil
}

// console serves the console. Its files are asked for anew each time, so that they always fit each other, and answered
// with 304 while they are the same.
func (a *App) console() error {
	assets, err := web.Console()
	if err != nil {
		return err
	}

	for _, asset := range assets {
		a.API.Handle(http.MethodGet, asset.Path, func(w http.ResponseWriter, r *http.Request) {
			serveValidated(w, r, asset)
		})
	}

	return nil
}

// embed serves the page of embedded sessions. The session in its address decides which pages can show it, so it is
// rendered for each request, and no browser keeps it.
func (a *App) embed() {
	for _, asset := range web.EmbedAssets() {
		a.API.Handle(http.MethodGet, asset.Path, func(w http.ResponseWriter, r *http.Request) {
			serveValidated(w, r, asset)
		})
	}

	a.API.Handle(http.MethodGet, "/embed/{id}", func(w http.ResponseWriter, r *http.Request) {
		session, _ := id.Parse(r.PathValue("id")) // what is no id names no session

		origins, err := access.EmbedOrigins(r.Context(), a.DB, session)
		if err != nil {
			a.Log.ErrorContext(r.Context(), "the page of an embedded session cannot be shown", "error", err)
			http.Error(w, "The page cannot be shown", http.StatusInternalServerError)

			return
		}

		page := web.EmbedPage(origins)

		setGuards(w, web.Asset{ContentType: "text/html; charset=utf-8"})
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", page.Policy)
		w.Header().Set("Permissions-Policy", embedPermissions)

		// A session that is not known is shown by no page.
		if len(origins) == 0 {
			w.WriteHeader(http.StatusNotFound)
		}

		_, _ = w.Write(page.HTML)
	})
}

// embedPermissions takes everything from the page of an embedded session that a browser might let it use.
const embedPermissions = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"

// serveValidated answers with a file of a page, or with 304 if the caller has it.
func serveValidated(w http.ResponseWriter, r *http.Request, asset web.Asset) {
	setGuards(w, asset)
	w.Header().Set("ETag", `W/"`+asset.Tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(asset.Body))
}

// setGuards sets the headers that say what a browser may do with a file of a page.
func setGuards(w http.ResponseWriter, asset web.Asset) {
	w.Header().Set("Content-Type", asset.ContentType)
	w.Header().Set("Cache-Control", "no-cache")

	if asset.Kept {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}

	w.Header().Set("Content-Security-Policy", cmp.Or(asset.Policy, web.Policy))
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
}

// reference serves the pages at /docs, the changelog and the contents for programs. They are prepared when the first one
// is read, so that no start waits for them, and rendered one by one.
func (a *App) reference(description []byte) {
	prepared := sync.OnceValues(func() (*reference.Site, error) { return reference.New(description) })

	handle := func(w http.ResponseWriter, r *http.Request) {
		// A failure is ours: the description or a template is wrong.
		site, err := prepared()

		var asset web.Asset

		found := false
		if err == nil {
			asset, found, err = site.Search(r.URL.Path, r.URL.Query().Get("q"))
		}

		if err == nil && !found {
			asset, found, err = site.Asset(r.URL.Path)
		}

		if err != nil {
			a.Log.ErrorContext(r.Context(), "the reference cannot be shown", "path", r.URL.Path, "error", err)
			http.Error(w, "The reference cannot be shown", http.StatusInternalServerError)

			return
		}

		// The page of an unknown path says so.
		if !found {
			setGuards(w, asset)
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(asset.Body)

			return
		}

		serveValidated(w, r, asset)
	}
	for _, address := range []string{"/docs", "/docs/*", "/changelog", "/changelog.md", "/llms.txt"} {
		a.API.Handle(http.MethodGet, address, handle)
	}
}
