package upload

import (
	"slices"

	"stayledger/provider/table"
)

// gather returns the rows of a page and the records that begin on it. If a row belongs to a record on an earlier page,
// that record is judged again after the last page.
func (s *readState) gather(page []*cells) (rows []*storedRow, records []keyed) {
	at := map[int]*record{}

	var heads []*record

	for _, c := range page {
		rec := s.reader.read(c)
		row := &storedRow{Row: Row{Position: c.position, Line: c.line, Cells: c.texts, Status: PartRow}, Plain: c.plain}
		rows = append(rows, row)

		if isFooter(rec, c) {
			rec.ignored, rec.issues = "total", nil
		}

		if head := s.findHead(rec); head > 0 {
			if row.Head = &head; at[head] != nil {
				at[head].parts = append(at[head].parts, rec)
			} else {
				s.late[head] = true
			}

			continue
		}

		at[c.position] = rec
		heads = append(heads, rec)
	}

	// Now that the records have their parts, complete and number them.
	for _, rec := range heads {
		if rec.ignored == "" {
			s.reader.finish(rec)
		}

		k := keyed{record: rec}
		k.key, k.isNamed = rec.key(s.reader)
		k.ordinal = s.ordinals[k.key]
		s.ordinals[k.key]++

		// A second record with the same key repeats the first if its content is the same.
		if k.isNamed && rec.kind.isOnce {
			content := rec.contentKey()
			k.isRepeated = k.ordinal > 0 && s.contents[k.key] == content

			if k.ordinal == 0 {
				s.contents[k.key] = content
			}
		}

		records = append(records, k)
	}

	return rows, records
}

// isFooter reports whether a row is a total below the records.
func isFooter(rec *record, c *cells) bool {
	hasDate := false

	for i := range rec.kind.fields {
		hasDate = hasDate || rec.kind.fields[i].typ == typeDate && rec.value[i] != nil
	}

	return !hasDate && table.IsTotal(&table.Row{Line: c.line, Cells: c.texts})
}

// groupHead is the first row of a record, with the texts that tell it from others of its group.
type groupHead struct {
	position int
	apart    []string
}

// agrees reports whether a row can belong to the record: no text differs where both have one.
func (h *groupHead) agrees(apart []string) bool {
	for i, text := range apart {
		if text != "" && h.apart[i] != "" && text != h.apart[i] {
			return false
		}
	}

	return true
}

// findHead returns the position of the row that begins the record of rec, 0 if rec begins it.
func (s *readState) findHead(rec *record) int {
	k := rec.kind
	if k.lines == "" || rec.ignored != "" {
		return 0
	}

	if group := s.reader.group(rec); group != "" {
		// A booking may have rows for several houses under one code.
		apart := rec.apart()
		for _, h := range slices.Backward(s.heads[group]) {
			if h.agrees(apart) {
				return h.position
			}
		}

		s.heads[group] = append(s.heads[group], groupHead{rec.position, apart})

		return 0
	}

	// A journal without a number ends where debits and credits are equal.
	if k.name != JournalEntries {
		return 0
	}

	if s.sum == 0 {
		s.head = rec.position
	}

	s.sum += rec.cents("amount") + rec.cents("debit") - rec.cents("credit")

	if s.head == rec.position {
		return 0
	}

	return s.head
}
