package cutover

import (
	"context"
	"encoding/json"
	"slices"

	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/exchange/merge"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// apply moves a team to another system, in one transaction.
func (m *Movers) apply(ctx context.Context, tx *db.Tx, in *cutoverInput) (*Done, error) {
	if err := holdBoth(ctx, tx, in.Body.SourceConnectionID, in.Body.TargetConnectionID); err != nil {
		return nil, err
	}

	// Nothing changes from here on, so the plan holds until it is done (CUT-40).
	p, err := m.plan(ctx, tx, &in.Body)
	if err != nil {
		return nil, err
	}

	if err := p.blocker(); err != nil {
		return nil, err
	}

	done, err := m.carryOut(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	ack, err := operation.Record(ctx, tx, p.operation(operation.PMSCutover))
	if err != nil {
		return nil, err
	}

	out := &Done{Impact: *p.view(ack), Applied: true, OperationIDs: []id.ID{}}
	out.QueuedReservationRefreshCount = p.stays.JournalRefreshCount

	// Last, journals: those of the reservations and of the transactions that were touched.
	for _, queue := range []ledger.Outdated{
		{Sources: map[ledger.Noun][]id.ID{ledger.Reservations: id.Distinct(append(p.outdated(), done.stays...))}},
		{Sources: map[ledger.Noun][]id.ID{ledger.Transactions: done.transactions}, Type: operation.TransactionJournal},
	} {
		queue.Reason, queue.Cause = ledger.MappingChanged, operation.Resource{Type: operation.Connection, ID: p.target.ID}

		started, err := ledger.Outdate(ctx, tx, queue)
		if err != nil {
			return nil, err
		}

		if started != nil {
			out.OperationIDs = append(out.OperationIDs, started.OperationID)
		}
	}

	return out, nil
}

// touched are the records with journals that have to be derived after a cutover, besides those of the plan.
type touched struct{ stays, transactions []id.ID }

// carryOut does what a plan says. The journals of what it touches have to be derived then.
func (m *Movers) carryOut(ctx context.Context, tx *db.Tx, p *plan) (*touched, error) {
	if err := connection.Cut(ctx, tx, p.source, p.target, p.request.CutoverAt); err != nil {
		return nil, err
	}

	done, err := m.moveStays(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	if err := pms.BindListings(ctx, tx, p.target.ID, p.bindings()); err != nil {
		return nil, err
	}

	return done, m.joinListings(ctx, tx, p)
}

// holdBoth keeps two connections from changing and from being read until the transaction ends, in the order of their ids:
// the sources before the connections, as syncs do. Connections that are not there are found by the checks.
func holdBoth(ctx context.Context, tx *db.Tx, source, target id.ID) error {
	connections := id.Distinct([]id.ID{source, target})

	for _, c := range connections {
		if err := intake.Hold(ctx, tx, c); err != nil {
			return err
		}
	}

	return connection.LockAll(ctx, tx, connections)
}

// moveStays moves the reservations and lines of listings that become others, gives the reservations of the target what people
// have done to those of the source, and has one of each pair count.
func (m *Movers) moveStays(ctx context.Context, tx *db.Tx, p *plan) (*touched, error) {
	from, to := p.moves(p.busy)

	lines, err := transaction.Move(ctx, tx, from, to)
	if err != nil {
		return nil, err
	}

	_, following, err := reservation.Move(ctx, tx, from, to)
	if err != nil {
		return nil, err
	}

	done, err := m.joinStays(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	loosened, err := reservation.Retire(ctx, tx, p.unpaired())
	if err != nil {
		return nil, err
	}

	done.transactions = id.Distinct(slices.Concat(lines, following, loosened, done.transactions))

	return done, nil
}

// joinStays keeps the pairs of a plan: it gives the reservations of the target what people have done to those of the source, has lines
// follow, and has one of each pair count.
func (m *Movers) joinStays(ctx context.Context, tx *db.Tx, p *plan) (*touched, error) {
	pairs := pairsOf(p.pairs)

	if err := m.inherit(ctx, tx, p, pairs); err != nil {
		return nil, err
	}

	// Lines go to the reservation that counts before their own leaves the books.
	old, now := p.relinks()

	linked, err := transaction.Relink(ctx, tx, old, now)
	if err != nil {
		return nil, err
	}

	if err := journal.Relink(ctx, tx, old, now); err != nil {
		return nil, err
	}

	if err := reservation.AddPairs(ctx, tx, pairs); err != nil {
		return nil, err
	}

	settled, err := reservation.SettlePairs(ctx, tx, targetsOf(pairs))
	if err != nil {
		return nil, err
	}

	return &touched{settled.Reservations, id.Distinct(slices.Concat(linked, settled.Transactions))}, nil
}

// inherit gives the reservations of the target what people have done to those of the source.
func (m *Movers) inherit(ctx context.Context, tx *db.Tx, p *plan, pairs []reservation.Pair) error {
	if err := reservation.Inherit(ctx, tx, pairs); err != nil {
		return err
	}

	edited, err := reservation.ListEdited(ctx, tx, pairs)
	if err != nil {
		return err
	}

	// That a cutover has retired a stay is no word of people.
	isTyped, instead := map[id.ID]bool{}, map[id.ID]intake.Values{}

	for i := range p.pairs {
		s := p.pairs[i].source
		if isTyped[s.ID] = s.IsTyped; s.RetiredStatus != nil {
			instead[s.ID] = intake.Values{"status": json.RawMessage(`"` + *s.RetiredStatus + `"`)}
		}
	}

	var brought, typed intake.Moves

	for _, one := range edited {
		moves := &brought
		if isTyped[one.SourceID] {
			moves = &typed
		}

		moves.From, moves.To = append(moves.From, one.SourceID), append(moves.To, one.TargetID)
	}

	for _, w := range []intake.Carrying{{Moves: brought}, {Moves: typed, Typed: true}} {
		w.Instead = instead

		w.Kind, w.Into, w.Fields = &m.stays, p.target.ID, reservation.Carried
		if _, err := intake.Carry(ctx, tx, &w); err != nil {
			return err
		}
	}

	return nil
}

// relinks returns the reservations that lose their lines, and those that get them, nil for none.
func (p *plan) relinks() (old []id.ID, now []*id.ID) {
	for i := range p.retired {
		old, now = append(old, p.retired[i].ID), append(now, p.matches[p.retired[i].ID])
	}

	for i := range p.pairs {
		if one := &p.pairs[i]; one.counts == sourceSide {
			old, now = append(old, one.target.ID), append(now, &one.source.ID)
		}
	}

	return old, now
}

// unpaired returns the retired reservations that are not the same as one of the target.
func (p *plan) unpaired() []id.ID {
	var out []id.ID

	for i := range p.retired {
		if v := p.retired[i].ID; p.matches[v] == nil {
			out = append(out, v)
		}
	}

	return out
}

// targetsOf returns the targets of pairs.
func targetsOf(pairs []reservation.Pair) []id.ID {
	out := make([]id.ID, len(pairs))
	for i := range pairs {
		out[i] = pairs[i].TargetID
	}

	return out
}

// joinListings has listings of the target go into those of the source that they are: one with owners, fees and the like as a
// merge does it, the others at once.
func (m *Movers) joinListings(ctx context.Context, tx *db.Tx, p *plan) error {
	from, to := p.moves(nil)

	for i := range from {
		if !slices.Contains(p.busy, from[i]) {
			continue
		}

		if err := merge.Listings(ctx, tx, from[i], to[i]); err != nil {
			return namedHere(err)
		}
	}

	from, to = p.moves(p.busy)
	writes := make([]intake.Write, len(from))

	for i := range from {
		writes[i] = intake.Write{ID: &from[i], Fields: intake.Values{"status": json.RawMessage(`"inactive"`)}}
	}

	// One that something keeps active stays so: its refusal changes nothing.
	if _, err := m.listings.Save(ctx, tx, intake.Origin{}, writes); err != nil {
		return err
	}

	return listing.SetMerged(ctx, tx, from, to)
}
