// Package intake takes in records that come from outside: what a connection syncs, what a file has. They come late,
// twice, changed, out of order or broken, and must end in the books once.
//
// A source gives pages of changes, and a page is taken in by one transaction: its records, what became of each, and how
// far the source was read. What a record was and which record it is here is remembered (external_record): equal content
// costs no write, a field that a person has changed here is not overwritten, and what a lock holds is tried again when
// the lock goes. A bad record fails alone.
//
// The package knows no noun. Each noun declares a Kind: how its records are matched, read and saved.
//
// The page docs/decisions/intake.md says what the contract leaves open and how it is answered here.
package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Values are the fields of a record under their names in the API. A field that is absent is one that the source says
// nothing about; one that it says to be empty is null.
type Values map[string]json.RawMessage

// Change is what a source says of one record.
type Change struct {
	Kind string
	// ExternalID is the source's name of the record; Ordinal keeps records apart that have one, such as equal rows of a
	// file.
	ExternalID string
	Ordinal    int
	// Values are those of the record now; nil if Gone, which says that the source has it no more.
	Values Values
	Gone   bool
	// Refs are fields that name other records of the source, such as the listing of a stay. They become fields with the
	// records here; a change that names one which is not known here waits for it.
	Refs map[string]Reference
	// ChangedAt is the source's own stamp of the change, zero for none: an older change than the last one is ignored.
	ChangedAt time.Time
	// At is the day that places the record in a window, such as a check-in; nil for none.
	At *day.Day
	// Skip says why the record is left out, such as pending; empty takes it in. SkipNew is the same for one that was never
	// taken in.
	Skip, SkipNew Reason
	// Refused says why the record cannot be taken in, nil for one that can.
	Refused *Refusal
	// Notes are what a person should look at in what the source says of the record.
	Notes []Note

	// sum is the hash of what it says.
	sum []byte
	// asks says that each field which it changes is a conflict.
	asks bool
}

// Refusal says why a record of a source cannot be taken in: the reason, the field as the source calls it, and what is wrong with it. The last
// two can be empty. Context is what its issue shows as well.
type Refusal struct {
	Reason       Reason
	Field, Fault string
	Context      map[string]any
}

// Note is an issue about a record of a source, with what the record shows of it.
type Note struct {
	Code    string
	Context map[string]any
}

// Reference names a record of the source.
type Reference struct {
	Kind       string `json:"kind"`
	ExternalID string `json:"externalId"`
}

// Origin says where records come from. It is the provenance of what they write.
type Origin struct {
	SourceID, SyncID id.ID
	// ConnectionID is the connection that they come over, nil for none.
	ConnectionID *id.ID
	// reading marks the records that the present reading has seen. A sync that begins anew is another reading.
	reading id.ID
}

// Kind says how the records of one noun are taken in. The functions run in the transaction of a page, and get all of its
// records at once.
type Kind struct {
	// Name is what counts and items call the kind, such as reservation; Entity the type of its records here.
	Name   string
	Entity audit.Entity
	// Lists are the fields that are lists, with how their items are known.
	Lists map[string]List
	// Lengths are how many characters texts may have, by field, or by field and member of a list: lines.type.
	Lengths map[string]int
	// bounds are Lengths in their order.
	bounds []bound
	// Fills are fields that Save fills in for a new record if its source says nothing of them, and Filled returns them: what
	// was filled in is no edit of a person.
	Fills  []string
	Filled func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error)
	// Keeps are fields that Save may keep as they are while it saves the others, such as a currency that amounts are in:
	// another word of the source is a conflict then.
	Keeps []string
	// Together are fields that mean something only together, such as the days of a stay: they are merged as one.
	Together [][]string
	// See gets the records that have changed, before they are matched. Nil: nothing is done.
	See func(ctx context.Context, tx *db.Tx, from Origin, changes []*Change) error
	// Match finds the records here that unknown ones are, in the order given; their references are fields. Nil: they are
	// all new.
	Match func(ctx context.Context, tx *db.Tx, from Origin, unknown []Change) ([]Match, error)
	// Current locks records and returns their values as they are here, in the form of Change.Values; fields that no
	// source fills may be left out. A record that is gone here is left out of the map.
	Current func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error)
	// Show returns the same values without locking the records.
	Show func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error)
	// Apart are fields that are no values of the record here: they are not compared with it, and Save knows what they are
	// for.
	Apart []string
	// Secret are fields of which people see a part only: what a source says of them is not shown.
	Secret []string
	// Save creates records or changes the given fields, each by itself: one that is refused keeps no other from being
	// saved. It returns an outcome for each, in the order given.
	Save func(ctx context.Context, tx *db.Tx, from Origin, writes []Write) ([]Saved, error)
	// Present are fields that a source says by having a record at all, unless it says them itself, such as the status
	// that Remove changes.
	Present Values
	// Successors finds the records here that a source has brought under other ids for records that it has no more, by these:
	// the same in the world, and nothing here depends on them yet. Nil: no kind of record gets another id.
	Successors func(ctx context.Context, tx *db.Tx, from Origin, gone []id.ID) (map[id.ID]id.ID, error)
	// Withhold says which changes of a source are not taken over, or not without a person: entities are the records here, nil for
	// new ones. It returns a Withheld for each change, nil for none. Nil: all changes are taken over.
	Withhold func(ctx context.Context, tx *db.Tx, from Origin, changes []*Change, entities []*id.ID) ([]Withheld, error)
	// Join joins new records of a source with those here that are the same in the world. Nil: nothing is joined.
	Join *Join
	// Freed gets the external ids and the ids here of records that were looked at and that no lock holds. Nil: nothing is done.
	Freed func(ctx context.Context, tx *db.Tx, from Origin, names []string) error
	// Remove makes records inactive that the source has no more. Nil: nothing is done about them.
	Remove func(ctx context.Context, tx *db.Tx, from Origin, ids []id.ID) ([]Saved, error)
}

