// Package export makes and serves exports. Nouns declare theirs next to what they list or report, in the Exports of
// their Part. One declaration gives both modes: GET renders while the caller waits and answers with a signed link, POST
// leaves the rendering to an operation. Both take the same selector, and the same selection gives the same bytes.
//
// The page docs/decisions/export.md says what the contract leaves open and how it is answered here.
package export

import (
	"context"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/blob"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/fair"
	"stayledger/platform/parts"
)

// Config holds the settings and services that exports need from the application. Zero durations and limits take
// their defaults.
type Config struct {
	Store     blob.Store
	Signer    *blob.Signer
	PublicURL string
	Limits    Limits
	// Budget is how long a GET may take; zero means a minute. (EXP-02)
	Budget time.Duration
	// Linked is how long the link of a GET works; zero means 15 minutes. (OPEN-48)
	Linked time.Duration
}

// Limits are the largest selections that a GET renders. Beyond them it asks for POST (OPEN-46).
type Limits struct {
	// Rows of a CSV; zero means 100000.
	Rows int64
	// Documents and Pages of a PDF; zero means 60 and 600.
	Documents, Pages int64
	// AtOnce is how many exports callers of one team wait for in one process at a time, each with a connection of its
	// own; others wait their turn within their budget. A quarter more, rounded up, is kept for other teams: see package
	// fair. Zero means 6.
	AtOnce int
}

// patience is how many exports of one team can wait for their turn. A further one is refused at once.
const patience = 100

// Size is the extent of a selection, counted before anything is rendered. Parts that a format does not have are
// zero.
type Size struct {
	Rows, Documents, Pages int64
}

// tooLowFor reports whether a selection is larger than a GET may render.
func (l Limits) tooLowFor(s Size) bool {
	return s.Rows > l.Rows || s.Documents > l.Documents || s.Pages > l.Pages
}

// Format is the kind of file that an export makes.
type Format string

// The formats.
const (
	CSV Format = "csv"
	PDF Format = "pdf"
	ZIP Format = "zip"
)

// contentType returns the media type of a file of this format.
func (f Format) contentType() string {
	switch f {
	case CSV:
		return "text/csv; charset=utf-8"
	case PDF:
		return "application/pdf"
	case ZIP:
		return "application/zip"
	}

	return "application/octet-stream"
}

// Link is the answer of a GET (EXP-03).
type Link struct {
	URL       string      `json:"url" doc:"Signed; needs no credential."`
	ExpiresAt day.Instant `json:"expiresAt"`
}

// Declaration declares one export. S is the selector: a struct with fields that carry the same name in the tags
// query and json, so that both modes take the same input. Its lists are refused when they are empty, because a
// query cannot say that.
type Declaration[S any] struct {
	Path string
	// ID ends the operation ids of both modes, such as TransactionsCSV.
	ID      string
	Tag     string
	Summary string
	// Doc says what is in the file, and how the selector fails.
	Doc    string
	Format Format
	Scopes []string
	// NeedsBooks exports read the books, as api.Endpoint.NeedsBooks.
	NeedsBooks bool
	// Name begins the filename, before the date and the ending.
	Name string
	// PostOnly exports answer every valid GET with EXPORT_REQUIRES_POST. (EXP-19)
	PostOnly bool
	// Check refuses a selection in both modes, before anything is queued; nil checks nothing.
	Check func(ctx context.Context, tx *db.Tx, s *S) error
	// Errors are the conditions that Check refuses with, in addition to input that does not validate.
	Errors apierr.List
	// Count returns the size of a selection: GET decides by it, and an operation shows it as its total.
	Count func(ctx context.Context, tx *db.Tx, s *S) (Size, error)
	// Render writes the file from one snapshot. It runs at least once. Rows are streamed; only a PDF is built in
	// memory.
	Render func(ctx context.Context, tx *db.Tx, s *S, out *Sink) error
}

// served is a declaration that can be served: what Declare and DeclareAt return.
type served interface {
	parts.Export
	serve(e *Exports) parts.Part
	requireBooks()
}

// Exports serves a list of exports.
type Exports struct {
	config  Config
	awaited *fair.Places
	part    parts.Part
}

// New returns the service of the given exports. Zero values of the configuration get their defaults. It panics if
// Declare or DeclareAt did not make one of the exports.
func New(c Config, declared ...parts.Export) *Exports {
	// First the defaults, because serving an export reads the configuration.
	c.Limits.Rows = orDefault(c.Limits.Rows, 100_000)
	c.Limits.Documents = orDefault(c.Limits.Documents, 60)
	c.Limits.Pages = orDefault(c.Limits.Pages, 600)
	c.Limits.AtOnce = orDefault(c.Limits.AtOnce, 6)
	c.Budget = orDefault(c.Budget, time.Minute)
	c.Linked = orDefault(c.Linked, 15*time.Minute)

	// The places bound how many GETs of this process render at a time, over all teams.
	e := &Exports{config: c, awaited: fair.New(fair.Total(c.Limits.AtOnce), patience)}

	for _, d := range declared {
		one, ok := d.(served)
		if !ok {
			panic("export: " + d.Route() + " was not made by Declare")
		}

		e.part = parts.Join(e.part, one.serve(e))
	}

	return e
}

// orDefault returns v, or the fallback if v is the zero value.
func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}

	return v
}

// Part returns the endpoints and tasks of all exports: a GET, a POST and the work of its task for each.
func (e *Exports) Part() parts.Part { return e.part }

var (
	errRequiresPost = apierr.New(apierr.CodeExportRequiresPost, "", "The selection is too large for GET").
			With(requiresPost{RecommendedMethod: "POST", Reason: "selectionTooLarge"})
	errRenderer = apierr.New(apierr.CodeBadGateway, "", "The export could not be rendered")
	errTimeout  = apierr.New(apierr.CodeGatewayTimeout, "", "The export was not ready in time")
)

// requiresPost is the context of the error that asks for POST.
type requiresPost struct {
	RecommendedMethod string `json:"recommendedMethod"`
	Reason            string `json:"reason"`
}
