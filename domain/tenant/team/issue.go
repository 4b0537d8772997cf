package team

import (
	"context"
	"fmt"
	"slices"
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

// issueKind is an issue that the team t itself can have.
type issueKind struct {
	code     string
	severity finding.Severity
	// suspected is a condition that costs little and holds for every team with the issue.
	suspected string
	// context selects what the issue shows, null if a suspected team does not have it. It is empty for an issue that
	// shows nothing and that every suspected team has.
	context string
}

// issueKinds are in the order in which teams show them. A team that keeps no books has none.
//
// The issue unassignedAccount names the assignments that journals of this team need and no account has: those that
// every team needs, and those that its settings make necessary. Its context.accountIds are the accounts that make them
// necessary. The issue statementStartMissing says that neither owner statements nor the general ledger have a first
// day. The issue ownershipPeriodMissing shows amounts of owners on days without an ownership period: context.amounts by
// currency, positive for amounts owed to owners, with the number of stays and other sources, and up to 100 of the
// stays. The issue recurringDatesHeldBack counts the due dates of active recurring templates that were refused;
// context.recurringTemplateIds are up to 100 of the templates. The issue listingDeactivationHeld counts the ownership
// periods after which the listing should be inactive and cannot be; context.listingIds are up to 100 listings.
var issueKinds = []issueKind{
	{"unassignedAccount", finding.Error, fmt.Sprintf(`(select count(*) from account_assignment s
		where s.team_id = t.id and s.assignment = any('{%s}'::text[])) < %d`, needsList(), len(neededAssignments)), `(
		with missing as (
			select n.position, n.assignment, n.accounts from (values ` + needsSQL() + `) n (position, assignment, needed, accounts)
			where n.needed and not exists (select from account_assignment s where s.team_id = t.id and s.assignment = n.assignment))
		select jsonb_build_object(
			'assignments', (select jsonb_agg(m.assignment order by m.position) from missing m),
			'accountIds', (select coalesce(jsonb_agg(a.id), '[]') from missing m, unnest(m.accounts) a (id)))
		where exists (select from missing))`},
	{"statementStartMissing", finding.Warning, `t.statement_start_at is null`, ""},
	{"ownershipPeriodMissing", finding.Error, `exists (select from ` + ownerlessEntries + `)`, `(
		with ownerless as (select e.source_id, e.reservation_id, e.currency, e.cent_total from ` + ownerlessEntries + `)
		select jsonb_build_object(
			'count', (select count(*) from (select distinct source_id from ownerless) o),
			'amounts', (select jsonb_agg(jsonb_build_object('currency', currency, 'centTotal', cents) order by currency) from (
				select currency, -sum(cent_total)::bigint as cents from ownerless group by currency) o),
			'reservationIds', (select coalesce(jsonb_agg(reservation_id), '[]') from (
				select distinct reservation_id from ownerless where reservation_id is not null order by reservation_id limit 100) o)))`},
	{"recurringDatesHeldBack", finding.Warning, `exists (select from ` + heldDates + `)`, `(select jsonb_build_object(
			'count', count(*),
			'recurringTemplateIds', (select jsonb_agg(h.template_id) from (
				select distinct h.template_id from ` + heldDates + ` order by 1 limit 100) h))
		from ` + heldDates + `)`},
	{"listingDeactivationHeld", finding.Warning, `exists (select from ` + heldDeactivations + `)`, `(select jsonb_build_object(
			'count', count(*),
			'listingIds', (select jsonb_agg(h.listing_id) from (select distinct h.listing_id from ` + heldDeactivations + ` order by 1 limit 100) h))
		from ` + heldDeactivations + `)`},
}

const keepsBooks = `t.is_general_ledger and t.type = 'propertyManager'`

// suspectedSQL returns the SQL of the places in issueKinds, from 0, of the issues that a team t is suspected of. Nearly
// all teams have none, and finding what an issue shows costs ten times as much.
func suspectedSQL() string {
	places := make([]string, len(issueKinds))
	for i, k := range issueKinds {
		places[i] = fmt.Sprintf("case when %s then %d end", k.suspected, i)
	}

	return `case when ` + keepsBooks + ` then array_remove(array[` + strings.Join(places, ", ") + `], null) else '{}' end`
}

// issuesSQL returns the SQL of the issues of some kinds that a team t has, as a list of findings. The places of the
// kinds ascend.
func issuesSQL(places []int) string {
	rows := make([]string, len(places))
	for i, place := range places {
		k := issueKinds[place]

		context := k.context
		if context == "" {
			context = "'{}'::jsonb"
		}

		rows[i] = fmt.Sprintf("(%d, '%s', '%s', case when %s then %s end)", place, k.code, k.severity, k.suspected, context)
	}

	return `case when ` + keepsBooks + ` then (
		select coalesce(jsonb_agg(jsonb_build_object('code', i.code, 'severity', i.severity, 'context', i.context) order by i.n), '[]')
		from (values ` + strings.Join(rows, ", ") + `) i (n, code, severity, context) where i.context is not null) else '[]'::jsonb end`
}

// allKinds returns the places of all issueKinds.
func allKinds() []int {
	places := make([]int, len(issueKinds))
	for i := range places {
		places[i] = i
	}

	return places
}

// needsList returns the names of neededAssignments, separated by commas.
func needsList() string {
	names := make([]string, len(neededAssignments))
	for i, n := range neededAssignments {
		names[i] = n.assignment
	}

	return strings.Join(names, ",")
}

// fillIssues sets the issues of teams that are suspected of some. It reads what they show if they show anything.
func fillIssues(ctx context.Context, tx *db.Tx, teams []Team, suspected [][]int) error {
	var (
		asked  []id.ID
		places []int
	)

	for i := range teams {
		teams[i].Issues = []finding.Finding{}

		// An issue that shows nothing is known from the suspicion.
		for _, place := range suspected[i] {
			k := issueKinds[place]
			teams[i].Issues = append(teams[i].Issues, finding.Finding{Code: k.code, Severity: k.severity, Context: map[string]any{}})
		}

		if slices.ContainsFunc(suspected[i], func(place int) bool { return issueKinds[place].context != "" }) {
			asked, places = append(asked, teams[i].ID), append(places, suspected[i]...)
		}
	}

	if len(asked) == 0 {
		return nil
	}

	slices.Sort(places)

	type shown struct {
		ID     id.ID
		Issues []finding.Finding
	}

	found, err := db.Select[shown](ctx, tx, `select t.id, `+issuesSQL(slices.Compact(places))+` as issues from team t where t.team_id = any(@teams::uuid[])`,
		db.Args{"teams": asked})
	if err != nil {
		return fmt.Errorf("read the issues of teams: %w", err)
	}

	// The answers replace the suspicions.
	for _, f := range found {
		teams[slices.IndexFunc(teams, func(t Team) bool { return t.ID == f.ID })].Issues = f.Issues
	}

	return nil
}