// Withheld says that a change is not taken over: it is skipped for a reason, or each field that it changes is a conflict. The zero
// value holds nothing.
type Withheld struct {
	Skip Reason
	Asks bool
}

// Join says how new records of a source are joined with those here that are the same in the world.
type Join struct {
	// Applies reports whether anything of a source is joined.
	Applies func(ctx context.Context, tx *db.Tx, from Origin) (bool, error)
	// Do joins records that a source has brought just now, after they were saved. A refusal undoes that they were; Locked says
	// which refusals are those of locks.
	Do     func(ctx context.Context, tx *db.Tx, from Origin, created []id.ID) error
	Locked func(error) bool
}

// Match is the record here that an external one is: one, none, or one of several that the source must not guess about.
// One that Waits is tried again with every sync until a person has decided.
type Match struct {
	ID        *id.ID
	Ambiguous bool
	Waits     bool
}

// Write is a record to create, or with an ID one to change: the fields that are given.
type Write struct {
	ID         *id.ID
	ExternalID string
	Fields     Values
}

// Saved is the outcome of a write. The zero value is that of a record with a status in which it is not taken in.
type Saved struct {
	ID id.ID
	// Refusal says why nothing was saved; Locked that a lock refused it, so that it is tried again.
	Refusal *apierr.Error
	Locked  bool
}

// Source gives the records of one connection or import. Its calls go outside, so no transaction is open during them.
type Source interface {
	// Kinds lists the kinds that it gives, in the order in which they are read.
	Kinds() []string
	// Pull gives the next page of a kind.
	Pull(ctx context.Context, r Request) (*Page, error)
	// Lookup gives the records with some external ids as they are now. Those that the source does not have any more are
	// given as Gone.
	Lookup(ctx context.Context, kind string, externalIDs []string) ([]Change, error)
}

// Request asks a source for a page.
type Request struct {
	Kind string
	// Since is the watermark of the last sync: only what has changed since is asked for. Empty asks for everything.
	Since string
	// Page continues after an earlier page; empty begins.
	Page string
	// From and To bound the days of the records, both included; nil for no bound.
	From, To *day.Day
}

// Page is a page of changes.
type Page struct {
	Changes []Change
	// Next is the Page of the next request; empty after the last page.
	Next string
	// Watermark is the source's clock at the start of the reading, less an overlap. That of the first page with one is
	// kept for the next sync.
	Watermark string
	// Complete says that the pages of this reading have every record of the kind, or if Window is set, every one with a
	// day in it. If all of its pages say so, the records that it lacks are gone.
	Complete bool
	Window   *Window
}

// Window is a range of days, both included; nil is no bound.
type Window struct{ From, To *day.Day }

// The errors of sources that a sync acts on. Any other is tried again for a while.
var (
	// ErrCursorLost says that the page or watermark is not known any more: the kind is read from its beginning.
	ErrCursorLost = errors.New("the source does not know where it was")
	// ErrProtocol says that an answer is not of the source's protocol. It is asked for again a few times only.
	ErrProtocol = errors.New("the source does not keep to its protocol")
	// ErrRefused says that the credentials are refused, which only a person can mend.
	ErrRefused = errors.New("the source refuses the credentials")
)

// LimitedError is the error of a source that takes no more calls for a while.
type LimitedError struct {
	Until time.Time
	Cause error
}

// Error returns the text of the cause.
func (e *LimitedError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *LimitedError) Unwrap() error { return e.Cause }

