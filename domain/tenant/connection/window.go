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
	"stayledger/platform/ptr"
)

// errWindowClosed refuses a window that would change closed books.
var errWindowClosed = apierr.New(apierr.CodeBadRequest, "", "The accounting window would change closed books")

// changeWindow changes the accounting window of a connection to a property-management system, and outdates the journals
// of its reservations. It fails with apierr.BadRequest for another kind of app and for a window that ends before it
// starts, and with errWindowClosed for a bound in closed books.
func (w writer) changeWindow(ctx context.Context, tx *db.Tx, c *Connection, u *Update) error {
	start, end := u.AccountingStartAt.Or(c.AccountingStartAt), u.AccountingEndAt.Or(c.AccountingEndAt)
	if ptr.Equal(start, c.AccountingStartAt) && ptr.Equal(end, c.AccountingEndAt) {
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

	// Neither the old nor the new value of a changed bound may be in closed books.
	for _, bound := range [][2]*day.Day{{c.AccountingStartAt, start}, {c.AccountingEndAt, end}} {
		for _, at := range bound {
			if !ptr.Equal(bound[0], bound[1]) && books.BooksClosedAt != nil && at != nil &&
				at.Before(*books.BooksClosedAt) {
				return errWindowClosed
			}
		}
	}

	if err := w.checkSource(ctx, tx, c); err != nil {
		return err
	}

	// With dates of its own, the connection is no longer outside the books as a whole.
	c.AccountingStartAt, c.AccountingEndAt = start, end
	c.IsOutsideBooks = c.IsOutsideBooks && start == nil && end == nil

	return w.Journals.Outdate(ctx, tx, ledger.Basis{Connection: &c.ID}, ledger.Outdated{
		Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Connection, ID: c.ID},
	})
}

// Cut ends the accounting window of the source on a day, begins the window of the target on the same day, and makes the
// target the successor (CUT-18). The callers outdate the journals of their reservations.
func Cut(ctx context.Context, tx *db.Tx, source, target *Connection, at day.Day) error {
	for _, c := range []struct {
		*Connection
		start, end *day.Day
	}{{source, source.AccountingStartAt, &at}, {target, &at, target.AccountingEndAt}} {
		before := audit.See(auditView(c.Connection))
		c.AccountingStartAt, c.AccountingEndAt, c.IsOutsideBooks = c.start, c.end, false

		if err := update(ctx, tx, c.Connection); err != nil {
			return err
		}

		audit.Note(tx, audit.Updated, audit.Connection, c.ID, before, auditView(c.Connection))
	}

	_, err := tx.Exec(ctx, `update connection set successor_id = @target where team_id = @team and id = @source`,
		db.Args{"team": tx.Team, "source": source.ID, "target": target.ID})
	if err != nil {
		return fmt.Errorf("note the successor of a connection: %w", err)
	}

	return nil
}

// ListFormer returns the connections that a connection succeeds.
func ListFormer(ctx context.Context, tx *db.Tx, successor id.ID) ([]*id.ID, error) {
	found, err := db.Select[*id.ID](ctx, tx, `select id from connection where team_id = @team and successor_id = @successor order by id`,
		db.Args{"team": tx.Team, "successor": successor})
	if err != nil {
		return nil, fmt.Errorf("find the connections before another one: %w", err)
	}

	return found, nil
}

// InheritWindow copies accounting dates and successor of a former connection to the same account, unless the connection
// has accounting dates.
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

	_, err = tx.Exec(ctx, `
		update connection c set successor_id = f.successor_id from connection f where c.team_id = @team and c.id = @id and f.team_id = @team and f.id = @former`,
		db.Args{"team": tx.Team, "id": connection, "former": former})
	if err != nil {
		return fmt.Errorf("give a connection the successor of a former one: %w", err)
	}

	return nil
}

