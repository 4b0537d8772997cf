// Package export owns the generated exports. One declaration per path gives both modes: GET renders while the caller
// waits and answers with a signed link, POST leaves the rendering to an operation. Both take the same selector, and the
// same selection gives the same bytes.
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
	"stayledger/platform/seal"
)

// Config is what exports need from the application; zero durations and limits take their defaults.
type Config struct {
	Store     blob.Store
	Signer    *blob.Signer
	PublicURL string
	// Box opens the tax identifiers of information returns.
	Box    *seal.Box
	Limits Limits
	// Budget is how long a GET may take; zero means a minute. (EXP-02)
	Budget time.Duration
	// Linked is how long the link of a GET works; zero means 15 minutes. (OPEN-48)
	Linked time.Duration
}

// Limits say what a GET takes on. Beyond them it asks for POST (OPEN-46).
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

// patience is how many exports of one team can wait for their turn; a further one is refused at once.
const patience = 100

// Size is what a selection comes to, counted before anything is rendered. Parts that a format has not are zero.
type Size struct {
	Rows, Documents, Pages int64
}

func (l Limits) exceeded(s Size) bool {
	return s.Rows > l.Rows || s.Documents > l.Documents || s.Pages > l.Pages
}

// Format is what an export is made of.
type Format string

// The formats.
const (
	CSV Format = "csv"
	PDF Format = "pdf"
	ZIP Format = "zip"
)

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

// Declaration declares one export. S is the selector: a struct whose fields carry the same name in the tags query and
// json, so that both modes take the same. Its lists are refused when they are empty, which a query cannot say.
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
	// Name begins the filename, before the date and the ending.
	Name string
	// PostOnly exports answer every valid GET with EXPORT_REQUIRES_POST. (EXP-19)
	PostOnly bool
	// Check refuses a selection in both modes, before anything is queued; nil checks nothing.
	Check func(ctx context.Context, tx *db.Tx, s *S) error
	// Errors are the conditions that Check refuses with, beside input that does not validate.
	Errors apierr.List
	// Count sizes a selection up: for GET to decide by, and for an operation to tell how much there is.
	Count func(ctx context.Context, tx *db.Tx, s *S) (Size, error)
	// Render writes the file from one snapshot. It runs at least once. Rows are streamed; only a PDF is built in
	// memory.
	Render func(ctx context.Context, tx *db.Tx, s *S, out *Sink) error
}

// Pair is a declaration ready to be served.
type Pair interface {
	serve(e *Exports) parts.Part
}

// Exports serves a list of exports.
type Exports struct {
	config  Config
	awaited *fair.Places
	part    parts.Part
}

// New serves the exports of the contract.
func New(c Config) *Exports { return Of(c, pairs(c)...) }

// Of serves the given exports.
func Of(c Config, pairs ...Pair) *Exports {
	c.Limits.Rows = orDefault(c.Limits.Rows, 100_000)
	c.Limits.Documents = orDefault(c.Limits.Documents, 60)
	c.Limits.Pages = orDefault(c.Limits.Pages, 600)
	c.Limits.AtOnce = orDefault(c.Limits.AtOnce, 6)
	c.Budget = orDefault(c.Budget, time.Minute)
	c.Linked = orDefault(c.Linked, 15*time.Minute)

	e := &Exports{config: c, awaited: fair.New(fair.Total(c.Limits.AtOnce), patience)}
	for _, p := range pairs {
		e.part = parts.Join(e.part, p.serve(e))
	}

	return e
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}

	return v
}

// Part is a GET, a POST and the work of its task for each export.
func (e *Exports) Part() parts.Part { return e.part }

var (
	errRequiresPost = apierr.New(apierr.CodeExportRequiresPost, "", "The selection is too large for GET").With(requiresPost{
		RecommendedMethod: "POST", Reason: "selectionTooLarge",
	})
	errRenderer = apierr.New(apierr.CodeBadGateway, "", "The export could not be rendered")
	errTimeout  = apierr.New(apierr.CodeGatewayTimeout, "", "The export was not ready in time")
)

type requiresPost struct {
	RecommendedMethod string `json:"recommendedMethod"`
	Reason            string `json:"reason"`
}
