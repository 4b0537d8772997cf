package payee

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const columns = `m.id, m.contact_id, m.kind, m.status, m.account_holder, m.account_type, m.last4, m.routing_last4, m.is_default,
	m.verified_at, m.created_at, m.updated_at, m.numbers, m.fault, array(select distinct c.app_id from connection c
	where c.team_id = m.team_id and c.status = 'active' order by 1) as apps, ` + destinationSQL + ` as destination`

// destinationSQL is the SQL of the destination of a method m.
const destinationSQL = `jsonb_build_object('since', m.chosen_at, 'by', m.chosen_by, 'releasedAt', m.released_at, 'releasedBy', m.released_by,
	'isPaid', exists (select from payment p where p.team_id = m.team_id and p.contact_id = m.contact_id and p.payee_method_id = m.id
		and p.status in ('submitted', 'paid') and p.created_at >= m.chosen_at))`

var sorts = page.Sorts{{Name: "createdAt", Expr: "m.created_at"}}

// listSort is an order of payment methods.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

// query returns the list of the methods of a contact.
func query(tx *db.Tx, contact id.ID) page.Query {
	return page.Query{
		Columns: columns, From: "payee_method m", Where: []string{"m.team_id = @team", "m.contact_id = @contact"},
		Args: db.Args{"team": tx.Team, "contact": contact}, Sorts: sorts, Default: "createdAt", ID: "m.id",
	}
}

// checkContact fails with apierr.NotFound for an unknown contact.
func checkContact(ctx context.Context, tx *db.Tx, contact id.ID) error {
	return findContact(ctx, tx, contact, "")
}

// lockContact locks a contact, so that changes of its methods wait for each other: at most one of them is the
// default. It fails with apierr.NotFound.
func lockContact(ctx context.Context, tx *db.Tx, contact id.ID) error {
	return findContact(ctx, tx, contact, " for no key update")
}

// findContact fails with apierr.NotFound for an unknown contact. The argument locked is the locking clause.
func findContact(ctx context.Context, tx *db.Tx, contact id.ID, locked string) error {
	_, err := db.One[int64](ctx, tx, apierr.NotFound, `select 1::bigint from contact where team_id = @team and id = @id`+locked,
		db.Args{"team": tx.Team, "id": contact})
	if err != nil {
		return fmt.Errorf("read contact: %w", err)
	}

	return nil
}

// loadMethod loads a method, of one contact unless the contact is the zero id. With the clause "for update" no new
// payment refers to it until the transaction ends.
func loadMethod(ctx context.Context, tx *db.Tx, contact, method id.ID, locked ...string) (*Method, error) {
	m, err := db.One[Method](ctx, tx, apierr.NotFound, `
		select `+columns+` from payee_method m where m.team_id = @team and m.id = @id and (m.contact_id = @contact or @contact::uuid is null) `+strings.Join(locked, " "),
		db.Args{"team": tx.Team, "id": method, "contact": contact})
	if err != nil {
		return nil, fmt.Errorf("read payment method: %w", err)
	}

	m.findIssues(tx.Today())

	return &m, nil
}

// loadAlike loads the methods in use of a contact that may have the same account.
func loadAlike(ctx context.Context, tx *db.Tx, m *Method) ([]Method, error) {
	// Only the last digits are readable; the caller compares the whole numbers.
	rows, err := db.Select[Method](ctx, tx, `
		select `+columns+` from payee_method m
		where m.team_id = @team and m.contact_id = @contact and m.status in ('pending', 'verified') and m.last4 = @last4
			and m.routing_last4 = @routing and m.account_holder = @holder and m.account_type = @type
		order by m.id`,
		db.Args{
			"team":    tx.Team,
			"contact": m.ContactID,
			"last4":   m.Last4,
			"routing": m.RoutingLast4,
			"holder":  m.AccountHolder,
			"type":    m.AccountType,
		})
	if err != nil {
		return nil, fmt.Errorf("read payment methods: %w", err)
	}

	return rows, nil
}

// methodTable has the columns of a new method, which its user chooses.
var methodTable = db.NewTable[Method]("payee_method", `
	id uuid, contact_id uuid, status text computed, account_holder text, account_type text, last4 text, routing_last4 text, numbers bytea,
	chosen_at now, chosen_by uuid computed, created_at now, updated_at now`).
	Compute("status", "'pending'").
	Compute("chosen_by", "@user::uuid")

// insertMethod inserts a method and writes the audit event.
func insertMethod(ctx context.Context, tx *db.Tx, m *Method) error {
	insert := methodTable.Insert(tx, m)
	insert.Args["user"] = tx.Actor.User

	err := tx.Pipeline(ctx, insert)
	if err != nil {
		return fmt.Errorf("keep payment method: %w", err)
	}

	audit.Note(tx,
		audit.Created,
		audit.PaymentMethod,
		m.ID,
		nil,
		m,
		audit.Ref(audit.RoleOwner, audit.Contact, m.ContactID),
	)

	return insertChange(ctx, tx, m, Added)
}

