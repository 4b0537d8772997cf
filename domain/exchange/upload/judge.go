package upload

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/plain"
)

// verdict says whether a record can be taken in, and which record here it is.
type verdict struct {
	status RowStatus
	match  *id.ID
	// isCertain says that the match is certain.
	isCertain bool
}

// judge finds out which records of a file are here already.
type judge struct {
	reader *reader
	source id.ID
	// remembers says that earlier files have brought such records, hasRecords that the team has any.
	remembers, hasRecords bool
	// taken are the stored records that rows of the file were matched with.
	taken map[id.ID]bool
}

// newJudge returns a judge for the records in a file.
func newJudge(ctx context.Context, tx *db.Tx, r *reader, source id.ID) (*judge, error) {
	j := &judge{reader: r, source: source, taken: map[id.ID]bool{}}

	var err error
	if j.remembers, err = intake.HasNames(ctx, tx, source, r.kind.noun.Name); err != nil {
		return nil, err
	}

	j.hasRecords, err = r.kind.noun.Any(ctx, tx)

	return j, err
}

// keyed is a record with its name at the source.
type keyed struct {
	*record

	key     string
	ordinal int
	// isNamed says that the key comes from the row, and not from a hash. isRepeated says that an earlier row is the
	// same.
	isNamed, isRepeated bool
}

// judge returns a verdict for each record, in the given order.
func (j *judge) judge(ctx context.Context, tx *db.Tx, all []keyed) ([]verdict, error) {
	out := make([]verdict, len(all))

	var open []int

	// First decide by the file alone. Only open records are looked up.
	for i := range all {
		switch rec := all[i].record; {
		case rec.ignored != "":
			out[i].status = Ignored
		case rec.isFaulty():
			out[i].status = Faulty
		case all[i].isRepeated:
			out[i].status, out[i].isCertain = Duplicate, true
		case all[i].isNamed && all[i].ordinal > 0 && rec.kind.isOnce:
			rec.addIssue(repeatedKey, asQuestion, -1, j.reader)

			out[i].status = Question
			open = append(open, i)
		case rec.asks():
			out[i].status = Question
			open = append(open, i)
		default:
			out[i].status = Valid
			open = append(open, i)
		}
	}

	if len(open) == 0 || !j.remembers && !j.hasRecords {
		return out, nil
	}

	// Then look up the names in the memory of earlier files. A name that the file repeats is left to a person.
	open, err := j.recall(ctx, tx, all, open, out)
	open = slices.DeleteFunc(open, func(i int) bool { return hasIssue(all[i].issues, repeatedKey) })

	if err != nil || len(open) == 0 || !j.hasRecords {
		return out, err
	}

	// Last let the noun look for the records, first by their references and then by their content.
	if open, err = j.match(ctx, tx, all, open, out); err != nil || len(open) == 0 {
		return out, err
	}

	return out, j.compare(ctx, tx, all, open, out)
}

