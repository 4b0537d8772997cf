package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// Late collects what locks hold back of sources, and how it is caught up, for a caller that passes it in a Lenience.
type Late struct {
	// CatchesUp says that the difference is posted on the first open day.
	CatchesUp bool
	// Held has what stays held back, by source; Posted what was posted instead.
	Held   map[id.ID]HeldBack
	Posted map[id.ID][]Posting
}

// Collecting returns a Late that collects differences.
func Collecting() *Late { return &Late{Held: map[id.ID]HeldBack{}, Posted: map[id.ID][]Posting{}} }

// HeldBack is the part of a source's change which a lock holds back: the entries still missing from the books, and with
// the opposite sign the entries still to be removed.
type HeldBack struct {
	Lines []HeldLine
	lock  hold
}

// HeldLine is the sum of entries that differ only in their amount.
type HeldLine struct {
	Ledger   Ledger
	TxnAt    day.Day
	Currency string
	Line     // without Ref, StatementID and Description
}

// catchUpCode begins the code of a posting that catches up what a lock held back. It is followed by the source and a
// number.
const catchUpCode = "catchUp:"

// isCatchUp reports whether a posting has caught up what a lock held back.
func (p *Posting) isCatchUp() bool { return strings.HasPrefix(p.TxnCode, catchUpCode) }

// sumLines returns the sums of active entries that differ only in their amount, in a fixed order: the added entries
// less the gone entries. Sums of zero are left out.
func sumLines(gone, added []Posting) []HeldLine {
	sums := map[HeldLine]money.Cents{}
	add := func(postings []Posting, sign money.Cents) {
		for i := range postings {
			p := &postings[i]
			if p.Status != Active {
				continue
			}

			for k := range p.Lines {
				l := HeldLine{Ledger: p.Ledger, TxnAt: p.TxnAt, Currency: p.Currency, Line: p.Lines[k]}
				l.Ref, l.Description, l.StatementID, l.CentTotal = "", "", id.Zero, 0
				sums[l] += sign * p.Lines[k].CentTotal
			}
		}
	}
	add(gone, -1)
	add(added, 1)

	return sortLines(sums)
}

// sortLines returns the sums as lines in a fixed order, without zero sums.
func sortLines(sums map[HeldLine]money.Cents) []HeldLine {
	var out []HeldLine

	for _, l := range slices.SortedFunc(maps.Keys(sums), compareLines) {
		if l.CentTotal = sums[l]; l.CentTotal != 0 {
			out = append(out, l)
		}
	}

	return out
}

// compareLines orders lines by their texts.
func compareLines(a, b HeldLine) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }

// Less returns lines less other ones, as far as they are kept.
func Less(lines, other []HeldLine) []HeldLine {
	sums := map[HeldLine]money.Cents{}

	for sign, some := range map[money.Cents][]HeldLine{1: selectKept(lines), -1: other} {
		for _, l := range some {
			cents := sign * l.CentTotal
			l.CentTotal = 0
			sums[l] += cents
		}
	}

	return sortLines(sums)
}

// netLines returns lines summed over all days.
func netLines(lines []HeldLine) []HeldLine {
	sums := map[HeldLine]money.Cents{}

	for _, l := range lines {
		cents := l.CentTotal
		l.TxnAt, l.CentTotal = day.Day{}, 0
		sums[l] += cents
	}

	return sortLines(sums)
}

// moveLines returns lines with each on the day that to returns for its own.
func moveLines(lines []HeldLine, to func(day.Day) day.Day) []HeldLine {
	out := slices.Clone(lines)
	for i := range out {
		out[i].TxnAt = to(out[i].TxnAt)
	}

	return out
}

// stuck are the postings of a source that a lock keeps as they are.
type stuck struct {
	// gone are the stored postings to be removed, without the postings of earlier catch-ups, which are in caught; added
	// are the postings to be inserted instead.
	gone, added, caught []Posting
	// freeGone and freeAdded are the rest, which no lock holds.
	freeGone, freeAdded []Posting
}