// state holds the fields of a method that change, before and after.
type state struct {
	ID, ContactID         id.ID
	OldStatus, Status     Status
	OldDefault, IsDefault bool
	OldFault, Fault       *connection.Fault
}

const stateColumns = `m.id, m.contact_id, o.status as old_status, m.status, o.is_default as old_default, m.is_default, o.fault as old_fault, m.fault`

// updateMethods updates methods m, each of which is o as it was, and writes the audit events. It returns their number.
func updateMethods(ctx context.Context, tx *db.Tx, set, where string, args db.Args) (int, error) {
	changed, err := db.Select[state](ctx, tx, `update payee_method m set `+set+`, updated_at = @now from payee_method o
		where m.team_id = @team and o.team_id = m.team_id and o.id = m.id and `+where+` returning `+stateColumns, args)

	// The event shows status, default and fault before and after.
	type view struct {
		Status    Status            `json:"status"`
		IsDefault bool              `json:"isDefault"`
		Fault     *connection.Fault `json:"fault"`
	}

	for i := range changed {
		s := &changed[i]
		before, after := view{s.OldStatus, s.OldDefault, s.OldFault}, view{s.Status, s.IsDefault, s.Fault}
		audit.Note(tx, audit.Updated, audit.PaymentMethod, s.ID, before, after,
			audit.Ref(audit.RoleOwner, audit.Contact, s.ContactID))
	}

	return len(changed), err
}

// makeDefault makes a verified method the one that its contact is paid with. It is a destination from now on, of the user
// who does it. The caller holds the lock of the contact.
func makeDefault(ctx context.Context, tx *db.Tx, m *Method) error {
	args := db.Args{"team": tx.Team, "contact": m.ContactID, "id": m.ID, "now": tx.Now}

	_, err := updateMethods(ctx, tx, `is_default = false`, `m.contact_id = @contact and m.is_default and m.id <> @id`, args)
	if err == nil {
		_, err = updateMethods(ctx, tx, `is_default = true, chosen_at = @now, chosen_by = @user, released_at = null, released_by = null`,
			`m.id = @id and not m.is_default`, db.Args{"team": tx.Team, "id": m.ID, "now": tx.Now, "user": tx.Actor.User})
	}

	if err != nil {
		return fmt.Errorf("change default payment method: %w", err)
	}

	return insertChange(ctx, tx, m, MadeDefault)
}

// setFirstDefault makes a verified method the default if its contact has no other verified one. It stays the
// destination of whoever added it.
func setFirstDefault(ctx context.Context, tx *db.Tx, m *Method) error {
	_, err := updateMethods(ctx, tx, `is_default = true`, `m.id = @id and not m.is_default and not exists (
		select from payee_method d where d.team_id = @team and d.contact_id = @contact and d.id <> @id and d.status = 'verified')`,
		db.Args{"team": tx.Team, "contact": m.ContactID, "id": m.ID, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("set the first default payment method: %w", err)
	}

	return nil
}

// release frees a destination for payments of others than the user who does it.
func release(ctx context.Context, tx *db.Tx, m *Method) error {
	_, err := tx.Exec(ctx, `update payee_method set released_at = @now, released_by = @user, updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": m.ID, "now": tx.Now, "user": tx.Actor.User})
	if err != nil {
		return fmt.Errorf("release payment method: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.PaymentMethod, m.ID, map[string]any{"releasedBy": m.Destination.ReleasedBy}, map[string]any{"releasedBy": tx.Actor.User},
		audit.Ref(audit.RoleOwner, audit.Contact, m.ContactID))

	return insertChange(ctx, tx, m, Released)
}

// updateStatus saves the result of a verification. Only a method in use changes; it reports whether this one did.
func updateStatus(ctx context.Context, tx *db.Tx, method id.ID, to Status) (bool, error) {
	// A method that is rejected is no default any more.
	n, err := updateMethods(ctx, tx, `status = @status::text, fault = null, is_default = m.is_default and @status = 'verified',
		verified_at = case when @status = 'verified' and m.status <> 'verified' then @now else m.verified_at end`, `m.id = @id and m.status in ('pending', 'verified')`,
		db.Args{"team": tx.Team, "id": method, "status": to, "now": tx.Now})
	if err != nil {
		return false, fmt.Errorf("settle payment method: %w", err)
	}

	return n > 0, nil
}

// saveFault saves why a verification ended without an answer. A method that is no longer in use stays as it is.
func saveFault(ctx context.Context, tx *db.Tx, method id.ID, f connection.Fault) error {
	_, err := updateMethods(ctx, tx, `fault = @fault`, `m.id = @id and m.status in ('pending', 'verified')`,
		db.Args{"team": tx.Team, "id": method, "fault": f, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("save why a payment method was not verified: %w", err)
	}

	return nil
}

// archive archives a method.
func archive(ctx context.Context, tx *db.Tx, method id.ID) error {
	_, err := updateMethods(ctx, tx, `status = 'archived', is_default = false, fault = null`, `m.id = @id and m.status <> 'archived'`,
		db.Args{"team": tx.Team, "id": method, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("archive payment method: %w", err)
	}

	return nil
}
