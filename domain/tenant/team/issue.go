package team

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
const issues = `case when t.is_general_ledger and t.type = 'propertyManager' then (
	with missing as (
		select n.position, n.assignment, n.accounts from (values
			(1, 'accountsPayable', true, '{}'::uuid[]),
			(2, 'accountsReceivable', true, '{}'),
			(3, 'deferredRevenue', exists (
				select from reservation_line_mapping m where m.team_id = t.id and m.revenue_recognition is not null), '{}'),
			(4, 'deposit_coHostPayout', exists (
				select from listing_ownership_period p where p.team_id = t.id and p.business_model <> 'managed'), '{}'),
			(5, 'dueToFromTrust', exists (select from account a where a.team_id = t.id and a.banking_category = 'operating' and a.status = 'active'),
				array(select a.id from account a where a.team_id = t.id and a.banking_category = 'operating' and a.status = 'active' order by a.id)),
			(6, 'expense_salesTax', exists (select from tax_rate r where r.team_id = t.id and r.status = 'active'), '{}'),
			(7, 'openingBalance', true, '{}'),
			(8, 'payout_bankAccount', true, '{}'),
			(9, 'payout_distribution', true, '{}')
		) n (position, assignment, needed, accounts)
		where n.needed and not exists (select from account_assignment s where s.team_id = t.id and s.assignment = n.assignment)
	), ownerless as (
		select e.source_id, e.reservation_id, e.currency, e.cent_total from ledger_entry e
		where e.team_id = t.id and e.party = 'owners' and e.ownership_period_id is null and e.status = 'active' and e.ledger in ('trust', 'operating')
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
				select distinct h.template_id from transaction_held_back h where h.team_id = t.id and h.status = 'active' order by 1 limit 100) h))
			from transaction_held_back h where h.team_id = t.id and h.status = 'active' having count(*) > 0
		union all select 5, 'listingDeactivationHeld', 'warning', jsonb_build_object(
			'count', count(*),
			'listingIds', (select jsonb_agg(h.listing_id) from (select distinct h.listing_id from listing_ownership_period h
				where h.team_id = t.id and h.deactivation_held is not null order by 1 limit 100) h))
			from listing_ownership_period h where h.team_id = t.id and h.deactivation_held is not null having count(*) > 0
	) i), '[]'))
	else '[]'::jsonb end`
