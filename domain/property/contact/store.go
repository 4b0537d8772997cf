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

var columns = `c.id, c.short_ref, c.unique_ref, c.connection_id, c.source_id, ` + SourceSQL("c") + ` as source, c.type, c.status, c.name, c.first_name, c.email, c.phone, c.address, c.company_type,
	'***' || c.tax_identifier_last4 as tax_identifier, c.payout_account_id, c.created_at, c.updated_at`

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

// lock reads contacts by their names and keeps them from changing until the transaction ends.
func lock(ctx context.Context, tx *db.Tx, n names) ([]stored, error) {
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

// save returns the statement that inserts or updates a contact. The tax identifier changes only if the request
// names it.
func (w writer) save(tx *db.Tx, c *Contact, in *Update, isNew bool) db.Stmt {
	// Lists show the last four digits, which are stored apart and not sealed.
	var last4 *string

	if c.TaxIdentifier != nil {
		kept := strings.TrimPrefix(*c.TaxIdentifier, mask)
		last4 = &kept
	}

	// The whole identifier is sealed under the id of its contact, so that it cannot be moved to another row.
	var sealed []byte
	if v := in.TaxIdentifier.Value; v != nil {
		sealed = w.box.Seal([]byte(*v), label(c.ID))
	}

	s := db.Stmt{
		SQL: `update contact set unique_ref = @ref, connection_id = @connection, source_id = @source, type = @type, status = @status, name = @name, first_name = @first, email = @email,
			phone = @phone, address = @address, company_type = @company, tax_identifier_last4 = @last4, payout_account_id = @account,
			tax_identifier = case when @named::boolean then @sealed::bytea else tax_identifier end, updated_at = @now
			where team_id = @team and id = @id`,
		Args: db.Args{
			"team": tx.Team, "id": c.ID, "ref": c.UniqueRef, "connection": c.ConnectionID, "source": c.SourceID, "type": c.Type, "status": c.Status, "name": c.Name, "first": c.FirstName,
			"email": c.Email, "phone": c.Phone, "address": c.Address, "company": c.CompanyType, "last4": last4,
			"account": c.PayoutAccountID, "sealed": sealed, "now": tx.Now,
		},
	}
	if !isNew {
		s.Args["named"] = in.TaxIdentifier.Present
		return s
	}

	// A new contact also gets its short reference, which never changes.
	s.SQL = `insert into contact (team_id, id, short_ref, unique_ref, connection_id, source_id, type, status, name, first_name, email, phone, address, company_type,
			tax_identifier_last4, tax_identifier, payout_account_id, created_at, updated_at)
		values (@team, @id, @short, @ref, @connection, @source, @type, @status, @name, @first, @email, @phone, @address, @company, @last4, @sealed, @account, @now, @now)`
	s.Args["short"] = c.ID.ShortRef()

	return s
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

// remove deletes a contact that nothing uses, together with its payment methods.
func remove(ctx context.Context, tx *db.Tx, c *Contact) error {
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
		audit.Note(tx, audit.Deleted, audit.PaymentMethod, method, map[string]id.ID{"contactId": c.ID}, nil, audit.Ref(audit.RoleOwner, audit.Contact, c.ID))
	}

	return nil
}

func archive(ctx context.Context, tx *db.Tx, c *Contact) error {
	_, err := tx.Exec(ctx, `update contact set status = 'inactive', updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": c.ID, "now": tx.Now})
	archived := *c
	archived.Status = Inactive
	audit.Note(tx, audit.Updated, audit.Contact, c.ID, view{Contact: c}, view{Contact: &archived})

	return err
}
