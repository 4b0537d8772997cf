-- +goose Up
-- The names that a published statement keeps: listing, owners, accounts and stays as they were called when it was published. Null on every other
-- statement. Those that are published already keep the names of today, since nobody knows the earlier ones.
alter table statement add words jsonb;
select set_config('stayledger.across_teams', 'on', true);
update statement s set words = jsonb_build_object(
    'listing', (select jsonb_build_object('name', l.name, 'uniqueRef', l.unique_ref, 'address', l.address)
        from listing l where l.team_id = s.team_id and l.id = s.listing_id),
    'owners', (select coalesce(jsonb_object_agg(c.id, jsonb_build_object('name', c.name, 'address', c.address)), '{}')
        from listing_ownership_member m join contact c on c.team_id = m.team_id and c.id = m.contact_id
        where m.team_id = s.team_id and m.period_id = s.ownership_period_id),
    'accounts', (select coalesce(jsonb_object_agg(a.id, jsonb_build_object('name', a.name, 'code', coalesce(a.code, ''),
            'classification', a.classification, 'place', a.place)), '{}')
        from (
            select a.id, a.name, a.code, c.classification, row_number() over (order by a.code, a.name) as place
            from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
            where a.team_id = s.team_id and a.id in (select e.account_id from ledger_entry e where e.team_id = s.team_id and e.statement_id = s.id)
        ) a),
    'stays', (select coalesce(jsonb_object_agg(r.id, jsonb_build_object('guestName', r.guest_name, 'confirmationCode', r.confirmation_code,
            'checkIn', r.check_in, 'checkOut', r.check_out, 'bookingPlatform', r.booking_platform, 'status', r.status)), '{}')
        from reservation r where r.team_id = s.team_id and r.id in (
            select e.reservation_id from ledger_entry e where e.team_id = s.team_id and e.statement_id = s.id and e.reservation_id is not null))
) where s.status = 'published';
select set_config('stayledger.across_teams', 'off', true);

-- +goose Down
