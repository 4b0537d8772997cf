-- +goose Up
-- An owner without an address has a row all the same: it says that nothing was sent, has no address, no link and no secret.
alter table delivery_email
    alter address drop not null,
    alter link_id drop not null,
    drop constraint delivery_email_status_check,
    drop constraint delivery_email_failure_check,
    drop constraint delivery_email_failed,
    add constraint delivery_email_status_check check (status in ('queued', 'sent', 'failed', 'notSent')),
    add constraint delivery_email_failure_check check (failure in ('refused', 'undeliverable', 'withdrawn', 'emailMissing')),
    add constraint delivery_email_failed check ((status in ('failed', 'notSent')) = (failure is not null)),
    add constraint delivery_email_missing check ((status = 'notSent') = (failure is not distinct from 'emailMissing')),
    add constraint delivery_email_addressed check (status = 'notSent' or (address is not null and link_id is not null));

-- Whether the owners were to be told of the publication, so that the statement can name those who were not; false unless published.
alter table statement
    add email_delivery boolean not null default false,
    add constraint statement_email_delivery check (not email_delivery or status = 'published');

-- What somebody should look at in a statement that a batch changed.
alter table statement_batch_item
    add issues jsonb not null default '[]' check (jsonb_typeof(issues) = 'array');

-- +goose Down
