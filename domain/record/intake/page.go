package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Outcome says what became of a record in a sync.
type Outcome string

// The outcomes of a record.
const (
	Done     Outcome = "completed"
	Skipped  Outcome = "skipped"
	Rejected Outcome = "failed"
	Waits    Outcome = "queued"
)

// Enum lists the outcomes.
func (Outcome) Enum() []string {
	return []string{string(Done), string(Skipped), string(Rejected), string(Waits)}
}

// Reason says why a record was skipped or failed: one of these, or of a failure the reason or issue of the refusal.
type Reason string

// The reasons of the intake itself. Sources give others for what they leave out.
const (
	// Unchanged: the source says what it said before, or nothing that differs from what is here.
	Unchanged Reason = "unchanged"
	// Older: the source has said something newer already.
	Older Reason = "older"
	// InConflict: a field was changed here and at the source; the value here was kept.
	InConflict Reason = "conflict"
	// Locked: a lock holds the record here; it is tried again when the lock goes.
	Locked Reason = "locked"
	// Unmapped: the record names another of the source that is not known here; it is tried again with every sync.
	Unmapped Reason = "unmapped"
	// StatusIgnored: the record has a status in which it is not taken in, such as an inquiry.
	StatusIgnored Reason = "statusIgnored"
	// Pending: the record is not final at the source yet.
	Pending Reason = "pending"
	// Ambiguous: several records here could be it, or the one that is belongs to another of the source.
	Ambiguous Reason = "ambiguous"
	// Malformed: the values are not of the form that the kind has.
	Malformed Reason = "malformed"
	// Deleted: a person has deleted the record here, and the source is not asked to bring it back.
	Deleted Reason = "deleted"
	// Unknown: the source says that it has a record no more that was never taken in.
	Unknown Reason = "unknown"
)

// item is what became of a record.
type item struct {
	change   *Change
	entityID *id.ID
	outcome  Outcome
	reason   Reason
	// field is the one that a refusal names, and fault what is wrong with it; empty for none.
	field, fault string
	// isSame says that the source said nothing new, so that the record was not looked at.
	isSame bool
}

// memory is an external record as it is stored.
type memory struct {
	Kind       string
	ExternalID string
	Ordinal    int
	EntityID   *id.ID
	Hash       []byte
	Taken      Values
	Refs       map[string]Reference
	Waiting    Values
	Conflicts  []openConflict
	ChangedAt  *time.Time
	Day        *day.Day
	State      string
}

// openConflict is a conflict about a field of a record that is not settled.
type openConflict struct {
	ID    id.ID  `json:"id"`
	Field string `json:"field"`
}

// key names a record of a source.
type key struct {
	kind, externalID string
	ordinal          int
}

// The states of external records.
const (
	active = "active"
	gone   = "gone"
)

// intake takes in the changes of a page.
type intake struct {
	kinds  map[string]*Kind
	origin Origin
	// complete says that the page is one of a reading that has every record.
	complete bool

	items []item
	// issues are what a person should look at.
	issues []issue
	// entities are the records here of those that changes refer to.
	entities map[Reference]id.ID
	// keep are the external records to write.
	keep []keepRow
}

// keepRow is an external record to write.
type keepRow struct {
	Kind       string               `json:"kind"`
	ExternalID string               `json:"external_id"`
	Ordinal    int                  `json:"ordinal"`
	EntityID   *id.ID               `json:"entity_id"`
	Hash       []byte               `json:"hash"`
	Taken      Values               `json:"taken"`
	Refs       map[string]Reference `json:"refs"`
	Waiting    Values               `json:"waiting"`
	// Locked says that what waits is held by a lock.
	Locked    bool       `json:"locked"`
	ChangedAt *time.Time `json:"changed_at"`
	Day       *day.Day   `json:"day"`
	State     string     `json:"state"`

	// conflicts are the open ones, had those that were open before.
	conflicts, had []openConflict
}

