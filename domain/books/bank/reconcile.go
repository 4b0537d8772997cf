package bank

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Why a bank record is not reconciled with transactions.
var (
	ErrInactive   = apierr.New(apierr.CodeBadRequest, apierr.ReasonBankRecordInactive, "Bank record is excluded")
	ErrUnassigned = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonBankRecordUnassigned, "Bank record is not linked to a bank account",
	)
	ErrAmountMismatch = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonReconciliationAmountMismatch, "Bank record and transaction amounts differ",
	)
	ErrTransferMismatch = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonReconciliationTransferMismatch,
		"A transfer reconciles only to its source or destination bank record",
	)
	ErrElsewhere = apierr.New(
		apierr.CodeConflict, apierr.ReasonTransactionReconciledElsewhere,
		"Transaction is reconciled to another bank record",
	)
	ErrArchived = apierr.New(apierr.CodeBadRequest, apierr.ReasonTransactionInactive, "Transaction is archived")
)

// ReconcileErrors returns the conditions that Reconcile fails with.
func ReconcileErrors() apierr.List {
	return apierr.List{
		apierr.NotFound, ErrInactive, ErrUnassigned, ErrAmountMismatch, ErrTransferMismatch, ErrElsewhere, ErrArchived,
	}
}

// Match is a bank record and the transactions that make it up, besides those that it is reconciled with already.
type Match struct {
	RecordID id.ID
	Parts    []Portion
	// RuleID is the bank rule that found the match; nil for a person.
	RuleID *id.ID
}

// Portion is the part of a record that a transaction makes up.
type Portion struct {
	TransactionID id.ID
	// Cents is the amount of the part, positive into the account; nil for the whole amount that is on no record yet.
	Cents *money.Cents
}

// Refusal says why a match cannot be made.
type Refusal struct {
	Match int // its place among the matches
	Part  int // -1 for the record itself
	Err   *apierr.Error
	// Issue is the issue with the id of the record or the part, for an error that says nothing more.
	Issue apierr.IssueCode
}

// Reconcile makes the matches that can be made and gives the refusals of the others; of several matches of a record or
// a transaction, the later ones find what the earlier ones left. Transactions are held before records, each by id, so a
// transaction is neither changed nor derived meanwhile.
//
// A match is refused when the record is unknown or a stated balance, excluded (bankRecordInactive, RSN-08) or on no
// account (bankRecordUnassigned, RSN-13); when a transaction is unknown or archived; is a transfer that did not move
// this way on the account (reconciliationTransferMismatch, RSN-51); is on other records as a whole
// (transactionReconciledElsewhere, RSN-67); or when amounts differ (reconciliationAmountMismatch, RSN-50): a part is
// more than what is left of its transaction, or the parts more than what is open of the record, or less where no part
// says its cents.
func Reconcile(ctx context.Context, tx *db.Tx, matches []Match) ([]Refusal, error) {
	f, err := lockMatches(ctx, tx, matches)
	if err != nil {
		return nil, err
	}

	var (
		refusals []Refusal
		rows     []reconciliationRow
	)

	// The matches are made in order, in memory: each uses up what later ones can have.
	for i := range matches {
		made, refusal := f.addMatch(&matches[i])
		if refusal != nil {
			refusal.Match = i
			refusals = append(refusals, *refusal)

			continue
		}

		rows = append(rows, made...)
	}

	return refusals, f.saveRows(ctx, tx, rows)
}

// matchRecord is a record that is reconciled or freed.
type matchRecord struct {
	ID        id.ID
	AccountID *id.ID
	Status    Status
	Type      Type
	Amount    money.Cents
	Made      money.Cents
	RuleID    *id.ID
	Parts     []partView

	// before is its reconciliation as callers saw it.
	before reconciliationView
}

// partView is a part as callers see it.
type partView struct {
	ID     id.ID       `json:"id"`
	Amount money.Cents `json:"amount"`
}

