package team

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

// bookColumns are the settings that belong to the books, which a restored team has again.
const bookColumns = `, books_closed_at, soft_closed_at, soft_close_posters, statement_start_at, initialized_at, historical_statements_imported_at`

// Books are the days up to which the books are closed. Both are first days that are open again: before BooksClosedAt
// no user posts, and from there up to SoftClosedAt only SoftClosePosters do.
type Books struct {
	BooksClosedAt    *day.Day `json:"booksClosedAt"`
	SoftClosedAt     *day.Day `json:"softClosedAt"`
	SoftClosePosters []id.ID  `json:"softClosePosters"`
}

// Closing is a change of the days up to which the books are closed: who made it, when and why. Closings are never
// changed.
type Closing struct {
	ID        id.ID       `json:"id"`
	From      Books       `json:"from"`
	To        Books       `json:"to"`
	Reason    string      `json:"reason"`
	Actor     Actor       `json:"actor"`
	ActionID  id.ID       `json:"actionId" doc:"Audit action."`
	CreatedAt day.Instant `json:"createdAt"`

	Issues []finding.Finding `json:"issues,omitzero" db:"-" doc:"What is open in the days that it closes, in the answer of closeBooks alone."`
}

// Actor is the user who closed or reopened the books.
type Actor struct {
	Type   string `json:"type" enum:"user"`
	UserID id.ID  `json:"userId"`
}

// CloseBooks is the body of a closing. What is absent stays, null opens; softClosedAt goes when the books are closed
// beyond it.
type CloseBooks struct {
	BooksClosedAt    api.Opt[day.Day] `json:"booksClosedAt,omitzero" doc:"First open date, tomorrow at the latest; null opens all days that softClosedAt does not close."`
	SoftClosedAt     api.Opt[day.Day] `json:"softClosedAt,omitzero" doc:"First date on which everybody may post again, not before booksClosedAt and tomorrow at the latest."`
	SoftClosePosters *[]id.ID         `json:"softClosePosters,omitempty" maxItems:"100" doc:"Users who may still post in the softly closed days."`
	Reason           string           `json:"reason" minLength:"1" maxLength:"1000"`
}

// ErrNotDerived refuses what reads journals that do not stand yet.
var ErrNotDerived = apierr.New(apierr.CodeJournalRecalculationPending, "", "Journals are being recalculated")

// PendingContext says which journals keep the books from being closed, as a statement's does (ERR-62 to ERR-65).
type PendingContext struct {
	JournalStatus string  `json:"journalStatus"`
	JournalReason *string `json:"journalReason"`
	JournalAction string  `json:"journalAction"`
	OperationIDs  []id.ID `json:"operationIds"`
	Reservations  int64   `json:"reservations"`
	Transactions  int64   `json:"transactions"`
}

// closingEndpoints returns the routes of closing the books.
func (h handler) closingEndpoints() []api.Endpoint {
	return api.RequireBooks([]api.Endpoint{
		api.Write(api.Endpoint{
			Method:    http.MethodPost,
			Path:      "/team/books-closing",
			ID:        "closeBooks",
			Tag:       "Teams",
			Summary:   "Close or reopen the books",
			Errors:    apierr.List{ErrNotDerived},
			Status:    http.StatusCreated,
			Exclusive: true,
			Doc: "Sets the first open date and the softly closed days, and keeps who did it, when and why. Fails " +
				"with 400 for a date after tomorrow, for softClosedAt before booksClosedAt and for a poster who has " +
				"no access to the team; 409 JOURNAL_RECALCULATION_PENDING when days would be closed for which " +
				"journals are still to be derived. Reopening derives the journals that the closed books had kept as " +
				"they are.",
			Scopes: []string{"general-ledger:manage"},
		}, h.closeBooks),
		// Who closed what stays readable.
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/team/books-closings",
			ID:      "listBooksClosings",
			Tag:     "Teams",
			Summary: "List the closings of the books, newest first",
			Scopes:  []string{"team:read"},
		}, listClosings),
	})
}

