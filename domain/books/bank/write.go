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

// recordTable has the columns of a bank record. A record without an account has its own currency. Records arrive one
// after the other, also within a transaction.
var recordTable = db.NewTable[draft]("bank_record", `
	id uuid key, unique_ref text, account_id uuid, bank_account_id uuid fixed, connection_id uuid fixed, currency text fixed, date date, status text,
	type text fixed, amount bigint, balance bigint, description text, source text fixed, position bigint sent, arrival bigint computed fixed,
	created_at now fixed, updated_at now`).
	Compute("currency", "case when r.account_id is null then r.currency end").
	Compute("arrival", "(extract(epoch from @now::timestamptz) * 1000)::bigint * 1048576 + r.position")

// insertRecords inserts new records, in the order given, and marks the saved records: a record is not saved if the team
// has its reference already.
func insertRecords(ctx context.Context, tx *db.Tx, made []*draft) error {
	if len(made) == 0 {
		return nil
	}

	for i, d := range made {
		d.Position = int64(i) + 1
	}

	// Callers who wait for each other's references wait in the order of the references.
	insert := recordTable.Insert(tx, made...)

	inserted, err := db.Select[id.ID](ctx, tx, `
		with kept as (`+insert.SQL+` order by r.unique_ref, r.position
			on conflict (team_id, unique_ref) do nothing returning team_id, id, status
		), leftout as (
			insert into account_excluded_record (team_id, bank_record_id) select team_id, id from kept where status = 'inactive')
		select id from kept`, insert.Args)
	if err != nil {
		return fmt.Errorf("insert bank records: %w", err)
	}

	isNew := make(map[id.ID]bool, len(inserted))
	for _, v := range inserted {
		isNew[v] = true
	}

	for _, d := range made {
		d.saved = isNew[d.ID]
	}

	return nil
}

// updateRecords writes changed records. It fails with errDuplicateUniqueRef.
func updateRecords(ctx context.Context, tx *db.Tx, changed []*draft) error {
	if len(changed) == 0 {
		return nil
	}

	var leftOut, others []id.ID

	for _, d := range changed {
		if d.LeftOut {
			leftOut = append(leftOut, d.ID)
		} else {
			others = append(others, d.ID)
		}
	}

	// The mark says that the account's first day excluded the record, not a person.
	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `insert into account_excluded_record (team_id, bank_record_id) select @team, i from unnest(@ids::uuid[]) i
				on conflict do nothing`,
			Args: db.Args{"team": tx.Team, "ids": leftOut},
		},
		db.Stmt{
			SQL:  `delete from account_excluded_record where team_id = @team and bank_record_id = any(@ids::uuid[])`,
			Args: db.Args{"team": tx.Team, "ids": others},
		},
		recordTable.Update(tx, changed...))
	if db.Constraint(err) == "bank_record_unique_ref" {
		return errDuplicateUniqueRef.At(apierr.IssueDuplicateUniqueRef.InBody("uniqueRef")).Because(err)
	}

	if err != nil {
		return fmt.Errorf("change bank records: %w", err)
	}

	return nil
}

