package webhook

import (
	"crypto/md5" //nolint:gosec // no secret: it makes the same identifier from the same name
	"strconv"

	"stayledger/domain/record/trail"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Message is the body of a message of the type audit.event.changed, as the guide shows it. The service writes messages in SQL (fanout.go); the command
// listen makes them from events that it reads from the API.
type Message struct {
	ID         id.ID       `json:"id"`
	Type       EventType   `json:"type"`
	APIVersion string      `json:"apiVersion"`
	Timestamp  day.Instant `json:"timestamp"`
	TeamID     id.ID       `json:"teamId"`
	Data       Changed     `json:"data"`
}

// Changed is the data of a message of the type audit.event.changed.
type Changed struct {
	EventID     id.ID    `json:"eventId"`
	Revision    int64    `json:"revision"`
	EntityType  string   `json:"entityType"`
	EntityID    id.ID    `json:"entityId"`
	Action      string   `json:"action"`
	ChangedKeys []string `json:"changedKeys"`
}

// NewMessage returns the message about an event of the trail, with the id that the service gives it.
func NewMessage(e *trail.Event) *Message {
	keys := make([]string, len(e.Changes))
	for i := range e.Changes {
		keys[i] = e.Changes[i].Key
	}

	// Each revision has a message of its own.
	key := e.ID.String() + ":" + strconv.FormatInt(e.Revision, 10)

	return &Message{
		ID:         eventID(AuditEventChanged, key),
		Type:       AuditEventChanged,
		APIVersion: api.Version,
		Timestamp:  e.RecordedAt,
		TeamID:     e.TeamID,
		Data:       Changed{e.ID, e.Revision, string(e.Entity.Type), e.Entity.ID, string(e.Type), keys},
	}
}

// eventID returns the identifier of a message, as the function webhook_event_id of the database does.
func eventID(eventType EventType, key string) id.ID {
	// Version 8 of RFC 9562: a uuid that is made of a hash.
	sum := id.ID(md5.Sum([]byte(string(eventType) + ":" + key))) //nolint:gosec // as above
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x0f | 0xa0

	return sum
}
