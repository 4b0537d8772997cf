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

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// intake takes in the changes of a page.
type intake struct {
	kinds  map[string]*Kind
	origin Origin
	// complete says that the page belongs to a reading of all records.
	complete bool

	items []item
	// issues are findings for a person to look at.
	issues []issue
	// entities are the ids here of the source records that changes refer to.
	entities map[Reference]id.ID
	// records are the external records to save.
	records []recordRow
}

// takeChanges takes in changes: it skips what is known already, and has the kinds save the rest. The outcomes are in
// items; a refusal of a kind is an outcome, too.
func (in *intake) takeChanges(ctx context.Context, tx *db.Tx, changes []Change) error {
	changes = latestPerRecord(in.checkChanges(tx, changes))

	known, same, err := loadMemory(ctx, tx, in.origin, changes, in.complete)
	if err != nil {
		return err
	}

	// First, without loading any record here: most changes of a nightly sync repeat what was said before.
	byKind, order := in.skipKnown(tx, changes, known, same)

	if err := in.saveRecords(ctx, tx); err != nil {
		return err
	}

	// Then the rest by kind, in the order of the source: a stay comes after its listing.
	for _, kind := range order {
		if err := in.takeKind(ctx, tx, in.kinds[kind], byKind[kind], known); err != nil {
			return fmt.Errorf("take in %s records: %w", kind, err)
		}

		// Records of a later kind can refer to these.
		if err := in.saveRecords(ctx, tx); err != nil {
			return err
		}
	}

	// People see what became of a file with its rows.
	if in.origin.IsFile {
		return nil
	}

	in.saveIssues(tx)

	return in.notifyFreed(ctx, tx)
}

// skipKnown adds the outcomes of changes that were refused or say nothing new, and returns the other changes by kind,
// with the kinds in the order in which they came.
func (in *intake) skipKnown(
	tx *db.Tx,
	changes []Change,
	known map[key]*memory,
	same map[key]bool,
) (byKind map[string][]*Change, order []string) {
	byKind = map[string][]*Change{}

	for i := range changes {
		c := &changes[i]
		was := known[c.key()]

		skip := c.skipReason(was, same[c.key()])
		if !in.complete && c.isOlder(was, latestStamp(tx)) {
			skip = Older
		}

		switch {
		case c.Refused != nil:
			in.addRefusal(c, was.entity())
		case skip != "":
			in.addItem(c, was.entity(), Skipped, skip)
			in.items[len(in.items)-1].isSame = skip == Unchanged || skip == Older

			// It was waiting to become a record here, and is gone before it did.
			if skip == Unknown && was != nil && was.Waiting != nil {
				in.records = append(in.records, was.row(gone, nil))
			}
		default:
			if byKind[c.Kind] == nil {
				order = append(order, c.Kind)
			}

			byKind[c.Kind] = append(byKind[c.Kind], c)
		}
	}

	return byKind, order
}

// notifyFreed lets the kinds forget the locks of records that are no longer held.
func (in *intake) notifyFreed(ctx context.Context, tx *db.Tx) error {
	names := map[string][]string{}

	for i := range in.items {
		it := &in.items[i]
		isLocked := it.outcome == Skipped && it.reason == Locked

		if k := in.kinds[it.change.Kind]; k == nil || k.Freed == nil || it.isSame || isLocked {
			continue
		}

		// Kinds know a held record by its id outside, or by its id here.
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

// clockLead is how far the clock of a source may be ahead of ours.
const clockLead = time.Hour

// latestStamp returns the latest stamp of a change that is believed. A later one would make everything after it look
// old, until its time has come.
func latestStamp(tx *db.Tx) time.Time { return tx.Now.Add(clockLead) }

// checkChanges returns the changes with a usable kind and name; the others become malformed items. A change that cannot
// be hashed is returned as refused. Stamps from the future are dropped.
func (in *intake) checkChanges(tx *db.Tx, changes []Change) []Change {
	var h hasher

	out := make([]Change, 0, len(changes))

	for i := range changes {
		c := &changes[i]

		// The database keeps microseconds: with a finer stamp the same change would look newer than itself.
		if c.ChangedAt = c.ChangedAt.Round(time.Microsecond); c.ChangedAt.After(latestStamp(tx)) {
			c.ChangedAt = time.Time{}
		}

		var err error
		if c.sum == nil {
			c.sum, err = h.sum(c)
		}

		if in.kinds[c.Kind] != nil && isName(c.ExternalID) {
			if err != nil && c.Refused == nil {
				c.Refused = &Refusal{Reason: Malformed}
			}

			// A refused record still counts as seen: otherwise a complete reading would take it for removed.
			if c.Refused != nil {
				c.Values, c.Refs, c.sum = nil, nil, []byte{}
			}

			out = append(out, *c)

			continue
		}

		// The item lists the record under a shortened name.
		named := *c
		named.ExternalID = shortenName(c.ExternalID)
		in.addItem(&named, nil, Rejected, Malformed)
	}

	return out
}

// maxName bounds the name of a record, in bytes.
const maxName = 500

// isName reports whether a text can be the name of a record.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && isText(s)
}

// shortenName returns a text cut to a valid name of a record.
func shortenName(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), maxName)], ""), "\x00", "")
	return cmp.Or(s, "-")
}

