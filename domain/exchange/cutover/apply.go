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

// apply moves a team to another system in one transaction.
func (m *Movers) apply(ctx context.Context, tx *db.Tx, in *cutoverInput) (*Done, error) {
	if err := lockBoth(ctx, tx, in.Body.SourceConnectionID, in.Body.TargetConnectionID); err != nil {
		return nil, err
	}

	// Both connections are locked, so the plan stays true until it is carried out (CUT-40).
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

	out := &Done{Impact: *p.render(ack), Applied: true, OperationIDs: []id.ID{}}
	out.QueuedReservationRefreshCount = p.stays.JournalRefreshCount

	// Last, queue the journals of all reservations and transactions that were touched.
	for _, queue := range []ledger.Outdated{
		{Sources: map[ledger.Noun][]id.ID{ledger.Reservations: id.Distinct(append(p.listOutdated(), done.stays...))}},
		{Sources: map[ledger.Noun][]id.ID{ledger.Transactions: done.transactions}, Type: operation.TransactionJournal},
	} {
		queue.Reason = ledger.MappingChanged
		queue.Cause = operation.Resource{Type: operation.Connection, ID: p.target.ID}

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

// touched are records with stale journals after a cutover, in addition to the records of its plan.
type touched struct{ stays, transactions []id.ID }

// carryOut carries out a plan. The journals of everything it touches are stale afterwards.
func (m *Movers) carryOut(ctx context.Context, tx *db.Tx, p *plan) (*touched, error) {
	if err := connection.Cut(ctx, tx, p.source, p.target, p.request.CutoverAt); err != nil {
		return nil, err
	}

	// Stays move before their listings, so that the listings left behind are empty.
	done, err := m.moveStays(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	if err := pms.BindListings(ctx, tx, p.target.ID, p.bindings()); err != nil {
		return nil, err
	}

	return done, m.joinListings(ctx, tx, p)
}

// lockBoth locks two connections and their syncs until the transaction ends, in the order of ids: sources before
// connections, as syncs do. It ignores missing connections, which the checks report.
func lockBoth(ctx context.Context, tx *db.Tx, source, target id.ID) error {
	connections := id.Distinct([]id.ID{source, target})

	for _, c := range connections {
		if err := intake.Hold(ctx, tx, c); err != nil {
			return err
		}
	}

	return connection.LockAll(ctx, tx, connections)
}

// moveStays moves the reservations and lines of replaced listings, copies the edits of source reservations to the
// target, and lets one reservation of each pair count.
func (m *Movers) moveStays(ctx context.Context, tx *db.Tx, p *plan) (*touched, error) {
	// Listings with owners or fees move in joinListings, as a merge.
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

	// Retired stays without a match leave the books, and their lines are detached.
	loosened, err := reservation.Retire(ctx, tx, p.listUnmatched())
	if err != nil {
		return nil, err
	}

	done.transactions = id.Distinct(slices.Concat(lines, following, loosened, done.transactions))

	return done, nil
}

// joinStays joins the pairs of a plan: it copies edits to the target reservations, relinks lines, and lets one
// reservation of each pair count.
func (m *Movers) joinStays(ctx context.Context, tx *db.Tx, p *plan) (*touched, error) {
	pairs := listPairs(p.pairs)

	if err := m.inherit(ctx, tx, p, pairs); err != nil {
		return nil, err
	}

	// Lines move to the reservation that counts before the other one leaves the books.
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

	settled, err := reservation.SettlePairs(ctx, tx, listTargets(pairs))
	if err != nil {
		return nil, err
	}

	return &touched{settled.Reservations, id.Distinct(slices.Concat(linked, settled.Transactions))}, nil
}

// inherit copies what people have changed in source reservations to target reservations.
func (m *Movers) inherit(ctx context.Context, tx *db.Tx, p *plan, pairs []reservation.Pair) error {
	if err := reservation.Inherit(ctx, tx, pairs); err != nil {
		return err
	}

	edited, err := reservation.ListEdited(ctx, tx, pairs)
	if err != nil {
		return err
	}

	// A status set by an earlier cutover is no edit of a person, so copy the status before it.
	isTyped, instead := map[id.ID]bool{}, map[id.ID]intake.Values{}

	for i := range p.pairs {
		s := p.pairs[i].source
		if isTyped[s.ID] = s.IsTyped; s.RetiredStatus != nil {
			instead[s.ID] = intake.Values{"status": json.RawMessage(`"` + *s.RetiredStatus + `"`)}
		}
	}

	// Stays that people have entered are edits as a whole; stays of a source only where they differ from it.
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

// relinks returns the reservations that lose their lines, and for each the reservation that gets them, nil for none.
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

// listUnmatched returns the retired reservations without an equal reservation of the target.
func (p *plan) listUnmatched() []id.ID {
	var out []id.ID

	for i := range p.retired {
		if v := p.retired[i].ID; p.matches[v] == nil {
			out = append(out, v)
		}
	}

	return out
}

// listTargets returns the target reservations of pairs.
func listTargets(pairs []reservation.Pair) []id.ID {
	out := make([]id.ID, len(pairs))
	for i := range pairs {
		out[i] = pairs[i].TargetID
	}

	return out
}

// joinListings joins target listings with their source listings: listings with owners, fees and the like by a merge,
// all others at once.
func (m *Movers) joinListings(ctx context.Context, tx *db.Tx, p *plan) error {
	from, to := p.moves(nil)

	for i := range from {
		if !slices.Contains(p.busy, from[i]) {
			continue
		}

		if err := merge.Listings(ctx, tx, from[i], to[i]); err != nil {
			return relocateIssues(err)
		}
	}

	from, to = p.moves(p.busy)
	writes := make([]intake.Write, len(from))

	for i := range from {
		writes[i] = intake.Write{ID: &from[i], Fields: intake.Values{"status": json.RawMessage(`"inactive"`)}}
	}

	// A listing that something keeps active stays active: the refusal of its save is ignored.
	if _, err := m.listings.Save(ctx, tx, intake.Origin{}, writes); err != nil {
		return err
	}

	return listing.SetMerged(ctx, tx, from, to)
}
