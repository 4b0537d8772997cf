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
	"maps"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

// Values are the fields of a record under their API names. The source says nothing about an absent field; null says
// that the field is empty.
type Values map[string]json.RawMessage

// Change is the state of one record as its source gives it.
type Change struct {
	Kind string
	// ExternalID is the name of the record at the source; Ordinal distinguishes records with equal names, such as
	// equal rows in a file.
	ExternalID string
	Ordinal    int
	// Values are the fields now; nil if Gone, which means that the source no longer has the record.
	Values Values
	Gone   bool
	// Refs are fields that name other source records, such as the listing of a stay. They are replaced by ids here; a
	// change waits while a record it names is unknown here.
	Refs map[string]Reference
	// ChangedAt is the source's own stamp of the change, zero without one. A change older than the last is ignored,
	// except in a complete reading, which has what the source says now. A stamp more than an hour ahead of our clock
	// counts as none.
	ChangedAt time.Time
	// At is the day that places the record in a window, such as a check-in; nil without such a day.
	At *day.Day
	// Skip says why the record is left out, such as pending; "" takes it in. SkipNew does the same for a record never
	// taken in before.
	Skip, SkipNew Reason
	// Refused says why the record cannot be taken in, nil if it can.
	Refused *Refusal
	// Notes are findings in this state that a person should look at.
	Notes []Note

	// sum is the hash of the content.
	sum []byte
	// asks says that each changed field becomes a conflict.
	asks bool
	// wins says that the source wins over what is here.
	wins bool
}

// Refusal says why a source record cannot be taken in: the reason, the field under its source name, and the fault.
// Field and Fault can be empty. Context is added to the issue.
type Refusal struct {
	Reason       Reason
	Field, Fault string
	Context      map[string]any
}

// Note is an issue about a source record, with facts from the record.
type Note struct {
	Code    string
	Context map[string]any
}

// Reference names a record of the source.
type Reference struct {
	Kind       string `json:"kind"`
	ExternalID string `json:"externalId"`
}

// Origin says where records come from: the provenance of the records they write.
type Origin struct {
	SourceID, SyncID id.ID
	// ConnectionID is the connection that was read, nil for a file.
	ConnectionID *id.ID
	// IsFile says that a person has uploaded the records.
	IsFile bool
	// reading marks the records seen by the present reading. A sync that begins anew is another reading.
	reading id.ID
}

// Kind says how the records of one noun are taken in. Its functions run in the transaction of a page and get all its
// records at once.
type Kind struct {
	// Name is the kind in counts and items, such as reservation; Entity is the type of its records here.
	Name   string
	Entity audit.Entity
	// Lists are the list fields, with how their items are recognized.
	Lists map[string]List
	// Lengths are the most characters that texts may have, by field, or by field and member of an object or a list:
	// lines.type.
	Lengths map[string]int
	// bounds are the sorted Lengths.
	bounds []bound
	// Fills are fields that Save fills in for new records if the source says nothing about them, and Filled returns
	// them, so that a filled-in value does not count as an edit of a person.
	Fills  []string
	Filled func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error)
	// Keeps are fields that Save may leave unchanged while it saves other fields, such as the currency of existing
	// amounts. A new value from the source then becomes a conflict.
	Keeps []string
	// Together are fields that mean something only together, such as the days of a stay. They are merged as one
	// value.
	Together [][]string
	// See gets the changed records before they are matched. Nil: nothing is done.
	See func(ctx context.Context, tx *db.Tx, from Origin, changes []*Change) error
	// Match finds the records here of unknown source records, in the given order; references are already fields. Nil:
	// all are new.
	Match func(ctx context.Context, tx *db.Tx, from Origin, unknown []Change) ([]Match, error)
	// Current locks records and returns their present values in the form of Change.Values. Fields that no source
	// fills may be left out. Deleted records are absent from the map.
	Current func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error)
	// Show returns the same values without locks.
	Show func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error)
	// Apart are fields that the record here does not have. They are not compared; Save knows what to do with them.
	Apart []string
	// Secret are fields of which people see only a part: conflicts do not show the value of the source.
	Secret []string
	// Save creates records or changes the given fields, each record by itself: a refused record does not stop the
	// others. It returns an outcome for each write, in the given order.
	Save func(ctx context.Context, tx *db.Tx, from Origin, writes []Write) ([]Saved, error)
	// Present are fields implied by the source having a record at all, unless the source gives them itself, such as
	// the status that Remove changes.
	Present Values
	// Successors maps records that the source no longer has to the records here that it has brought for them under
	// other ids: the same in the world, and nothing here depends on the new records yet. Nil: records of this kind
	// never change their ids.
	Successors func(ctx context.Context, tx *db.Tx, from Origin, gone []id.ID) (map[id.ID]id.ID, error)
	// Withhold says which changes of a source are skipped or need a person; entities are the records here, nil for
	// new records. It returns one Withheld for each change, or nil if it withholds nothing. Nil: all changes are
	// taken in.
	Withhold func(ctx context.Context, tx *db.Tx, from Origin, changes []*Change, entities []*id.ID) ([]Withheld, error)
	// Most is how much of the kind a sync reads; zero is what Config says.
	Most outbound.Reading
	// Join joins new source records with equal records here. Nil: nothing is joined.
	Join *Join
	// Freed gets external ids and ids here of records that were looked at and are not locked. Nil: nothing is done.
	Freed func(ctx context.Context, tx *db.Tx, from Origin, names []string) error
	// Any reports whether the team has any record, and Alike finds records here that have the day and the amount of
	// movements of a file, each with the place of the movement. Nil: a file is never compared with what is here.
	Any   func(ctx context.Context, tx *db.Tx) (bool, error)
	Alike func(ctx context.Context, tx *db.Tx, all []Movement) ([]Likeness, error)
	// Remove makes records inactive that the source no longer has. Nil: they stay as they are.
	Remove func(ctx context.Context, tx *db.Tx, from Origin, ids []id.ID) ([]Saved, error)
}

