-- +goose Up
-- Statements are planned once for every team (package db), so the planner expects of a team what teams have on the average, and may know for that how
-- many rows these tables have: where it took one in two hundred for granted, it walked through all reconciliations of a team to find one. The ledger,
-- reservations and transactions stay without: what derives journals is planned for the team that it works for, and that one can be new.
alter table bank_record alter column team_id set statistics -1;
alter table bank_reconciliation alter column team_id set statistics -1;

-- Every request reads its team by the column that all tables of tenants have.
create unique index team_tenant on team (team_id);

-- +goose Down
