package webhook

import (
	"context"
	"fmt"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// source says which rows cause messages of an event type, and how the message of a row is written. A note n names the
// rows.
type source struct {
	// from joins the row to the note.
	from string
	// condition selects the rows that cause a message.
	condition string
	eventType EventType
	// key is a text that identifies the row; at is when it happened; data is the data of the message.
	key, at, data string
	// isOfDeployment says that the row is about no team: it has a note in each team with a webhook that wants it.
	isOfDeployment bool
}

// conditionSQL returns the condition on the row, and on a webhook w that may get its message.
func (s *source) conditionSQL() string {
	if s.isOfDeployment {
		return "w.team_id = n.team_id and " + s.condition
	}

	return "w.is_covering and " + s.condition
}

// referenceSQL returns the SQL of the id of the record that an audit event e refers to, by a field of
// the reference such as its role.
func referenceSQL(field, value string) string {
	return `(select f ->> 'id' from jsonb_array_elements(e.refs) f where f ->> '` + field + `' = '` + value + `' limit 1)`
}

// newValueSQL returns the SQL of the new value of a field of an audit event e, null if it has not changed.
func newValueSQL(key string) string {
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

// sources is the table of docs/guides/webhooks.md: events of the trail and operations that cause messages. Their data
// has ids, statuses and names of fields, never amounts or personal data (decisions, webhooks).
var sources = []source{
	{
		from: fromEvents, condition: "true", eventType: AuditEventChanged, key: eventKey, at: "e.recorded_at",
		data: `json_build_object('eventId', e.id, 'revision', e.revision, 'entityType', e.entity_type, 'entityId', e.entity_id,
			'action', e.type, 'changedKeys', (select coalesce(json_agg(c ->> 'key'), '[]') from jsonb_array_elements(e.changes) c))`,
	},
	{
		from: fromEvents, condition: "e.entity_type = 'connection'", eventType: ConnectionChanged, key: eventKey, at: "e.recorded_at",
		data: `json_build_object('connectionId', e.entity_id, 'eventId', e.id, 'revision', e.revision, 'action', e.type,
			'status', ` + newValueSQL("status") + `)`,
	},
	{
		from: fromEvents, condition: "e.entity_type = 'payment'", eventType: PaymentUpdated, key: eventKey, at: "e.recorded_at",
		data: `json_build_object('paymentId', e.entity_id, 'eventId', e.id, 'revision', e.revision, 'action', e.type,
			'status', ` + newValueSQL("status") + `, 'transactionId', ` + referenceSQL("type", "transaction") + `)`,
	},
	{
		from: fromEvents, condition: "e.entity_type = 'statement' and e.type = 'published'", eventType: StatementPublished,
		key: eventKey, at: "e.recorded_at", data: statementData,
	},
	{
		from: fromEvents, condition: "e.entity_type = 'statement' and e.type = 'reopened'", eventType: StatementReopened,
		key: eventKey, at: "e.recorded_at", data: statementData,
	},
	{
		from: fromOperations, condition: "o.status = 'completed'", eventType: OperationCompleted,
		key: "o.id::text", at: "o.finished_at", data: operationData,
	},
	{
		from: fromOperations, condition: "o.status = 'failed'", eventType: OperationFailed,
		key: "o.id::text", at: "o.finished_at", data: operationData,
	},
	{
		from: fromCheckpoint, condition: "true", eventType: AuditCheckpoint, key: "c.tree_size::text", at: "c.created_at",
		data:           `json_build_object('treeSize', c.tree_size, 'rootHash', encode(c.root, 'base64'), 'checkpoint', c.note)`,
		isOfDeployment: true,
	},
}

var statementData = `json_build_object('statementId', e.entity_id, 'eventId', e.id, 'revision', e.revision, 'listingId', ` + referenceSQL("role", "listing") + `)`

// payload has the SQL of the parts of a message.
type payload struct{ id, eventType, version, at, team, data string }

// textSQL returns the SQL of the text of the message.
func (p payload) textSQL() string {
	return `json_build_object('id', ` + p.id + `, 'type', ` + p.eventType + `, 'apiVersion', ` + p.version + `,
		'timestamp', to_char(` + p.at + ` at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'teamId', ` + p.team + `, 'data', ` + p.data + `)::text`
}

// notesTogether is how many notes one statement turns into messages. The events of one transaction, which can be
// thousands, share a note.
const notesTogether = 100

// fanOutSQL deletes notes and inserts a message for each active webhook with the event type: the webhooks of the team,
// and the managed ones of its present partner.
// A team that is being deleted gets none.
var fanOutSQL = func() string {
	told := make([]string, len(sources))

	for i := range sources {
		s := &sources[i]
		told[i] = `select w.team_id, w.id as webhook_id, n.team_id as about, webhook_event_id('` + string(s.eventType) + `:' || ` + s.key + `) as event_id,
			'` + string(s.eventType) + `' as type, ` + s.at + ` as at, w.api_version, ` + s.data + ` as data
			from wanted w join taken n on n.team_id = w.about join ` + s.from + `
			where '` + string(s.eventType) + `' = any(w.event_types) and ` + s.conditionSQL()
	}

	return `
	with taken as materialized (select * from webhook_note where @only::uuid[] is null or team_id = any(@only) limit @batch for update skip locked),
	gone as (delete from webhook_note g using taken n where g.team_id = n.team_id and g.id = n.id),
	wanted as materialized (
		select w.team_id, w.id, w.event_types, w.api_version, t.id as about, (w.scope = 'self') = (w.team_id = t.id) as is_covering
		from (select distinct team_id from taken) n join team t on t.id = n.team_id
		join webhook w on w.status = 'active' and w.team_id in (t.id, t.partner_id) and (w.team_id = t.id or w.scope = 'managed')
		join team o on o.id = w.team_id and o.freeze_reason is distinct from 'deletion'),
	told as (` + strings.Join(told, " union all ") + `),
	made as (
		insert into webhook_delivery (team_id, id, webhook_id, about_team_id, event_id, event_type, payload, status, due_at, created_at)
		select team_id, gen_random_uuid(), webhook_id, about, event_id, type, ` +
		payload{"event_id", "type", "api_version", "at", "about", "data"}.textSQL() + `, 'pending', clock_timestamp(), @now from told)
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
