package trust

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[guestExport]("ExportGuestSelection")
	_ = api.PublishAs[guestColumn]("ExportGuestColumn")
	_ = api.PublishAs[taxSelection]("ExportTaxSelection")
	_ = api.PublishAs[taxColumn]("ExportTaxColumn")
	_ = api.PublishAs[trustSelection]("ExportTrustSelection")
	_ = api.PublishAs[trustColumn]("ExportTrustColumn")
	_ = api.PublishAs[trustDocument]("ExportTrustDocument")
	_ = api.PublishAs[trustListingSelection]("ExportTrustListingSelection")
	_ = api.PublishAs[trustListingColumn]("ExportTrustListingColumn")
	_ = api.PublishAs[trustListingDocument]("ExportTrustListingDocument")
	_ = api.PublishAs[managerSelection]("ExportManagerSelection")
	_ = api.PublishAs[managerColumn]("ExportManagerColumn")
	_ = api.PublishAs[managerDocument]("ExportManagerDocument")
	_ = api.PublishAs[managerDetailSelection]("ExportManagerDetailSelection")
	_ = api.PublishAs[managerDetailColumn]("ExportManagerDetailColumn")
	_ = api.PublishAs[managerDetailDocument]("ExportManagerDetailDocument")
	_ = api.PublishAs[managerEntrySelection]("ExportManagerEntrySelection")
)

// exports returns the exports of the reports on the money in the trust.
func exports() []parts.Export {
	return []parts.Export{
		export.Declare(guestBalancesCSV()),
		export.Declare(managerStatementsCSV()),
		export.Declare(managerStatementCSV()),
		export.Declare(managerStatementPDF()),
		export.Declare(managerStatementsPDF()),
		export.Declare(managerEntriesCSV()),
		export.Declare(trustCSV()),
		export.Declare(trustByListingCSV()),
		export.Declare(trustPDF()),
		export.Declare(trustByListingPDF()),
		export.Declare(salesTaxCSV()),
	}
}

// orNil returns an id for a column of ids, or nil if there is none, which writes an empty cell.
func orNil(v *id.ID) any {
	if v == nil || v.IsZero() {
		return nil
	}

	return *v
}
