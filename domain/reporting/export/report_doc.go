package export

import (
	"context"
	"strings"
	"time"

	"stayledger/domain/record/export"
	"stayledger/domain/record/paper"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// reportHead returns the parts that all documents of reports have. They are dated with the day after the last day
// they cover, so that the same data gives the same bytes whenever it is rendered.
func reportHead(ctx context.Context, tx *db.Tx, currency money.Currency, last day.Day) (paper.ReportDoc, error) {
	sender, err := loadSender(ctx, tx)

	return paper.ReportDoc{
		Team:     sender,
		Currency: strings.ToUpper(string(currency)),
		Created:  last.AddDays(1).In(time.UTC),
	}, err
}

// writeReport writes a document and counts it as one.
func writeReport(out *export.Sink, doc *paper.ReportDoc) error {
	if err := paper.Report(out, *doc); err != nil {
		return err
	}

	return out.Count(1)
}

// estimatePages returns the size of a document with that many rows.
func estimatePages(rows export.Size) export.Size {
	return export.Size{Documents: 1, Pages: 1 + rows.Rows/rowsPerPage}
}

// codeAndName returns an account as bookkeepers write it: code and name, or the name alone.
func codeAndName(code *string, name string) string {
	if code == nil || *code == "" {
		return name
	}

	return *code + " " + name
}
