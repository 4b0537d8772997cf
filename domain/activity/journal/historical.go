package journal

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// Limits of an import. A transaction is posted in one piece, so its size bounds the memory of the task.
const (
	maxEntries    = 200_000
	maxTxnEntries = 10_000
	maxTold       = 100 // findings that an answer names
)

// Historical is the books of an earlier system, entry by entry.
type Historical struct {
	Entries []HistoricalEntry `json:"entries" minItems:"1" maxItems:"200000" doc:"Entries of one txnRef share their date and sum to zero; at most 10000 of them."`
}

// HistoricalEntry is one entry of the earlier system, in the team's default currency.
type HistoricalEntry struct {
	Date        day.Day     `json:"date" doc:"Before the statement start date."`
	TxnRef      string      `json:"txnRef" minLength:"1" maxLength:"180" doc:"Names the transaction, unique in the team."`
	AccountID   id.ID       `json:"accountId"`
	CentTotal   money.Cents `json:"centTotal" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents; debit positive, credit negative, never zero."`
	ListingID   *id.ID      `json:"listingId,omitempty"`
	ContactID   *id.ID      `json:"contactId,omitempty"`
	Description string      `json:"description,omitempty" maxLength:"1000"`
}

// HistoricalPreview is the result that an import would have.
type HistoricalPreview struct {
	TxnCount   int64            `json:"txnCount"`
	EntryCount int64            `json:"entryCount"`
	Totals     HistoricalTotals `json:"totals"`
}

// HistoricalTotals are the sums over all entries; they are equal.
type HistoricalTotals struct {
	Debit  money.Cents `json:"debit"`
	Credit money.Cents `json:"credit"`
}

// HistoricalImport is an import as the list shows it.
type HistoricalImport struct {
	ID              id.ID            `json:"id"`
	OperationID     id.ID            `json:"operationId"`
	TxnCount        int64            `json:"txnCount" doc:"Transactions of the request."`
	EntryCount      int64            `json:"entryCount"`
	SkippedTxnCount int64            `json:"skippedTxnCount" doc:"Transactions that an earlier import had posted with the same content."`
	Totals          HistoricalTotals `json:"totals"`
	StartAt         day.Day          `json:"startAt" doc:"Earliest date."`
	EndAt           day.Day          `json:"endAt" doc:"Latest date."`
	CreatedAt       day.Instant      `json:"createdAt"`
	PostedAt        *day.Instant     `json:"postedAt" doc:"Null until the operation has posted the entries."`
}

// computeContents computes the content of every transaction, in the currency of the books.
func (b *batch) computeContents(currency string) {
	b.currency, b.contents = currency, make([][]byte, len(b.txns))
	for i := range b.txns {
		b.contents[i] = b.txns[i].hashContent(b.entries, currency)
	}
}

// TxnDifference is a transaction with entries that do not sum to zero.
type TxnDifference struct {
	TxnRef     string      `json:"txnRef"`
	Difference money.Cents `json:"difference" doc:"Debits less credits."`
}

var (
	errTxnUnbalanced = apierr.New(apierr.CodeUnprocessableContent, "", "Transactions do not balance")
	errTxnDates      = apierr.New(
		apierr.CodeUnprocessableContent, "", "Entries of one transaction have different dates",
	)
	errTxnKnown = apierr.New(apierr.CodeConflict, "", "Transactions were imported before with other entries")
)

// txn is a transaction of the earlier system: its entries by their places in the request.
type txn struct {
	ref     string
	date    day.Day
	entries []int32
	sum     money.Cents
}

// hashContent returns a hash that differs between two imports of a transaction with different entries. The order of the
// entries does not matter.
func (t *txn) hashContent(all []HistoricalEntry, currency string) []byte {
	texts := make([]string, len(t.entries))
	for i, at := range t.entries {
		e := &all[at]
		texts[i] = fmt.Sprintf(
			"%s\x00%d\x00%s\x00%s\x00%s\n",
			e.AccountID, e.CentTotal, ptr.Value(e.ListingID), ptr.Value(e.ContactID), e.Description,
		)
	}

	// Sorted, the order in the request has no effect.
	slices.Sort(texts)

	h := sha256.New()

	_, _ = fmt.Fprintf(h, "%s\x00%s\n", t.date, currency) // a hash takes everything
	for _, text := range texts {
		_, _ = h.Write([]byte(text))
	}

	return h.Sum(nil)
}

