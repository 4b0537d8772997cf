package bank

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// batchResult is the outcome of a batch of records.
type batchResult struct {
	// ids are those of the new records, in the order of the request.
	ids   []id.ID
	known []Known
}

// insertAll inserts records in the order of the data. A record with a reference that the team has already is left
// out and returned as known. It fails with the issues of made, and then inserts nothing.
func insertAll(ctx context.Context, tx *db.Tx, data []Create) (*batchResult, error) {
	named := make([]id.ID, len(data))
	for i := range data {
		named[i] = data[i].AccountID
	}

	// First lock the accounts, so that their first days and currencies stay as they are.
	accounts, err := lockAccounts(ctx, tx, named, nil)
	if err != nil {
		return nil, err
	}

	records, err := newRecords(tx.NewID, data, accounts)
	if err != nil {
		return nil, err
	}

	// Callers who wait for each other's references wait in the order of the references. A record that is inactive from
	// the start is left out by its account's first day.
	inserted, err := db.Select[id.ID](ctx, tx, `
		with kept as (
			insert into bank_record (team_id, id, unique_ref, account_id, date, status, type, amount, balance, description, source, created_at, updated_at,
				arrival)
			select @team, r.id, r."uniqueRef", r."accountId", r.date, r.status, r.type, r.amount, r.balance, r.description, r.source, @now, @now,
				(extract(epoch from @now::timestamptz) * 1000)::bigint * 1048576 + r.ordinality
			from rows from (jsonb_to_recordset(@rows) as (id uuid, "uniqueRef" text, "accountId" uuid, date date, status text, type text, amount bigint, balance bigint,
				description text, source text)) with ordinality r
			order by r."uniqueRef", r.ordinality
			on conflict (team_id, unique_ref) do nothing returning team_id, id, status
		), leftout as (
			insert into account_excluded_record (team_id, bank_record_id) select team_id, id from kept where status = 'inactive')
		select id from kept`, db.Args{"team": tx.Team, "now": tx.Now, "rows": records})
	if err != nil {
		return nil, fmt.Errorf("insert bank records: %w", err)
	}

	// Then sort the records into new and known ones.
	isNew := make(map[id.ID]bool, len(inserted))
	for _, v := range inserted {
		isNew[v] = true
	}

	if err := checkReach(ctx, tx, named, "data"); err != nil {
		return nil, err
	}

	out := &batchResult{ids: []id.ID{}, known: []Known{}}

	var rest []batchRecord

	for i := range records {
		if !isNew[records[i].ID] {
			rest = append(rest, batchRecord{i, &records[i]})
			continue
		}

		out.ids = append(out.ids, records[i].ID)
		note(tx, nil, &records[i])
	}

	// The records that were not inserted have references that exist.
	out.known, err = loadExisting(ctx, tx, rest)

	return out, err
}

// checkReach refuses movements with which the balance of an account could leave the range of exact JSON numbers on
// any day. It fails with 400 and the issue range at a path of the body.
func checkReach(ctx context.Context, tx *db.Tx, accounts []id.ID, at ...any) error {
	// The bound is on the sum of the magnitudes of all days: it holds for every day.
	beyond, err := db.Get[bool](ctx, tx, `
		select exists (
			select from account a cross join lateral (
				select sum(abs(n.cents)) as cents from (
					select sum(d.cents) as cents from bank_day d where d.team_id = @team and d.account_id = a.id group by d.day) n) d
			where a.team_id = @team and a.id = any(@accounts) and d.cents + abs(coalesce(a.banking_opening, 0)) > @most::bigint)`,
		db.Args{"team": tx.Team, "accounts": accounts, "most": money.MaxCents})
	if err != nil {
		return fmt.Errorf("add up what bank records move: %w", err)
	}

	if beyond {
		return apierr.BadRequest.At(apierr.IssueRange.InBody(at...))
	}

	return nil
}

// Add inserts records and returns their ids in the order of the data. Bank rules are not applied to them. It fails
// with the issues of made, and for a reference that the team has already.
func Add(ctx context.Context, tx *db.Tx, data []Create) ([]id.ID, error) {
	landed, err := insertAll(ctx, tx, data)
	if err != nil {
		return nil, err
	}

	if len(landed.known) > 0 {
		return nil, errDuplicateUniqueRef.At(
			apierr.IssueDuplicateUniqueRef.InBody("data", landed.known[0].Index, "uniqueRef"),
		)
	}

	return landed.ids, nil
}

// batchRecord is a record of a batch and its place there.
type batchRecord struct {
	index  int
	record *storedRecord
}

