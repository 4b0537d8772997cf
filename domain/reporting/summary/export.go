package summary

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[summaryRows]("ExportSummaryRows")
	_ = api.PublishAs[summaryColumn]("ExportSummaryColumn")
	_ = api.PublishAs[summaryDocument]("ExportSummaryDocument")
	_ = api.PublishAs[partRows]("ExportPartRows")
	_ = api.PublishAs[partColumn]("ExportPartColumn")
	_ = api.PublishAs[ownedColumn]("ExportOwnedColumn")
	_ = api.PublishAs[ownedColumnSelection]("ExportOwnedColumnSelection")
	_ = api.PublishAs[ownedLocaleSelection]("ExportOwnedLocaleSelection")
)

// exports returns the exports of the summaries.
func exports() []parts.Export {
	return []parts.Export{
		export.Declare(summariesCSV()),
		export.Declare(summaryPartsCSV()),
		export.DeclareAt[queuedRows](summaryDetailCSV()),
		export.DeclareAt[queuedDocument](summaryDetailPDF()),
		export.Declare(summariesPDF()),
	}
}