// divide splits the gone and added postings of a locked source into held and free postings. An added posting with the
// transaction code of a held gone posting is held as well, whatever its day.
func (f *facts) divide(gone, added []Posting, l Lenience) *stuck {
	s, codes := &stuck{}, map[string]bool{}
	isHeld := func(p *Posting) bool { return CheckLocks(f.closing, f.lockInput(p), l) != nil }

	for i := range gone {
		switch p := &gone[i]; {
		case p.isCatchUp():
			s.caught = append(s.caught, *p)
		case isHeld(p):
			s.gone, codes[p.TxnCode] = append(s.gone, *p), true
		default:
			s.freeGone = append(s.freeGone, *p)
		}
	}

	for i := range added {
		if p := &added[i]; codes[p.TxnCode] || isHeld(p) {
			s.added, codes[p.TxnCode] = append(s.added, *p), true
		} else {
			s.freeAdded = append(s.freeAdded, *p)
		}
	}

	// A posting stays, too, if its replacement is held.
	s.freeGone = slices.DeleteFunc(s.freeGone, func(p Posting) bool {
		if codes[p.TxnCode] {
			s.gone = append(s.gone, p)
		}

		return codes[p.TxnCode]
	})

	return s
}

// isCaughtUp reports whether locks hold postings, and earlier catch-ups have brought everything that they hold back.
func (s *stuck) isCaughtUp() bool {
	return len(s.caught) > 0 && len(s.gone)+len(s.added) > 0 &&
		len(netLines(slices.Concat(sumLines(s.gone, s.added), sumLines(s.caught, nil)))) == 0
}

// withoutCaughtUp returns the gone and added postings for which no earlier catch-up has made up. The others stay as
// they are for as long as a lock holds their day.
func (f *facts) withoutCaughtUp(gone, added []Posting, l Lenience) (less, more []Posting) {
	caught := map[id.ID]hold{}

	for i := range gone {
		if gone[i].isCatchUp() {
			caught[gone[i].SourceID] = hold{}
		}
	}

	if len(caught) == 0 {
		return gone, added
	}

	from, to := bySource(gone, caught), bySource(added, caught)
	isCaught := func(p Posting) bool {
		_, is := caught[p.SourceID]
		return is
	}
	less, more = slices.DeleteFunc(slices.Clone(gone), isCaught), slices.DeleteFunc(slices.Clone(added), isCaught)

	for _, source := range slices.SortedFunc(maps.Keys(caught), id.ID.Compare) {
		if s := f.divide(from[source], to[source], l); s.isCaughtUp() {
			less, more = append(less, s.freeGone...), append(more, s.freeAdded...)
		} else {
			less, more = append(less, from[source]...), append(more, to[source]...)
		}
	}

	return less, more
}

// lines returns what the books would have more, with what earlier catch-ups have brought taken off on the day that
// they are about.
func (s *stuck) lines() []HeldLine {
	lines := sumLines(slices.Concat(s.gone, s.freeGone), slices.Concat(s.added, s.freeAdded))
	first := map[HeldLine]day.Day{}

	for _, l := range lines {
		at := l.TxnAt

		l.TxnAt, l.CentTotal = day.Day{}, 0
		if is, known := first[l]; !known || at.Before(is) {
			first[l] = at
		}
	}

	caught := sumLines(s.caught, nil)
	for i := range caught {
		key := caught[i]

		key.TxnAt, key.CentTotal = day.Day{}, 0
		if at, known := first[key]; known {
			caught[i].TxnAt = at
		}
	}

	return Less(slices.Concat(lines, caught), nil)
}

// bySource returns the postings of some sources by source.
func bySource(postings []Posting, of map[id.ID]hold) map[id.ID][]Posting {
	out := map[id.ID][]Posting{}

	for i := range postings {
		if _, is := of[postings[i].SourceID]; is {
			out[postings[i].SourceID] = append(out[postings[i].SourceID], postings[i])
		}
	}

	return out
}

// decided has the differences that stay held back, and the postings that go and are added nevertheless.
type decided struct {
	held        map[id.ID]HeldBack
	gone, added []Posting
}