// loadExisting loads the stored records that have the references of the given ones, with the fields in which they
// differ.
func loadExisting(ctx context.Context, tx *db.Tx, given []batchRecord) ([]Known, error) {
	out := make([]Known, len(given))
	if len(given) == 0 {
		return out, nil
	}

	refs := make([]string, len(given))
	for i, g := range given {
		refs[i] = *g.record.UniqueRef
	}

	found, err := db.Select[storedRecord](ctx, tx, `
		select r.id, r.unique_ref, r.date, r.status, r.description, r.account_id, r.source, r.type, r.amount, r.balance, `+Currency+` as currency
		from bank_record r join team k on k.team_id = r.team_id left join account a on a.team_id = r.team_id and a.id = r.account_id
		where r.team_id = @team and r.unique_ref = any(@refs)`, db.Args{"team": tx.Team, "refs": refs})
	if err != nil {
		return nil, fmt.Errorf("read known bank records: %w", err)
	}

	// A reference is unique in the team, so it names one record.
	byRef := make(map[string]*storedRecord, len(found))
	for i := range found {
		byRef[*found[i].UniqueRef] = &found[i]
	}

	for i, g := range given {
		known := byRef[*g.record.UniqueRef]
		if known == nil { // It was deleted meanwhile.
			return nil, errDuplicateUniqueRef.At(apierr.IssueDuplicateUniqueRef.InBody("data", g.index, "uniqueRef"))
		}

		out[i] = Known{
			Index:     g.index,
			ID:        known.ID,
			UniqueRef: *g.record.UniqueRef,
			Differs:   known.differences(g.record),
		}
	}

	return out, nil
}

// saveChange changes a record and reports whether bank rules have to be applied to it: it was brought back, or moved to
// another account. It fails with apierr.NotFound, the issues of apply and the refusals of may.
func saveChange(ctx context.Context, tx *db.Tx, record id.ID, u *Update) (offered bool, err error) {
	// First lock the record, its account and the one that it moves to.
	accounts, h, err := lockRecord(ctx, tx, record, u.AccountID)
	if err != nil {
		return false, err
	}

	on := h.AccountID
	if u.AccountID != nil {
		on = u.AccountID
	}

	var a *chartAccount
	if on != nil {
		a = accounts[*on]
	}

	// Then apply the change and see whether it is allowed.
	to, leftOut, err := u.apply(h, a)
	if err != nil {
		return false, err
	}

	if h.equal(&to) {
		return false, nil
	}

	if err := h.checkChange(&to); err != nil {
		return false, err
	}

	// Last, write it. The mark says that the account's first day excluded the record, not a person.
	_, err = tx.Exec(ctx, `
		with mark as (insert into account_excluded_record (team_id, bank_record_id) select @team, @id where @leftOut::boolean on conflict do nothing),
			unmark as (delete from account_excluded_record where team_id = @team and bank_record_id = @id and not @leftOut::boolean)
		update bank_record set unique_ref = @ref, account_id = @account, date = @date, status = @status, amount = @amount, balance = @balance,
			description = @description, updated_at = @now where team_id = @team and id = @id`,
		db.Args{
			"team":        tx.Team,
			"id":          record,
			"now":         tx.Now,
			"leftOut":     leftOut,
			"ref":         to.UniqueRef,
			"account":     to.AccountID,
			"date":        to.Date,
			"status":      to.Status,
			"amount":      to.Amount,
			"balance":     to.Balance,
			"description": to.Description,
		})
	if db.Constraint(err) == "bank_record_unique_ref" {
		return false, errDuplicateUniqueRef.At(apierr.IssueDuplicateUniqueRef.InBody("uniqueRef"))
	}

	if err != nil {
		return false, fmt.Errorf("change a bank record: %w", err)
	}

	if to.AccountID != nil {
		if err := checkReach(ctx, tx, []id.ID{*to.AccountID}, "amount"); err != nil {
			return false, err
		}
	}

	note(tx, &h.storedRecord, &to)

	return to.Status == Active && (h.Status != Active || !same(h.AccountID, to.AccountID)), nil
}

