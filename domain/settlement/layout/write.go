package layout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// ColumnInput is a column in a request.
type ColumnInput struct {
	ID      *id.ID     `json:"id,omitempty" doc:"Of a column that stays; a new one may bring the id that others refer to it by."`
	Name    string     `json:"name" minLength:"1" maxLength:"200" doc:"Unique in the section."`
	Locked  *bool      `json:"locked,omitempty" doc:"Read only, and left aside."`
	Visible Visible    `json:"visible,omitempty" doc:"Absent means all."`
	Type    ColumnType `json:"type"`
	Value   Value      `json:"value,omitzero"`
}

// SectionInput is a section in a request.
type SectionInput struct {
	ID        *id.ID        `json:"id,omitempty" doc:"Of a section that stays."`
	Name      string        `json:"name" minLength:"1" maxLength:"200"`
	Locked    *bool         `json:"locked,omitempty" doc:"Read only, and left aside."`
	Visible   Visible       `json:"visible,omitempty" doc:"Absent means all."`
	Aggregate bool          `json:"aggregate,omitempty" doc:"One row for everything instead of one per stay or expense."`
	Columns   []ColumnInput `json:"columns" minItems:"1" maxItems:"50"`
}

// Create is the body of a new layout.
type Create struct {
	Name               string          `json:"name" minLength:"1" maxLength:"200"`
	SummaryType        string          `json:"summaryType,omitempty" enum:"default,invoice" doc:"Absent means default."`
	IsDefault          *bool           `json:"isDefault,omitempty" doc:"Takes the place of the default. Absent means true for the team's first layout, else false."`
	ShowTeamEmail      bool            `json:"showTeamEmail,omitempty"`
	NetRevenueSections *[]SectionInput `json:"netRevenueSections,omitempty" maxItems:"20" doc:"Absent means those of the standard layout."`
	OtherSections      *[]SectionInput `json:"otherSections,omitempty" maxItems:"20" doc:"Absent means those of the standard layout."`
	ListingIDs         []id.ID         `json:"listingIds,omitempty" maxItems:"10000" doc:"Listings that have it as their own from now on, whatever they had."`
}

// Update is the body of a changed layout; what is absent stays.
type Update struct {
	Name               *string         `json:"name,omitempty" minLength:"1" maxLength:"200"`
	SummaryType        *string         `json:"summaryType,omitempty" enum:"default,invoice"`
	IsDefault          *bool           `json:"isDefault,omitempty" doc:"true takes the place of the default."`
	ShowTeamEmail      *bool           `json:"showTeamEmail,omitempty"`
	NetRevenueSections *[]SectionInput `json:"netRevenueSections,omitempty" maxItems:"20" doc:"Replaces all."`
	OtherSections      *[]SectionInput `json:"otherSections,omitempty" maxItems:"20" doc:"Replaces all."`
	ListingIDs         *[]id.ID        `json:"listingIds,omitempty" maxItems:"10000" doc:"Replaces all: those left out fall back on the default."`
}

type createInput struct{ Body Create }

// create creates a layout.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Layout, error) {
	if err := lockTeam(ctx, tx); err != nil {
		return nil, err
	}

	// Whether it becomes the default depends on the other layouts, so they are locked.
	c, err := newChange(ctx, tx, &in.Body)
	if err != nil {
		return nil, err
	}

	if in.Body.ListingIDs != nil {
		c.listings = &in.Body.ListingIDs
	}

	return c.save(ctx, tx)
}

// DeriveDesign returns the design of the layout that the body would make, without storing it: its name may be taken.
// Otherwise it fails as createStatementLayout does.
func DeriveDesign(ctx context.Context, tx *db.Tx, b *Create) (*Design, error) {
	c, err := newChange(ctx, tx, b)
	if err != nil {
		return nil, err
	}

	if err := c.checkSections(ctx, tx); err != nil {
		return nil, err
	}

	c.listings = &b.ListingIDs

	return c.after.design(), c.checkListings(ctx, tx)
}

// newChange returns the change that creates the layout of the body.
func newChange(ctx context.Context, tx *db.Tx, b *Create) (*change, error) {
	l := &Layout{
		ID:            tx.NewID(),
		Name:          b.Name,
		Version:       1,
		SummaryType:   cmp.Or(b.SummaryType, summaryDefault),
		ShowTeamEmail: b.ShowTeamEmail,
		CreatedAt:     day.At(tx.Now),
		UpdatedAt:     day.At(tx.Now),
	}

	// The first layout of a team is its default unless the body says otherwise.
	c := &change{after: l}
	if b.IsDefault != nil {
		l.IsDefault = *b.IsDefault
	} else {
		others, err := db.Get[bool](ctx, tx, `select exists (select from layout where team_id = @team)`, db.Args{"team": tx.Team})
		if err != nil {
			return nil, fmt.Errorf("look for statement layouts: %w", err)
		}

		l.IsDefault = !others
	}

	// Sections that are absent are those of the standard layout, with their locks.
	if b.NetRevenueSections == nil || b.OtherSections == nil {
		standard, err := loadTeamStandard(ctx, tx)
		if err != nil {
			return nil, err
		}

		l.NetRevenueSections, l.OtherSections = standard.NetRevenueSections, standard.OtherSections
	}

	c.setSections(tx, b.NetRevenueSections, b.OtherSections)

	return c, nil
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a layout; absent fields stay.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Layout, error) {
	if err := lockTeam(ctx, tx); err != nil {
		return nil, err
	}

	before, err := loadOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Copy the layout, so that before and after can be compared.
	l, b := *before, &in.Body
	setIfGiven(&l.Name, b.Name)
	setIfGiven(&l.SummaryType, b.SummaryType)
	setIfGiven(&l.IsDefault, b.IsDefault)
	setIfGiven(&l.ShowTeamEmail, b.ShowTeamEmail)
	c := &change{before: before, after: &l, listings: b.ListingIDs}
	c.setSections(tx, b.NetRevenueSections, b.OtherSections)

	return c.save(ctx, tx)
}

