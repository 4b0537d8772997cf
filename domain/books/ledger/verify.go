package ledger

import (
	"fmt"
	"strings"

	"stayledger/platform/parts"
)

// checks returns the facts about entries that an operator can have verified. Triggers keep them while the service works, and
// nothing keeps them in a database that was put back or changed by hand.
func checks() []parts.Check {
	const count = `select count(*) from ledger_entry`

	all := []parts.Check{
		parts.SQLCheck("postings", "each posting sums to zero per ledger and currency", "ledger_entry", count, `
			select team_id, source_id || ' ' || txn_code as id, concat_ws(' ', ledger, currency, 'sums to', sum(cent_total), 'cents') as detail
			from ledger_entry where not (ledger = 'historical' and statement_id is not null)
			group by team_id, source_id, txn_code, ledger, currency, status having sum(cent_total) <> 0`),
		parts.SQLCheck("entries", "each entry names records of its own team", "ledger_entry", count, strayEntriesSQL()),
	}

	for _, k := range keptSums {
		all = append(all, parts.SQLCheck(strings.ReplaceAll(k.view, "_", "-"), "the kept sums of "+k.view+" are those of the entries", k.view,
			`select count(*) from `+k.view, k.differencesSQL()))
	}

	return append(all,
		parts.SQLCheck("ledger-source", "what is kept of each source is what its entries say", "ledger_source", `select count(*) from ledger_source`, sourceDifferencesSQL),
		parts.SQLCheck("ledger-unsettled", "each stay on which something is open is kept as unsettled", "ledger_unsettled",
			`select count(*) from ledger_unsettled`, missingUnsettledSQL),
		parts.SQLCheck("ledger-guest-settled", "what is kept of stays that guests owe nothing on is what their entries say", "ledger_guest_settled",
			`select count(*) from ledger_guest_settled`, guestDifferencesSQL),
		parts.SQLCheck("ledger-guest", "the kept sums of guests are those of the settled stays", "ledger_guest_kept",
			`select count(*) from ledger_guest_kept`, guestSumDifferencesSQL),
	)
}

// sourceDifferencesSQL selects the sources of which something else is kept than their entries say.
const sourceDifferencesSQL = `select team_id, source_id::text as id, concat('kept ', (k.first_at, k.owned_from, k.period_ids, k.statement_ids),
		', entries ', (e.first_at, e.owned_from, e.period_ids, e.statement_ids)) as detail
	from (select team_id, source_id, min(txn_at) as first_at, min(txn_at) filter (where party = 'owners') as owned_from,
			coalesce(array_agg(distinct ownership_period_id) filter (where party = 'owners' and ownership_period_id is not null), '{}') as period_ids,
			coalesce(array_agg(distinct statement_id) filter (where statement_id is not null), '{}') as statement_ids
		from ledger_entry where status = 'active' and ledger <> 'historical' group by 1, 2) e
	full join ledger_source k using (team_id, source_id)
	where (e.first_at, e.owned_from, e.period_ids, e.statement_ids) is distinct from (k.first_at, k.owned_from, k.period_ids, k.statement_ids)`

// missingUnsettledSQL selects the stays that owners earn something by and on which guests owe or are owed something, and
// which are not kept.
const missingUnsettledSQL = `select o.team_id, o.reservation_id::text as id, concat('ownership period ', o.ownership_period_id, ', ', g.cents, ' cents') as detail
	from (select distinct team_id, ownership_period_id, reservation_id from ledger_entry where party = 'owners' and ownership_period_id is not null
		and reservation_id is not null and status = 'active' and ledger <> 'historical') o
	join (select e.team_id, e.reservation_id, e.currency, sum(e.cent_total) as cents from ledger_entry e
			join account_assignment a on a.team_id = e.team_id and a.account_id = e.account_id and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')
		where e.status = 'active' and e.ledger <> 'historical' group by 1, 2, 3 having sum(e.cent_total) <> 0) g
		using (team_id, reservation_id)
	where not exists (select from ledger_unsettled u where u.team_id = o.team_id and u.ownership_period_id = o.ownership_period_id
		and u.reservation_id = o.reservation_id)`

// guestDifferencesSQL selects the stays that are not noted as changed, and of which something else is kept than their
// entries say.
const guestDifferencesSQL = `select d.team_id, concat_ws(' ', d.stay_id, d.txn_code) as id, d.detail
	from (select team_id, stay_id, txn_code, concat('kept ', (k.status, k.cents), ', entries ', (e.status, e.cents, e.owed)) as detail from (select e.team_id, coalesce(e.reservation_id, e.source_id) as stay_id, case when e.reservation_id is null then e.txn_code else '' end as txn_code,
			e.currency, coalesce(e.listing_id, '00000000-0000-0000-0000-000000000000') as listing_id,
			case when e.reservation_id is null then 'unassigned' when r.status = 'booked' then 'departed' else 'cancelled' end as status,
			coalesce(sum(e.cent_total) filter (where e.transaction_id is null), 0) as cents, sum(e.cent_total) as owed
		from ledger_entry e
		join account c on c.team_id = e.team_id and c.id = e.account_id and c.type <> 'bank'
		left join reservation r on r.team_id = e.team_id and r.id = e.reservation_id
		where e.status = 'active' and e.ledger = 'trust' and exists (select from account_assignment a
			where a.team_id = e.team_id and a.account_id = e.account_id and a.assignment in ('accountsReceivable', 'deposit_coHostPayout'))
		group by 1, 2, 3, 4, 5, 6) e
	full join ledger_guest_settled k using (team_id, stay_id, txn_code, currency, listing_id)
	where (e.status, e.cents, e.owed) is distinct from (k.status, k.cents, 0)) d
	where not exists (select from ledger_guest g where g.team_id = d.team_id and g.stay_id = d.stay_id and g.txn_code = d.txn_code)`