// holdBack decides which postings of locked sources are removed and added. If the locked part of a source is caught up,
// the rest follows its record.
func (f *facts) holdBack(skipped map[id.ID]hold, gone, added []Posting, l Lenience) decided {
	out := decided{held: make(map[id.ID]HeldBack, len(skipped))}
	less, more := bySource(gone, skipped), bySource(added, skipped)

	for _, source := range slices.SortedFunc(maps.Keys(skipped), id.ID.Compare) {
		s := f.divide(less[source], more[source], l)

		if late := l.Late; late != nil && late.CatchesUp {
			if posted := f.catchUp(source, s); posted != nil {
				late.Posted[source] = posted

				out.gone, out.added = append(out.gone, s.freeGone...), slices.Concat(out.added, s.freeAdded, posted)

				continue
			}
		}

		out.held[source] = HeldBack{Lines: s.lines(), lock: skipped[source]}
		if l.Late != nil {
			l.Late.Held[source] = out.held[source]
		}
	}

	return out
}

// catchUp returns the postings with the amounts held back by locks from a source: on the first day without a lock, and
// amounts due on a later day on the later day. It returns nil if there is nothing, or if a lock holds every day, as a
// bank record does.
func (f *facts) catchUp(source id.ID, s *stuck) []Posting {
	wanted, stored, caught := sumLines(nil, s.added), sumLines(s.gone, nil), sumLines(s.caught, nil)
	if len(wanted)+len(stored) == 0 {
		return nil
	}

	first := f.openDay(slices.Concat(wanted, stored))
	notBefore := func(at day.Day) day.Day { return day.Max(first, at) }
	lines := slices.Concat(
		moveLines(wanted, notBefore),
		moveLines(stored, func(day.Day) day.Day { return first }),
		moveLines(caught, notBefore),
	)

	sums := map[HeldLine]money.Cents{}

	for _, l := range lines {
		cents := l.CentTotal
		l.CentTotal = 0
		sums[l] += cents
	}

	var out []Posting

	for _, l := range sortLines(sums) {
		n := slices.IndexFunc(
			out, func(p Posting) bool { return p.Ledger == l.Ledger && p.Currency == l.Currency && p.TxnAt == l.TxnAt },
		)
		if n < 0 {
			n = len(out)
			out = append(out, Posting{
				SourceID: source, TxnCode: fmt.Sprintf("%s%s:%d", catchUpCode, source, len(s.caught)+n+1),
				Ledger: l.Ledger, Status: Active, TxnAt: l.TxnAt, Currency: l.Currency,
			})
		}

		p := &out[n]

		line := l.Line
		line.Ref, line.Description = fmt.Sprintf("catchUp:%d", len(p.Lines)+1), "Late change"
		p.Lines = append(p.Lines, line)
	}

	for i := range out {
		if out[i].Check() != nil || CheckLocks(f.closing, f.lockInput(&out[i]), Lenience{}) != nil {
			return nil
		}
	}

	return out
}

// openDay returns the first day on which the lines can be posted: not before a line's own day, in closed books, or
// under a saved statement of the owners.
func (f *facts) openDay(lines []HeldLine) day.Day {
	at := lines[0].TxnAt
	for _, l := range lines {
		at = day.Min(at, l.TxnAt)
	}

	for _, first := range []*day.Day{f.closing.BooksClosedAt, f.closing.SoftClosedAt} {
		if first != nil {
			at = day.Max(at, *first)
		}
	}

	for _, l := range lines {
		for _, s := range f.over[l.OwnershipPeriodID] {
			if l.Party == Owners && s.EndAt != nil && s.Currency == l.Currency {
				at = day.Max(at, s.EndAt.AddDays(1))
			}
		}
	}

	return at
}

// heldRow is something that is held back as it is written.
type heldRow struct {
	ID       id.ID    `json:"id"`
	Source   Noun     `json:"source"`
	SourceID *id.ID   `json:"source_id"`
	OriginID *id.ID   `json:"origin_id"`
	Name     string   `json:"name"`
	Reason   string   `json:"reason"`
	HeldAt   *day.Day `json:"held_at"`
	HeldBy   *id.ID   `json:"held_by"`
}

