package export

import (
	"context"

	"stayledger/domain/activity/mapping"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// mappingSelection are the filters of GET /reservations/line-mappings, and the columns.
type mappingSelection struct {
	mapping.Filter
	Sort    mapping.Sort    `query:"sort" json:"sort,omitempty" doc:"Default lineType."`
	Columns []mappingColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// mappingColumn is a column of the CSV.
type mappingColumn string

// Enum lists the columns in their own order.
func (mappingColumn) Enum() []string { return namesOf(mappingColumns) }

// mappingColumns are a row per mapping. Empty cells of appId and channel mean every one, as null does in the read.
var mappingColumns = []sqlColumn{
	{render.Column{Name: "id", Kind: render.ID}, "m.id"},
	{render.Column{Name: "lineType", Kind: render.Text}, "m.line_type"},
	{render.Column{Name: "appId", Kind: render.ID}, "m.app_id"},
	{render.Column{Name: "channel", Kind: render.Text}, "m.channel"},
	{render.Column{Name: "status", Kind: render.Text}, "m.status"},
	{render.Column{Name: "accountId", Kind: render.ID}, "m.account_id"},
	{render.Column{Name: "accountCode", Kind: render.ID}, "a.code"},
	{render.Column{Name: "account", Kind: render.Text}, "a.name"},
	{render.Column{Name: "party", Kind: render.Text}, "m.party"},
	{render.Column{Name: "revenueRecognition", Kind: render.Text}, "m.revenue_recognition"},
	{render.Column{Name: "createdAt", Kind: render.Instant}, "m.created_at"},
	{render.Column{Name: "updatedAt", Kind: render.Instant}, "m.updated_at"},
}

// mappingsCSV is EXP-P06.
func mappingsCSV() Declaration[mappingSelection] {
	return Declaration[mappingSelection]{
		Path: "/reservations/line-mappings/csv", ID: "ReservationLineMappingsCSV", Tag: "Reservation line mappings",
		Summary: "Export line mappings as CSV",
		Doc:     "One row per mapping, unmapped line types included. An empty appId or channel means every one.",
		Format:  CSV, Scopes: []string{"line-mappings:export"}, Name: "line-mappings",
		Count: func(ctx context.Context, tx *db.Tx, s *mappingSelection) (Size, error) {
			return countRows(ctx, tx, mapping.Query(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *mappingSelection, out *Sink) error {
			return rowList{columns: chosen(mappingColumns, s.Columns), query: mapping.Query(tx, &s.Filter), sort: string(s.Sort)}.write(ctx, tx, out)
		},
	}
}