// recall judges records from earlier files by their names, and returns the places of the unknown records.
func (j *judge) recall(ctx context.Context, tx *db.Tx, all []keyed, open []int, out []verdict) ([]int, error) {
	if !j.remembers {
		return open, nil
	}

	keys := make([]string, len(open))
	for n, i := range open {
		keys[n] = all[i].key
	}

	found, err := intake.LoadNames(ctx, tx, j.source, j.reader.kind.noun.Name, keys)
	if err != nil {
		return nil, err
	}

	type name struct {
		key     string
		ordinal int
	}

	known := map[name]*intake.KnownName{}
	for n := range found {
		known[name{found[n].Name, found[n].Ordinal}] = &found[n]
	}

	// A person may have deleted or renamed records since.
	var ids []id.ID

	for _, i := range open {
		if was := known[name{all[i].key, all[i].ordinal}]; was != nil {
			ids = append(ids, *was.EntityID)
		}
	}

	here, err := j.show(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	rest := open[:0:0]

	for _, i := range open {
		was := known[name{all[i].key, all[i].ordinal}]
		if was == nil {
			rest = append(rest, i)
			continue
		}

		if here[*was.EntityID] == nil {
			all[i].addIssue(deletedHere, asQuestion, -1, j.reader).say("The record was deleted here")
			out[i].status = Question

			continue
		}

		out[i].match, out[i].isCertain = was.EntityID, true
		j.taken[*was.EntityID] = true

		// The same content is a duplicate. A text that cannot be stored counts as changed, and is refused later.
		sum, err := intake.Sum(all[i].change(j.reader.kind))

		switch {
		case err == nil && bytes.Equal(sum, was.Hash):
			out[i].status, all[i].issues = Duplicate, nil
		case j.reader.kind.name == Transactions || j.reader.kind.name == JournalEntries:
			// Booked money is changed only if a person wants it.
			all[i].addIssue(changedInFile, asQuestion, -1, j.reader)
			out[i].status = Question
		default:
			j.checkName(&all[i], here[*was.EntityID], &out[i])
		}
	}

	return rest, nil
}

// show returns the present values of records here. Deleted records are absent.
func (j *judge) show(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	return j.reader.kind.noun.Show(ctx, tx, ids)
}

// checkName asks about a contact with another name than the record here: two people can share an e-mail address.
func (j *judge) checkName(k *keyed, here intake.Values, v *verdict) {
	if j.reader.kind.name != Contacts {
		return
	}

	said, is := k.word("name"), text(here["name"])
	if said == "" || fold(said) == fold(is) || k.word("uniqueRef") != "" {
		return
	}

	k.addIssue(otherName, asQuestion, -1, j.reader).say("Another name has this e-mail address or reference: " + is)

	v.status = Question
}

// change returns the record as a change from its source.
func (k *keyed) change(of *kind) *intake.Change {
	return &intake.Change{Kind: of.noun.Name, ExternalID: k.key, Ordinal: k.ordinal, Values: k.values()}
}

// match judges records that the noun finds by reference, and returns the places of the unknown records.
func (j *judge) match(ctx context.Context, tx *db.Tx, all []keyed, open []int, out []verdict) ([]int, error) {
	k := j.reader.kind
	// Without references, asking about each movement of a bank would find nothing.
	if k.noun.Match == nil || k.name == BankRecords && !j.reader.has("uniqueRef") {
		return open, nil
	}

	changes := make([]intake.Change, len(open))
	for n, i := range open {
		changes[n] = *all[i].change(k)
	}

	found, err := k.noun.Match(ctx, tx, intake.Origin{SourceID: j.source, IsFile: true}, changes)
	if err != nil {
		return nil, err
	}

	var ids []id.ID

	for _, m := range found {
		if m.ID != nil && k.name == Contacts {
			ids = append(ids, *m.ID)
		}
	}

	here, err := j.show(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	rest := open[:0:0]

	for n, i := range open {
		switch m := found[n]; {
		case m.Ambiguous:
			all[i].addIssue("ambiguousRecord", asQuestion, -1, j.reader)
			out[i].status = Question
		case m.ID == nil:
			rest = append(rest, i)
		default:
			out[i].match, out[i].isCertain = m.ID, true
			j.taken[*m.ID] = true

			j.checkName(&all[i], here[*m.ID], &out[i])

			// The booked record with the reference stays as it is.
			if k.name == Transactions || k.name == JournalEntries {
				out[i].status = Duplicate
			}
		}
	}

	return rest, nil
}

// compare judges records by their content: account, date and amount. If a stored record has the same text, too, the
// match is certain. Otherwise a person decides. Each stored record is matched with at most one row.
func (j *judge) compare(ctx context.Context, tx *db.Tx, all []keyed, open []int, out []verdict) error {
	if j.reader.kind.noun.Alike == nil {
		return nil
	}

	movements := make([]intake.Movement, len(open))

	for n, i := range open {
		rec := all[i].record
		movements[n].Amount = rec.amount

		if account, err := id.Parse(rec.word("account")); err == nil {
			movements[n].AccountID = &account
		}

		if rec.get("date") != nil {
			movements[n].Date = &rec.date[rec.kind.find("date")]
		}
	}

	found, err := j.reader.kind.noun.Alike(ctx, tx, movements)
	if err != nil {
		return err
	}

	// A record that files know by another number of its own is another one.
	named, err := j.loadNamed(ctx, tx, found)
	if err != nil {
		return err
	}

	// First match rows with the same text on the same day. Then the nearest records that are left.
	for _, certain := range []bool{true, false} {
		for _, f := range found {
			i := open[f.N]
			rec := all[i].record
			isSame := f.Date.String() == rec.word("date") &&
				plain.Text(f.Description) == plain.Text(rec.word("description"))

			if j.taken[f.ID] || all[i].isNamed && named[f.ID] || out[i].match != nil || certain && !isSame {
				continue
			}

			match := f.ID
			j.taken[f.ID] = true
			out[i].match, out[i].isCertain = &match, certain

			if out[i].status = Duplicate; !certain {
				rec.addIssue("possibleDuplicate", asQuestion, -1, j.reader)

				out[i].status = Question
			}
		}
	}

	return nil
}

// loadNamed returns the records that files have brought under a number of their own.
func (j *judge) loadNamed(ctx context.Context, tx *db.Tx, found []intake.Likeness) (map[id.ID]bool, error) {
	if len(found) == 0 || !j.remembers {
		return nil, nil
	}

	ids := make([]id.ID, len(found))
	for n, f := range found {
		ids[n] = f.ID
	}

	names, err := intake.LoadNamesOf(ctx, tx, j.source, j.reader.kind.noun.Name, ids)
	if err != nil {
		return nil, err
	}

	// A name without a field is a hash of the content.
	out := make(map[id.ID]bool, len(names))
	for one, name := range names {
		out[one] = strings.Contains(name, ":")
	}

	return out, nil
}

// withNames returns a kind whose Match also finds a record by its name, if no other record has the same name. People
// who keep a list write a name the same way each time. A record with another e-mail address or reference does not
// match.
func withNames(k intake.Kind, typ valueType) intake.Kind {
	byNoun := k.Match

	k.Match = func(
		ctx context.Context, tx *db.Tx, from intake.Origin, unknown []intake.Change,
	) ([]intake.Match, error) {
		out, err := byNoun(ctx, tx, from, unknown)
		if err != nil {
			return nil, err
		}

		// Look up all names at once, but only if references have found nothing.
		n := newNames()

		for i := range unknown {
			if out[i].ID == nil && !out[i].Ambiguous {
				n.ask(typ, text(unknown[i].Values["name"]))
			}
		}

		if err := n.load(ctx, tx); err != nil {
			return nil, err
		}

		var ids []id.ID

		for i := range unknown {
			found := n.find(typ, text(unknown[i].Values["name"]))
			if out[i].ID == nil && !out[i].Ambiguous && found.Count == 1 {
				out[i].ID = &found.ID
				ids = append(ids, found.ID)
			}
		}

		if len(ids) == 0 {
			return out, nil
		}

		here, err := k.Show(ctx, tx, ids)
		if err != nil {
			return nil, err
		}

		dropOthers(unknown, out, here)

		return out, nil
	}

	return k
}

// dropOthers removes matches by name where the stored record has another e-mail address or reference.
func dropOthers(unknown []intake.Change, out []intake.Match, here map[id.ID]intake.Values) {
	for i := range out {
		if out[i].ID == nil || here[*out[i].ID] == nil {
			continue
		}

		for _, field := range []string{"email", "uniqueRef"} {
			said, is := text(unknown[i].Values[field]), text(here[*out[i].ID][field])
			if said != "" && is != "" && fold(said) != fold(is) {
				out[i].ID = nil
				break
			}
		}
	}
}
