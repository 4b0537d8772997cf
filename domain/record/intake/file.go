package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Taken says what became of a record of a file.
type Taken struct {
	Outcome Outcome
	// Reason says why the record was skipped or failed, and InConflict if an edit of a person was kept.
	Reason Reason
	// Entity is the record here, nil if there is none. Created says that it is new.
	Entity  *id.ID
	Created bool
	// Refusal says why the record failed, nil if it did not, or if it matches several records here.
	Refusal *apierr.Error
	// Before has the former values of the fields that were changed.
	Before Values
}

// TakeFile takes in records of the kind from a file that a person has uploaded, and returns what became of each, in the
// given order. A file is taken in as a sync is, with three differences. Nothing waits: what a lock holds is refused. A
// field that a person has changed here keeps their value, and no conflict is opened. Several files of one source are
// one memory: a record that an earlier file named otherwise is matched again.
//
// With replace the file wins over what is here, also where it says nothing new.
func (k *Kind) TakeFile(
	ctx context.Context, tx *db.Tx, from Origin, replace bool, changes []Change,
) ([]Taken, error) {
	from.IsFile, from.reading = true, from.SourceID
	in := &intake{kinds: map[string]*Kind{k.Name: k}, origin: from}
	places := make(map[key]int, len(changes))

	for i := range changes {
		changes[i].Kind, changes[i].wins = k.Name, replace
		places[changes[i].key()] = i
	}

	if err := in.takeChanges(ctx, tx, changes); err != nil {
		return nil, err
	}

	out := make([]Taken, len(changes))

	for i := range in.items {
		it := &in.items[i]
		out[places[it.change.key()]] = Taken{
			Outcome: it.outcome, Reason: it.reason, Entity: it.entityID, Created: it.isNew,
			Refusal: it.refusal, Before: it.before,
		}
	}

	return out, nil
}

// Movement is the money that a record of a file is about. AccountID and Date are nil where the record has none.
type Movement struct {
	AccountID *id.ID
	Date      *day.Day
	Amount    money.Cents
}

// Likeness is a record here that a movement could be: the one at place N of the list, from 0.
type Likeness struct {
	N           int
	ID          id.ID
	Date        day.Day
	Description string
}

// AnyIn returns a Kind.Any for the records of a table.
func AnyIn(table string) func(ctx context.Context, tx *db.Tx) (bool, error) {
	return func(ctx context.Context, tx *db.Tx) (bool, error) {
		return db.Get[bool](ctx, tx, `select exists (select from `+table+` where team_id = @team)`, db.Args{"team": tx.Team})
	}
}

// SelectAlike returns a Kind.Alike. The condition is that of a record d, in the order of likeness that follows, for a
// movement g with account, date and amount; the columns are those of Likeness.
func SelectAlike(
	columns, table, condition, order string,
) func(ctx context.Context, tx *db.Tx, all []Movement) ([]Likeness, error) {
	sql := `select g.n::int - 1 as n, d.* from unnest(@accounts::uuid[], @dates::date[], @amounts::bigint[]) with ordinality g (account, date, amount, n)
		cross join lateral (select ` + columns + ` from ` + table + ` d where d.team_id = @team and ` + condition + ` order by ` + order + ` limit 20` + db.Fence + `) d`

	return func(ctx context.Context, tx *db.Tx, all []Movement) (found []Likeness, err error) {
		accounts, dates, amounts := make([]*id.ID, len(all)), make([]*day.Day, len(all)), make([]int64, len(all))
		for i := range all {
			accounts[i], dates[i], amounts[i] = all[i].AccountID, all[i].Date, int64(all[i].Amount)
		}

		// A cached plan could date from an empty table.
		err = db.Afresh(func(ctx context.Context, tx *db.Tx) (err error) {
			found, err = db.Select[Likeness](ctx, tx, sql, db.Args{
				"team": tx.Team, "accounts": accounts, "dates": dates, "amounts": amounts,
			})

			return err
		})(ctx, tx)
		if err != nil {
			return nil, fmt.Errorf("find what rows of a file duplicate: %w", err)
		}

		return found, nil
	}
}

// KnownName is a record of a source: which record here it is, and the hash of its last content.
type KnownName struct {
	Name     string
	Ordinal  int
	EntityID *id.ID
	Hash     []byte
}

// LoadNames returns those of the named records that a source has brought before and that are here.
func LoadNames(ctx context.Context, tx *db.Tx, source id.ID, kind string, names []string) ([]KnownName, error) {
	found, err := db.Select[KnownName](ctx, tx, `
		select r.* from (select distinct name from unnest(@names::text[]) n (name)) g cross join lateral (
			select e.external_id as name, e.ordinal, e.entity_id, e.hash from external_record e
			where e.team_id = @team and e.source_id = @source and e.kind = @kind and e.external_id = g.name and e.state = 'active'
				and e.entity_id is not null`+db.Fence+`) r`,
		db.Args{"team": tx.Team, "source": source, "kind": kind, "names": names})
	if err != nil {
		return nil, fmt.Errorf("read which records of a file are here: %w", err)
	}

	return found, nil
}

