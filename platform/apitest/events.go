package apitest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// record says which entity a row belongs to, and which columns need no event: those that only the service reads, and
// computed ones.
type record struct{ entity, id, unshown string }

// records lists the tables with rows that callers see, alone or as part of another record. A transaction that changes
// another column of such a row must insert an audit event of that record. The list states the choice of the contract;
// it is not computed from the code.
var records = map[string]record{
	"access_key":        {entity: "api-key", id: "id"},
	"access_key_team":   {entity: "api-key", id: "key_id"},
	"access_member":     {entity: "user", id: "user_id"},
	"access_owner_link": {entity: "owner-link", id: "id", unshown: "last_used_at"},
	// when the owner came is no change of the link
	"account":                 {entity: "account", id: "id"},
	"account_assignment":      {entity: "account", id: "account_id"},
	"account_category":        {entity: "category", id: "id"},
	"account_connection":      {entity: "account-connection", id: "id"},
	"account_excluded_record": {entity: "bank-record", id: "bank_record_id"},
	"channel_payout":          {entity: "channel-payout", id: "id"},
	"channel_payout_member":   {entity: "channel-payout", id: "payout_id"},
	"bank_reconciliation":     {entity: "bank-record", id: "bank_record_id"},
	"bank_record":             {entity: "bank-record", id: "id", unshown: "made"},
	// added up from its reconciliation, which has events
	"bank_rule": {entity: "bank-rule", id: "id"},
	"calendar_block": {
		entity: "calendar-block", id: "id",
		unshown: "external_listing_id, remote_id, holder, held_until, try_at",
	},
	// what the system calls it, and who tells it
	"connection": {entity: "connection", id: "id", unshown: "next_sync_at"},
	// moves with every reading
	"contact": {entity: "contact", id: "id", unshown: "tax_identifier"},
	// sealed anew with each write; events have its last digits
	"fee":                      {entity: "recurring-fee", id: "id"},
	"fee_condition":            {entity: "recurring-fee", id: "fee_id"},
	"fee_listing_period":       {entity: "recurring-fee-period", id: "id"},
	"fee_reference":            {entity: "recurring-fee", id: "fee_id"},
	"gl_summary_day":           {entity: "team", id: "team_id"},
	"historical_import":        {entity: "historical-import", id: "id"},
	"journal":                  {entity: "journal", id: "id"},
	"journal_line":             {entity: "journal", id: "journal_id"},
	"layout":                   {entity: "statement-layout", id: "id", unshown: "version"}, // counts the changes
	"layout_listing":           {entity: "statement-layout", id: "layout_id"},
	"listing":                  {entity: "listing", id: "id"},
	"listing_ownership_member": {entity: "ownership-period", id: "period_id"},
	"listing_ownership_period": {
		entity: "ownership-period", id: "id",
		unshown: "is_deactivation_settled, deactivation_held",
	}, // its listing has the event
	"opening_balance":       {entity: "transaction", id: "transaction_id"},
	"opening_trial_balance": {entity: "team", id: "team_id", unshown: "refreshed_at"},
	// when its transactions were last made anew
	"opening_trial_balance_row": {entity: "team", id: "team_id"},
	"payee_method": {
		entity: "payment-method", id: "id",
		unshown: "chosen_at, chosen_by, released_at, numbers",
	}, // who chose it is what the event says; sealed
	"payment":          {entity: "payment", id: "id", unshown: "ask_at, unknown_since, recovery_operation_id"},
	"payment_approval": {entity: "payment-approval", id: "id", unshown: "operation_id"},
	"payment_limit":    {entity: "team", id: "team_id"},
	"reservation":      {entity: "reservation", id: "id", unshown: "cancelled_at_is_assumed"},
	// why there is a day
	"reservation_adjustment":   {entity: "adjustment", id: "id"},
	"reservation_line":         {entity: "reservation", id: "reservation_id", unshown: "id"},
	"reservation_line_mapping": {entity: "line-mapping", id: "id"},
	"statement":                {entity: "statement", id: "id", unshown: "words, shares"},
	// search words and what each owner has, both computed
	"tax_rate":               {entity: "tax-rate", id: "id"},
	"team":                   {entity: "team", id: "id", unshown: "reference_version"},
	"team_logo":              {entity: "team", id: "team_id"},
	"transaction":            {entity: "transaction", id: "id"},
	"transaction_attachment": {entity: "file", id: "id", unshown: "position"},
	"transaction_line":       {entity: "transaction", id: "transaction_id", unshown: "id"},
	"transaction_line_mapping": {
		entity: "line-mapping", id: "id", unshown: "line_key",
	}, // the line type in lower case
	"webhook": {
		entity: "webhook", id: "id",
		unshown: "secret, former_secrets, failing_since, failures, is_slow, paused_until, leased_until",
	}, // sealed, and how the receiver does
	"transaction_template": {
		entity: "recurring-transaction-template", id: "id",
		unshown: "done_through, next_at, failed_at, held_back",
	}, // how far it was run
}