const closingColumns = `c.id,
	jsonb_build_object('booksClosedAt', c.previous_closed_at, 'softClosedAt', c.previous_soft_closed_at,
		'softClosePosters', c.previous_soft_close_posters) as "from",
	jsonb_build_object('booksClosedAt', c.books_closed_at, 'softClosedAt', c.soft_closed_at, 'softClosePosters', c.soft_close_posters) as "to",
	c.reason, jsonb_build_object('type', 'user', 'userId', c.actor_id) as actor, c.action_id, c.created_at`

type listClosingsInput struct {
	page.Params
}

// closings returns the query of the closings of the team.
func closings(tx *db.Tx) page.Query {
	return page.Query{
		Columns: closingColumns,
		From:    "team_books_closing c",
		Where:   []string{"c.team_id = @team"},
		Args:    db.Args{"team": tx.Team},
		Sorts:   page.Sorts{{Name: "createdAt", Expr: "c.created_at"}},
		Default: "-createdAt",
		ID:      "c.id",
	}
}

func listClosings(ctx context.Context, tx *db.Tx, in *listClosingsInput) (*page.Page[Closing], error) {
	return page.List[Closing](ctx, tx, closings(tx), in.Params, "")
}

type closeInput struct{ Body CloseBooks }

// closeBooks closes or reopens the books. It fails if days would be closed that have journals still to be derived.
func (h handler) closeBooks(ctx context.Context, tx *db.Tx, in *closeInput) (*Closing, error) {
	// Work alone in the team: everything posted before is visible here, and everything after sees the closed books.
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	from, err := db.Get[Books](ctx, tx, `select books_closed_at, soft_closed_at, soft_close_posters from team where team_id = @team`,
		db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read how far the books are closed: %w", err)
	}

	to, err := in.Body.apply(from, tx.Today().AddDays(1))
	if err != nil {
		return nil, err
	}

	if in.Body.SoftClosePosters != nil {
		if err := checkPosters(ctx, tx, from, *in.Body.SoftClosePosters); err != nil {
			return nil, err
		}
	}

	// Closed days keep their entries, so these must be final.
	if later(to.BooksClosedAt, from.BooksClosedAt) {
		if err := checkDerived(ctx, tx, *to.BooksClosedAt); err != nil {
			return nil, err
		}
	}

	closing := Closing{ID: tx.NewID(), From: from, To: to, Reason: in.Body.Reason}
	if err := closing.save(ctx, tx); err != nil {
		return nil, err
	}

	// Journals that the closed books kept from changing are derived again.
	if to.opens(from) {
		if err := ledger.RetryReopened(ctx, tx); err != nil {
			return nil, err
		}
	}

	q := closings(tx)
	q.And("c.id = @id", db.Args{"id": closing.ID})

	made, err := db.Get[Closing](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read the closing: %w", err)
	}

	made.Issues, err = h.findIssues(ctx, tx, from, to)

	return &made, err
}

// findIssues returns what the nouns find in the days that a closing closes for all or for most users. It is empty for
// one that closes no day.
func (h handler) findIssues(ctx context.Context, tx *db.Tx, from, to Books) ([]finding.Finding, error) {
	found := []finding.Finding{}
	if !later(to.openToAll(), from.openToAll()) && !later(to.BooksClosedAt, from.BooksClosedAt) {
		return found, nil
	}

	open, err := h.MonthChecks.Find(ctx, tx, from.BooksClosedAt, *to.openToAll())
	if err != nil {
		return nil, err
	}

	for i := range open {
		found = append(found, open[i].Finding())
	}

	return found, nil
}

// FindUnclosed is a check of the end of a month: whether the books are closed up to the end of the days. Days before the
// first one of the books need no closing.
func FindUnclosed(ctx context.Context, tx *db.Tx, _ *day.Day, before day.Day) ([]parts.Open, error) {
	isClosed, err := db.Get[bool](ctx, tx, `select coalesce(books_closed_at >= @before, false) or coalesce(statement_start_at >= @before, false) from team where team_id = @team`,
		db.Args{"team": tx.Team, "before": before})
	if err != nil {
		return nil, fmt.Errorf("read how far the books are closed: %w", err)
	}

	if isClosed {
		return nil, nil
	}

	return []parts.Open{{
		Step: parts.BooksClosed, Code: "booksOpen", Severity: finding.Warning, Message: "The books of the month are not closed", Count: 1,
		List: "/team/books-closings",
	}}, nil
}

