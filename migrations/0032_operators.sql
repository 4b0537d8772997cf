-- +goose Up
-- Which file store belongs to this database: the store carries the same id, so that a process with another folder or bucket does not start.
create table file_store (
    only_one boolean primary key default true check (only_one),
    id uuid not null,
    created_at timestamptz(3) not null
);
alter table file_store enable row level security;
alter table file_store force row level security;
create policy maintenance on file_store using ((select stayledger_across_teams()));

-- People are found by their e-mail addresses, whatever case they are written in: two people cannot have one address.
-- +goose StatementBegin
do $$
declare
    addresses text;
begin
    perform set_config('stayledger.across_teams', 'on', true);
    select string_agg(distinct lower(email), ', ') into addresses from access_user u
        where kind = 'person' and exists (select from access_user o where o.kind = 'person' and o.id <> u.id and lower(o.email) = lower(u.email));
    if addresses is not null then
        raise exception 'several people have the same e-mail address (%): give each one an address of their own in access_user, then migrate again', addresses;
    end if;
end
$$;
-- +goose StatementEnd
create unique index access_user_email on access_user (lower(email)) where kind = 'person';

-- +goose Down
