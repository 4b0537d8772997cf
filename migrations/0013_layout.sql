-- +goose Up
-- How owner statements are laid out. sections holds the net revenue sections and the other sections with their columns; the system sections
-- are not stored. A listing without a row of its own uses the team's default.
create table layout (
    team_id uuid not null references team (id),
    id uuid not null,
    name text not null,
    version integer not null default 1,
    summary_type text not null default 'default' check (summary_type in ('default', 'invoice')),
    is_default boolean not null default false,
    show_team_email boolean not null default false,
    net_revenue_sections jsonb not null,
    other_sections jsonb not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (team_id, id),
    constraint layout_name unique (team_id, name)
);
create unique index layout_default on layout (team_id) where is_default;
select stayledger_tenant('layout');

create table layout_listing (
    team_id uuid not null,
    listing_id uuid not null,
    layout_id uuid not null,
    primary key (team_id, listing_id),
    constraint layout_listing_listing foreign key (team_id, listing_id) references listing (team_id, id) on delete cascade,
    constraint layout_listing_layout foreign key (team_id, layout_id) references layout (team_id, id)
);
create index layout_listing_by_layout on layout_listing (team_id, layout_id);
select stayledger_tenant('layout_listing');

-- +goose Down
