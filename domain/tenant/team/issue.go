package team

import (
	"context"
	"fmt"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// need is an assignment that journals of a team t need under a condition.
type need struct {
	assignment string
	condition  string
	// accounts selects the accounts that make it necessary; empty for none.
	accounts string
}

const operatingAccounts = `account a where a.team_id = t.id and a.banking_category = 'operating' and a.status = 'active'`

// neededAssignments are in the order in which the issue unassignedAccount names them.
var neededAssignments = []need{
	{"accountsPayable", "true", ""},
	{"accountsReceivable", "true", ""},
	{"deferredRevenue", "exists (select from reservation_line_mapping m where m.team_id = t.id and m.revenue_recognition is not null)", ""},
	{"deposit_coHostPayout", "exists (select from listing_ownership_period p where p.team_id = t.id and p.business_model <> 'managed')", ""},
	{"dueToFromTrust", "exists (select from " + operatingAccounts + ")", "select a.id from " + operatingAccounts + " order by a.id"},
	{"expense_salesTax", "exists (select from tax_rate r where r.team_id = t.id and r.status = 'active')", ""},
	{"openingBalance", "true", ""},
	{"payout_bankAccount", "true", ""},
	{"payout_distribution", "true", ""},
}

// needsSQL returns the rows of neededAssignments: position, assignment, needed and accounts.
func needsSQL() string {
	rows := make([]string, len(neededAssignments))
	for i, n := range neededAssignments {
		accounts := "'{}'::uuid[]"
		if n.accounts != "" {
			accounts = "array(" + n.accounts + ")"
		}

		rows[i] = fmt.Sprintf("(%d, '%s', %s, %s)", i+1, n.assignment, n.condition, accounts)
	}

	return strings.Join(rows, ", ")
}

// The rows of issues of a team t.
const (
	ownerlessEntries = `ledger_entry e
		where e.team_id = t.id and e.party = 'owners' and e.ownership_period_id is null and e.status = 'active' and e.ledger in ('trust', 'operating')`
	heldDates         = `transaction_held_back h where h.team_id = t.id and h.status = 'active'`
	heldDeactivations = `listing_ownership_period h where h.team_id = t.id and h.deactivation_held is not null`
)

const keepsBooks = `t.is_general_ledger and t.type = 'propertyManager'`

// mayHaveIssues is false for a team t without issues. It looks for one row of each kind and at how many of the
// needed assignments an account has, because nearly all teams have none of the issues, and finding what they show
// costs ten times as much.
var mayHaveIssues = `(` + keepsBooks + ` and (t.statement_start_at is null
	or (select count(*) from account_assignment s where s.team_id = t.id and s.assignment = any('{` + needsList() + `}'::text[])) < ` + fmt.Sprint(len(neededAssignments)) + `
	or exists (select from ` + ownerlessEntries + `) or exists (select from ` + heldDates + `) or exists (select from ` + heldDeactivations + `)))`

// needsList returns the names of neededAssignments, separated by commas.
func needsList() string {
	names := make([]string, len(neededAssignments))
	for i, n := range neededAssignments {
		names[i] = n.assignment
	}

	return strings.Join(names, ",")
}

// loadOwnIssues loads the issues of teams themselves.
func loadOwnIssues(ctx context.Context, tx *db.Tx, teams []id.ID) (map[id.ID][]finding.Finding, error) {
	type row struct {
		ID     id.ID
		Issues []finding.Finding
	}

	found, err := db.Select[row](ctx, tx, `select t.id, `+issues+` as issues from team t where t.team_id = any(@teams::uuid[])`, db.Args{"teams": teams})
	if err != nil {
		return nil, fmt.Errorf("read the issues of teams: %w", err)
	}

	out := make(map[id.ID][]finding.Finding, len(found))
	for _, r := range found {
		out[r.ID] = r.Issues
	}

	return out, nil
}

// issues are those of the team t. A team that keeps no books has none.
//
// The issue unassignedAccount names the assignments that journals of this team need and no account has: those that
// every team needs, and those that its settings make necessary. Its context.accountIds are the accounts that make them
// necessary. The issue statementStartMissing says that neither owner statements nor the general ledger have a first
// day. The issue ownershipPeriodMissing shows amounts of owners on days without an ownership period: context.amounts by
// currency, positive for amounts owed to owners, with the number of stays and other sources, and up to 100 of the
// stays. The issue recurringDatesHeldBack counts the due dates of active recurring templates that were refused;
// context.recurringTemplateIds are up to 100 of the templates. The issue listingDeactivationHeld counts the ownership
// periods after which the listing should be inactive and cannot be; context.listingIds are up to 100 listings.
var issues = `case when ` + keepsBooks + ` then (
	with missing as (
		select n.position, n.assignment, n.accounts from (values ` + needsSQL() + `) n (position, assignment, needed, accounts)
		where n.needed and not exists (select from account_assignment s where s.team_id = t.id and s.assignment = n.assignment)
	), ownerless as (
		select e.source_id, e.reservation_id, e.currency, e.cent_total from ` + ownerlessEntries + `
	)
	select coalesce((select jsonb_agg(jsonb_build_object('code', i.code, 'severity', i.severity, 'context', i.context) order by i.n) from (
		select 1 as n, 'unassignedAccount' as code, 'error' as severity, jsonb_build_object(
			'assignments', (select jsonb_agg(m.assignment order by m.position) from missing m),
			'accountIds', (select coalesce(jsonb_agg(a.id), '[]') from missing m, unnest(m.accounts) a (id))) as context
			where exists (select from missing)
		union all select 2, 'statementStartMissing', 'warning', '{}'::jsonb where t.statement_start_at is null
		union all select 3, 'ownershipPeriodMissing', 'error', jsonb_build_object(
			'count', (select count(*) from (select distinct source_id from ownerless) o),
			'amounts', (select jsonb_agg(jsonb_build_object('currency', currency, 'centTotal', cents) order by currency) from (
				select currency, -sum(cent_total)::bigint as cents from ownerless group by currency) o),
			'reservationIds', (select coalesce(jsonb_agg(reservation_id), '[]') from (
				select distinct reservation_id from ownerless where reservation_id is not null order by reservation_id limit 100) o))
			where exists (select from ownerless)
		union all select 4, 'recurringDatesHeldBack', 'warning', jsonb_build_object(
			'count', count(*),
			'recurringTemplateIds', (select jsonb_agg(h.template_id) from (
				select distinct h.template_id from ` + heldDates + ` order by 1 limit 100) h))
			from ` + heldDates + ` having count(*) > 0
		union all select 5, 'listingDeactivationHeld', 'warning', jsonb_build_object(
			'count', count(*),
			'listingIds', (select jsonb_agg(h.listing_id) from (select distinct h.listing_id from ` + heldDeactivations + ` order by 1 limit 100) h))
			from ` + heldDeactivations + ` having count(*) > 0
	) i), '[]'))
	else '[]'::jsonb end`