// take takes in changes: it skips what is known already, and has the kinds save the rest. The outcomes are in items.
// It fails only with defects; what a kind refuses is an outcome.
func (in *intake) take(ctx context.Context, tx *db.Tx, changes []Change) error {
	changes = latest(in.check(changes))

	known, same, err := recall(ctx, tx, in.origin, changes, in.complete)
	if err != nil {
		return err
	}

	// First sort out what needs no look at the records here.
	byKind, order := map[string][]*Change{}, []string{}

	for i := range changes {
		c := &changes[i]
		was := known[c.key()]

		switch skip := c.skipped(was, same[c.key()]); {
		case c.Refused != nil:
			in.refuse(c, was.entity())
		case skip != "":
			in.note(c, was.entity(), Skipped, skip)
			in.items[len(in.items)-1].isSame = skip == Unchanged || skip == Older

			// What waited to become a record here is gone before it did.
			if skip == Unknown && was != nil && was.Waiting != nil {
				in.keep = append(in.keep, was.row(gone, nil))
			}
		default:
			if byKind[c.Kind] == nil {
				order = append(order, c.Kind)
			}

			byKind[c.Kind] = append(byKind[c.Kind], c)
		}
	}

	if err := in.flush(ctx, tx); err != nil {
		return err
	}

	// Then the rest by kind, in the order of the source: a stay comes after its listing.
	for _, kind := range order {
		if err := in.takeKind(ctx, tx, in.kinds[kind], byKind[kind], known); err != nil {
			return fmt.Errorf("take in %s records: %w", kind, err)
		}

		// Records of a later kind can refer to these.
		if err := in.flush(ctx, tx); err != nil {
			return err
		}
	}

	in.saveIssues(tx)

	return in.free(ctx, tx)
}

// free has the kinds forget that locks held records.
func (in *intake) free(ctx context.Context, tx *db.Tx) error {
	names := map[string][]string{}

	for i := range in.items {
		it := &in.items[i]
		if k := in.kinds[it.change.Kind]; k == nil || k.Freed == nil || it.isSame || it.outcome == Skipped && it.reason == Locked {
			continue
		}

		names[it.change.Kind] = append(names[it.change.Kind], it.change.ExternalID)
		if it.entityID != nil {
			names[it.change.Kind] = append(names[it.change.Kind], it.entityID.String())
		}
	}

	for _, kind := range slices.Sorted(maps.Keys(names)) {
		if err := in.kinds[kind].Freed(ctx, tx, in.origin, names[kind]); err != nil {
			return err
		}
	}

	return nil
}

// flush saves the external records that were kept so far.
func (in *intake) flush(ctx context.Context, tx *db.Tx) error {
	err := remember(ctx, tx, in.origin, in.keep)
	in.keep = nil

	return err
}

// check returns the changes of records that can be named; the others are noted as malformed. Those that cannot be taken in are refused.
func (in *intake) check(changes []Change) []Change {
	var h hasher

	out := make([]Change, 0, len(changes))

	for i := range changes {
		c := &changes[i]

		// The database keeps microseconds: a finer stamp would be older than what is kept of it.
		c.ChangedAt = c.ChangedAt.Round(time.Microsecond)

		var err error
		if c.sum == nil {
			c.sum, err = h.sum(c)
		}

		if in.kinds[c.Kind] != nil && isName(c.ExternalID) {
			if err != nil && c.Refused == nil {
				c.Refused = &Refusal{Reason: Malformed}
			}

			// What cannot be taken in is there all the same: the source has it.
			if c.Refused != nil {
				c.Values, c.Refs, c.sum = nil, nil, []byte{}
			}

			out = append(out, *c)

			continue
		}

		// What became of it is noted under as much of its name as can be.
		named := *c
		named.ExternalID = cutName(c.ExternalID)
		in.note(&named, nil, Rejected, Malformed)
	}

	return out
}

