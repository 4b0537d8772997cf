package listing

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// ErrPeriods refuses a merge of listings that differ on days on which both have owners.
var ErrPeriods = apierr.New(apierr.CodeConflict, "", "The listings have other owners or fees on the same days")

// MergeErrors are the conditions that functions of merges of this package fail with.
var MergeErrors = apierr.List{ErrInGroup, ErrPeriods, errPeriodLocked}

// Merge is a listing that goes into another.
type Merge struct {
	From, Into *Listing
	// Moved are the ownership periods that go on at the other listing. Absorbed are those on days that have the same
	// owners there.
	Moved, Absorbed []Period
	// FromDays and IntoDays are the days on which the listings have owners.
	FromDays, IntoDays []Span
}

// LockMerge locks two listings of which one is to go into the other, and decides about their owners. It fails with
// apierr.NotFound for an unknown first listing, with an issue at intoId for one that it cannot go into, with ErrInGroup
// for a listing in a group and for a group, and with ErrPeriods for owners that contradict each other.
func LockMerge(ctx context.Context, tx *db.Tx, from, into id.ID) (*Merge, error) {
	found, err := lockAll(ctx, tx, []id.ID{from, into})
	if err != nil {
		return nil, err
	}

	m := &Merge{From: found[from], Into: found[into]}
	if m.From == nil {
		return nil, apierr.NotFound
	}

	if err := m.checkPair(); err != nil {
		return nil, err
	}

	for _, one := range []id.ID{from, into} {
		members, err := lockMembers(ctx, tx, one)
		if err != nil {
			return nil, err
		}

		if len(members) > 0 {
			return nil, ErrInGroup
		}
	}

	periods, err := LoadOwnPeriods(ctx, tx, []id.ID{from, into})
	if err != nil {
		return nil, err
	}

	return m, m.decide(periods[from], periods[into])
}

// checkPair refuses a listing that another cannot go into.
func (m *Merge) checkPair() error {
	switch {
	case m.Into == nil:
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody("intoId"))
	case m.From.ID == m.Into.ID, m.From.DefaultCurrency != m.Into.DefaultCurrency:
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("intoId"))
	case m.Into.Status != Active:
		return apierr.BadRequest.At(apierr.IssueInactive.InBody("intoId"))
	case m.From.Parent != nil || m.Into.Parent != nil:
		return ErrInGroup
	}

	return nil
}

// decide sorts the periods of the listing that goes: one on days without owners of the other moves there, one on days
// with the same owners there is absorbed, and any other is in the way.
func (m *Merge) decide(from, into []Period) error {
	m.FromDays, m.IntoDays = spans(from), spans(into)

	var inTheWay []id.ID

	for i := range from {
		p := &from[i]
		shared := conflicts(into, p)

		switch {
		case len(shared) == 0:
			m.Moved = append(m.Moved, *p)
		case len(p.span().Without(spans(shared))) == 0 &&
			!slices.ContainsFunc(shared, func(o Period) bool { return !p.isOwnedAs(&o) }):
			m.Absorbed = append(m.Absorbed, *p)
		default:
			inTheWay = append(inTheWay, p.ID)
		}
	}

	if inTheWay != nil {
		return ErrPeriods.With(ConflictContext{ConflictingPeriodIDs: inTheWay})
	}

	return nil
}

// spans returns the days of periods.
func spans(periods []Period) []Span {
	out := make([]Span, len(periods))
	for i := range periods {
		out[i] = periods[i].span()
	}

	return out
}

// isOwnedAs reports whether two periods have the same owners with the same shares on the same terms.
func (p *Period) isOwnedAs(o *Period) bool {
	sorted := func(members []Member) []Member {
		return slices.SortedFunc(
			slices.Values(members), func(a, b Member) int { return a.ContactID.Compare(b.ContactID) },
		)
	}

	return p.BusinessModel == o.BusinessModel && slices.Equal(sorted(p.Members), sorted(o.Members))
}

