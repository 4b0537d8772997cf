package mapping

import (
	"context"
	"slices"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[exportSelection]("ExportMappingSelection")
	_ = api.PublishAs[exportColumn]("ExportMappingColumn")
)

// exportSelection is the selector of the CSV: the filters of GET /reservations/line-mappings, and the columns.
type exportSelection struct {
	Filter
	Sort    Sort           `query:"sort" json:"sort,omitempty" doc:"Default lineType."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn is a column of the CSV.
type exportColumn string

// Enum returns the names of the columns in their own order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns are the columns of the CSV, which has a row per mapping. An empty cell of appId or channel means
// every one, as null does in the read.
var exportColumns = slices.Concat(
	export.FromTable(mappingTable, "m", "id", "lineType", "appId", "channel", "status", "accountId"),
	[]export.SQLColumn{
		export.FromSQL("accountCode", csv.ID, "a.code"),
		export.FromSQL("account", csv.Text, "a.name"),
	},
	export.FromTable(mappingTable, "m", "party", "revenueRecognition", "createdAt", "updatedAt"),
)

// mappingsCSV declares EXP-P06, the export of line mappings.
func mappingsCSV() export.Declaration[exportSelection] {
	return export.Declaration[exportSelection]{
		Path: "/reservations/line-mappings/csv", ID: "ReservationLineMappingsCSV", Tag: "Reservation line mappings",
		Summary: "Export line mappings as CSV",
		Doc:     "One row per mapping, unmapped line types included. An empty appId or channel means every one.",
		Format:  export.CSV, Scopes: []string{"line-mappings:export"}, Name: "line-mappings",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, listQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			// The export takes the query of the list with its own columns, so that both select the same mappings.
			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns),
				Query:   listQuery(tx, &s.Filter),
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