type reconciliationView struct {
	Transactions      []partView `json:"transactions"`
	MatchedByBankRule *id.ID     `json:"matchedByBankRule"`
}

// view returns the reconciliation as the audit event shows it.
func (r *matchRecord) view() reconciliationView {
	return reconciliationView{slices.Clone(r.Parts), r.RuleID}
}

// leg is the amount that a transaction moved on an account, and the part of it that records of the account have.
type leg struct {
	TransactionID id.ID
	AccountID     *id.ID
	Type          string
	Status        string
	Moved         money.Cents
	Used          money.Cents
	RecordIDs     []id.ID
}

type legKey struct{ transaction, account id.ID }

// matchContext has the loaded records and transactions that matches are checked against.
type matchContext struct {
	records map[id.ID]*matchRecord
	types   map[id.ID]*leg // by transaction, whatever its account
	legs    map[legKey]*leg
	changed []id.ID
}

// reconciliationRow is a part of a record that a transaction or a manual journal makes.
type reconciliationRow struct {
	BankRecordID  id.ID
	TransactionID id.ID
	AccountID     id.ID
	CentTotal     money.Cents
	IsJournal     bool
}

// reconciliationTable has the columns of a reconciliation.
var reconciliationTable = db.NewTable[reconciliationRow]("bank_reconciliation",
	"bank_record_id uuid, transaction_id uuid, account_id uuid, cent_total bigint, is_journal boolean, created_at now")

// journalType is the type of a manual journal among transactions.
const journalType = "journal"

const heldRecords = `select r.id, r.account_id, r.status, r.type, r.amount, r.made, r.matched_by_bank_rule as rule_id,
	coalesce((select jsonb_agg(jsonb_build_object('id', n.transaction_id, 'amount', n.cent_total) order by n.transaction_id)
		from bank_reconciliation n where n.team_id = r.team_id and n.bank_record_id = r.id), '[]') as parts
	from bank_record r where r.team_id = @team and r.id = any(@ids) order by r.id`

// lockMatches locks the transactions and records of matches and loads the facts that these are checked against.
func lockMatches(ctx context.Context, tx *db.Tx, matches []Match) (*matchContext, error) {
	var records, transactions []id.ID
	for i := range matches {
		records = append(records, matches[i].RecordID)
		for _, p := range matches[i].Parts {
			transactions = append(transactions, p.TransactionID)
		}
	}

	// Transactions before records, each by id.
	if err := lockSources(ctx, tx, transactions); err != nil {
		return nil, err
	}

	held, err := lockRecords(ctx, tx, records)
	if err != nil {
		return nil, err
	}

	f := &matchContext{records: held, types: map[id.ID]*leg{}, legs: map[legKey]*leg{}}

	// Then load what each transaction moved on each bank account, and what of it is on records already.
	legs, err := db.Select[leg](ctx, tx, `
		select t.id as transaction_id, m.account_id, t.type, t.status, coalesce(m.moved, 0)::bigint as moved, coalesce(u.used, 0)::bigint as used,
			coalesce(u.records, '{}') as record_ids
		from (select id, team_id, type, status from transaction where team_id = @team and id = any(@ids)
			union all select id, team_id, 'journal', 'active' from journal where team_id = @team and id = any(@ids)) t
		left join lateral (
			select e.account_id, sum(e.cent_total) as moved from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
			where e.team_id = t.team_id and e.source_id = t.id and e.status = 'active' and e.ledger <> 'historical' and e.currency = coalesce(a.banking_currency, e.currency)
			group by e.account_id) m on true
		left join lateral (
			select sum(n.cent_total) as used, array_agg(n.bank_record_id order by n.bank_record_id) as records from bank_reconciliation n
			where n.team_id = t.team_id and n.transaction_id = t.id and n.account_id = m.account_id) u on true`, db.Args{"team": tx.Team, "ids": transactions})
	if err != nil {
		return nil, fmt.Errorf("read what transactions moved: %w", err)
	}

	for i := range legs {
		f.types[legs[i].TransactionID] = &legs[i]
		if legs[i].AccountID != nil {
			f.legs[legKey{legs[i].TransactionID, *legs[i].AccountID}] = &legs[i]
		}
	}

	return f, nil
}