// HasNames reports whether a source has brought any record of a kind.
func HasNames(ctx context.Context, tx *db.Tx, source id.ID, kind string) (bool, error) {
	return db.Get[bool](ctx, tx, `select exists (select from external_record where team_id = @team and source_id = @source and kind = @kind)`,
		db.Args{"team": tx.Team, "source": source, "kind": kind})
}

// OpenSource inserts the source of files, or of the files of a connection, unless it is there.
func OpenSource(ctx context.Context, tx *db.Tx, source id.ID, connection *id.ID) error {
	_, err := tx.Exec(ctx, `insert into sync_source (team_id, id, connection_id) values (@team, @source, @connection) on conflict do nothing`,
		db.Args{"team": tx.Team, "source": source, "connection": connection})
	if err != nil {
		return fmt.Errorf("make the source of a file: %w", err)
	}

	return nil
}

// AddEach returns a Singles.Add that makes records one by one, and undoes each that is refused.
func AddEach[C any](
	add func(ctx context.Context, tx *db.Tx, item *C) (id.ID, error),
) func(ctx context.Context, tx *db.Tx, items []C) ([]api.Attempt, error) {
	return func(ctx context.Context, tx *db.Tx, items []C) ([]api.Attempt, error) {
		out := make([]api.Attempt, len(items))

		refusals, err := db.Halves(ctx, tx, len(items), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) (err error) {
			for i := from; i < to && err == nil; i++ {
				out[i].ID, err = add(ctx, tx, &items[i])
			}

			return err
		})

		for i, refusal := range refusals {
			if refusal != nil {
				out[i] = api.Attempt{Refusal: apierr.From(refusal)}
			}
		}

		return out, err
	}
}

// LoadEdited returns the records of a source that have another value here than was taken in last, each with a field that
// differs. Lists and objects are not compared.
func LoadEdited(ctx context.Context, tx *db.Tx, k *Kind, source id.ID, ids []id.ID) (map[id.ID]string, error) {
	type row struct {
		EntityID id.ID
		Taken    Values
	}

	rows, err := db.Select[row](ctx, tx, `select entity_id, taken from external_record
		where team_id = @team and source_id = @source and kind = @kind and entity_id = any(@ids)`,
		db.Args{"team": tx.Team, "source": source, "kind": k.Name, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read the values that a file has set: %w", err)
	}

	here, err := k.Show(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := map[id.ID]string{}

	for _, r := range rows {
		for field, was := range r.Taken {
			is, has := here[r.EntityID][field]
			if !has || slices.Contains(k.Secret, field) || len(was) == 0 || was[0] == '[' || was[0] == '{' {
				continue
			}

			if !sameValue(was, is) {
				out[r.EntityID] = field
			}
		}
	}

	return out, nil
}

// sameValue reports whether two values are the same; texts may differ in letters and spaces.
func sameValue(a, b json.RawMessage) bool {
	x, errA := canonical(a)
	y, errB := canonical(b)

	return errors.Join(errA, errB) == nil && x == y || sameText(string(a), string(b))
}

// LoadNamesOf returns the names under which a source has brought records here.
func LoadNamesOf(ctx context.Context, tx *db.Tx, source id.ID, kind string, ids []id.ID) (map[id.ID]string, error) {
	found, err := db.Select[KnownName](ctx, tx, `select external_id as name, ordinal, entity_id, hash from external_record
		where team_id = @team and source_id = @source and kind = @kind and entity_id = any(@ids)`,
		db.Args{"team": tx.Team, "source": source, "kind": kind, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read the names of records of a file: %w", err)
	}

	out := make(map[id.ID]string, len(found))
	for _, f := range found {
		out[*f.EntityID] = f.Name
	}

	return out, nil
}

// Forget removes what is remembered of records here that an import has made and that are deleted.
func Forget(ctx context.Context, tx *db.Tx, source id.ID, kind string, entities []id.ID) error {
	_, err := tx.Exec(ctx, `delete from external_record where team_id = @team and source_id = @source and kind = @kind and entity_id = any(@ids)`,
		db.Args{"team": tx.Team, "source": source, "kind": kind, "ids": entities})
	if err != nil {
		return fmt.Errorf("forget records of a file: %w", err)
	}

	return nil
}

// Sum returns the hash of the content of a change. It fails for texts that cannot be stored.
func Sum(c *Change) ([]byte, error) {
	var h hasher
	return h.sum(c)
}