// ListWindows returns the ids of the other connections to property-management systems with accounting windows that
// reach beyond a day. Archived connections are left out.
func (apps Apps) ListWindows(ctx context.Context, tx *db.Tx, at day.Day, others ...id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `
		select id from connection where team_id = @team and app_id = any(@apps) and id <> all(@others) and status <> 'archived'
			and (accounting_start_at is not null or accounting_end_at is not null) and (accounting_end_at is null or accounting_end_at > @at) order by id`,
		db.Args{"team": tx.Team, "apps": apps.listKind(PMS), "others": others, "at": at})
	if err != nil {
		return nil, fmt.Errorf("find accounting windows: %w", err)
	}

	return found, nil
}

// errSource refuses to switch off the accounting source that other connections rely on.
var errSource = apierr.New(apierr.CodeBadRequest, "",
	"Connection is the accounting source that active connections without accounting dates rely on")

// sourceSQL is the condition on the status of an accounting source. A connection that is being connected, or has to be,
// remains the source: an app that is out of reach must not change the books.
const sourceSQL = `status in ('active', 'reconnectRequired', 'connecting')`

// isSource reports whether the connection is an accounting source. There can be several.
func (w writer) isSource(c *Connection) bool {
	return c.AccountingStartAt != nil && w.Apps.find(c.AppID).Kind == PMS && c.Status != Disabled &&
		c.Status != Archived
}

// checkSource fails with errSource for the only accounting source while active connections to other property-management
// systems have no accounting dates: without it, their reservations would enter the books on top of its own
// (CUT-59..CUT-61).
func (w writer) checkSource(ctx context.Context, tx *db.Tx, c *Connection) error {
	if !w.isSource(c) {
		return nil
	}

	needed, err := db.Get[bool](ctx, tx, `
		select coalesce(bool_or(status = 'active' and accounting_start_at is null and accounting_end_at is null), false)
			and not coalesce(bool_or(accounting_start_at is not null and `+sourceSQL+`), false)
		from connection where team_id = @team and app_id = any(@apps) and id <> @id`,
		db.Args{"team": tx.Team, "apps": w.Apps.listKind(PMS), "id": c.ID})
	if err != nil {
		return fmt.Errorf("find out whether a connection is needed: %w", err)
	}

	if needed {
		return errSource
	}

	return nil
}

// settleBooks decides again which active connections to property-management systems are outside the books, and outdates
// the journals of each connection that enters or leaves them. Call it after a change of dates or status, and after a
// deletion. Inactive connections keep their place inside or outside the books.
func (w writer) settleBooks(ctx context.Context, tx *db.Tx) error {
	changed, err := db.Select[bookChange](ctx, tx, `
		update connection c set is_outside_books = not c.is_outside_books, updated_at = @now
		where c.team_id = @team and c.app_id = any(@apps) and c.status = 'active'
			and c.is_outside_books <> (c.accounting_start_at is null and c.accounting_end_at is null and exists (
				select from connection o where o.team_id = @team and o.app_id = any(@apps) and o.id <> c.id and o.accounting_start_at is not null
					and o.`+sourceSQL+`))
		returning c.id, c.is_outside_books`,
		db.Args{"team": tx.Team, "apps": w.Apps.listKind(PMS), "now": tx.Now})
	if err != nil {
		return fmt.Errorf("decide which connections are outside the books: %w", err)
	}

	for _, c := range changed {
		audit.Note(tx, audit.Updated, audit.Connection, c.ID, bookView{!c.IsOutsideBooks}, bookView{c.IsOutsideBooks})

		err := w.Journals.Outdate(ctx, tx, ledger.Basis{Connection: &c.ID}, ledger.Outdated{
			Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Connection, ID: c.ID},
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// bookChange is a connection with reservations that enter or leave the books.
type bookChange struct {
	ID             id.ID
	IsOutsideBooks bool
}

// bookView is the connection as events of such a change show it.
type bookView struct {
	IsOutsideBooks bool `json:"isOutsideBooks"`
}
