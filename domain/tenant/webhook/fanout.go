package webhook

import (
	"context"
	"fmt"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// source is a kind of notes and what they tell: rows of a table that a note n names.
type source struct {
	// from joins the row to the note, and names what the others use.
	from string
	// condition selects the rows that tell of the type.
	condition string
	types     EventType
	// key identifies what is told, as a text; at is when it happened; data is what the message says of it.
	key, at, data string
	// tellsAll has every subscription of the note's team told, whatever its scope: it is about no team.
	tellsAll bool
}

// conditionSQL returns the SQL of the rows that a subscription w is told of.
func (s *source) conditionSQL() string {
	if s.tellsAll {
		return "w.team_id = n.team_id and " + s.condition
	}

	return "(w.scope = 'self') = (w.team_id = n.team_id) and " + s.condition
}

// referred returns the SQL of the id of the record that an audit event e refers to with a role.
func referred(role string) string {
	return `(select f ->> 'id' from jsonb_array_elements(e.refs) f where f ->> 'role' = '` + role + `' limit 1)`
}

// becomes returns the SQL of the new value of a field of an audit event e, null if it has not changed.
func becomes(key string) string {
	return `(select c -> 'new' from jsonb_array_elements(e.changes) c where c ->> 'key' = '` + key + `')`
}

const (
	fromEvents     = `audit_event e on e.team_id = n.team_id and e.recorded_at = n.recorded_at and e.action_id = n.action_id`
	fromOperations = `operation o on o.team_id = n.team_id and o.id = n.operation_id`
	fromCheckpoint = `audit_checkpoint c on c.tree_size = n.checkpoint_size`
	eventKey       = `e.id || ':' || e.revision`
	operationData  = `json_build_object('operationId', o.id, 'operationType', o.type, 'status', o.status, 'failureCode',
		case when o.status = 'failed' then coalesce(o.failure_code, 'operationFailed') end, 'resource',
		case when o.resource_type is not null then json_build_object('type', o.resource_type, 'id', o.resource_id) end)`
)

// sources say which row of the trail or of the operations causes which event, and what the message tells. Messages have
// ids, statuses and names of fields, never amounts or personal data (decisions, webhooks).
var sources = []source{
	{
		fromEvents, "true", AuditEventChanged, eventKey, "e.recorded_at",
		`json_build_object('eventId', e.id, 'revision', e.revision, 'entityType', e.entity_type, 'entityId', e.entity_id, 'action', e.type,
			'changedKeys', (select coalesce(json_agg(c ->> 'key'), '[]') from jsonb_array_elements(e.changes) c))`, false,
	},
	{
		fromEvents, "e.entity_type = 'connection'", ConnectionChanged, eventKey, "e.recorded_at",
		`json_build_object('connectionId', e.entity_id, 'eventId', e.id, 'revision', e.revision, 'action', e.type, 'status', ` + becomes("status") + `)`, false,
	},
	{
		fromEvents, "e.entity_type = 'payment'", PaymentUpdated, eventKey, "e.recorded_at",
		`json_build_object('paymentId', e.entity_id, 'eventId', e.id, 'revision', e.revision, 'action', e.type, 'status', ` + becomes("status") + `,
			'transactionId', ` + becomes("transactionId") + `)`, false,
	},
	{
		fromEvents, "e.entity_type = 'statement' and e.type = 'published'", StatementPublished, eventKey, "e.recorded_at", statementData, false,
	},
	{
		fromEvents, "e.entity_type = 'statement' and e.type = 'reopened'", StatementReopened, eventKey, "e.recorded_at", statementData, false,
	},
	{fromOperations, "o.status = 'completed'", OperationCompleted, "o.id::text", "o.finished_at", operationData, false},
	{fromOperations, "o.status = 'failed'", OperationFailed, "o.id::text", "o.finished_at", operationData, false},
	{
		fromCheckpoint, "true", AuditCheckpoint, "c.tree_size::text", "c.created_at",
		`json_build_object('treeSize', c.tree_size, 'rootHash', encode(c.root, 'base64'), 'checkpoint', c.note)`, true,
	},
}

var statementData = `json_build_object('statementId', e.entity_id, 'eventId', e.id, 'revision', e.revision, 'listingId', ` + referred("listing") + `)`

// payloadSQL returns the SQL of the text of a message.
func payloadSQL(message, eventType, version, at, team, data string) string {
	return `json_build_object('id', ` + message + `, 'type', ` + eventType + `, 'apiVersion', ` + version + `,
		'timestamp', to_char(` + at + ` at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'teamId', ` + team + `, 'data', ` + data + `)::text`
}

// notesTogether is how many notes one statement turns into messages. A note tells of all events that a transaction has
// recorded, which can be thousands.
const notesTogether = 100

// fanOutSQL takes notes, and inserts a message for each active subscription to what they tell: those of the team, and
// those of its partner to the teams that it manages now.
var fanOutSQL = func() string {
	told := make([]string, len(sources))

	for i := range sources {
		s := &sources[i]
		told[i] = `select w.team_id, w.id as webhook_id, n.team_id as about, webhook_event_id('` + string(s.types) + `:' || ` + s.key + `) as event_id,
			'` + string(s.types) + `' as type, ` + s.at + ` as at, w.api_version, ` + s.data + ` as data
			from wanted w join taken n on n.team_id = w.about join ` + s.from + `
			where '` + string(s.types) + `' = any(w.event_types) and ` + s.conditionSQL()
	}

	return `
	with taken as materialized (select * from webhook_note where @only::uuid[] is null or team_id = any(@only) limit @batch for update skip locked),
	gone as (delete from webhook_note g using taken n where g.team_id = n.team_id and g.id = n.id),
	wanted as materialized (
		select w.team_id, w.id, w.scope, w.event_types, w.api_version, t.id as about
		from (select distinct team_id from taken) n join team t on t.id = n.team_id
		join webhook w on w.status = 'active' and (w.team_id = t.id or w.scope = 'managed' and w.team_id = t.partner_id)),
	told as (` + strings.Join(told, " union all ") + `),
	made as (
		insert into webhook_delivery (team_id, id, webhook_id, about_team_id, event_id, event_type, payload, status, due_at, created_at)
		select team_id, gen_random_uuid(), webhook_id, about, event_id, type, ` +
		payloadSQL("event_id", "type", "api_version", "at", "about", "data") + `, 'pending', clock_timestamp(), @now from told)
	select count(*) from taken`
}()

// fanOut turns all notes into messages, or those of some teams.
func fanOut(ctx context.Context, d *db.DB, only []id.ID) error {
	for {
		var taken int64

		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			taken, err = db.Get[int64](ctx, tx, fanOutSQL, db.Args{"batch": notesTogether, "now": tx.Now, "only": only})
			return err
		})
		if err != nil {
			return fmt.Errorf("make messages: %w", err)
		}

		if taken < notesTogether {
			return nil
		}
	}
}
