package operation

import (
	"slices"
	"strconv"

	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Every client polls the reads of operations, and encoding them by reflection took longer than reading them.
// The functions here write what encoding/json would: all texts are identifiers, enums, fixed messages or base64, so
// none needs escaping. A test holds them to it.

// AppendJSON writes the page as the edge sends it.
func (l *List) AppendJSON(b []byte) []byte {
	// An item takes about 400 bytes; growing once avoids copies of the page.
	b = slices.Grow(b, 512+512*len(l.Items))
	b = append(b, `{"items":[`...)

	for i := range l.Items {
		if i > 0 {
			b = append(b, ',')
		}

		b = append(b, '{')
		b = l.Items[i].appendFields(b)
		b = append(b, '}')
	}

	// Then the counts, in the order of the fields of Counts.
	b = append(b, `],"counts":{"total":`...)
	b = strconv.AppendInt(b, l.Counts.Total, 10)
	b = append(b, `,"queued":`...)
	b = strconv.AppendInt(b, l.Counts.Queued, 10)
	b = append(b, `,"running":`...)
	b = strconv.AppendInt(b, l.Counts.Running, 10)
	b = append(b, `,"completed":`...)
	b = strconv.AppendInt(b, l.Counts.Completed, 10)
	b = append(b, `,"failed":`...)
	b = strconv.AppendInt(b, l.Counts.Failed, 10)
	b = append(b, `},"total":`...)
	b = strconv.AppendInt(b, l.Total, 10)

	// Last the cursor, which is base64 and needs no escaping.
	b = append(b, `,"nextCursor":`...)
	if l.NextCursor == nil {
		return append(b, "null}"...)
	}

	b = append(b, '"')
	b = append(b, *l.NextCursor...)

	return append(b, `"}`...)
}

// AppendJSON writes the operation as the edge sends it.
func (d *Detail) AppendJSON(b []byte) []byte {
	b = slices.Grow(b, 512+192*len(d.Resources))
	b = append(b, '{')
	b = d.appendFields(b)
	b = append(b, `,"resources":[`...)

	for i := range d.Resources {
		if i > 0 {
			b = append(b, ',')
		}

		b = d.Resources[i].append(b)
	}

	return append(b, "]}"...)
}

// appendFields writes the fields that lists and single reads share, without the braces around them.
func (o *Operation) appendFields(b []byte) []byte {
	b = appendID(append(b, `"id":`...), o.ID)
	b = appendText(append(b, `,"type":`...), string(o.Type))
	b = appendText(append(b, `,"status":`...), string(o.Status))

	// Resource and failure are null when there is none.
	b = append(b, `,"resource":`...)
	if o.Resource == nil {
		b = append(b, "null"...)
	} else {
		b = o.Resource.append(b)
	}

	b = append(b, `,"failure":`...)
	if o.Failure == nil {
		b = append(b, "null"...)
	} else {
		b = appendText(append(b, `{"code":`...), string(o.Failure.Code))
		b = appendText(append(b, `,"message":`...), o.Failure.Message)
		b = append(b, '}')
	}

	// Who started it and when it went through its states.
	b = appendText(append(b, `,"initiator":{"type":`...), o.Initiator.Type)
	b = appendID(append(b, `,"userId":`...), o.Initiator.UserID)
	b = appendInstant(append(b, `},"createdAt":`...), &o.CreatedAt)
	b = appendInstant(append(b, `,"startedAt":`...), o.StartedAt)

	return appendInstant(append(b, `,"finishedAt":`...), o.FinishedAt)
}

// append appends the resource as JSON.
func (r *Resource) append(b []byte) []byte {
	b = appendText(append(b, `{"type":`...), string(r.Type))
	b = appendID(append(b, `,"id":`...), r.ID)

	b = appendText(append(b, `,"role":`...), string(r.Role))
	if r.URL != "" {
		b = appendText(append(b, `,"url":`...), r.URL)
	}

	return append(b, '}')
}

func appendText(b []byte, plain string) []byte {
	b = append(b, '"')
	b = append(b, plain...)

	return append(b, '"')
}

func appendID(b []byte, v id.ID) []byte {
	b = append(b, '"')
	b = v.Append(b)

	return append(b, '"')
}

func appendInstant(b []byte, at *day.Instant) []byte {
	if at == nil {
		return append(b, "null"...)
	}

	b = append(b, '"')
	b = at.Append(b)

	return append(b, '"')
}
