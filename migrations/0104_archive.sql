-- +goose Up
-- Files with everything that a team owns.
alter table file drop constraint file_kind_check, add constraint file_kind_check check (kind in ('export', 'attachment', 'payment', 'import', 'archive'));

-- +goose Down
set local stayledger.across_teams = 'on';
update file set kind = 'export' where kind = 'archive';
alter table file drop constraint file_kind_check, add constraint file_kind_check check (kind in ('export', 'attachment', 'payment', 'import'));
