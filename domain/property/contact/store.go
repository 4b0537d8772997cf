package contact

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// contactTable has the columns of a contact. The sealed tax identifier of a stored contact is updated apart from the
// others.
var contactTable = db.NewTable[contactRow]("contact", `
	id uuid key, short_ref text fixed, unique_ref text, connection_id uuid, source_id text, type text, status text, name text, first_name text, email text,
	phone text, address jsonb, company_type text, tax_identifier_last4 text, tax_identifier bytea fixed, payout_account_id uuid, created_at now fixed,
	updated_at now`)

// contactRow is a contact as it is saved: lists show the last four digits of its tax identifier, which are not sealed.
type contactRow struct {
	Contact
	TaxIdentifierLast4 *string
	TaxIdentifier      []byte
}

var columns = contactTable.ColumnsSQL("c", "tax_identifier", "tax_identifier_last4") + ", " + SourceSQL("c") +
	" as source, '***' || c.tax_identifier_last4 as tax_identifier"

const owned = `exists (select from listing_ownership_member m where m.team_id = c.team_id and m.contact_id = c.id) as owned`

// loadDetail returns a contact with the listings it owns today. It fails with apierr.NotFound.
func loadDetail(ctx context.Context, tx *db.Tx, contact id.ID) (*Detail, error) {
	found, err := db.One[Detail](ctx, tx, apierr.NotFound, `select `+columns+`,
		coalesce((select jsonb_agg(jsonb_build_object('listingId', p.listing_id, 'split', m.split, 'startAt', p.start_at, 'endAt', p.end_at)
				order by p.listing_id)
			from listing_ownership_member m join listing_ownership_period p on p.team_id = m.team_id and p.id = m.period_id
			where m.team_id = c.team_id and m.contact_id = c.id and daterange(p.start_at, p.end_at) @> @today::date), '[]') as active_ownerships,
		exists (select from payee_method m where m.team_id = c.team_id and m.contact_id = c.id and m.is_default) as payout_ready
		from contact c where c.team_id = @team and c.id = @id`, db.Args{"team": tx.Team, "id": contact, "today": tx.Today()})
	if err != nil {
		return nil, fmt.Errorf("read contact: %w", err)
	}

	return &found, nil
}

// names are what a request calls contacts by: ids, references, and keys of connections.
type names struct {
	ids  []id.ID
	refs []string
	keys []sourceKey
}

// lockContacts reads contacts by their names and keeps them from changing until the transaction ends.
func lockContacts(ctx context.Context, tx *db.Tx, n names) ([]stored, error) {
	args, byKey := db.Args{"team": tx.Team, "ids": n.ids, "refs": n.refs}, ""
	if len(n.keys) > 0 {
		args["keys"] = n.keys
		byKey = ` or c.id = any(array(` + holdersSQL("h.id") + `))`
	}

	rows, err := db.Select[stored](ctx, tx, `select `+columns+`, `+owned+` from contact c
		where c.team_id = @team and (c.id = any(@ids::uuid[]) or c.unique_ref = any(@refs::text[])`+byKey+`) order by c.id for update of c`, args)
	if err != nil {
		return nil, fmt.Errorf("lock contacts: %w", err)
	}

	return rows, nil
}

// loadAccounts returns for each account that exists whether it is a bank account.
func loadAccounts(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	type row struct {
		ID   id.ID
		Bank bool
	}

	// Accounts of other teams and deleted ones are not found, and so not in the result.
	rows, err := db.Select[row](ctx, tx, `select id, type = 'bank' as bank from account where team_id = @team and id = any(@ids::uuid[])`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read payout accounts: %w", err)
	}

	out := make(map[id.ID]bool, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Bank
	}

	return out, nil
}

// save returns the statements that insert or update a contact. The tax identifier changes only if the request names it.
func (w writer) save(tx *db.Tx, c *Contact, in *Update, isNew bool) []db.Stmt {
	row := &contactRow{Contact: *c}
	row.ShortRef = c.ID.ShortRef()

	if c.TaxIdentifier != nil {
		kept := strings.TrimPrefix(*c.TaxIdentifier, mask)
		row.TaxIdentifierLast4 = &kept
	}

	// The whole identifier is sealed under the id of its contact, so that it cannot be moved to another row.
	if v := in.TaxIdentifier.Value; v != nil {
		row.TaxIdentifier = w.box.Seal([]byte(*v), label(c.ID))
	}

	if isNew {
		return []db.Stmt{contactTable.Insert(tx, row)}
	}

	stmts := []db.Stmt{contactTable.Update(tx, row)}
	if in.TaxIdentifier.Present {
		stmts = append(stmts, db.Stmt{
			SQL:  `update contact set tax_identifier = @sealed where team_id = @team and id = @id`,
			Args: db.Args{"team": tx.Team, "id": c.ID, "sealed": row.TaxIdentifier},
		})
	}

	return stmts
}

func conflict(err error) error {
	switch db.Constraint(err) {
	case "contact_unique_ref":
		return errDuplicateUniqueRef.Because(err)
	case "contact_source":
		return errDuplicateSource.At(apierr.IssueDuplicateUniqueRef.InBody("sourceId")).Because(err)
	}

	return err
}

// deleteContact deletes a contact that nothing uses, together with its payment methods.
func deleteContact(ctx context.Context, tx *db.Tx, c *Contact) error {
	// The payment methods go with the contact; their ids are read before that, for the events.
	gone, err := db.Select[id.ID](ctx, tx, `
		with methods as (select id from payee_method where team_id = @team and contact_id = @id),
			gone as (delete from contact where team_id = @team and id = @id)
		select id from methods`, db.Args{"team": tx.Team, "id": c.ID})
	if err != nil {
		return fmt.Errorf("delete contact: %w", err)
	}

	audit.Note(tx, audit.Deleted, audit.Contact, c.ID, view{Contact: c}, nil)

	for _, method := range gone {
		audit.Note(
			tx, audit.Deleted, audit.PaymentMethod, method, map[string]id.ID{"contactId": c.ID}, nil,
			audit.Ref(audit.RoleOwner, audit.Contact, c.ID),
		)
	}

	return nil
}

func archiveContact(ctx context.Context, tx *db.Tx, c *Contact) error {
	_, err := tx.Exec(ctx, `update contact set status = 'inactive', updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": c.ID, "now": tx.Now})
	archived := *c
	archived.Status = Inactive
	audit.Note(tx, audit.Updated, audit.Contact, c.ID, view{Contact: c}, view{Contact: &archived})

	return err
}