// MovePeriods gives the periods that go on at the other listing to it.
func (m *Merge) MovePeriods(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `update listing_ownership_period set listing_id = @into, updated_at = @now where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "into": m.Into.ID, "ids": periodIDs(m.Moved), "now": tx.Now})
	if err != nil {
		return fmt.Errorf("move ownership periods: %w", err)
	}

	for i := range m.Moved {
		after := m.Moved[i]
		after.ListingID = m.Into.ID
		notePeriod(tx, audit.Updated, &m.Moved[i], &after)
	}

	return nil
}

// DropPeriods deletes the periods that the other listing has absorbed; nothing refers to them any more.
func (m *Merge) DropPeriods(ctx context.Context, tx *db.Tx) error {
	for i := range m.Absorbed {
		if err := removePeriod(ctx, tx, &m.Absorbed[i], nil); err != nil {
			return err
		}
	}

	return nil
}

// PeriodIDsToDelete returns the ids of the absorbed periods, which DropPeriods deletes.
func (m *Merge) PeriodIDsToDelete() []id.ID { return periodIDs(m.Absorbed) }

// Retire makes the listing that has gone into the other inactive. The other gets its reference if it has none.
func (m *Merge) Retire(ctx context.Context, tx *db.Tx) error {
	from, into := *m.From, *m.Into

	from.Status = Inactive
	if into.UniqueRef == nil {
		from.UniqueRef, into.UniqueRef = nil, from.UniqueRef
	}

	// The first gives the reference up before the other takes it.
	for _, d := range []*draft{{Listing: from, before: m.From}, {Listing: into, before: m.Into}} {
		if err := saveDrafts(ctx, tx, []*draft{d}); err != nil {
			return err
		}
	}

	audit.NoteMerged(tx, audit.ListingMove(from.ID, into.ID))

	return SetMerged(ctx, tx, []id.ID{from.ID}, []id.ID{into.ID})
}

// SetMerged says that listings have gone into others, to[i] for from[i]: what names one from now on names the other.
func SetMerged(ctx context.Context, tx *db.Tx, from, to []id.ID) error {
	_, err := tx.Exec(ctx, `
		update listing l set merged_into_id = g.to_id from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
		where l.team_id = @team and (l.id = g.from_id or l.merged_into_id = g.from_id)`, db.Args{"team": tx.Team, "from": from, "to": to})
	if err != nil {
		return fmt.Errorf("note merged listings: %w", err)
	}

	return nil
}

// MoveOwner has another contact be a member of the periods of a contact. Where both are members their shares add up, at
// the place of the one that comes first. It fails with a refusal for a period that a saved statement holds.
func MoveOwner(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	periods, statements, err := lockOwned(ctx, tx, from)
	if err != nil {
		return err
	}

	for i := range periods {
		p := periods[i]
		p.Members = replaceMember(p.Members, from, into)

		if err := checkStatements(&periods[i], &p, statements); err != nil {
			return err
		}

		if err := savePeriod(ctx, tx, &periods[i], &p, nil); err != nil {
			return err
		}
	}

	return nil
}

// CountHeldOwned counts the periods of a contact that saved statements hold.
func CountHeldOwned(ctx context.Context, tx *db.Tx, contact id.ID) (int64, error) {
	_, statements, err := lockOwned(ctx, tx, contact)
	if err != nil {
		return 0, err
	}

	held := map[id.ID]bool{}
	for _, s := range statements {
		held[s.PeriodID] = true
	}

	return int64(len(held)), nil
}

// lockOwned locks the listings that a contact owns or owned and loads these periods, with the saved statements over
// them.
func lockOwned(ctx context.Context, tx *db.Tx, contact id.ID) ([]Period, []ledger.StatementOver, error) {
	args := db.Args{"team": tx.Team, "contact": contact}

	if _, err := db.Select[id.ID](ctx, tx, `select l.id from listing l where l.team_id = @team and l.id in (
		select p.listing_id from listing_ownership_member m join listing_ownership_period p on p.team_id = @team and p.id = m.period_id
		where m.team_id = @team and m.contact_id = @contact) order by l.id for update`, args); err != nil {
		return nil, nil, fmt.Errorf("lock the listings of an owner: %w", err)
	}

	periods, err := selectPeriods(ctx, tx, `p.team_id = @team and p.id in (
		select m.period_id from listing_ownership_member m where m.team_id = @team and m.contact_id = @contact)`, args)
	if err != nil || len(periods) == 0 {
		return nil, nil, err
	}

	statements, err := ledger.ListStatementsOver(ctx, tx, periodIDs(periods))

	return periods, statements, err
}

// replaceMember returns members with one owner in place of another; the shares of both add up.
func replaceMember(members []Member, from, into id.ID) []Member {
	var out []Member

	for _, m := range members {
		if m.ContactID == from {
			m.ContactID = into
		}

		if at := slices.IndexFunc(out, func(o Member) bool { return o.ContactID == m.ContactID }); at >= 0 {
			out[at].Split += m.Split
			continue
		}

		out = append(out, m)
	}

	return out
}
