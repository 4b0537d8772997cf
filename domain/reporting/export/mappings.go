package export

import (
	"context"

	"stayledger/domain/activity/mapping"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// mappingSelection is the selector of the CSV: the filters of GET /reservations/line-mappings, and the columns.
type mappingSelection struct {
	mapping.Filter
	Sort    mapping.Sort    `query:"sort" json:"sort,omitempty" doc:"Default lineType."`
	Columns []mappingColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// mappingColumn is a column of the CSV.
type mappingColumn string

// Enum returns the names of the columns in their own order.
func (mappingColumn) Enum() []string { return columnNames(mappingColumns) }

// mappingColumns are the columns of the CSV, which has a row per mapping. An empty cell of appId or channel means
// every one, as null does in the read.
var mappingColumns = []sqlColumn{
	{csv.Column{Name: "id", Kind: csv.ID}, "m.id"},
	{csv.Column{Name: "lineType", Kind: csv.Text}, "m.line_type"},
	{csv.Column{Name: "appId", Kind: csv.ID}, "m.app_id"},
	{csv.Column{Name: "channel", Kind: csv.Text}, "m.channel"},
	{csv.Column{Name: "status", Kind: csv.Text}, "m.status"},
	{csv.Column{Name: "accountId", Kind: csv.ID}, "m.account_id"},
	{csv.Column{Name: "accountCode", Kind: csv.ID}, "a.code"},
	{csv.Column{Name: "account", Kind: csv.Text}, "a.name"},
	{csv.Column{Name: "party", Kind: csv.Text}, "m.party"},
	{csv.Column{Name: "revenueRecognition", Kind: csv.Text}, "m.revenue_recognition"},
	{csv.Column{Name: "createdAt", Kind: csv.Instant}, "m.created_at"},
	{csv.Column{Name: "updatedAt", Kind: csv.Instant}, "m.updated_at"},
}

// mappingsCSV declares EXP-P06, the export of line mappings.
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
			// The export takes the query of the list with its own columns, so that both select the same mappings.
			return rowList{
				columns: selectColumns(mappingColumns, s.Columns),
				query:   mapping.Query(tx, &s.Filter),
				sort:    string(s.Sort),
			}.write(ctx, tx, out)
		},
	}
}
