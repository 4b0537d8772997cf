package connection

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
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

	if err := w.checkSource(ctx, tx, c); err != nil {
		return err
	}

	c.AccountingStartAt, c.AccountingEndAt = start, end

	return w.Journals.Outdate(ctx, tx, ledger.Basis{Connection: &c.ID}, ledger.Outdated{
		Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Connection, ID: c.ID},
	})
}

// Cut ends the accounting window of one connection on a day and begins that of another on it (CUT-18). The callers derive
// the journals of their reservations again.
func Cut(ctx context.Context, tx *db.Tx, source, target *Connection, at day.Day) error {
	for _, c := range []struct {
		*Connection
		start, end *day.Day
	}{{source, source.AccountingStartAt, &at}, {target, &at, target.AccountingEndAt}} {
		before := audit.See(auditView(c.Connection))
		c.AccountingStartAt, c.AccountingEndAt = c.start, c.end

		if err := update(ctx, tx, c.Connection); err != nil {
			return err
		}

		audit.Note(tx, audit.Updated, audit.Connection, c.ID, before, auditView(c.Connection))
	}

	return nil
}

// InheritWindow gives a connection without accounting dates those of a former connection of its account.
func InheritWindow(ctx context.Context, tx *db.Tx, connection, former id.ID) error {
	c, err := Lock(ctx, tx, connection)
	if err != nil || c.AccountingStartAt != nil || c.AccountingEndAt != nil {
		return err
	}

	f, err := Get(ctx, tx, former)
	if err != nil || f.AccountingStartAt == nil && f.AccountingEndAt == nil {
		return err
	}

	before := audit.See(auditView(c))
	c.AccountingStartAt, c.AccountingEndAt = f.AccountingStartAt, f.AccountingEndAt

	if err := update(ctx, tx, c); err != nil {
		return err
	}

	audit.Note(tx, audit.Updated, audit.Connection, c.ID, before, auditView(c))

	return nil
}

// ListWindows returns the ids of the other connections to property-management systems that are not archived and whose
// accounting windows reach beyond a day.
func (apps Apps) ListWindows(ctx context.Context, tx *db.Tx, at day.Day, others ...id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `
		select id from connection where team_id = @team and app_id = any(@apps) and id <> all(@others) and status <> 'archived'
			and (accounting_start_at is not null or accounting_end_at is not null) and (accounting_end_at is null or accounting_end_at > @at) order by id`,
		db.Args{"team": tx.Team, "apps": apps.kind(PMS), "others": others, "at": at})
	if err != nil {
		return nil, fmt.Errorf("find accounting windows: %w", err)
	}

	return found, nil
}

// errSource refuses to change the connection that other ones rely on.
var errSource = apierr.New(apierr.CodeBadRequest, "", "Connection is the accounting source that active connections without accounting dates rely on")

// checkSource fails for the only active connection with an accounting start while other active connections to
// property-management systems have no accounting dates: what they bring is told from its records by its window
// (CUT-59..CUT-61).
func (w writer) checkSource(ctx context.Context, tx *db.Tx, c *Connection) error {
	if c.Status != Active || c.AccountingStartAt == nil || w.Apps.find(c.AppID).Kind != PMS {
		return nil
	}

	needed, err := db.Get[bool](ctx, tx, `
		select coalesce(bool_or(accounting_start_at is null and accounting_end_at is null), false) and not coalesce(bool_or(accounting_start_at is not null), false)
		from connection where team_id = @team and app_id = any(@apps) and id <> @id and status = 'active'`,
		db.Args{"team": tx.Team, "apps": w.Apps.kind(PMS), "id": c.ID})
	if err != nil {
		return fmt.Errorf("find out whether a connection is needed: %w", err)
	}

	if needed {
		return errSource
	}

	return nil
}

// same returns true for equal days, or none on both sides.
func same(a, b *day.Day) bool { return a == b || a != nil && b != nil && *a == *b }