// maxName bounds the name of a record, in bytes.
const maxName = 500

// isName returns true for a text that can be the name of a record.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && isText(s)
}

// cutName returns as much of a text as can be the name of a record.
func cutName(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), maxName)], ""), "\x00", "")
	return cmp.Or(s, "-")
}

// latest returns the changes with one for each record: the one with the latest stamp, of equal ones the last.
func latest(changes []Change) []Change {
	at, out := make(map[key]int, len(changes)), make([]Change, 0, len(changes))

	for i := range changes {
		c := &changes[i]

		n, seen := at[c.key()]
		switch {
		case !seen:
			at[c.key()] = len(out)
			out = append(out, *c)
		case !c.ChangedAt.Before(out[n].ChangedAt):
			out[n] = *c
		}
	}

	return out
}

// key returns the name of the record.
func (c *Change) key() key { return key{c.Kind, c.ExternalID, c.Ordinal} }

// skipped returns why a change needs no look at the record here, empty if it does. Same says that it has the content
// that was taken in before.
func (c *Change) skipped(was *memory, same bool) Reason {
	switch {
	case was != nil && was.ChangedAt != nil && !c.ChangedAt.IsZero() && c.ChangedAt.Before(*was.ChangedAt):
		return Older
	case c.Gone && (was == nil || was.EntityID == nil):
		return Unknown
	case c.Gone && was.State == gone:
		return Unchanged
	case c.Gone:
		return ""
	case same:
		return Unchanged
	}

	if c.Skip == "" && was.entity() == nil {
		return c.SkipNew
	}

	return c.Skip
}

// entity returns the record here that an external one is, nil for none.
func (m *memory) entity() *id.ID {
	if m == nil {
		return nil
	}

	return m.EntityID
}

// wasTaken says whether a record here has been saved with what the source said of it. Until then it is saved even if the
// source says nothing new, so that it becomes one of the source's connection.
func (m *memory) wasTaken() bool { return m != nil && len(m.Taken) > 0 }

// open returns the open conflicts of an external record.
func (m *memory) open() []openConflict {
	if m == nil {
		return nil
	}

	return m.Conflicts
}

// note adds what became of a change.
func (in *intake) note(c *Change, entity *id.ID, o Outcome, why Reason) {
	in.items = append(in.items, item{change: c, entityID: entity, outcome: o, reason: why})
}

// refuse adds a change that cannot be taken in.
func (in *intake) refuse(c *Change, entity *id.ID) {
	in.note(c, entity, Rejected, c.Refused.Reason)

	it := &in.items[len(in.items)-1]
	it.field, it.fault = c.Refused.Field, c.Refused.Fault
}

// reject adds the refusal of a change.
func (in *intake) reject(c *Change, entity *id.ID, refusal *apierr.Error) {
	why := Reason(refusal.Reason())
	if issues := refusal.Issues(); why == "" && len(issues) > 0 {
		why = Reason(issues[0].Code)
	}

	if why == "" {
		why = Reason(refusal.Code())
	}

	in.note(c, entity, Rejected, why)
	in.items[len(in.items)-1].field = fieldOf(refusal)
}

// fieldOf returns the field of a record that a refusal names, such as lines.0.amount, empty for none.
func fieldOf(refusal *apierr.Error) string {
	issues := refusal.Issues()
	if len(issues) == 0 {
		return ""
	}

	path := make([]string, len(issues[0].Path))
	for i, part := range issues[0].Path {
		path[i] = fmt.Sprint(part)
	}

	return strings.Join(path, ".")
}