// batch is an import before it is compared with the team's records.
type batch struct {
	currency      string
	entries       []HistoricalEntry
	txns          []txn // by reference
	contents      [][]byte
	debit, credit money.Cents
	startAt       day.Day
	endAt         day.Day
}

// groupEntries groups entries into transactions. It fails for an entry of zero, one that is not before start, a
// transaction that is too long and sums beyond the safe range; with UNPROCESSABLE_CONTENT for a transaction that
// has several dates or does not balance.
func groupEntries(entries []HistoricalEntry, start day.Day) (*batch, error) {
	b := &batch{entries: entries, startAt: entries[0].Date, endAt: entries[0].Date}

	var issues []apierr.Issue

	refuse := func(i int, field string, code apierr.IssueCode) {
		if len(issues) < maxTold {
			issues = append(issues, code.InBody("entries", i, field))
		}
	}

	// at has the place of each transaction by its reference.
	at := make(map[string]int32, len(entries)/2)

	var dated []apierr.Issue

	for i := range entries {
		e := &entries[i]
		if e.CentTotal == 0 {
			refuse(i, "centTotal", apierr.IssueZeroAmount)
		}

		if !e.Date.Before(start) {
			refuse(i, "date", apierr.IssueNotHistorical)
		}

		// The first entry of a reference begins its transaction and sets its date.
		k, known := at[e.TxnRef]
		if !known {
			k = int32(len(b.txns)) //nolint:gosec // at most maxEntries
			at[e.TxnRef] = k
			b.txns = append(b.txns, txn{ref: e.TxnRef, date: e.Date})
		}

		t := &b.txns[k]
		if len(t.entries) == maxTxnEntries {
			refuse(i, "txnRef", apierr.IssueTooManyEntries)
		}

		if t.date != e.Date && len(dated) < maxTold {
			dated = append(dated, apierr.IssueDateMismatch.InBody("entries", i, "date"))
		}

		t.entries, t.sum = append(t.entries, int32(i)), t.sum+e.CentTotal
		b.count(e)

		if !b.debit.Valid() || !b.credit.Valid() {
			return nil, apierr.BadRequest.At(apierr.IssueRange.InBody("entries"))
		}
	}

	// Issues of single entries come before those of whole transactions.
	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	if len(dated) > 0 {
		return nil, errTxnDates.At(dated...)
	}

	// Sorted by reference, the result does not depend on the order of the request.
	slices.SortFunc(b.txns, func(x, y txn) int { return cmp.Compare(x.ref, y.ref) })

	return b, b.checkBalance()
}

// count adds an entry to the totals and the span of dates of the import.
func (b *batch) count(e *HistoricalEntry) {
	if e.CentTotal > 0 {
		b.debit += e.CentTotal
	} else {
		b.credit -= e.CentTotal
	}

	b.startAt, b.endAt = day.Min(b.startAt, e.Date), day.Max(b.endAt, e.Date)
}

// checkBalance fails with the transactions that do not sum to zero, at most maxTold of them.
func (b *batch) checkBalance() error {
	var off []TxnDifference
	for i := range b.txns {
		if t := &b.txns[i]; t.sum != 0 && len(off) < maxTold {
			off = append(off, TxnDifference{t.ref, t.sum})
		}
	}

	if off != nil {
		return errTxnUnbalanced.With(map[string]any{"transactions": off})
	}

	return nil
}

// preview returns the totals of the import.
func (b *batch) preview() *HistoricalPreview {
	return &HistoricalPreview{
		TxnCount:   int64(len(b.txns)),
		EntryCount: int64(len(b.entries)),
		Totals:     HistoricalTotals{Debit: b.debit, Credit: b.credit},
	}
}
