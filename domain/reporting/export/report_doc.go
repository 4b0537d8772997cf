package export

import (
	"context"
	"strings"
	"time"

	"stayledger/domain/reporting/document"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// reportHead is what documents of reports have in common. They are dated with the day after the last that they tell of,
// so that the same data gives the same bytes whenever it is rendered.
func reportHead(ctx context.Context, tx *db.Tx, currency money.Currency, last day.Day) (document.ReportDoc, error) {
	sender, err := senderOf(ctx, tx)
	return document.ReportDoc{Team: sender, Currency: strings.ToUpper(string(currency)), Created: last.AddDays(1).In(time.UTC)}, err
}

// writeReport writes a document, which counts as one.
func writeReport(out *Sink, doc *document.ReportDoc) error {
	if err := document.Report(out, *doc); err != nil {
		return err
	}

	return out.Did(1)
}

// pagesOf sizes up a document of so many rows.
func pagesOf(rows Size) Size {
	return Size{Documents: 1, Pages: 1 + rows.Rows/rowsOfPage}
}

func textColumn(head string) document.ReportColumn {
	return document.ReportColumn{Head: head, Kind: document.ReportText}
}

func dateColumn(head string) document.ReportColumn {
	return document.ReportColumn{Head: head, Kind: document.ReportDate}
}

func amountColumns(heads ...string) []document.ReportColumn {
	columns := make([]document.ReportColumn, len(heads))
	for i, head := range heads {
		columns[i] = document.ReportColumn{Head: head, Kind: document.ReportAmount}
	}

	return columns
}

// codeAndName is an account as bookkeepers write it.
func codeAndName(code *string, name string) string {
	if code == nil || *code == "" {
		return name
	}

	return *code + " " + name
}