// derived are the other tables of teams, each with what keeps its rows from being records of their own.
var derived = map[string]string{
	"access_embed_session": "a session of a quarter of an hour, of which an event tells when it is made",
	"access_external_user": "what a partner calls a user, of which an event tells",
	"access_owner_session": "a session of an owner who follows a link",
	"api_idempotency":      "answers that are kept",
	"audit_action":         "the trail itself",
	"audit_event":          "the trail itself",
	"audit_leaf":           "the log that proves the trail",
	"audit_log":            "the log that proves the trail",
	"audit_reference":      "the trail itself",
	"bank_clearing":        "which sources a bank and the books agree on",
	"bank_day_kept":        "sums of bank records",
	"bank_delta":           "sums of bank records",
	"bank_rule_run_item":   "what runs did with records, which are told as such",
	"bank_rule_version":    "earlier states of a rule, whose events tell of them",
	"delivery_email":       "what was sent, a trail of its own",
	"external_record":      "what a source outside said of a record last",
	"file": "bytes: of an attachment, which is told as such, and of what an operation made and " +
		"names as its result",
	"file_draft":               "bytes that are being received",
	"historical_entry":         "lines that wait to be posted",
	"historical_txn":           "lines that wait to be posted",
	"job":                      "work that waits",
	"gl_summary_sum":           "sums of journal entries, whose taking has an event",
	"ledger_balance_kept":      "sums of journal entries",
	"ledger_day_kept":          "sums of journal entries",
	"ledger_delta":             "sums of journal entries",
	"ledger_entry":             "derived from its source, whose event has the effect",
	"ledger_large":             "sums of journal entries",
	"ledger_listing_kept":      "sums of journal entries",
	"ledger_month_kept":        "sums of journal entries",
	"ledger_owner_kept":        "sums of journal entries",
	"ledger_source":            "what the entries of a source say",
	"ledger_stale":             "which journals wait to be derived",
	"ledger_unsettled":         "which stays may have something open",
	"ledger_guest":             "which stays may have something open",
	"ledger_guest_kept":        "sums of journal entries",
	"ledger_guest_settled":     "sums of journal entries",
	"ledger_held":              "what locks hold back, derived with the journal",
	"ledger_held_line":         "what locks hold back, derived with the journal",
	"list_count_kept":          "counts of rows",
	"list_delta":               "counts of rows",
	"csv_import":               "a preview, with its own reads; what it makes has events of the records",
	"csv_import_row":           "rows of a file, with what became of each",
	"operation":                "the record of work, with its own reads",
	"operation_count":          "sums of operations",
	"operation_progress":       "how far work is",
	"operation_resource":       "the record of work, with its own reads",
	"connection_authorization": "what an app sends back with a person, for a quarter of an hour",
	"connection_token":         "what a system gave for credentials",
	"legacy_account":           "what another product says of a team without books, as a dump brings it",
	"legacy_ownership":         "what another product says of a team without books, as a dump brings it",
	"legacy_statement":         "what another product says of a team without books, as a dump brings it",
	"legacy_template":          "what another product says of a team without books, as a dump brings it",
	"migration":                "which operation made the team, whose event tells of what it was made",
	"migration_mapping":        "the answers of an import, which its operation tells of",
	"reservation_pair":         "which of two reservations counts, which these show",
	"reservation_unposted":     "what the books leave out, derived with the journal",
	"migration_record":         "which record is which of another team",
	"statement_origin":         "where an imported statement comes from; its event tells of the import",
	"listing_connection": "what a system says of its listings; the event of the connection tells which " +
		"listings they are",
	"contact_former_email":  "addresses of before, which the events of the contact tell",
	"payee_change":          "what was done to payment methods, a trail of its own",
	"payee_letter":          "what was sent, a trail of its own",
	"payment_batch":         "how payments are sent together",
	"payment_batch_counter": "numbers that were given",
	"payment_callback":      "messages that were seen",
	"payment_return":        "which transaction took a payment back; both tell of themselves",
	"payout_result":         "the answer of an operation",
	"statement_batch":       "the answer of an operation",
	"statement_batch_item":  "the answer of an operation",
	"statement_import":      "statements that wait to be imported",
	"statement_version":     "figures of a statement that was reopened, whose event tells of it",
	"sync":                  "a reading of a source, which its operation tells of",
	"sync_cursor":           "how far a source was read",
	"sync_seen":             "which records a reading of a source had",
	"sync_day":              "counts of what was read",
	"sync_hint":             "what is to be looked at",
	"sync_item":             "what became of records that were read",
	"sync_source":           "what syncs take turns on",
	"webhook_delivery":      "what was sent, a trail of its own",
	"webhook_note":          "what waits to be told",
	"webhook_rate":          "what was used of a limit",
	"team_books_closing":    "the history of how far the books were closed, which the team's event tells too",
	"sync_issue":            "what a person should look at",
	"sync_conflict":         "a question; what is settled is told of the record that it changes",
}