// takeKind takes in changes of one kind.
func (in *intake) takeKind(
	ctx context.Context, tx *db.Tx,
	k *Kind,
	changes []*Change,
	known map[key]*memory,
) error {
	if k.See != nil {
		if err := k.See(ctx, tx, in.origin, changes); err != nil {
			return err
		}
	}

	changes, err := in.hold(ctx, tx, k, changes, known)
	if err != nil {
		return err
	}

	removed, present := []*Change{}, []*Change{}

	for _, c := range changes {
		if c.Gone {
			removed = append(removed, c)
		} else {
			present = append(present, c)
		}
	}

	if err := in.remove(ctx, tx, k, removed, known); err != nil {
		return err
	}

	// Which records here the changes are.
	found, err := in.identify(ctx, tx, k, present, known)
	if err != nil {
		return err
	}

	// Then what to write into each, which leaves out what a person has changed.
	writes, err := in.plan(ctx, tx, k, found)
	if err != nil {
		return err
	}

	return in.save(ctx, tx, k, writes)
}

// hold notes the changes that are skipped because their source does not decide about their records any more, and returns the
// others. One that a person is to decide about asks; a removal says that the record is inactive then.
func (in *intake) hold(ctx context.Context, tx *db.Tx, k *Kind, changes []*Change, known map[key]*memory) ([]*Change, error) {
	if k.Withhold == nil {
		return changes, nil
	}

	entities := make([]*id.ID, len(changes))
	for i, c := range changes {
		entities[i] = known[c.key()].entity()
	}

	holds, err := k.Withhold(ctx, tx, in.origin, changes, entities)
	if err != nil || holds == nil {
		return changes, err
	}

	out := changes[:0:0]

	for i, c := range changes {
		if holds[i].Skip != "" {
			in.note(c, entities[i], Skipped, holds[i].Skip)
			continue
		}

		if holds[i].Asks {
			asked := *c
			c, asked.asks = &asked, true

			if c.Gone {
				was := known[c.key()]
				c.Gone, c.Values, c.Refs, c.At, c.sum = false, Values{"status": json.RawMessage(`"inactive"`)}, was.Refs, was.Day, []byte{}
			}
		}

		out = append(out, c)
	}

	return out, nil
}

// identify returns the changes with the record here that each one is: the one that it was before, or the one that the
// kind finds. Those that are not certain are noted as ambiguous.
func (in *intake) identify(
	ctx context.Context, tx *db.Tx,
	k *Kind,
	changes []*Change,
	known map[key]*memory,
) ([]*pending, error) {
	var (
		out     []*pending
		unknown []Change
		places  []int
	)

	entities, err := loadEntities(ctx, tx, in.origin, changes)
	if err != nil {
		return nil, err
	}

	if in.entities == nil {
		in.entities = map[Reference]id.ID{}
	}

	maps.Copy(in.entities, entities)

	for _, c := range changes {
		p := &pending{change: c, was: known[c.key()]}
		p.write = Write{ID: p.was.entity(), ExternalID: c.ExternalID}
		p.entity = p.write.ID

		if !p.resolve(entities, k.Present) {
			in.note(c, p.write.ID, Skipped, Unmapped)
			in.keep = append(in.keep, p.wait())

			continue
		}

		if p.values, p.cut = k.shorten(p.values); p.cut != nil {
			in.ask(c, p, textShortened, p.cut)
		}

		in.askNotes(c, p)

		if p.write.ID == nil && k.Match != nil {
			resolved := *c
			resolved.Values = p.values
			unknown, places = append(unknown, resolved), append(places, len(out))
		}

		out = append(out, p)
	}

	if len(unknown) == 0 {
		return out, loadInherited(ctx, tx, k.Name, out)
	}

	matches, err := k.Match(ctx, tx, in.origin, unknown)
	if err != nil {
		return nil, err
	}

	// A record here belongs to one record of a source: two that match it would overwrite each other.
	bound, err := loadBound(ctx, tx, in.origin, k.Name, matches)
	if err != nil {
		return nil, err
	}

	for i, m := range matches {
		p := out[places[i]]
		if m.Ambiguous || m.ID != nil && bound[*m.ID] {
			in.note(p.change, nil, Rejected, Ambiguous)
			in.ask(p.change, nil, ambiguous, nil)

			out[places[i]] = nil

			continue
		}

		if m.Waits {
			in.note(p.change, nil, Skipped, Unmapped)
			in.keep = append(in.keep, p.wait())
			out[places[i]] = nil

			continue
		}

		if p.write.ID, p.entity = m.ID, m.ID; m.ID != nil {
			bound[*m.ID] = true
		}
	}

	certain := out[:0:0]

	for _, p := range out {
		if p != nil {
			certain = append(certain, p)
		}
	}

	return certain, loadInherited(ctx, tx, k.Name, certain)
}