// Withheld says how a change is held back: skipped for a reason, or each changed field becomes a conflict. The zero
// value holds nothing back.
type Withheld struct {
	Skip Reason
	Asks bool
}

// Join says how new source records are joined with records here that are the same in the world.
type Join struct {
	// Applies reports whether records of this source are joined at all.
	Applies func(ctx context.Context, tx *db.Tx, from Origin) (bool, error)
	// Do joins records just created from a source. A refusal undoes their creation; Locked says whether the refusal
	// comes from a lock.
	Do     func(ctx context.Context, tx *db.Tx, from Origin, created []id.ID) error
	Locked func(error) bool
}

// Match is the record here for an external record: found, none, or ambiguous. One that Waits is tried again with
// every sync until a person has decided.
type Match struct {
	ID        *id.ID
	Ambiguous bool
	Waits     bool
}

// Write is a record to create, or with an ID to change. Fields has only the fields to write.
type Write struct {
	ID         *id.ID
	ExternalID string
	Fields     Values
}

// Saved is the outcome of a write. The zero value means skipped because of its status.
type Saved struct {
	ID id.ID
	// Refusal says why nothing was saved; Locked that a lock caused it, so that the write is tried again.
	Refusal *apierr.Error
	Locked  bool
}

// Source reads the records of one connection or import. It calls systems outside, so no transaction is open
// meanwhile.
type Source interface {
	// Kinds lists the kinds of its records, in reading order.
	Kinds() []string
	// Pull returns the next page of a kind.
	Pull(ctx context.Context, r Request) (*Page, error)
	// Lookup returns the present state of records by their external ids. Records that the source no longer has are
	// returned as Gone.
	Lookup(ctx context.Context, kind string, externalIDs []string) ([]Change, error)
}

// Request asks a source for a page.
type Request struct {
	Kind string
	// Since is the watermark of the last sync: the source returns later changes only. Empty asks for all records.
	Since string
	// Page continues an earlier page; empty begins.
	Page string
	// From and To bound the days of the records, both included; nil leaves a side open.
	From, To *day.Day
}

// Page is a page of changes.
type Page struct {
	Changes []Change
	// Next is the Page of the next request; empty on the last page.
	Next string
	// Watermark is the source's clock at the start of the reading, less an overlap. The next sync gets the first
	// watermark of this reading.
	Watermark string
	// Complete says that the pages of this reading have every record of the kind, or with a Window every record with
	// a day in it. If all pages say so, missing records are gone.
	Complete bool
	Window   *Window
}

// Window is a range of days, both included; nil leaves a side open.
type Window struct{ From, To *day.Day }

// The errors of sources that a sync acts on. After any other error it tries again for a while.
var (
	// ErrCursorLost says that the source does not know the page or watermark any more: the kind is read from its
	// beginning.
	ErrCursorLost = errors.New("the source does not know where it was")
	// ErrProtocol says that an answer breaks the protocol of the source. It is asked for again a few times only.
	ErrProtocol = errors.New("the source does not keep to its protocol")
	// ErrRefused says that the source refuses the credentials, which only a person can mend.
	ErrRefused = errors.New("the source refuses the credentials")
)

// LimitedError says that a source takes no more calls until a time.
type LimitedError struct {
	Until time.Time
	Cause error
}

// Error returns the text of the cause.
func (e *LimitedError) Error() string { return e.Cause.Error() }

// RetryAt returns that time.
func (e *LimitedError) RetryAt() time.Time { return e.Until }

// Unwrap returns the cause.
func (e *LimitedError) Unwrap() error { return e.Cause }

// Encode returns the values of a record from its API form.
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

// MatchByRef returns a Kind.Match that finds records by the field uniqueRef, which is unique in the team: the column
// unique_ref of a table.
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

		// A cached plan could date from an empty table and would read all rows of the team for each reference.
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

