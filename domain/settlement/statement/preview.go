package statement

import (
	"context"
	"errors"
	"strings"

	"stayledger/domain/settlement/layout"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Preview is an unsaved layout and the statement to show it with.
type Preview struct {
	StatementID id.ID         `json:"statementId,omitzero" doc:"A saved statement or a draft; instead of a listing and a month."`
	ListingID   id.ID         `json:"listingId,omitzero"`
	Month       *day.Month    `json:"month,omitempty" doc:"YYYY-MM; with a listing."`
	Currency    string        `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"With a listing; absent means the listing's default currency when it has such a statement."`
	Layout      layout.Create `json:"layout" doc:"As createStatementLayout takes it; listingIds are checked; they and isDefault change nothing."`
	ViewAs      string        `json:"viewAs,omitempty" enum:"manager,owner" doc:"Absent means manager."`
}

// Resolve reports an issue unless the body names either a statement, or a listing and a month.
func (p *Preview) Resolve() []apierr.Issue {
	switch named := !p.ListingID.IsZero() || p.Month != nil || p.Currency != ""; {
	case !p.StatementID.IsZero() && named:
		return []apierr.Issue{apierr.IssueContradiction.InBody("statementId")}
	case !p.StatementID.IsZero():
		return nil
	case p.ListingID.IsZero():
		return []apierr.Issue{apierr.IssueRequired.InBody("statementId")}
	case p.Month == nil:
		return []apierr.Issue{apierr.IssueRequired.InBody("month")}
	}

	return nil
}

type previewInput struct{ Body Preview }

// preview returns a statement with the unsaved layout of the body. Nothing is saved.
func (s detailed) preview(ctx context.Context, tx *db.Tx, in *previewInput) (*Detail, error) {
	p := &in.Body

	r, err := p.statement(ctx, tx)
	if err != nil {
		return nil, err
	}

	// The layout is validated as if it were saved; its issues are reported under the field layout.
	design, err := layout.DeriveDesign(ctx, tx, &p.Layout)
	if err != nil {
		return nil, underField("layout", err)
	}

	if err := loadOneDraftData(ctx, tx, r); err != nil {
		return nil, err
	}

	// Replace the design after the draft was computed with that of its listing.
	r.design = design

	d, err := renderDetail(ctx, tx, r, p.ViewAs == "owner")
	if err != nil {
		return nil, err
	}

	s.link.sign(tx, d.Attachments)

	return d, nil
}

// statement returns the statement to show, preferably in the listing's default currency. If the listing has several
// ownership periods in the month, it is the statement of the last one. It fails with an issue for the field that
// names nothing.
func (p *Preview) statement(ctx context.Context, tx *db.Tx) (*row, error) {
	unknown := func(field string) error {
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody(field))
	}

	if !p.StatementID.IsZero() {
		r, err := loadOne(ctx, tx, p.StatementID)
		if errors.Is(err, apierr.NotFound) {
			return nil, unknown("statementId")
		}

		return r, err
	}

	// A listing and a month may have several statements: choose one.
	rows, err := selectRows(ctx, tx, &Filter{
		ListingIDs: page.Only(p.ListingID),
		Month:      p.Month,
		Currency:   strings.ToLower(p.Currency),
	})
	if err != nil {
		return nil, err
	}

	if len(rows) == 0 {
		return nil, unknown("listingId")
	}

	// The default currency wins; among equal currencies the later ownership period.
	best := &rows[0]
	for i := range rows {
		if r := &rows[i]; best.Currency != r.DefaultCurrency && r.Currency == r.DefaultCurrency ||
			best.Currency == r.Currency && later(r, best) {
			best = r
		}
	}

	return best, nil
}

// later reports whether the ownership period of a row begins after that of another; a period without a beginning is
// the first.
func later(r, o *row) bool {
	return r.PeriodStartAt != nil && (o.PeriodStartAt == nil || r.PeriodStartAt.After(*o.PeriodStartAt))
}

// underField moves the issues of a body that does not validate under the field that holds it. Other errors stay as they
// are.
func underField(field string, err error) error {
	if !errors.Is(err, apierr.BadRequest) {
		return err
	}

	return apierr.From(err).Under(field)
}

// previewEndpoint returns the endpoint that shows a statement with an unsaved layout.
func (s detailed) previewEndpoint() api.Endpoint {
	return api.Read(api.Endpoint{
		Method:  "POST",
		Path:    "/statement-layouts/preview",
		ID:      "previewStatementLayout",
		Tag:     "Statement layouts",
		Summary: "Show a statement with an unsaved layout",
		Doc: "The statement of getStatement, drafts included, laid out by the layout of the body, with the issues " +
			"that it would have. Nothing is kept. Fails with 400 for a statement that is not known or a layout " +
			"that createStatementLayout would refuse, save for a name that is taken.",
		Scopes: []string{"layouts:read", "statements:read"},
	}, s.preview)
}