// plan sets the fields that each change writes. Changes that write nothing are noted and remembered, and left out.
func (in *intake) plan(ctx context.Context, tx *db.Tx, k *Kind, found []*pending) ([]*pending, error) {
	var ids []id.ID

	for _, p := range found {
		if p.write.ID != nil {
			ids = append(ids, *p.write.ID)
		}
	}

	here := map[id.ID]Values{}

	if len(ids) > 0 {
		var err error
		if here, err = k.Current(ctx, tx, ids); err != nil {
			return nil, err
		}
	}

	var writes []*pending

	for _, p := range found {
		// A record that was deleted here stays so: the source is not asked to bring it back.
		current, exists := Values{}, true
		if p.write.ID != nil {
			current, exists = here[*p.write.ID]
		}

		if !exists {
			in.note(p.change, nil, Skipped, Deleted)
			in.remember(p, p.write.ID)

			continue
		}

		if err := p.merge(tx, current, k); err != nil {
			in.note(p.change, p.write.ID, Rejected, Malformed)
			continue
		}

		if p.write.ID != nil && len(p.write.Fields) == 0 && p.was.wasTaken() {
			in.note(p.change, p.write.ID, Skipped, cmp.Or(p.reason(), Unchanged))
			in.remember(p, p.write.ID)

			continue
		}

		writes = append(writes, p)
	}

	return writes, nil
}

// save has the kind save the changes, and notes and remembers what became of each.
func (in *intake) save(ctx context.Context, tx *db.Tx, k *Kind, writes []*pending) error {
	if len(writes) == 0 {
		return nil
	}

	saved, err := in.write(ctx, tx, k, writes)
	if err != nil {
		return err
	}

	if err := k.askAboutKept(ctx, tx, writes, saved); err != nil {
		return err
	}

	for i, p := range writes {
		switch s := &saved[i]; {
		case s.Refusal == nil && s.ID.IsZero():
			in.note(p.change, p.write.ID, Skipped, StatusIgnored)
		case s.Refusal == nil:
			p.entity = &s.ID
			in.note(p.change, &s.ID, Done, p.reason())
			in.remember(p, &s.ID)
		case s.Locked:
			in.note(p.change, p.write.ID, Skipped, Locked)

			row := p.wait()
			row.Locked = true
			in.keep = append(in.keep, row)
		default:
			in.reject(p.change, p.write.ID, s.Refusal)
		}
	}

	return nil
}

// remember keeps what the source said, now that it was taken in.
func (in *intake) remember(p *pending, entity *id.ID) {
	if !p.isKept {
		in.keep = append(in.keep, p.row(entity))
	}
}

// row returns the external record to write again, with another state and what waits. One that is gone has no hash, so
// that it is taken in anew if it comes back.
func (m *memory) row(state string, waiting Values) keepRow {
	return keepRow{
		Kind: m.Kind, ExternalID: m.ExternalID, Ordinal: m.Ordinal, EntityID: m.EntityID, Hash: []byte{}, Taken: m.Taken,
		Refs: m.Refs, Waiting: waiting, conflicts: m.Conflicts, had: m.Conflicts, ChangedAt: m.ChangedAt, Day: m.Day, State: state,
	}
}