// apply returns how the books are closed after the change. No day after last may be closed.
func (in *CloseBooks) apply(from Books, last day.Day) (to Books, err error) {
	to = Books{in.BooksClosedAt.Or(from.BooksClosedAt), in.SoftClosedAt.Or(from.SoftClosedAt), from.SoftClosePosters}
	if in.SoftClosePosters != nil {
		to.SoftClosePosters = slices.Clone(*in.SoftClosePosters)
		to.SoftClosePosters = id.Distinct(to.SoftClosePosters)
	}

	var issues []apierr.Issue

	refuse := func(wrong bool, code apierr.IssueCode, field string) {
		if wrong {
			issues = append(issues, code.InBody(field))
		}
	}
	refuse(!in.BooksClosedAt.Present && !in.SoftClosedAt.Present &&
		in.SoftClosePosters == nil, apierr.IssueRequired, "booksClosedAt")
	refuse(in.BooksClosedAt.Value != nil &&
		later(in.BooksClosedAt.Value, &last), apierr.IssueDateInFuture, "booksClosedAt")
	refuse(in.SoftClosedAt.Value != nil &&
		later(in.SoftClosedAt.Value, &last), apierr.IssueDateInFuture, "softClosedAt")

	// Hard closing can overtake the soft closing, which then ends.
	if to.SoftClosedAt != nil && later(to.BooksClosedAt, to.SoftClosedAt) {
		refuse(in.SoftClosedAt.Present, apierr.IssueBeforeBooksClosed, "softClosedAt")
		to.SoftClosedAt = nil
	}

	if issues != nil {
		return to, apierr.BadRequest.At(issues...)
	}

	return to, nil
}

// later reports whether a first open day closes more than another; nil closes nothing.
func later(a, b *day.Day) bool {
	return a != nil && (b == nil || b.Before(*a))
}

// opens reports whether somebody may post on days on which they could not before.
func (b Books) opens(before Books) bool {
	for _, poster := range b.SoftClosePosters {
		if before.SoftClosedAt != nil && !slices.Contains(before.SoftClosePosters, poster) {
			return true
		}
	}

	return later(before.BooksClosedAt, b.BooksClosedAt) || later(before.openToAll(), b.openToAll())
}

// openToAll returns the first day on which all users may post.
func (b Books) openToAll() *day.Day {
	if later(b.SoftClosedAt, b.BooksClosedAt) {
		return b.SoftClosedAt
	}

	return b.BooksClosedAt
}

// save saves the closing on the team and in the history, with its audit event.
func (c *Closing) save(ctx context.Context, tx *db.Tx) error {
	from, to := &c.From, &c.To

	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `update team set books_closed_at = @closed, soft_closed_at = @soft, soft_close_posters = @posters, updated_at = @now where team_id = @team`,
			Args: db.Args{
				"closed":  to.BooksClosedAt,
				"soft":    to.SoftClosedAt,
				"posters": to.SoftClosePosters,
				"now":     tx.Now,
				"team":    tx.Team,
			},
		},
		db.Stmt{
			SQL: `insert into team_books_closing (team_id, id, previous_closed_at, books_closed_at, previous_soft_closed_at, soft_closed_at,
					previous_soft_close_posters, soft_close_posters, reason, actor_id, action_id, created_at)
				values (@team, @id, @was, @closed, @was_soft, @soft, @were_posters, @posters, @reason, @actor, @action, @now)`,
			Args: db.Args{
				"team":         tx.Team,
				"id":           c.ID,
				"was":          from.BooksClosedAt,
				"closed":       to.BooksClosedAt,
				"was_soft":     from.SoftClosedAt,
				"soft":         to.SoftClosedAt,
				"were_posters": from.SoftClosePosters,
				"posters":      to.SoftClosePosters,
				"reason":       c.Reason,
				"actor":        tx.Actor.User,
				"action":       tx.Action,
				"now":          tx.Now,
			},
		})
	if err != nil {
		return fmt.Errorf("close the books: %w", err)
	}

	type view struct {
		Books
		Reason *string `json:"reason,omitempty"`
	}
	audit.Note(tx, audit.Updated, audit.Team, tx.Team, view{*from, nil}, view{*to, &c.Reason})

	return nil
}
