package export

import (
	"context"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/money"
	"stayledger/platform/render"
)

// reportHead is what documents of reports have in common. They are dated with the day after the last that they tell of, so that the same data
// gives the same bytes whenever it is rendered.
func reportHead(ctx context.Context, tx *db.Tx, currency money.Currency, last day.Day) (render.ReportDoc, error) {
	sender, err := senderOf(ctx, tx)
	return render.ReportDoc{Team: sender, Currency: strings.ToUpper(string(currency)), Created: last.AddDays(1).In(time.UTC)}, err
}

// writeReport writes a document, which counts as one.
func writeReport(out *Sink, doc *render.ReportDoc) error {
	if err := render.Report(out, *doc); err != nil {
		return err
	}
	return out.Did(1)
}

// pagesOf sizes up a document of so many rows.
func pagesOf(rows Size) Size {
	return Size{Documents: 1, Pages: 1 + rows.Rows/rowsOfPage}
}

func textColumn(head string) render.ReportColumn {
	return render.ReportColumn{Head: head, Kind: render.ReportText}
}

func dateColumn(head string) render.ReportColumn {
	return render.ReportColumn{Head: head, Kind: render.ReportDate}
}

func amountColumns(heads ...string) []render.ReportColumn {
	columns := make([]render.ReportColumn, len(heads))
	for i, head := range heads {
		columns[i] = render.ReportColumn{Head: head, Kind: render.ReportAmount}
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