// Encode returns the values of a record from what the API shows of it.
func Encode(record any) (Values, error) {
	text, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}

	var out Values
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("decode a record: %w", err)
	}

	return out, nil
}

// MatchByRef returns the Match of a kind whose records are the same by the field uniqueRef, which is unique in the team:
// the column unique_ref of a table.
func MatchByRef(table string) func(ctx context.Context, tx *db.Tx, from Origin, unknown []Change) ([]Match, error) {
	sql := `select g.n, r.id from unnest(@refs::text[]) with ordinality as g (ref, n)
		cross join lateral (select id from ` + table + ` where team_id = @team and unique_ref = g.ref` + db.Fence + `) r`

	type row struct {
		N  int64
		ID id.ID
	}

	return func(ctx context.Context, tx *db.Tx, _ Origin, unknown []Change) ([]Match, error) {
		refs := make([]string, len(unknown))
		for i := range unknown {
			// Values that do not fit are refused when they are saved.
			_ = json.Unmarshal(unknown[i].Values["uniqueRef"], &refs[i])
		}

		var found []row

		// A plan that is kept could be one of an empty table, which reads all rows of the team for each reference.
		err := db.Afresh(func(ctx context.Context, tx *db.Tx) (err error) {
			found, err = db.Select[row](ctx, tx, sql, db.Args{"team": tx.Team, "refs": refs})
			return err
		})(ctx, tx)
		if err != nil {
			return nil, fmt.Errorf("match by reference: %w", err)
		}

		out := make([]Match, len(unknown))
		for i := range found {
			out[found[i].N-1] = Match{ID: &found[i].ID}
		}

		return out, nil
	}
}

// FilledColumn returns the Filled of a kind that fills in one field, which a column of a table has as a text.
func FilledColumn(table, column, field string) func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error) {
	type row struct {
		ID   id.ID
		Text string
	}

	return func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error) {
		found, err := db.Select[row](ctx, tx, `select id, `+column+` as text from `+table+` where team_id = @team and id = any(@ids)`,
			db.Args{"team": tx.Team, "ids": ids})
		if err != nil {
			return nil, fmt.Errorf("read what was filled in: %w", err)
		}

		out := make(map[id.ID]Values, len(found))
		for _, r := range found {
			out[r.ID] = Values{field: encodeJSON(r.Text)}
		}

		return out, nil
	}
}

// Door saves records through the batch of a noun.
type Door[T any] struct {
	// Form is what the fields of an item are held to.
	Form *api.Form[T]
	// Name says which record an item changes; nil is a new one.
	Name func(item *T, of *id.ID)
	// From gives an item where it comes from, with its external id; nil for nouns that keep no such key.
	From func(item *T, from Origin, externalID string)
	Save func(ctx context.Context, tx *db.Tx, from Origin, items []T) ([]api.Attempt, error)
	// Locked says which refusals are those of locks; nil for none.
	Locked func(error) bool
}

// Write saves records, each by itself, and returns an outcome for each in the order given. It is the Save of a Kind.
func (d *Door[T]) Write(ctx context.Context, tx *db.Tx, from Origin, writes []Write) ([]Saved, error) {
	saved, items, places := make([]Saved, len(writes)), []T{}, []int{}

	for i := range writes {
		text, err := json.Marshal(writes[i].Fields)
		if err != nil {
			return nil, fmt.Errorf("encode the fields of a record: %w", err)
		}

		var item T
		if err := d.Form.Decode(text, tx.Today(), &item); err != nil {
			saved[i].Refusal = apierr.From(err)
			continue
		}

		d.Name(&item, writes[i].ID)

		if d.From != nil {
			d.From(&item, from, writes[i].ExternalID)
		}

		items, places = append(items, item), append(places, i)
	}

	if len(items) == 0 {
		return saved, nil
	}

	attempts, err := d.Save(ctx, tx, from, items)
	if err != nil {
		return nil, err
	}

	for i, a := range attempts {
		saved[places[i]] = Saved{ID: a.ID, Refusal: a.Refusal, Locked: a.Refusal != nil && d.Locked != nil && d.Locked(a.Refusal)}
	}

	return saved, nil
}

// Deactivate makes records inactive by their field status. It is the Remove of kinds whose records stay readable.
func (d *Door[T]) Deactivate(ctx context.Context, tx *db.Tx, from Origin, ids []id.ID) ([]Saved, error) {
	writes := make([]Write, len(ids))
	for i := range ids {
		writes[i] = Write{ID: &ids[i], Fields: Values{"status": json.RawMessage(`"inactive"`)}}
	}

	return d.Write(ctx, tx, from, writes)
}
