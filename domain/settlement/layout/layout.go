// Package layout owns the layouts of owner statements: sections, columns and formulas, which listing uses which layout,
// and the rendering of a statement's entries into the sections, which is a pure function.
//
// There are two kinds of sections. Net revenue sections have a row per stay, other sections a row per expense. Within
// its kind an account is added up where a column lists it, else by the column that takes the rest of its
// classification, else by the one that takes the rest. An account that no column takes is not laid out, and its
// statement then shows less than its figures.
//
// A saved statement keeps its Design, which refers to accounts and columns by id alone: it renders the same after the
// layout was changed or deleted and whatever the accounts are called by then.
//
// The page docs/decisions/layout.md says what the contract leaves open and how it is answered here.
package layout

import (
	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Visible says who sees a section or column. Hidden amounts still count.
type Visible string

// The visibilities.
const (
	VisibleAll     Visible = "all"
	VisibleManager Visible = "manager"
	VisibleOwner   Visible = "owner"
	VisibleNone    Visible = "none"
)

// Enum lists the visibilities.
func (Visible) Enum() []string {
	return []string{string(VisibleAll), string(VisibleManager), string(VisibleOwner), string(VisibleNone)}
}

// to reports whether the owner (or else the manager) sees it.
func (v Visible) to(owner bool) bool {
	return v == VisibleAll || v == VisibleOwner && owner || v == VisibleManager && !owner
}

// ColumnType says what a column shows.
type ColumnType string

// The column types.
const (
	Field             ColumnType = "field"
	Accounts          ColumnType = "accounts"
	SubTotal          ColumnType = "subTotal"
	FormulaPercentage ColumnType = "formula.percentage"
	FormulaCurrency   ColumnType = "formula.currency"
)

// Enum lists the column types.
func (ColumnType) Enum() []string {
	return []string{
		string(Field),
		string(Accounts),
		string(SubTotal),
		string(FormulaPercentage),
		string(FormulaCurrency),
	}
}

// isAmount reports whether the column has an amount that others can build on.
func (t ColumnType) isAmount() bool { return t == Accounts || t == SubTotal || t == FormulaCurrency }

// isFormula reports whether the column is computed by a formula.
func (t ColumnType) isFormula() bool { return t == FormulaPercentage || t == FormulaCurrency }

// FieldName names the field of a row that a field column shows.
type FieldName string

// The fields. Those of a stay are empty in rows without one, except that the guest's name is then the description.
const (
	Date              FieldName = "date"
	Description       FieldName = "description"
	GuestName         FieldName = "guestName"
	ConfirmationCode  FieldName = "confirmationCode"
	CheckIn           FieldName = "checkIn"
	CheckOut          FieldName = "checkOut"
	Nights            FieldName = "nights"
	BookingChannel    FieldName = "bookingChannel"
	ReservationStatus FieldName = "reservationStatus"
	Account           FieldName = "account"
	AccountCode       FieldName = "accountCode"
)

// Enum lists the fields.
func (FieldName) Enum() []string {
	return []string{
		string(Date),
		string(Description),
		string(GuestName),
		string(ConfirmationCode),
		string(CheckIn),
		string(CheckOut),
		string(Nights),
		string(BookingChannel),
		string(ReservationStatus),
		string(Account),
		string(AccountCode),
	}
}

// Value defines the content of a column. Each type of column has fields of its own; the others are absent.
type Value struct {
	Field           FieldName                `json:"field,omitzero" doc:"Of a field column: what it shows of a row."`
	AccountIDs      []id.ID                  `json:"accountIds,omitzero" maxItems:"500" doc:"Of an accounts column: what it adds up."`
	Rest            bool                     `json:"rest,omitzero" doc:"Of an accounts column: it also adds up every account that no other column of the sections of its kind takes."`
	Classifications []account.Classification `json:"classifications,omitzero" maxItems:"4" doc:"Narrows the rest; a rest without them takes what those with them leave."`
	ColumnIDs       []id.ID                  `json:"columnIds,omitzero" maxItems:"50" doc:"Of a subTotal: columns of the section that it adds up; none means all accounts columns before it. An entry that several of them add up counts once."`
	Formula         string                   `json:"formula,omitzero" maxLength:"1000" doc:"Of a formula: sums, differences and shares of columns of the section and of accounts, such as Rent - 20% * account(\"4010\"); of a percentage two of them with a slash between."`
	References      []Reference              `json:"references,omitzero" maxItems:"500" doc:"Read only: what the formula names."`
}

// Reference is a name in a formula with the column or account that it means.
type Reference struct {
	Kind fee.RefKind `json:"kind" enum:"account,column"`
	Name string      `json:"name"`
	ID   id.ID       `json:"id"`
}

// Column is one column of a section.
type Column struct {
	ID      id.ID      `json:"id"`
	Name    string     `json:"name"`
	Locked  bool       `json:"locked" doc:"Of the standard layout: it can be renamed, hidden and moved, but keeps its type and stays."`
	Visible Visible    `json:"visible"`
	Type    ColumnType `json:"type"`
	Value   Value      `json:"value"`
}

// Section is a table of a statement.
type Section struct {
	ID        id.ID    `json:"id"`
	Name      string   `json:"name"`
	Locked    bool     `json:"locked" doc:"Of the standard layout: it can be renamed, hidden and moved, but stays."`
	Visible   Visible  `json:"visible"`
	Aggregate bool     `json:"aggregate" doc:"One row for everything instead of one per stay or expense."`
	Columns   []Column `json:"columns"`
}

// column returns the column with the id, nil if there is none.
func (s *Section) column(columnID id.ID) *Column {
	for i := range s.Columns {
		if s.Columns[i].ID == columnID {
			return &s.Columns[i]
		}
	}

	return nil
}

// The kinds of sections.
const (
	netRevenue = "netRevenue"
	other      = "other"
)

// The summary types.
const (
	summaryDefault = "default"
	summaryInvoice = "invoice"
)

// Design is the frozen copy of a layout that a saved statement keeps. It is never changed after it was read.
type Design struct {
	LayoutID           *id.ID    `json:"layoutId" doc:"Null for the built-in layout of teams without one."`
	Name               string    `json:"name"`
	Version            int       `json:"version" doc:"That of the layout when the statement was saved."`
	SummaryType        string    `json:"summaryType" enum:"default,invoice"`
	IsDefault          bool      `json:"isDefault"`
	ShowTeamEmail      bool      `json:"showTeamEmail"`
	NetRevenueSections []Section `json:"netRevenueSections"`
	OtherSections      []Section `json:"otherSections"`
}

// ForViewer returns the design as the owner (or else the manager) may know it: owners see neither hidden parts nor how
// amounts are computed.
func (d *Design) ForViewer(asOwner bool) *Design {
	if !asOwner {
		return d
	}

	seen := *d
	seen.NetRevenueSections = dropHiddenFromOwners(d.NetRevenueSections)
	seen.OtherSections = dropHiddenFromOwners(d.OtherSections)

	return &seen
}

// dropHiddenFromOwners returns the sections and columns that owners see, without the values that amounts are computed
// from.
func dropHiddenFromOwners(sections []Section) []Section {
	seen := []Section{}

	for _, s := range sections {
		if !s.Visible.to(true) {
			continue
		}

		columns := []Column{}

		for _, c := range s.Columns {
			if c.Visible.to(true) {
				c.Value = Value{Field: c.Value.Field}
				columns = append(columns, c)
			}
		}

		s.Columns = columns
		seen = append(seen, s)
	}

	return seen
}

// Layout is a layout as its readers see it.
type Layout struct {
	ID                 id.ID             `json:"id"`
	Name               string            `json:"name"`
	Version            int               `json:"version" doc:"Number of the version, from 1; each change of the layout adds one."`
	SummaryType        string            `json:"summaryType" enum:"default,invoice"`
	IsDefault          bool              `json:"isDefault" doc:"Listings without a layout of their own use it."`
	ShowTeamEmail      bool              `json:"showTeamEmail"`
	ActiveListings     []listing.NameRef `json:"activeListings" doc:"The listings that have it as a layout of their own."`
	LinkedAccounts     []account.Ref     `json:"linkedAccounts" db:"-" doc:"The accounts that its columns name, by code."`
	NetRevenueSections []Section         `json:"netRevenueSections"`
	OtherSections      []Section         `json:"otherSections"`
	SystemSections     []SystemSection   `json:"systemSections" db:"-" doc:"Read only: what every statement shows besides the sections."`
	CreatedAt          day.Instant       `json:"createdAt"`
	UpdatedAt          day.Instant       `json:"updatedAt"`
}

// SystemSection is a part of every statement that no layout changes.
type SystemSection struct {
	ID          string `json:"id" enum:"summary,payouts"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// systemSections returns the parts of every statement that no layout changes.
func systemSections() []SystemSection {
	return []SystemSection{
		{
			ID: "summary", Name: "Summary",
			Description: "From the balance at the start through payouts, net revenue and expenses to the balance at " +
				"the end, and what is available after the reserve.",
		},
		{ID: "payouts", Name: "Payouts", Description: "What was paid to the owners in the month, one line each."},
	}
}

// design returns the layout in the form that statements keep.
func (l *Layout) design() *Design {
	return &Design{
		LayoutID:           &l.ID,
		Name:               l.Name,
		Version:            l.Version,
		SummaryType:        l.SummaryType,
		IsDefault:          l.IsDefault,
		ShowTeamEmail:      l.ShowTeamEmail,
		NetRevenueSections: l.NetRevenueSections,
		OtherSections:      l.OtherSections,
	}
}

// all returns the sections of net revenue and then the others.
func (l *Layout) all() []*Section {
	var out []*Section

	for _, sections := range [][]Section{l.NetRevenueSections, l.OtherSections} {
		for i := range sections {
			out = append(out, &sections[i])
		}
	}

	return out
}

var (
	errDuplicateName = apierr.New(
		apierr.CodeConflict,
		apierr.ReasonDuplicateName,
		"A statement layout of this name exists",
	)
	errInUse = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "The statement layout is in use")
)

// inUse is the context of a refused deletion: the listings that rely on the layout, at most 100 of them.
type inUse struct {
	apierr.InUse

	ListingIDs []id.ID `json:"listingIds"`
}