// setIfGiven sets the value if one is given.
func setIfGiven[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

// change is the change of a layout: before is nil for a new one.
type change struct {
	before, after *Layout
	// netRevenue and other say that the sections of the kind are new.
	netRevenue, other bool
	// listings, when given, are all listings that have it as their own.
	listings *[]id.ID
}

// setSections sets the sections that are given.
func (c *change) setSections(tx *db.Tx, netRevenue, other *[]SectionInput) {
	if netRevenue != nil {
		c.after.NetRevenueSections, c.netRevenue = newSections(tx, *netRevenue), true
	}

	if other != nil {
		c.after.OtherSections, c.other = newSections(tx, *other), true
	}
}

// newSections returns the sections of a request.
func newSections(tx *db.Tx, given []SectionInput) []Section {
	out := make([]Section, len(given))
	for i := range given {
		in := &given[i]

		s := Section{
			ID:        idOrNew(tx, in.ID),
			Name:      in.Name,
			Visible:   cmp.Or(in.Visible, VisibleAll),
			Aggregate: in.Aggregate,
		}
		for j := range in.Columns {
			c := in.Columns[j]
			c.Value.References = nil // the formula is resolved again
			s.Columns = append(s.Columns, Column{
				ID:      idOrNew(tx, c.ID),
				Name:    c.Name,
				Visible: cmp.Or(c.Visible, VisibleAll),
				Type:    c.Type,
				Value:   c.Value,
			})
		}

		out[i] = s
	}

	return out
}

// idOrNew returns the given id, or a new one.
func idOrNew(tx *db.Tx, given *id.ID) id.ID {
	if given != nil && !given.IsZero() {
		return *given
	}

	return tx.NewID()
}

// save checks and saves a layout, and returns it.
func (c *change) save(ctx context.Context, tx *db.Tx) (*Layout, error) {
	// First all checks.
	if err := c.checkSections(ctx, tx); err != nil {
		return nil, err
	}

	if err := c.checkListings(ctx, tx); err != nil {
		return nil, err
	}

	// A default may not be given up while listings rely on it; another default takes its place instead.
	l := c.after
	if c.before != nil && c.before.IsDefault && !l.IsDefault {
		listings, err := loadRelying(ctx, tx, c.before, false)
		if err != nil {
			return nil, err
		}

		if len(listings) > 0 {
			return nil, errInUse.With(inUse{apierr.InUse{LockReasons: []string{"listings"}}, listings})
		}
	}

	// Then the writes. The former default goes first, since there is only one.
	var stmts []db.Stmt

	if l.IsDefault {
		if err := updateFormerDefault(ctx, tx, l.ID); err != nil {
			return nil, err
		}
	}

	// The version counts real changes only.
	changed, err := c.differs()
	if err != nil {
		return nil, err
	}

	if changed {
		if l.UpdatedAt = day.At(tx.Now); c.before != nil {
			l.Version++
		}

		stmts = append(stmts, layoutTable.Upsert(tx, l))
	}

	if len(stmts) == 0 && c.listings == nil {
		return loadOne(ctx, tx, l.ID)
	}

	if err := tx.Pipeline(ctx, stmts...); err != nil {
		if db.Constraint(err) == "layout_name" {
			return nil, errDuplicateName.Because(err)
		}

		return nil, fmt.Errorf("write statement layout: %w", err)
	}

	// Listings refer to the layout, so they come after it.
	if c.listings != nil {
		if err := saveListings(ctx, tx, l.ID, *c.listings); err != nil {
			return nil, err
		}
	}

	// Last, the audit event.
	if c.before == nil {
		audit.Note(tx, audit.Created, audit.StatementLayout, l.ID, nil, l.design())
	} else {
		audit.Note(tx, audit.Updated, audit.StatementLayout, l.ID, c.before.design(), l.design())
	}

	return loadOne(ctx, tx, l.ID)
}

// differs reports whether the layout differs from the stored one.
func (c *change) differs() (bool, error) {
	if c.before == nil {
		return true, nil
	}

	was, err := json.Marshal(c.before.design())
	if err != nil {
		return false, fmt.Errorf("compare statement layouts: %w", err)
	}

	is, err := json.Marshal(c.after.design())
	if err != nil {
		return false, fmt.Errorf("compare statement layouts: %w", err)
	}

	return string(was) != string(is), nil
}

// checkListings refuses unknown listings.
func (c *change) checkListings(ctx context.Context, tx *db.Tx) error {
	if c.listings == nil || len(*c.listings) == 0 {
		return nil
	}

	found, err := db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and id = any(@ids::uuid[])`,
		db.Args{"team": tx.Team, "ids": *c.listings})
	if err != nil {
		return fmt.Errorf("read listings: %w", err)
	}

	exists := make(map[id.ID]bool, len(found))
	for _, v := range found {
		exists[v] = true
	}

	// Report each listing at its place in the request.
	var issues []apierr.Issue

	for i, v := range *c.listings {
		if !exists[v] {
			issues = append(issues, apierr.IssueNotFound.InBody("listingIds", i))
		}
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}