// guestSumDifferencesSQL selects the sums of guests that are not those of the settled stays.
const guestSumDifferencesSQL = `select team_id, concat_ws(' ', currency, status, listing_id) as id, concat('kept ', k.cents, ', stays ', s.cents) as detail
	from ledger_guest_kept k
	full join (select team_id, currency, status, listing_id, sum(cents) as cents from ledger_guest_settled group by 1, 2, 3, 4) s
		using (team_id, currency, status, listing_id)
	where coalesce(k.cents, 0) <> coalesce(s.cents, 0)`

// references are the columns of entries that name a record, each with its table. The database has no foreign keys for
// them, because postings are written and removed whole.
var references = []struct{ column, table string }{
	{"account_id", "account"},
	{"contact_id", "contact"},
	{"listing_id", "listing"},
	{"ownership_period_id", "listing_ownership_period"},
	{"recurring_fee_id", "fee"},
	{"reservation_id", "reservation"},
	{"transaction_id", "transaction"},
	{"statement_id", "statement"},
}

// referenceColumns returns the columns of entries that name a record of a table, as table.column.
func referenceColumns(table string) (out []string) {
	for _, r := range references {
		if r.table == table {
			out = append(out, "ledger_entry."+r.column)
		}
	}

	return out
}

// strayEntriesSQL selects the entries that name a record which their team does not have.
func strayEntriesSQL() string {
	selects := make([]string, len(references))
	for i, r := range references {
		selects[i] = fmt.Sprintf(`select e.team_id, e.id::text as id, '%[1]s ' || e.%[1]s || ' is no %[2]s of the team' as detail
			from ledger_entry e left join %[2]s r on r.team_id = e.team_id and r.id = e.%[1]s where e.%[1]s is not null and r.id is null`,
			r.column, r.table)
	}

	return strings.Join(selects, " union all ")
}

// keptSum is a view of kept sums with the notes that wait to be folded, as sums of active entries.
type keptSum struct {
	view string
	// keys are the columns that sums are kept by, and sums the columns with the amounts.
	keys, sums []string
	// only is the condition of the entries that are added up; empty takes all.
	only string
}

var keptSums = []keptSum{
	{view: "ledger_balance", keys: []string{"ledger", "currency", "account_id", "party", "listing_id", "month"}, sums: []string{"debit", "credit", "entries"}},
	{view: "ledger_month", keys: []string{"ledger", "currency", "account_id", "party", "month"}, sums: []string{"debit", "credit", "entries"}},
	{view: "ledger_day", keys: []string{"ledger", "currency", "account_id", "party", "day"}, sums: []string{"debit", "credit", "entries"}},
	{
		view: "ledger_owner", keys: []string{"ownership_period_id", "currency", "month", "account_id", "expense"}, sums: []string{"cents", "entries"},
		only: `party = 'owners' and ownership_period_id is not null`,
	},
}

// summedSQL has the entries that sums are kept of, with the columns of all views. An empty party and the zero id are for
// none, as in the views.
const summedSQL = `select team_id, ledger, currency, account_id, coalesce(party, '') as party, ownership_period_id,
		coalesce(listing_id, '00000000-0000-0000-0000-000000000000') as listing_id, txn_at as day, date_trunc('month', txn_at)::date as month,
		party is not distinct from 'owners' and trigger_type = 'expense' as expense,
		greatest(cent_total, 0) as debit, greatest(-cent_total, 0) as credit, cent_total as cents, 1 as entries
	from ledger_entry where status = 'active' and ledger <> 'historical'`

// differencesSQL selects the sums that differ from those of the entries.
func (k *keptSum) differencesSQL() string {
	added, isAny, entries, kept := make([]string, len(k.sums)), make([]string, len(k.sums)), make([]string, len(k.sums)), make([]string, len(k.sums))
	for i, s := range k.sums {
		added[i], isAny[i] = "sum("+s+") as "+s, "sum("+s+") <> 0"
		entries[i], kept[i] = "coalesce(e."+s+", 0)", "coalesce(k."+s+", 0)"
	}

	// Both sides are grouped alike; sums of nothing can be missing on either.
	keys := strings.Join(k.keys, ", ")
	group := func(rows, only string) string {
		if only != "" {
			only = " where " + only
		}

		return "(select team_id, " + keys + ", " + strings.Join(added, ", ") + " from " + rows + only + " group by team_id, " + keys +
			" having " + strings.Join(isAny, " or ") + ")"
	}
	e, v := strings.Join(entries, ", "), strings.Join(kept, ", ")

	return fmt.Sprintf(`select team_id, concat_ws(' ', %s) as id, concat('kept ', concat_ws('/', %s), ', entries ', concat_ws('/', %s), ' (%s)') as detail
		from %s e full join %s k using (team_id, %s) where (%s) is distinct from (%s)`,
		keys, v, e, strings.Join(k.sums, "/"), group("("+summedSQL+") s", k.only), group(k.view, ""), keys, e, v)
}