// heldLineRow is a line of it.
type heldLineRow struct {
	Name              string      `json:"name"`
	Position          int         `json:"position"`
	Ledger            Ledger      `json:"ledger"`
	TxnAt             day.Day     `json:"txn_at"`
	Currency          string      `json:"currency"`
	AccountID         id.ID       `json:"account_id"`
	CentTotal         money.Cents `json:"cent_total"`
	Party             Party       `json:"party"`
	ListingID         *id.ID      `json:"listing_id"`
	OwnershipPeriodID *id.ID      `json:"ownership_period_id"`
	ReservationID     *id.ID      `json:"reservation_id"`
	TriggerType       string      `json:"trigger_type"`
}

// selectKept returns lines summed over what is not kept of them.
func selectKept(lines []HeldLine) []HeldLine {
	sums := map[HeldLine]money.Cents{}

	for _, l := range lines {
		cents := l.CentTotal
		l.ContactID, l.TransactionID, l.RecurringFeeID, l.CentTotal = id.Zero, id.Zero, id.Zero, 0
		sums[l] += cents
	}

	return sortLines(sums)
}

// lineRows returns the lines of something that is held back as they are written.
func lineRows(name string, lines []HeldLine) []heldLineRow {
	lines = selectKept(lines)
	out := make([]heldLineRow, len(lines))

	for i, l := range lines {
		out[i] = heldLineRow{
			Name: name, Position: i, Ledger: l.Ledger, TxnAt: l.TxnAt, Currency: l.Currency, AccountID: l.AccountID,
			CentTotal: l.CentTotal, Party: l.Party,
			ListingID: l.ListingID.OrNil(), OwnershipPeriodID: l.OwnershipPeriodID.OrNil(),
			ReservationID: l.ReservationID.OrNil(), TriggerType: l.Trigger,
		}
	}

	return out
}

// saveHeld returns the statement to save differences in place of the same records' earlier differences.
func saveHeld(tx *db.Tx, rows []heldRow, lines []heldLineRow) db.Stmt {
	return db.Stmt{
		SQL: `
		with kept as (
			insert into ledger_held (team_id, id, source, source_id, origin_id, name, reason, held_at, held_by, since)
			select @team, id, coalesce(nullif(source, ''), case when exists (select from reservation v where v.team_id = @team and v.id = r.source_id) then 'reservation'
				when exists (select from journal v where v.team_id = @team and v.id = r.source_id) then 'journal' else 'transaction' end),
				source_id, origin_id, name, reason, held_at, held_by, @now
			from jsonb_to_recordset(@rows) as r (id uuid, source text, source_id uuid, origin_id uuid, name text, reason text, held_at date, held_by uuid) order by name
			on conflict (team_id, name, origin_id) do update set source_id = excluded.source_id, reason = excluded.reason, held_at = excluded.held_at,
				held_by = excluded.held_by returning id, name),
		fewer as (
			delete from ledger_held_line l using kept k where l.team_id = @team and l.held_id = k.id
				and l.position >= (select count(*) from jsonb_to_recordset(@lines) as r (name text) where r.name = k.name))
		insert into ledger_held_line (team_id, held_id, position, ledger, txn_at, currency, account_id, cent_total, party, listing_id, ownership_period_id,
			reservation_id, trigger_type)
		select @team, k.id, position, ledger, txn_at, currency, account_id, cent_total, nullif(party, ''), listing_id, ownership_period_id, reservation_id, trigger_type
		from jsonb_to_recordset(@lines) as r (name text, position integer, ledger text, txn_at date, currency text, account_id uuid, cent_total bigint, party text,
			listing_id uuid, ownership_period_id uuid, reservation_id uuid, trigger_type text) join kept k on k.name = r.name
		on conflict (team_id, held_id, position) do update set ledger = excluded.ledger, txn_at = excluded.txn_at, currency = excluded.currency,
			account_id = excluded.account_id, cent_total = excluded.cent_total, party = excluded.party, listing_id = excluded.listing_id,
			ownership_period_id = excluded.ownership_period_id, reservation_id = excluded.reservation_id, trigger_type = excluded.trigger_type`,
		Args: db.Args{"team": tx.Team, "now": tx.Now, "rows": rows, "lines": lines},
	}
}

