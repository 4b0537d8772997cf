package app

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"stayledger"
	"stayledger/platform/api"
	"stayledger/web"
)

// pages adds what is not part of the contract: probes, the published description, the reference page, the pages for people and
// the changelog.
// All bytes are rendered once.
func (a *App) pages() error {
	description, err := a.API.OpenAPI()
	if err != nil {
		return err
	}
	docs, err := a.docs()
	if err != nil {
		return err
	}
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
	page("/openapi.json", "application/json", description.JSON)
	page("/openapi.yaml", "application/yaml", description.YAML)
	page("/openapi-3.0.json", "application/json", description.JSON30)
	page("/docs", "text/html; charset=utf-8", docs)
	owner := web.Owner()
	serve("/owner", "text/html; charset=utf-8", owner.Policy, owner.HTML)
	if err := a.console(); err != nil {
		return err
	}
	page("/changelog", "text/markdown; charset=utf-8", []byte(stayledger.Changelog))
	a.API.Handle(http.MethodGet, "/", http.RedirectHandler("/docs", http.StatusFound).ServeHTTP)
	a.API.Handle(http.MethodGet, "/healthz", healthy)
	a.API.Handle(http.MethodGet, "/readyz", a.readiness(a.ready.Load))
	return nil
}

// console serves the console. Its files are asked for anew each time, so that they always fit each other, and answered with 304 while they
// are the same.
func (a *App) console() error {
	assets, err := web.Console()
	if err != nil {
		return err
	}
	for _, asset := range assets {
		a.API.Handle(http.MethodGet, asset.Path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", asset.ContentType)
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("ETag", `W/"`+asset.Tag+`"`)
			w.Header().Set("Content-Security-Policy", web.ConsolePolicy)
			w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Referrer-Policy", "no-referrer")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(asset.Body))
		})
	}
	return nil
}

type docsGroup struct {
	Tag       string
	Endpoints []*api.Endpoint
}

func (a *App) docs() ([]byte, error) {
	var groups []docsGroup
	at := map[string]int{}
	for i := range a.API.Endpoints {
		e := &a.API.Endpoints[i]
		n, seen := at[e.Tag]
		if !seen {
			n = len(groups)
			at[e.Tag] = n
			groups = append(groups, docsGroup{Tag: e.Tag})
		}
		groups[n].Endpoints = append(groups[n].Endpoints, e)
	}
	var out bytes.Buffer
	err := web.Docs.Execute(&out, map[string]any{"Title": a.API.Title, "About": a.API.Description, "Version": api.Version, "Groups": groups})
	if err != nil {
		return nil, fmt.Errorf("render the reference: %w", err)
	}
	return out.Bytes(), nil
}
