package report

import (
	"context"
	"strings"
	"time"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/export"
	"stayledger/domain/record/paper"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// DocumentLocale is the language of a document. It is exported because the schema of a body leaves out the fields
// of embedded unexported types.
type DocumentLocale struct {
	Locale string `query:"locale" json:"locale,omitempty" pattern:"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}$" maxLength:"35" doc:"Language tag such as en-GB: writes amounts and dates, chooses the paper. en-US when absent."`
}

// DocumentHead returns the parts that all documents of reports have. They are dated with the day after the last day
// they cover, so that the same data gives the same bytes whenever it is rendered.
func DocumentHead(ctx context.Context, tx *db.Tx, currency money.Currency, last day.Day) (paper.ReportDoc, error) {
	sender, err := contact.LoadLetterhead(ctx, tx)

	return paper.ReportDoc{
		Team:     sender,
		Currency: strings.ToUpper(string(currency)),
		Created:  last.AddDays(1).In(time.UTC),
	}, err
}

// WriteDocument writes a document and counts it as one.
func WriteDocument(out *export.Sink, doc *paper.ReportDoc) error {
	if err := paper.Report(out, *doc); err != nil {
		return err
	}

	return out.Count(1)
}

// rowsPerPage is about how many rows of a report fit on a page.
const rowsPerPage = 40

// EstimatePages returns the size of a document with that many rows.
func EstimatePages(rows export.Size) export.Size {
	return export.Size{Documents: 1, Pages: 1 + rows.Rows/rowsPerPage}
}