// The triggers keep, for each transaction, what it did to each record: a sum over the texts of rows that were added
// less those that were taken away, so that a row which was written as it was, or lines that were made anew, come to
// nothing.
const watch = `
create schema apitest;
create table apitest.change (xact xid8 not null, team_id uuid, entity text not null, id uuid, source text not null, delta numeric not null);
create index on apitest.change (team_id);
create table apitest.told (xact xid8 not null, team_id uuid not null, entity text not null, id uuid not null);
create index on apitest.told (team_id);
create table apitest.action (xact xid8 not null, team_id uuid not null, endpoint text not null);
create index on apitest.action (team_id);

create function apitest.changed() returns trigger language plpgsql as $$
declare
	unshown text[] := string_to_array(tg_argv[2], ', ') || '{updated_at}';
begin
	if current_setting('apitest.setup', true) = 'on' or stayledger_erasing() is not null then
		return null; -- what a team takes with it is told by the operation that deletes it
	end if;
	if tg_op <> 'INSERT' then
		insert into apitest.change values (pg_current_xact_id(), old.team_id, tg_argv[0], (to_jsonb(old) ->> tg_argv[1])::uuid, tg_table_name,
			-hashtextextended(tg_table_name || (to_jsonb(old) - unshown)::text, 0)::numeric);
	end if;
	if tg_op <> 'DELETE' then
		insert into apitest.change values (pg_current_xact_id(), new.team_id, tg_argv[0], (to_jsonb(new) ->> tg_argv[1])::uuid, tg_table_name,
			hashtextextended(tg_table_name || (to_jsonb(new) - unshown)::text, 0)::numeric);
	end if;
	return null;
end $$;

create function apitest.told() returns trigger language plpgsql as $$ begin
	insert into apitest.told values (pg_current_xact_id(), new.team_id, new.entity_type, new.entity_id);
	return null;
end $$;
create trigger apitest_told after insert on audit_event for each row execute function apitest.told();

create function apitest.action() returns trigger language plpgsql as $$ begin
	insert into apitest.action values (pg_current_xact_id(), new.team_id, new.endpoint);
	return null;
end $$;
create trigger apitest_action after insert on audit_action for each row execute function apitest.action();
`

// watchScript is all that a database of tests has besides the schema.
var watchScript = func() string {
	var out strings.Builder
	out.WriteString(watch)

	for _, table := range slices.Sorted(maps.Keys(records)) {
		r := records[table]
		fmt.Fprintf(&out, "create trigger apitest_changed after insert or update or delete on %s for each row "+
			"execute function apitest.changed('%s', '%s', '%s');\n",
			table, r.entity, r.id, r.unshown)
	}

	return out.String()
}()

// watchHash names the script, as migrations.Hash does the schema.
func watchHash() string {
	sum := sha256.Sum256([]byte(watchScript))
	return hex.EncodeToString(sum[:4])
}

// watchChanges installs the triggers. It fails for a table of teams that is in neither list: decide whether it
// contains records.
func watchChanges(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	// All tables that have rows of teams.
	rows, err := conn.Query(ctx, `
		select c.table_name::text from information_schema.columns c
		join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
		where c.table_schema = 'public' and c.column_name = 'team_id' and t.table_type = 'BASE TABLE' order by 1`)
	if err != nil {
		return err
	}

	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}

	// Each is in exactly one list, so that a new one cannot be forgotten.
	for _, table := range tables {
		_, isRecord := records[table]
		if _, isDerived := derived[table]; isRecord == isDerived {
			return fmt.Errorf("the table %s must be in one of the lists of platform/apitest/events.go: does a caller "+
				"see what its rows say?", table)
		}
	}

	_, err = conn.Exec(ctx, watchScript)

	return err
}

// SetUp returns work by which a test prepares something, without audit events.
func SetUp(work db.Work) db.Work {
	return func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('apitest.setup', 'on', true)`, nil); err != nil {
			return err
		}

		return work(ctx, tx)
	}
}

// Untold returns the changes of the team that no audit event of their transaction names, each with its tables and
// the endpoint or kind of job.
func (x *Team) Untold() []string {
	x.t.Helper()

	var found []string

	err := x.DB.Read(context.WithoutCancel(x.t.Context()), db.AcrossTeams(),
		func(ctx context.Context, tx *db.Tx) (err error) {
			found, err = unshown(ctx, tx, x.ID)
			return err
		})
	if err != nil {
		x.t.Fatal(err)
	}

	return found
}

// unshown selects the changes of a team that add up to something and have no event.
func unshown(ctx context.Context, tx *db.Tx, team id.ID) ([]string, error) {
	return db.Select[string](ctx, tx, `
		select c.entity || ' ' || coalesce(c.id::text, 'without id') || ' (' || string_agg(c.source, ', ' order by c.source) || ') by ' ||
			coalesce((select string_agg(a.endpoint, ', ') from apitest.action a where a.xact = c.xact and a.team_id = @team), 'the service itself')
		from (
			select xact, entity, id, source from apitest.change where team_id = @team group by xact, entity, id, source having sum(delta) <> 0) c
		where not exists (select from apitest.told e where e.team_id = @team and e.xact = c.xact and e.entity = c.entity and e.id = c.id)
		group by c.xact, c.entity, c.id
		order by c.xact, c.entity, c.id`, db.Args{"team": team})
}