// deleteRecord deletes a record that came in a file. It fails with apierr.NotFound and the refusals of may.
func deleteRecord(ctx context.Context, tx *db.Tx, record id.ID) error {
	_, h, err := lockRecord(ctx, tx, record, nil)
	if err != nil {
		return err
	}

	// A nil change is the deletion.
	if err := h.checkChange(nil); err != nil {
		return err
	}

	if _, err := tx.Exec(ctx, `delete from bank_record where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": record}); err != nil {
		return fmt.Errorf("delete a bank record: %w", err)
	}

	note(tx, &h.storedRecord, nil)

	return nil
}

// note writes the audit event of a record.
func note(tx *db.Tx, before, after *storedRecord) {
	switch {
	case before == nil:
		audit.Note(
			tx, audit.Created, audit.BankRecord, after.ID, nil, after,
			audit.Ref(audit.RoleAccount, audit.Account, after.AccountID),
		)
	case after == nil:
		audit.Note(
			tx, audit.Deleted, audit.BankRecord, before.ID, before, nil,
			audit.Ref(audit.RoleAccount, audit.Account, before.AccountID),
		)
	default:
		audit.Note(
			tx, audit.Updated, audit.BankRecord, after.ID, before, after,
			audit.Ref(audit.RoleAccount, audit.Account, before.AccountID),
			audit.Ref(audit.RoleAccount, audit.Account, after.AccountID),
		)
	}
}

// lockAccounts keeps accounts, and the account of a record if one is given, from being changed and from getting
// another first day until the transaction ends. Other writers of their records do not wait. Accounts are locked
// before records, as in Attach.
func lockAccounts(ctx context.Context, tx *db.Tx, ids []id.ID, record *id.ID) (map[id.ID]*chartAccount, error) {
	args, of := db.Args{"team": tx.Team, "ids": ids}, ""
	if record != nil {
		args["record"], of = *record, " union select account_id from bank_record where team_id = @team and id = @record"
	}

	found, err := db.Select[chartAccount](ctx, tx, `
		select a.id, a.type, a.status, coalesce(a.banking_currency, k.default_currency) as currency, a.banking_opening_at as first
		from account a join team k on k.team_id = a.team_id
		where a.team_id = @team and a.id in (select unnest(@ids::uuid[])`+of+`) order by a.id for share of a`, args)
	if err != nil {
		return nil, fmt.Errorf("hold the accounts of bank records: %w", err)
	}

	out := make(map[id.ID]*chartAccount, len(found))
	for i := range found {
		out[found[i].ID] = &found[i]
	}

	return out, nil
}

// lockRecord locks a record, its account and the one that it moves to until the transaction ends. It fails with
// apierr.NotFound.
func lockRecord(
	ctx context.Context, tx *db.Tx,
	record id.ID,
	to *id.ID,
) (accounts map[id.ID]*chartAccount, h *lockedRecord, err error) {
	named := []id.ID{}
	if to != nil {
		named = append(named, *to)
	}

	h = &lockedRecord{}

	// All three in one round trip, in the order in which they lock.
	err = tx.Together(ctx,
		// Whoever moves the record to another account takes turns with the others that do: the account that is held is
		// the one that it is on.
		db.Send(db.Stmt{SQL: `select pg_advisory_xact_lock(hashtextextended('bank record ' || @id::uuid::text, 0))`, Args: db.Args{"id": record}}),
		func(ctx context.Context, tx *db.Tx) (err error) {
			accounts, err = lockAccounts(ctx, tx, named, &record)
			return err
		},
		func(ctx context.Context, tx *db.Tx) error { return h.lockAndLoad(ctx, tx, record) },
	)
	if err != nil {
		return nil, nil, err
	}

	// Attaching and detaching may have moved it since its account was looked up. Two transactions that wait for each
	// other because of that are run again.
	if h.AccountID != nil && accounts[*h.AccountID] == nil {
		accounts, err = lockAccounts(ctx, tx, append(named, *h.AccountID), nil)
	}

	return accounts, h, err
}

// lockAndLoad locks the record and loads it. Its state is loaded by a statement of its own, which sees everything that
// was done to the record until it was locked.
func (h *lockedRecord) lockAndLoad(ctx context.Context, tx *db.Tx, record id.ID) (err error) {
	args := db.Args{"team": tx.Team, "id": record}

	h.storedRecord, err = db.One[storedRecord](ctx, tx, apierr.NotFound, `
		select r.id, r.unique_ref, r.date, r.status, r.description, r.account_id, r.source, r.type, r.amount, r.balance, `+Currency+` as currency
		from bank_record r join team k on k.team_id = r.team_id left join account a on a.team_id = r.team_id and a.id = r.account_id
		where r.team_id = @team and r.id = @id for update of r`, args)
	if err != nil {
		return fmt.Errorf("hold a bank record: %w", err)
	}

	h.state, err = db.Get[state](ctx, tx, `
		select r.matched_by_bank_rule is not null as matched_by_bank_rule,
			exists (select from bank_reconciliation n where n.team_id = r.team_id and n.bank_record_id = r.id) as reconciled,
			exists (select from account_excluded_record x where x.team_id = r.team_id and x.bank_record_id = r.id) as left_out
		from bank_record r where r.team_id = @team and r.id = @id`, args)
	if err != nil {
		return fmt.Errorf("read what a bank record is made of: %w", err)
	}

	return nil
}