// LoadFilledFrom returns a Kind.Filled for one field, which a column of a table has as text.
func LoadFilledFrom(
	table, column, field string,
) func(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Values, error) {
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

// Door saves records through the batch endpoint of a noun.
type Door[T any] struct {
	// Form decodes and checks the fields of an item.
	Form *api.Form[T]
	// Name sets which record an item changes; nil creates one.
	Name func(item *T, of *id.ID)
	// From sets the origin and external id of an item; nil for nouns without such a key.
	From func(item *T, from Origin, externalID string)
	Save func(ctx context.Context, tx *db.Tx, from Origin, items []T) ([]api.Attempt, error)
	// Locked reports whether a refusal comes from a lock; nil for nouns without locks.
	Locked func(error) bool
}

// Write saves records, each by itself, and returns an outcome for each in the given order. It is a Kind.Save.
func (d *Door[T]) Write(ctx context.Context, tx *db.Tx, from Origin, writes []Write) ([]Saved, error) {
	// First decode: an item with bad fields is refused by itself and does not reach the noun.
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
		isLocked := a.Refusal != nil && d.Locked != nil && d.Locked(a.Refusal)
		saved[places[i]] = Saved{ID: a.ID, Refusal: a.Refusal, Locked: isLocked}
	}

	return saved, nil
}

// Deactivate sets the status of records to inactive. It is a Kind.Remove for records that stay readable.
func (d *Door[T]) Deactivate(ctx context.Context, tx *db.Tx, from Origin, ids []id.ID) ([]Saved, error) {
	writes := make([]Write, len(ids))
	for i := range ids {
		writes[i] = Write{ID: &ids[i], Fields: Values{"status": json.RawMessage(`"inactive"`)}}
	}

	return d.Write(ctx, tx, from, writes)
}

// Singles saves records of a noun without a batch that both creates and changes: new records together, changes one by
// one.
type Singles[C, U any] struct {
	Create *api.Form[C]
	Update *api.Form[U]
	// Fixed are fields of new records that cannot change afterwards.
	Fixed []string
	// Add makes records, each by itself. Nil Change: records are never changed.
	Add    func(ctx context.Context, tx *db.Tx, items []C) ([]api.Attempt, error)
	Change func(ctx context.Context, tx *db.Tx, one id.ID, item *U) error
}

// Write saves records, each by itself, and returns an outcome for each in the given order. It is a Kind.Save.
func (s *Singles[C, U]) Write(ctx context.Context, tx *db.Tx, _ Origin, writes []Write) ([]Saved, error) {
	saved, changed := make([]Saved, len(writes)), []int{}
	items, places := []C{}, []int{}

	for i := range writes {
		if writes[i].ID != nil {
			changed = append(changed, i)
			continue
		}

		var item C
		if refusal := decodeFields(s.Create, tx, writes[i].Fields, &item); refusal != nil {
			saved[i].Refusal = refusal
			continue
		}

		items, places = append(items, item), append(places, i)
	}

	if err := s.changeAll(ctx, tx, writes, changed, saved); err != nil {
		return nil, err
	}

	if len(items) == 0 {
		return saved, nil
	}

	attempts, err := s.Add(ctx, tx, items)
	if err != nil {
		return nil, err
	}

	for i, a := range attempts {
		saved[places[i]] = Saved{ID: a.ID, Refusal: a.Refusal}
	}

	return saved, nil
}

// changeAll changes the records at places, and saves which were refused. A savepoint for each would take many locks.
func (s *Singles[C, U]) changeAll(ctx context.Context, tx *db.Tx, writes []Write, places []int, saved []Saved) error {
	refusals, err := db.Halves(ctx, tx, len(places), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		for _, i := range places[from:to] {
			if err := s.change(ctx, tx, &writes[i]); err != nil {
				return err
			}
		}

		return nil
	})

	for n, i := range places {
		if refusals[n] != nil {
			saved[i].Refusal = apierr.From(refusals[n])
		} else {
			saved[i].ID = *writes[i].ID
		}
	}

	return err
}

// change changes a record, or fails with a refusal.
func (s *Singles[C, U]) change(ctx context.Context, tx *db.Tx, w *Write) error {
	fields := maps.Clone(w.Fields)
	for _, fixed := range s.Fixed {
		delete(fields, fixed)
	}

	var item U
	if refusal := decodeFields(s.Update, tx, fields, &item); refusal != nil {
		return refusal
	}

	return s.Change(ctx, tx, *w.ID, &item)
}

// decodeFields decodes and checks fields, and returns what is wrong with them.
func decodeFields[T any](form *api.Form[T], tx *db.Tx, fields Values, into *T) *apierr.Error {
	text, err := json.Marshal(fields)
	if err == nil {
		err = form.Decode(text, tx.Today(), into)
	}

	if err != nil {
		return apierr.From(err)
	}

	return nil
}