// freeHeld returns the statement that deletes what was held back of sources.
func freeHeld(tx *db.Tx, sources []id.ID) db.Stmt {
	return db.Stmt{
		SQL:  `delete from ledger_held where team_id = @team and source_id = any(@sources::uuid[]) and origin_id is null`,
		Args: db.Args{"team": tx.Team, "sources": sources},
	}
}

// Waiting is a record of a system that a lock keeps from being taken in.
type Waiting struct {
	Noun Noun
	// Origin is the source of syncs; SourceID the record here, zero if it has not arrived yet; Name its id at the
	// system.
	Origin   id.ID
	SourceID id.ID
	Name     string
	// HeldBack is the difference that it makes.
	HeldBack
}

// name returns by what the record is known.
func (w *Waiting) name() string {
	if w.SourceID.IsZero() {
		return w.Name
	}

	return w.SourceID.String()
}

// HoldWaiting saves the differences that records of systems make.
func HoldWaiting(ctx context.Context, tx *db.Tx, waiting []Waiting) error {
	var (
		rows  []heldRow
		lines []heldLineRow
	)

	for i := range waiting {
		w := &waiting[i]
		rows = append(rows, w.lock.row(tx, w.Noun, w.SourceID.OrNil(), &w.Origin, w.name()))
		lines = append(lines, lineRows(w.name(), w.Lines)...)
	}

	if len(rows) == 0 {
		return nil
	}

	s := saveHeld(tx, rows, lines)
	if _, err := tx.Exec(ctx, s.SQL, s.Args); err != nil {
		return fmt.Errorf("save what is held back of records of a system: %w", err)
	}

	return nil
}

// row returns a row for a difference that the lock holds back.
func (h *hold) row(tx *db.Tx, source Noun, sourceID, origin *id.ID, name string) heldRow {
	return heldRow{
		ID: tx.NewID(), Source: source, SourceID: sourceID, OriginID: origin, Name: name, Reason: h.reason,
		HeldAt: h.at, HeldBy: h.by.OrNil(),
	}
}

// FreeWaiting deletes the held-back differences of a sync source's records with these names, or for nil of all its
// records.
func FreeWaiting(ctx context.Context, tx *db.Tx, origin id.ID, names []string) error {
	_, err := tx.Exec(ctx, `delete from ledger_held where team_id = @team and origin_id = @origin and (@names::text[] is null or name = any(@names))`,
		db.Args{"team": tx.Team, "origin": origin, "names": names})
	if err != nil {
		return fmt.Errorf("forget what was held back of records of a system: %w", err)
	}

	return nil
}

// LoadHeldLines loads the differences which locks hold back from records here, without changes reported by other
// systems.
func LoadHeldLines(ctx context.Context, tx *db.Tx, sources []id.ID) (map[id.ID][]HeldLine, error) {
	type row struct {
		SourceID id.ID
		heldLineRow
	}

	rows, err := db.Select[row](ctx, tx, `
		select h.source_id, '' as name, l.position, l.ledger, l.txn_at, l.currency, l.account_id, l.cent_total, coalesce(l.party, '') as party, l.listing_id,
			l.ownership_period_id, l.reservation_id, l.trigger_type
		from ledger_held h join ledger_held_line l on l.team_id = h.team_id and l.held_id = h.id
		where h.team_id = @team and h.source_id = any(@sources) and h.origin_id is null order by h.id, l.position`, db.Args{"team": tx.Team, "sources": sources})
	if err != nil {
		return nil, fmt.Errorf("read what is held back of records: %w", err)
	}

	out := map[id.ID][]HeldLine{}

	for i := range rows {
		r := &rows[i]
		l := HeldLine{Ledger: r.Ledger, TxnAt: r.TxnAt, Currency: r.Currency}
		l.AccountID, l.CentTotal, l.Party, l.Trigger = r.AccountID, r.CentTotal, r.Party, r.TriggerType

		l.ListingID, l.OwnershipPeriodID = ptr.Value(r.ListingID), ptr.Value(r.OwnershipPeriodID)
		l.ReservationID = ptr.Value(r.ReservationID)

		out[r.SourceID] = append(out[r.SourceID], l)
	}

	return out, nil
}