// latestPerRecord returns one change for each record: the change with the latest stamp, or the last one if their stamps
// are equal or missing.
func latestPerRecord(changes []Change) []Change {
	at, out := make(map[key]int, len(changes)), make([]Change, 0, len(changes))

	for i := range changes {
		c := &changes[i]

		n, seen := at[c.key()]
		switch {
		case !seen:
			at[c.key()] = len(out)
			out = append(out, *c)
		case c.ChangedAt.IsZero() || !c.ChangedAt.Before(out[n].ChangedAt):
			out[n] = *c
		}
	}

	return out
}

// isOlder reports whether the source has said something newer already. A kept stamp after the latest one proves nothing.
func (c *Change) isOlder(was *memory, latest time.Time) bool {
	return was != nil && was.ChangedAt != nil && !was.ChangedAt.After(latest) &&
		!c.ChangedAt.IsZero() && c.ChangedAt.Before(*was.ChangedAt)
}

// skipReason returns why a change can be skipped without loading its record here, or "". The argument same says that
// its content equals what was taken in before.
func (c *Change) skipReason(was *memory, same bool) Reason {
	switch {
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

	// First leave out records that this source no longer decides about.
	changes, err := in.withhold(ctx, tx, k, changes, known)
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

	// Then removals, which need no matching.
	if err := in.removeGone(ctx, tx, k, removed, known); err != nil {
		return err
	}

	// Then find the record here of each change …
	found, err := in.identify(ctx, tx, k, present, known)
	if err != nil {
		return err
	}

	// … decide which fields to write, leaving out what a person has changed …
	writes, err := in.planWrites(ctx, tx, k, found)
	if err != nil {
		return err
	}

	// … and write them.
	return in.saveWrites(ctx, tx, k, writes)
}

// withhold skips the changes of records that their source no longer decides about, and returns the others. A change
// that a person is to decide about is marked as asking; asking about a removal means proposing the status inactive.
func (in *intake) withhold(
	ctx context.Context, tx *db.Tx,
	k *Kind,
	changes []*Change,
	known map[key]*memory,
) ([]*Change, error) {
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
			in.addItem(c, entities[i], Skipped, holds[i].Skip)
			continue
		}

		if holds[i].Asks {
			// A copy: the caller's change stays as the source gave it.
			asked := *c
			c, asked.asks = &asked, true

			if c.Gone {
				was := known[c.key()]
				c.Gone, c.Values = false, Values{"status": json.RawMessage(`"inactive"`)}
				c.Refs, c.At, c.sum = was.Refs, was.Day, []byte{}
			}
		}

		out = append(out, c)
	}

	return out, nil
}

// identify returns the changes with their records here: the record that a change was bound to before, or the match that
// the kind finds. Ambiguous changes, and changes that refer to unknown records, become items and are left out.
func (in *intake) identify(
	ctx context.Context, tx *db.Tx,
	k *Kind,
	changes []*Change,
	known map[key]*memory,
) ([]*pending, error) {
	entities, err := loadEntities(ctx, tx, in.origin, changes)
	if err != nil {
		return nil, err
	}

	// Issues of stays are shown at their listings, so they need these ids later.
	if in.entities == nil {
		in.entities = map[Reference]id.ID{}
	}

	maps.Copy(in.entities, entities)

	var found []*pending

	for _, c := range changes {
		p := &pending{change: c, was: known[c.key()], isOfFile: in.origin.IsFile}
		p.write = Write{ID: p.was.entity(), ExternalID: c.ExternalID}
		p.entity = p.write.ID

		// A stay of a listing that is not here yet waits for it.
		if !p.resolve(entities, k.Present) {
			in.addItem(c, p.write.ID, Skipped, Unmapped)
			in.records = append(in.records, p.waitingRow())

			continue
		}

		if p.values, p.cut = k.shorten(p.values); p.cut != nil {
			in.addIssue(c, p, textShortened, p.cut)
		}

		in.addNotes(c, p)

		found = append(found, p)
	}

	if found, err = in.matchNew(ctx, tx, k, found); err != nil {
		return nil, err
	}

	return found, loadInherited(ctx, tx, k.Name, found)
}