// lockSources locks transactions and manual journals, each by id, so that they are neither changed nor derived
// meanwhile.
func lockSources(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	for _, table := range []string{"transaction", "journal"} {
		if _, err := tx.Exec(ctx, `select from `+table+` where team_id = @team and id = any(@ids) order by id for update`,
			db.Args{"team": tx.Team, "ids": ids}); err != nil {
			return fmt.Errorf("lock what makes up bank records: %w", err)
		}
	}

	return nil
}

// lockRecords locks records and loads them with their parts.
func lockRecords(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]*matchRecord, error) {
	if _, err := tx.Exec(ctx, `select from bank_record where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": ids}); err != nil {
		return nil, fmt.Errorf("hold bank records: %w", err)
	}

	// The parts are loaded after the lock, so that none is missing.
	found, err := db.Select[matchRecord](ctx, tx, heldRecords, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read bank records: %w", err)
	}

	out := make(map[id.ID]*matchRecord, len(found))
	for i := range found {
		found[i].before = found[i].view()
		out[found[i].ID] = &found[i]
	}

	return out, nil
}

// addMatch checks a match and notes the amounts that it uses up, or returns the refusal.
func (f *matchContext) addMatch(m *Match) ([]reconciliationRow, *Refusal) {
	refuse := func(part int, err *apierr.Error) ([]reconciliationRow, *Refusal) {
		return nil, &Refusal{Part: part, Err: err}
	}

	// The record itself must count and be on an account.
	r := f.records[m.RecordID]
	switch {
	case r == nil:
		return refuse(-1, apierr.NotFound)
	case r.Type != Movement:
		return nil, &Refusal{Part: -1, Err: apierr.BadRequest, Issue: apierr.IssueContradiction}
	case r.Status != Active:
		return refuse(-1, ErrInactive)
	case r.AccountID == nil:
		return refuse(-1, ErrUnassigned)
	}

	// First the parts: each transaction exists, is on the record once, and has enough left.
	rows, sum, exact := make([]reconciliationRow, len(m.Parts)), money.Cents(0), true
	for i, p := range m.Parts {
		switch source := f.types[p.TransactionID]; {
		case source == nil:
			return nil, &Refusal{Part: i, Err: apierr.BadRequest, Issue: apierr.IssueNotFound}
		case slices.ContainsFunc(r.Parts, func(o partView) bool { return o.ID == p.TransactionID }),
			slices.ContainsFunc(rows[:i], func(o reconciliationRow) bool { return o.TransactionID == p.TransactionID }):
			return nil, &Refusal{Part: i, Err: apierr.BadRequest, Issue: apierr.IssueUnique}
		}

		cents, err := f.computePart(r, p)
		if err != nil {
			return refuse(i, err)
		}

		exact = exact && p.Cents == nil
		isJournal := f.types[p.TransactionID].Type == journalType
		rows[i] = reconciliationRow{r.ID, p.TransactionID, *r.AccountID, cents, isJournal}
		sum += cents
	}

	// Without stated cents the parts must make up the record exactly; with them they may leave a rest.
	if open := r.Amount - r.Made; exact && sum != open || exceeds(sum, open) {
		return refuse(-1, ErrAmountMismatch.With(map[string]any{"bankRecordAmount": open, "transactionAmount": sum}))
	}

	// Last, note what the match uses up, for the matches after it.
	for _, row := range rows {
		l := f.legs[legKey{row.TransactionID, row.AccountID}]
		l.Used += row.CentTotal
		l.RecordIDs = append(l.RecordIDs, r.ID)
		r.Parts = append(r.Parts, partView{row.TransactionID, row.CentTotal})
	}

	slices.SortFunc(r.Parts, func(a, b partView) int { return a.ID.Compare(b.ID) })
	r.Made += sum
	r.RuleID = cmp.Or(r.RuleID, m.RuleID)
	f.changed = append(f.changed, r.ID)

	return rows, nil
}

// exceeds reports whether a part goes the other way than the rest, or further.
func exceeds(part, left money.Cents) bool {
	return part == 0 || (part > 0) != (left > 0) || max(part, -part) > max(left, -left)
}

// computePart returns how many cents of a record a transaction makes up that is not on it yet.
func (f *matchContext) computePart(r *matchRecord, p Portion) (money.Cents, *apierr.Error) {
	of, l := f.types[p.TransactionID], f.legs[legKey{p.TransactionID, *r.AccountID}]
	switch {
	case of.Status != string(Active):
		return 0, ErrArchived
	case of.Type == "transfer" && (l == nil || (l.Moved > 0) != (r.Amount > 0)):
		return 0, ErrTransferMismatch
	case l == nil:
		return 0, ErrAmountMismatch.With(
			map[string]any{"bankRecordAmount": r.Amount - r.Made, "transactionAmount": money.Cents(0)},
		)
	}

	// A transaction that is used up is on other records.
	left := l.Moved - l.Used
	if left == 0 && l.Used != 0 {
		return 0, ErrElsewhere.With(map[string]any{"bankRecordIds": l.RecordIDs[:min(len(l.RecordIDs), maxNamed)]})
	}

	if p.Cents == nil {
		return left, nil
	}

	// A part that would fit into the whole transaction fails because of the other records.
	if exceeds(*p.Cents, left) {
		if l.Used != 0 && !exceeds(*p.Cents, l.Moved) {
			return 0, ErrElsewhere.With(map[string]any{"bankRecordIds": l.RecordIDs[:min(len(l.RecordIDs), maxNamed)]})
		}

		return 0, ErrAmountMismatch.With(map[string]any{"bankRecordAmount": *p.Cents, "transactionAmount": left})
	}

	return *p.Cents, nil
}

// saveRows inserts the rows of matches and writes the audit events of the records.
func (f *matchContext) saveRows(ctx context.Context, tx *db.Tx, rows []reconciliationRow) error {
	if len(rows) == 0 {
		return nil
	}

	if err := tx.Pipeline(ctx, reconciliationTable.Insert(tx, db.Refs(rows)...)); err != nil {
		return fmt.Errorf("reconcile bank records: %w", err)
	}

	return f.saveRules(ctx, tx)
}

// saveRules saves which rule matched the changed records, and writes their audit events.
func (f *matchContext) saveRules(ctx context.Context, tx *db.Tx) error {
	rules := make([]*id.ID, len(f.changed))
	for i, recordID := range f.changed {
		rules[i] = f.records[recordID].RuleID
	}

	if _, err := tx.Exec(ctx, `
		update bank_record r set matched_by_bank_rule = n.rule, updated_at = @now from unnest(@ids::uuid[], @rules::uuid[]) n (id, rule)
		where r.team_id = @team and r.id = n.id`, db.Args{"team": tx.Team, "ids": f.changed, "rules": rules, "now": tx.Now}); err != nil {
		return fmt.Errorf("keep which rules matched bank records: %w", err)
	}

	for _, recordID := range f.changed {
		r := f.records[recordID]
		audit.Note(
			tx, audit.Updated, audit.BankRecord, recordID, r.before, r.view(),
			audit.Ref(audit.RoleAccount, audit.Account, *r.AccountID),
		)
	}

	return nil
}

// Free undoes the reconciliation of records with transactions, or for nil with all of theirs, and returns how many
// parts were removed. A record that a rule had matched is no longer matched by it. Journals that only the
// reconciliation kept as they were are derived again. Unknown records and parts are left out.
func Free(ctx context.Context, tx *db.Tx, records, transactions []id.ID) (int, error) {
	held, err := db.Select[id.ID](ctx, tx, `
		select distinct n.transaction_id from bank_reconciliation n where n.team_id = @team and n.bank_record_id = any(@records)
			and (@transactions::uuid[] is null or n.transaction_id = any(@transactions)) order by 1`,
		db.Args{"team": tx.Team, "records": records, "transactions": transactions})
	if err != nil {
		return 0, fmt.Errorf("find what makes up bank records: %w", err)
	}

	// Transactions are locked before records, as in Reconcile.
	if err := lockSources(ctx, tx, held); err != nil {
		return 0, err
	}

	f := &matchContext{}
	if f.records, err = lockRecords(ctx, tx, records); err != nil {
		return 0, err
	}

	gone, err := db.Select[reconciliationRow](ctx, tx, `
		delete from bank_reconciliation where team_id = @team and bank_record_id = any(@records) and transaction_id = any(@held)
		returning `+reconciliationTable.ColumnsSQL("bank_reconciliation", "created_at"), db.Args{"team": tx.Team, "records": records, "held": held})
	if err != nil || len(gone) == 0 {
		return 0, err
	}

	// Then update the records in memory, each once.
	for _, row := range gone {
		r := f.records[row.BankRecordID]
		r.Parts = slices.DeleteFunc(r.Parts, func(t partView) bool { return t.ID == row.TransactionID })

		r.RuleID = nil
		if !slices.Contains(f.changed, r.ID) {
			f.changed = append(f.changed, r.ID)
		}
	}

	if err := f.saveRules(ctx, tx); err != nil {
		return 0, err
	}

	// Last, derive the journals again that only the reconciliation held.
	listings, err := db.Select[id.ID](ctx, tx, `
		select listing_id from transaction_line where team_id = @team and transaction_id = any(@held) and listing_id is not null
		union select listing_id from journal_line where team_id = @team and journal_id = any(@held) and listing_id is not null order by 1 limit 1000`,
		db.Args{"team": tx.Team, "held": held})
	if err != nil {
		return 0, fmt.Errorf("find the listings of transactions: %w", err)
	}

	return len(gone), ledger.RetryReleased(ctx, tx, f.changed, listings)
}

// Movable is an amount that a transaction moved on a bank account and that no record of the account has: it can
// make up records.
type Movable struct {
	TransactionID id.ID
	AccountID     id.ID
	Currency      string
	Date          day.Day
	Cents         money.Cents
}

// ListMovables loads the movable amounts of accounts on some days, at most so many, the latest first.
func ListMovables(ctx context.Context, tx *db.Tx, d Days, most int) ([]Movable, error) {
	found, err := db.Select[Movable](ctx, tx, `
		select u.source_id as transaction_id, a.id as account_id, e.currency, min(e.txn_at) as date, sum(e.cent_total)::bigint as cents
		from unnest(@accounts::uuid[]) a (id)
		cross join lateral (`+OpenSourcesSQL("a.id", "'9999-12-31'::date")+`) u
		cross join lateral (
			select e.currency, e.txn_at, e.cent_total from ledger_entry e
			where e.team_id = @team and e.source_id = u.source_id and e.account_id is not distinct from a.id and e.status = 'active'
				and e.ledger <> 'historical' and e.source_id <> e.team_id`+db.Fence+`) e
		where not exists (select from bank_reconciliation n where n.team_id = @team and n.transaction_id = u.source_id and n.account_id is not distinct from a.id`+db.Fence+`) /* a search for each open source */
		group by 1, 2, 3 having sum(e.cent_total) <> 0 and min(e.txn_at) >= @from and min(e.txn_at) < @to
		order by 4 desc, 1 limit @most`,
		db.Args{"team": tx.Team, "accounts": d.Accounts, "from": d.From, "to": d.To, "most": most})
	if err != nil {
		return nil, fmt.Errorf("read what no bank record has: %w", err)
	}

	return found, nil
}
