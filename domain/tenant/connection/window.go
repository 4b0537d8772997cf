package connection

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

// errWindowClosed refuses a window that would change what is in books that are closed.
var errWindowClosed = apierr.New(apierr.CodeBadRequest, "", "The accounting window would change closed books")

// changeWindow changes the accounting window of a connection to a property-management system, and has the journals of
// its reservations derived again. It fails for another kind of app, for a window that ends before it starts, and for a
// bound before the first day that is open.
func (w writer) changeWindow(ctx context.Context, tx *db.Tx, c *Connection, u *Update) error {
	start, end := u.AccountingStartAt.Or(c.AccountingStartAt), u.AccountingEndAt.Or(c.AccountingEndAt)
	if same(start, c.AccountingStartAt) && same(end, c.AccountingEndAt) {
		return nil
	}

	if w.Apps.find(c.AppID).Kind != PMS {
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("accountingStartAt"))
	}

	if start != nil && end != nil && !start.Before(*end) {
		return apierr.BadRequest.At(apierr.IssueDateOrder.InBody("accountingEndAt"))
	}

	books, err := ledger.LoadClosing(ctx, tx)
	if err != nil {
		return err
	}

	for _, bound := range [][2]*day.Day{{c.AccountingStartAt, start}, {c.AccountingEndAt, end}} {
		for _, at := range bound {
			if !same(bound[0], bound[1]) && books.BooksClosedAt != nil && at != nil && at.Before(*books.BooksClosedAt) {
				return errWindowClosed
			}
		}
	}

	c.AccountingStartAt, c.AccountingEndAt = start, end

	return w.Journals.Outdate(ctx, tx, ledger.Basis{Connection: &c.ID}, ledger.Outdated{
		Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Connection, ID: c.ID},
	})
}

// same returns true for equal days, or none on both sides.
func same(a, b *day.Day) bool { return a == b || a != nil && b != nil && *a == *b }
