package reservation

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// Pair is one stay that two systems brought. Source is the reservation of the former system, or entered by people;
// Target is the reservation of the new system. The accounting date of the target decides which is in the books.
type Pair struct{ SourceID, TargetID id.ID }

// Dates are the dates of a reservation that its accounting date depends on.
type Dates struct {
	CheckIn                day.Day
	CheckOut               day.Day
	BookedAt               *day.Day
	GeneralLedgerPostingAt *day.Day
}

// AddPairs keeps pairs. SettlePairs decides then which reservation of each is in the books.
func AddPairs(ctx context.Context, tx *db.Tx, pairs []Pair) error {
	sources, targets := unzip(pairs)

	_, err := tx.Exec(ctx, `
		insert into reservation_pair (team_id, target_id, source_id, target_status)
		select @team, r.id, g.source_id, r.status from unnest(@sources::uuid[], @targets::uuid[]) g (source_id, target_id)
		join reservation r on r.team_id = @team and r.id = g.target_id order by r.id`,
		db.Args{"team": tx.Team, "sources": sources, "targets": targets})
	if err != nil {
		return fmt.Errorf("keep pairs of reservations: %w", err)
	}

	return nil
}

// Inherit copies to the targets of pairs the booking day, the posting date and members of userdata and metadata that
// only their sources have.
func Inherit(ctx context.Context, tx *db.Tx, pairs []Pair) error {
	sources, targets := unzip(pairs)

	type row struct {
		ID                                     id.ID
		BookedAt, OldBookedAt                  *day.Day
		GeneralLedgerPostingAt, OldPostingAt   *day.Day
		Userdata, OldUserdata, Metadata, OldMD map[string]any
	}

	found, err := db.Select[row](ctx, tx, `
		update reservation r set booked_at = coalesce(r.booked_at, s.booked_at), userdata = s.userdata || r.userdata, metadata = s.metadata || r.metadata,
			general_ledger_posting_at = coalesce(r.general_ledger_posting_at, s.general_ledger_posting_at), updated_at = @now
		from unnest(@sources::uuid[], @targets::uuid[]) g (source_id, target_id) join reservation s on s.team_id = @team and s.id = g.source_id, reservation o
		where r.team_id = @team and r.id = g.target_id and o.team_id = r.team_id and o.id = r.id
			and (r.booked_at is null and s.booked_at is not null or r.general_ledger_posting_at is null and s.general_ledger_posting_at is not null
				or s.userdata || r.userdata <> r.userdata or s.metadata || r.metadata <> r.metadata)
		returning r.id, r.booked_at, o.booked_at as old_booked_at, r.general_ledger_posting_at, o.general_ledger_posting_at as old_posting_at,
			r.userdata, o.userdata as old_userdata, r.metadata, o.metadata as old_md`,
		db.Args{"team": tx.Team, "sources": sources, "targets": targets, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("give reservations what those of the former system have: %w", err)
	}

	booked := map[id.ID]intake.Values{}

	for i := range found {
		r := &found[i]
		audit.Note(
			tx, audit.Updated, audit.Reservation, r.ID,
			map[string]any{
				"bookedAt": r.OldBookedAt, "generalLedgerPostingAt": r.OldPostingAt, "userdata": r.OldUserdata,
				"metadata": r.OldMD,
			},
			map[string]any{
				"bookedAt": r.BookedAt, "generalLedgerPostingAt": r.GeneralLedgerPostingAt, "userdata": r.Userdata,
				"metadata": r.Metadata,
			},
		)

		if r.OldBookedAt == nil && r.BookedAt != nil {
			booked[r.ID] = intake.Values{"bookedAt": encode(r.BookedAt)}
		}
	}

	return intake.Retake(ctx, tx, kindName, booked)
}

// Carried lists the fields that a cutover carries over from an edited reservation to its target, with the value that
// means "not stated".
var Carried = intake.Values{
	"bookerName": nil, "bookingPlatform": nil, "cancelledAt": nil, "checkIn": nil, "checkOut": nil,
	"confirmationCode": nil, "currency": nil,
	"generalLedgerStatus": encode(LedgerActive), "guestName": nil, "guests": nil, "lines": nil, "status": nil,
	"type": nil,
}

// ListEdited returns the pairs with a source that people changed. Sources that people made inactive are left out: often
// they did so because the target was here already.
func ListEdited(ctx context.Context, tx *db.Tx, pairs []Pair) ([]Pair, error) {
	sources, targets := unzip(pairs)

	found, err := db.Select[Pair](ctx, tx, `
		select g.source_id, g.target_id from unnest(@sources::uuid[], @targets::uuid[]) g (source_id, target_id)
		join reservation s on s.team_id = @team and s.id = g.source_id
		where exists (select from audit_event e where e.team_id = @team and e.entity_id = g.source_id and `+editSQL+`)
			and (s.status <> 'inactive' or s.retired_status is not null or not exists (
				select from external_record r where r.team_id = @team and r.entity_id = s.id and r.kind = 'reservation' and r.state = 'active'))`,
		db.Args{"team": tx.Team, "sources": sources, "targets": targets})
	if err != nil {
		return nil, fmt.Errorf("find reservations that people have changed: %w", err)
	}

	return found, nil
}

// Settled holds the records that settling pairs has changed: reservations and transactions whose journals have to be
// derived again.
type Settled struct{ Reservations, Transactions []id.ID }

// SettlePairs decides, for the pairs with some reservations, whether source or target is in the books; it is called
// after anything that bears on this has changed. The source gets the dates of the target. It is inactive while the
// target is in the accounting window of its connection, and otherwise has the last status of the target. Adjustments
// and transactions follow to the reservation that counts.
func SettlePairs(ctx context.Context, tx *db.Tx, ids []id.ID) (*Settled, error) {
	found, err := loadPairs(ctx, tx, ids)
	if err != nil || len(found) == 0 {
		return &Settled{}, err
	}

	s, err := loadSettings(ctx, tx)
	if err != nil {
		return nil, err
	}

	var (
		changed []decidedPair
		held    []id.ID
	)

	for i := range found {
		if p := &found[i]; p.decide(s) {
			changed, held = append(changed, *p), append(held, p.SourceID, p.TargetID)
		}
	}

	if len(changed) == 0 {
		return &Settled{}, nil
	}

	if err := lockReservations(ctx, tx, held); err != nil {
		return nil, err
	}

	out, err := savePairs(ctx, tx, changed)
	if err != nil {
		return nil, err
	}

	// A stay back at the former system was in the books with the amounts of the new system.
	var back []id.ID

	for i := range changed {
		if p := &changed[i]; p.turned && !p.retired && p.IsRetired != nil {
			back = append(back, p.TargetID)
		}
	}

	return out, contestAmounts(ctx, tx, back)
}

// settleDrafts settles the pairs of saved reservations and derives the journals that this changes, so that a lock
// refuses the write at once. Amounts that a system states for a stay which counts at the former system become a
// question.
func settleDrafts(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	var changed, relined []id.ID

	for _, d := range drafts {
		if d.before == nil {
			continue
		}

		if !d.isDatedAs(d.before) {
			changed = append(changed, d.ID)
		}

		if d.ConnectionID != nil && d.hasOtherAmounts() {
			relined = append(relined, d.ID)
		}
	}

	if len(changed) > 0 {
		if err := settleChanged(ctx, tx, changed); err != nil {
			return err
		}
	}

	return contestAmounts(ctx, tx, relined)
}

// settleChanged settles the pairs of reservations that were written with other dates or another status.
func settleChanged(ctx context.Context, tx *db.Tx, changed []id.ID) error {
	followed, err := followSources(ctx, tx, changed)
	if err != nil {
		return err
	}

	if err := Derive(ctx, tx, followed); err != nil {
		return err
	}

	restored, waiting, err := restore(ctx, tx, changed)
	if err != nil {
		return err
	}

	if err := Derive(ctx, tx, restored); err != nil {
		return err
	}

	if err := StartRelink(ctx, tx, changed, waiting); err != nil {
		return err
	}

	changed = append(changed, followed...)

	// A source may itself be the target of a still older system.
	for len(changed) > 0 {
		s, err := SettlePairs(ctx, tx, changed)
		if err != nil || len(s.Reservations) == 0 {
			return err
		}

		if err := Derive(ctx, tx, s.Reservations); err != nil {
			return err
		}

		if err := StartRelink(ctx, tx, changed, s.Transactions); err != nil {
			return err
		}

		changed = s.Reservations
	}

	return nil
}

// isDatedAs reports whether a reservation has the status and the dates of another one.
func (r *Reservation) isDatedAs(o *Reservation) bool {
	return r.Status == o.Status && r.CheckIn == o.CheckIn && r.CheckOut == o.CheckOut &&
		ptr.Equal(r.BookedAt, o.BookedAt) &&
		ptr.Equal(r.GeneralLedgerPostingAt, o.GeneralLedgerPostingAt)
}

// decidedPair is a pair as it is, and what becomes of it.
type decidedPair struct {
	Pair
	Dates // of the target's

	SourceConnectionID   *id.ID // nil for none: it counts on every day
	TargetConnectionID   id.ID
	SourceStatus, Status Status // Status is that of the target's
	// IsRetired says that the source's is inactive since the target's counts, nil before that was decided first;
	// TargetStatus what the target's was then.
	IsRetired    *bool
	TargetStatus Status
	// IsMoved says that the source's has other dates than the target's.
	IsMoved bool

	// What is decided.
	status  Status
	retired bool
	turned  bool
}

// loadPairs loads the pairs with some reservations.
func loadPairs(ctx context.Context, tx *db.Tx, ids []id.ID) ([]decidedPair, error) {
	found, err := db.Select[decidedPair](ctx, tx, `
		select p.source_id, p.target_id, p.is_retired, p.target_status, t.check_in, t.check_out, t.booked_at, t.general_ledger_posting_at, t.status,
			s.status as source_status, s.connection_id as source_connection_id, t.connection_id as target_connection_id,
			(s.check_in, s.check_out, s.booked_at, s.general_ledger_posting_at) is distinct from (t.check_in, t.check_out, t.booked_at, t.general_ledger_posting_at)
				as is_moved
		from reservation_pair p join reservation t on t.team_id = p.team_id and t.id = p.target_id join reservation s on s.team_id = p.team_id and s.id = p.source_id
		where p.team_id = @team and (p.target_id = any(@ids) or p.source_id = any(@ids)) and t.connection_id is not null order by p.target_id`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read pairs of reservations: %w", err)
	}

	return found, nil
}

// accountingDate returns the date that decides whether a reservation with these dates is in an accounting window.
func (d *Dates) accountingDate(s *settings) day.Day {
	in := Input{
		Reservation: Reservation{
			CheckIn: d.CheckIn, CheckOut: d.CheckOut, BookedAt: d.BookedAt,
			GeneralLedgerPostingAt: d.GeneralLedgerPostingAt,
		},
		Recognition: s.DefaultRevenueRecognition, LongTermStayNights: s.LongTermStayNights,
	}

	return in.accountingDate()
}

// decide decides about a pair, and returns true if anything changes.
func (p *decidedPair) decide(s *settings) bool {
	at := p.accountingDate(s)
	isNew := p.IsRetired == nil
	p.status, p.retired = p.SourceStatus, !isNew && *p.IsRetired

	switch {
	case s.Windows[p.TargetConnectionID].has(at):
		p.status, p.retired = Inactive, true
	case !s.Windows[ptr.Value(p.SourceConnectionID)].has(at) || p.Status == Inactive:
		// Neither counts, or the target has it no more: what there is stays.
	case p.retired, isNew && p.SourceStatus == Inactive:
		p.status, p.retired = p.Status, false
	case !isNew && p.Status != p.TargetStatus:
		p.status = p.Status
	}

	p.turned = isNew || p.retired != *p.IsRetired

	return p.turned || p.IsMoved || p.status != p.SourceStatus || p.Status != p.TargetStatus
}

// savePairs writes what was decided about pairs.
func savePairs(ctx context.Context, tx *db.Tx, pairs []decidedPair) (*Settled, error) {
	var (
		sources, targets, losers, winners []id.ID
		statuses                          []Status
		retired                           []bool
	)

	said, out := map[id.ID]intake.Values{}, &Settled{}

	for i := range pairs {
		p := &pairs[i]
		sources, targets = append(sources, p.SourceID), append(targets, p.TargetID)
		statuses, retired = append(statuses, p.status), append(retired, p.retired)

		// The move is no edit of a person. One that was retired and counts again is as its source would say it.
		values := intake.Values{
			"checkIn": encode(p.CheckIn), "checkOut": encode(p.CheckOut), "bookedAt": encode(p.BookedAt),
		}
		if p.SourceStatus == Inactive && p.status != Inactive {
			values["status"] = encode(p.status)
		}

		said[p.SourceID] = values

		switch {
		case p.turned && p.retired:
			losers, winners = append(losers, p.SourceID), append(winners, p.TargetID)
		case p.turned:
			losers, winners = append(losers, p.TargetID), append(winners, p.SourceID)
		}
	}

	following, err := writeSources(ctx, tx, sources, targets, statuses)
	if err != nil {
		return nil, err
	}

	if _, err := tx.Exec(ctx, `
		update reservation_pair p set is_retired = g.retired, target_status = t.status from unnest(@targets::uuid[], @retired::boolean[]) g (id, retired)
		join reservation t on t.team_id = @team and t.id = g.id
		where p.team_id = @team and p.target_id = g.id`, db.Args{"team": tx.Team, "targets": targets, "retired": retired}); err != nil {
		return nil, fmt.Errorf("save pairs of reservations: %w", err)
	}

	if err := intake.Retake(ctx, tx, kindName, said); err != nil {
		return nil, err
	}

	moved, err := moveAdjustments(ctx, tx, losers, winners)
	if err != nil {
		return nil, err
	}

	linked, err := loadLinked(ctx, tx, losers, winners)

	out.Reservations = id.Distinct(append(moved, sources...))
	out.Transactions = id.Distinct(append(following, linked...))

	return out, err
}

// writeSources gives the sources of pairs the dates of their targets, and their statuses. It returns the transactions
// that know a source only by confirmation code or guest.
func writeSources(ctx context.Context, tx *db.Tx, sources, targets []id.ID, statuses []Status) ([]id.ID, error) {
	type dated struct {
		rehomed
		Dates

		OldCheckIn, OldCheckOut   day.Day
		OldBookedAt, OldPostingAt *day.Day
	}

	found, err := db.Select[dated](ctx, tx, `
		update reservation r set check_in = t.check_in, check_out = t.check_out, booked_at = t.booked_at, general_ledger_posting_at = t.general_ledger_posting_at,
			status = g.status, retired_status = case g.status when 'inactive' then r.retired_status end, cancelled_at = case g.status when 'canceled' then coalesce(r.cancelled_at, t.cancelled_at, t.check_in) when 'booked' then null else r.cancelled_at end,
			updated_at = @now
		from unnest(@sources::uuid[], @targets::uuid[], @statuses::text[]) g (source_id, target_id, status)
		join reservation t on t.team_id = @team and t.id = g.target_id, reservation o
		where r.team_id = @team and r.id = g.source_id and ((r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at) is distinct from
			(t.check_in, t.check_out, t.booked_at, t.general_ledger_posting_at) or r.status <> g.status)`+rehomedSQL+`,
			r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at, o.check_in as old_check_in, o.check_out as old_check_out,
			o.booked_at as old_booked_at, o.general_ledger_posting_at as old_posting_at`,
		db.Args{"team": tx.Team, "sources": sources, "targets": targets, "statuses": statuses, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("settle reservations of a former system: %w", err)
	}

	rehomes := make([]rehomed, len(found))

	for i := range found {
		r := &found[i]
		rehomes[i] = r.rehomed

		noteDates(tx, r.ID, &Dates{r.OldCheckIn, r.OldCheckOut, r.OldBookedAt, r.OldPostingAt}, &r.Dates)
	}

	return noteRehomed(ctx, tx, rehomes)
}

// followSources gives the targets of pairs the dates of their sources, which a person has changed, and returns the
// targets.
func followSources(ctx context.Context, tx *db.Tx, sources []id.ID) ([]id.ID, error) {
	type row struct {
		ID id.ID
		Dates

		OldCheckIn, OldCheckOut   day.Day
		OldBookedAt, OldPostingAt *day.Day
	}

	found, err := db.Select[row](ctx, tx, `
		update reservation r set check_in = s.check_in, check_out = s.check_out, booked_at = s.booked_at, general_ledger_posting_at = s.general_ledger_posting_at,
			updated_at = @now
		from reservation_pair p join reservation s on s.team_id = @team and s.id = p.source_id, reservation o
		where p.team_id = @team and p.source_id = any(@sources) and r.team_id = @team and r.id = p.target_id and o.team_id = @team and o.id = r.id
			and (r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at) is distinct from (s.check_in, s.check_out, s.booked_at, s.general_ledger_posting_at)
		returning r.id, r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at, o.check_in as old_check_in, o.check_out as old_check_out,
			o.booked_at as old_booked_at, o.general_ledger_posting_at as old_posting_at`,
		db.Args{"team": tx.Team, "sources": sources, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("move reservations with those of the former system: %w", err)
	}

	out := make([]id.ID, len(found))

	for i := range found {
		r := &found[i]
		out[i] = r.ID
		noteDates(tx, r.ID, &Dates{r.OldCheckIn, r.OldCheckOut, r.OldBookedAt, r.OldPostingAt}, &r.Dates)
	}

	return out, nil
}

// noteDates writes the audit event of a reservation that gets other dates.
func noteDates(tx *db.Tx, of id.ID, before, after *Dates) {
	view := func(d *Dates) any {
		return map[string]any{
			"checkIn": d.CheckIn, "checkOut": d.CheckOut, "bookedAt": d.BookedAt,
			"generalLedgerPostingAt": d.GeneralLedgerPostingAt,
		}
	}
	audit.Note(tx, audit.Updated, audit.Reservation, of, view(before), view(after))
}

// moveAdjustments gives the adjustments of reservations to others, from[i] to to[i], and returns the reservations of
// both sides that had some.
func moveAdjustments(ctx context.Context, tx *db.Tx, from, to []id.ID) ([]id.ID, error) {
	type row struct{ ID, FromID, ToID id.ID }

	found, err := db.Select[row](ctx, tx, `
		update reservation_adjustment a set reservation_id = g.to_id, updated_at = @now from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
		where a.team_id = @team and a.reservation_id = g.from_id returning a.id, g.from_id, g.to_id`,
		db.Args{"team": tx.Team, "from": from, "to": to, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("move adjustments of reservations: %w", err)
	}

	var out []id.ID

	for _, r := range found {
		out = append(out, r.FromID, r.ToID)
		audit.Note(
			tx, audit.Updated, audit.Adjustment, r.ID, map[string]id.ID{"reservationId": r.FromID},
			map[string]id.ID{"reservationId": r.ToID},
			audit.Ref(audit.RoleReservation, audit.Reservation, r.FromID),
			audit.Ref(audit.RoleReservation, audit.Reservation, r.ToID),
		)
	}

	return out, nil
}

// loadLinked loads the active transactions with a line linked to a reservation that leaves the books, or linked before
// a cutover to such a reservation or its twin.
func loadLinked(ctx context.Context, tx *db.Tx, losers, winners []id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `
		select distinct t.id from transaction_line l join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active'
		where l.team_id = @team and (l.reservation_id = any(@losers) or l.reservation_id is null and l.detached_reservation_id = any(@both)) order by t.id`,
		db.Args{"team": tx.Team, "losers": losers, "both": slices.Concat(losers, winners)})
	if err != nil {
		return nil, fmt.Errorf("find the transactions of reservations: %w", err)
	}

	return found, nil
}

// unzip returns the sources and the targets of pairs.
func unzip(pairs []Pair) (sources, targets []id.ID) {
	sources, targets = make([]id.ID, len(pairs)), make([]id.ID, len(pairs))
	for i, p := range pairs {
		sources[i], targets[i] = p.SourceID, p.TargetID
	}

	return sources, targets
}
