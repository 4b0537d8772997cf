// Package posted has teams with books that a test writes posting by posting, for tests of code that reads books.
package posted

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/domain/reporting/trust"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

// Books is a team with the standard chart and the reports of its books.
type Books struct {
	*apitest.Team
	Accounts map[string]id.ID // by code
	Listing  id.ID            // the listing that Post books on; it has no row
}

// New returns books in the database of the package's tests.
func New(tb testing.TB) *Books {
	tb.Helper()
	return In(tb, apitest.DB(tb))
}

// In returns books in another database than the package's.
func In(tb testing.TB, d *db.DB) *Books {
	tb.Helper()

	endpoints := slices.Concat(trust.Part().Endpoints, report.Part(nil).Endpoints)
	b := &Books{Team: apitest.New(tb, apitest.Config{DB: d, Endpoints: endpoints})}
	b.Accounts, b.Listing = fixture.StandardChart(b.Team), id.New(b.DB.Now())
	b.Tx(mapping.InstallStandard)

	return b
}

// Post books cents from one account to another and returns the source.
func (b *Books) Post(in ledger.Ledger, at, debit, credit string, cents money.Cents) id.ID {
	p := ledger.Posting{
		SourceID: id.New(b.DB.Now()),
		Ledger:   in,
		Status:   ledger.Active,
		TxnAt:    Date(at),
		Currency: "usd",
	}
	p.TxnCode = "test:" + p.SourceID.String()
	p.Lines = []ledger.Line{
		{
			Ref:           "debit",
			AccountID:     b.Accounts[debit],
			CentTotal:     cents,
			TransactionID: p.SourceID,
			Trigger:       ledger.TriggerManual,
		},
		{
			Ref:           "credit",
			AccountID:     b.Accounts[credit],
			CentTotal:     -cents,
			Party:         ledger.Owners,
			ListingID:     b.Listing,
			TransactionID: p.SourceID,
			Trigger:       ledger.TriggerManual,
			Description:   "credit side",
		},
	}
	b.Replace([]id.ID{p.SourceID}, p)

	return p.SourceID
}

// Replace writes the postings of sources in place of the existing ones.
func (b *Books) Replace(sources []id.ID, wanted ...ledger.Posting) {
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := ledger.Replace(ctx, tx, sources, wanted, ledger.Lenience{})
		return err
	})
}

// Date returns the day of a text. It panics for a text that is no day.
func Date(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}

// AsQuery sends a drill-down's filter as a client does.
func AsQuery(filter any) string {
	q := url.Values{}

	fields, _ := filter.(map[string]any)
	for name, value := range fields {
		if all, ok := value.([]any); ok {
			parts := make([]string, len(all))
			for i := range all {
				parts[i] = fmt.Sprint(all[i])
			}

			q.Set(name, record(parts))

			continue
		}

		q.Set(name, fmt.Sprint(value))
	}

	return q.Encode()
}

// record writes values as a CSV record.
func record(values []string) string {
	var text strings.Builder

	w := csv.NewWriter(&text)
	if err := w.Write(values); err != nil {
		panic(err) // a builder takes everything
	}

	w.Flush()

	return strings.TrimSuffix(text.String(), "\n")
}