// checkReach refuses movements with which the balance of an account could leave the range of exact JSON numbers on
// any day. It fails with 400 and the issue range at a path of the body.
func checkReach(ctx context.Context, tx *db.Tx, accounts []id.ID, at ...any) error {
	if len(accounts) == 0 {
		return nil
	}

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
// with the issues of newRecord, and for a reference that the team has already.
func Add(ctx context.Context, tx *db.Tx, data []Create) ([]id.ID, error) {
	s, err := saveAll(ctx, tx, newItems(data))
	if err != nil {
		return nil, err
	}

	ids := make([]id.ID, len(s.out))

	for i := range s.out {
		if s.out[i].Known != nil {
			return nil, errDuplicateUniqueRef.At(apierr.IssueDuplicateUniqueRef.InBody("data", i, "uniqueRef")).
				With(apierr.Duplicate{ID: s.out[i].Known.ID})
		}

		ids[i] = s.out[i].ID
	}

	return ids, nil
}

// newItems returns the items of a batch of new records.
func newItems(data []Create) []BatchItem {
	items := make([]BatchItem, len(data))
	for i := range data {
		items[i] = data[i].item()
		items[i].at = []any{"data", i}
	}

	return items
}

// loadExisting loads the stored records that have the references of the given ones, with the fields in which they
// differ.
func loadExisting(ctx context.Context, tx *db.Tx, given []*draft) ([]Known, error) {
	out := make([]Known, len(given))
	if len(given) == 0 {
		return out, nil
	}

	refs := make([]string, len(given))
	for i, d := range given {
		refs[i] = *d.UniqueRef
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

	for i, d := range given {
		known := byRef[*d.UniqueRef]
		if known == nil { // It was deleted meanwhile.
			return nil, errDuplicateUniqueRef.At(apierr.IssueDuplicateUniqueRef.InBody("data", d.place, "uniqueRef"))
		}

		out[i] = Known{
			Index:     d.place,
			ID:        known.ID,
			UniqueRef: *d.UniqueRef,
			Differs:   known.differences(&d.storedRecord),
		}
	}

	return out, nil
}

// deleteRecord deletes a record that came in a file. It fails with apierr.NotFound and the refusals of checkChange.
func deleteRecord(ctx context.Context, tx *db.Tx, record id.ID) error {
	_, found, err := lockToChange(ctx, tx, []id.ID{record}, nil)
	if err != nil {
		return err
	}

	h := found[record]
	if h == nil {
		return apierr.NotFound
	}

	// A nil change is the deletion.
	if err := h.checkChange(nil, false); err != nil {
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

// lockAccounts keeps accounts, and the accounts of records if any are given, from being changed and from getting
// another first day until the transaction ends. Other writers of their records do not wait. Accounts are locked
// before records, as in Attach.
func lockAccounts(ctx context.Context, tx *db.Tx, ids, records []id.ID) (map[id.ID]*chartAccount, error) {
	args, of := db.Args{"team": tx.Team, "ids": ids}, ""
	if len(records) > 0 {
		args["records"] = records
		of = " union select account_id from bank_record where team_id = @team and id = any(@records)"
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

// lockToChange locks records, their accounts and those that they move to until the transaction ends. A record that does
// not exist is left out.
func lockToChange(
	ctx context.Context, tx *db.Tx,
	ids, to []id.ID,
) (accounts map[id.ID]*chartAccount, records map[id.ID]*lockedRecord, err error) {
	ids = id.Distinct(ids)

	// All three in one round trip, in the order in which they lock.
	err = tx.Together(ctx,
		// Whoever moves a record to another account takes turns with the others that do: the lock is on the record's
		// current account.
		db.Send(db.Stmt{SQL: `select pg_advisory_xact_lock(hashtextextended('bank record ' || i::text, 0)) from unnest(@ids::uuid[]) i`, Args: db.Args{"ids": ids}}),
		func(ctx context.Context, tx *db.Tx) (err error) {
			accounts, err = lockAccounts(ctx, tx, to, ids)
			return err
		},
		func(ctx context.Context, tx *db.Tx) (err error) {
			records, err = lockAndLoad(ctx, tx, ids)
			return err
		},
	)
	if err != nil {
		return nil, nil, err
	}

	// Attaching and detaching may have moved one since its account was looked up. Two transactions that wait for each
	// other because of that are run again.
	moved := false

	for _, h := range records {
		if h.AccountID != nil && accounts[*h.AccountID] == nil {
			to, moved = append(to, *h.AccountID), true
		}
	}

	if moved {
		accounts, err = lockAccounts(ctx, tx, to, ids)
	}

	return accounts, records, err
}

// lockAndLoad locks records and loads them. Their state is loaded by a statement of its own, which sees everything that
// was done to them until they were locked.
func lockAndLoad(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]*lockedRecord, error) {
	return loadWithState(ctx, tx, ids, " order by r.id for update of r")
}

// loadWithState loads records with their state. Hold is SQL that locks them, empty for none.
func loadWithState(ctx context.Context, tx *db.Tx, ids []id.ID, hold string) (map[id.ID]*lockedRecord, error) {
	args := db.Args{"team": tx.Team, "ids": ids}

	found, err := db.Select[storedRecord](ctx, tx, `
		select r.id, r.unique_ref, r.date, r.status, r.description, r.account_id, r.source, r.type, r.amount, r.balance, `+Currency+` as currency
		from bank_record r join team k on k.team_id = r.team_id left join account a on a.team_id = r.team_id and a.id = r.account_id
		where r.team_id = @team and r.id = any(@ids)`+hold, args)
	if err != nil {
		return nil, fmt.Errorf("read bank records: %w", err)
	}

	type row struct {
		ID id.ID
		state
	}

	states, err := db.Select[row](ctx, tx, `
		select r.id, r.bank_account_id, r.matched_by_bank_rule is not null as matched_by_bank_rule,
			exists (select from bank_reconciliation n where n.team_id = r.team_id and n.bank_record_id = r.id) as reconciled,
			exists (select from account_excluded_record x where x.team_id = r.team_id and x.bank_record_id = r.id) as left_out
		from bank_record r where r.team_id = @team and r.id = any(@ids)`, args)
	if err != nil {
		return nil, fmt.Errorf("read what bank records are made of: %w", err)
	}

	out := make(map[id.ID]*lockedRecord, len(found))
	for i := range found {
		out[found[i].ID] = &lockedRecord{storedRecord: found[i]}
	}

	for i := range states {
		if h := out[states[i].ID]; h != nil {
			h.state = states[i].state
		}
	}

	return out, nil
}