// matchNew has the kind match changes without a record here, and returns all changes except the ambiguous and waiting
// ones, which become items. Changes without a match stay new.
func (in *intake) matchNew(ctx context.Context, tx *db.Tx, k *Kind, found []*pending) ([]*pending, error) {
	var (
		unknown []Change
		places  []int
	)

	for i, p := range found {
		if p.write.ID == nil && k.Match != nil {
			resolved := *p.change
			resolved.Values = p.values
			unknown, places = append(unknown, resolved), append(places, i)
		}
	}

	if len(unknown) == 0 {
		return found, nil
	}

	matches, err := k.Match(ctx, tx, in.origin, unknown)
	if err != nil {
		return nil, err
	}

	// A record here belongs to at most one record of a source: two that match it would overwrite each other.
	bound, err := in.loadBound(ctx, tx, k.Name, matches)
	if err != nil {
		return nil, err
	}

	dropped := map[int]bool{}

	for i, m := range matches {
		p := found[places[i]]

		switch {
		case m.Ambiguous || m.ID != nil && bound[*m.ID]:
			in.addItem(p.change, nil, Rejected, Ambiguous)
			in.addIssue(p.change, nil, ambiguous, nil)

			dropped[places[i]] = true
		case m.Waits:
			in.addItem(p.change, nil, Skipped, Unmapped)
			in.records = append(in.records, p.waitingRow())

			dropped[places[i]] = true
		case m.ID != nil:
			p.write.ID, p.entity = m.ID, m.ID
			bound[*m.ID] = true
		}
	}

	out := found[:0:0]

	for i, p := range found {
		if !dropped[i] {
			out = append(out, p)
		}
	}

	return out, nil
}

// loadBound returns the matched records that belong to another record of the source already. Files name a record as
// they like, so that earlier ones bind nothing.
func (in *intake) loadBound(ctx context.Context, tx *db.Tx, kind string, matches []Match) (map[id.ID]bool, error) {
	if in.origin.IsFile {
		return map[id.ID]bool{}, nil
	}

	return loadBound(ctx, tx, in.origin, kind, matches)
}

// planWrites sets the fields that each change writes, and locks the records. Changes that write nothing become items
// and are left out.
func (in *intake) planWrites(ctx context.Context, tx *db.Tx, k *Kind, found []*pending) ([]*pending, error) {
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
		current, exists := Values{}, true
		if p.write.ID != nil {
			current, exists = here[*p.write.ID]
		}

		// A person can bring back a record that was deleted here.
		if !exists && p.change.wins {
			p.write.ID, p.was, current, exists = nil, nil, Values{}, true
		}

		// A record that was deleted here stays deleted: the source cannot bring it back.
		if !exists {
			in.addItem(p.change, nil, Skipped, Deleted)
			in.addRecord(p, p.write.ID)

			continue
		}

		if err := p.merge(tx, current, k); err != nil {
			in.addItem(p.change, p.write.ID, Rejected, Malformed)
			continue
		}

		if in.origin.IsFile {
			p.settleForFile(current)
		}

		// The first change of a connection is written even without new values, so that the record becomes its own.
		if p.write.ID != nil && len(p.write.Fields) == 0 && (p.was.wasTaken() || in.origin.IsFile) {
			in.addItem(p.change, p.write.ID, Skipped, cmp.Or(p.reason(), Unchanged))
			in.addRecord(p, p.write.ID)

			continue
		}

		writes = append(writes, p)
	}

	return writes, nil
}

// saveWrites has the kind save the changes, and adds the outcome and the external record of each.
func (in *intake) saveWrites(ctx context.Context, tx *db.Tx, k *Kind, writes []*pending) error {
	if len(writes) == 0 {
		return nil
	}

	saved, err := in.saveAndJoin(ctx, tx, k, writes)
	if err != nil {
		return err
	}

	if err := k.askAboutKept(ctx, tx, writes, saved); err != nil {
		return err
	}

	for i, p := range writes {
		switch s := &saved[i]; {
		case s.Refusal == nil && s.ID.IsZero():
			in.addItem(p.change, p.write.ID, Skipped, StatusIgnored)
		case s.Refusal == nil:
			p.entity = &s.ID
			in.addItem(p.change, &s.ID, Done, p.reason())
			in.items[len(in.items)-1].isNew, in.items[len(in.items)-1].before = p.write.ID == nil, p.before
			in.addRecord(p, &s.ID)
		case s.Locked && !in.origin.IsFile:
			// Its values wait, and are tried again when the lock goes.
			in.addItem(p.change, p.write.ID, Skipped, Locked)

			row := p.waitingRow()
			row.Locked = true
			in.records = append(in.records, row)
		default:
			in.addRejection(p.change, p.write.ID, s.Refusal)
		}
	}

	return nil
}
