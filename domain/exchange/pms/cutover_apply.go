package pms

import (
	"context"
	"encoding/json"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// applyCutover moves a team to another system, in one transaction.
func (s *Systems) applyCutover(ctx context.Context, tx *db.Tx, in *cutoverInput) (*CutoverDone, error) {
	if err := holdBoth(ctx, tx, in.Body.SourceConnectionID, in.Body.TargetConnectionID); err != nil {
		return nil, err
	}

	// Nothing changes from here on, so the plan holds until it is done (CUT-40).
	p, err := s.plan(ctx, tx, &in.Body)
	if err != nil {
		return nil, err
	}

	if err := p.blocker(); err != nil {
		return nil, err
	}

	touched, err := s.carryOut(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	ack, err := operation.Record(ctx, tx, p.operation(operation.PMSCutover))
	if err != nil {
		return nil, err
	}

	out := &CutoverDone{CutoverPlan: *p.view(ack), Applied: true, OperationIDs: []id.ID{}}
	out.QueuedReservationRefreshCount = p.stays.JournalRefreshCount

	// Last, journals: those of the reservations and of the transactions that were touched.
	for _, queue := range []ledger.Outdated{
		{Sources: map[ledger.Noun][]id.ID{ledger.Reservations: p.outdated()}},
		{Sources: map[ledger.Noun][]id.ID{ledger.Transactions: touched}, Type: operation.TransactionJournal},
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

// carryOut sets the windows of the connections, moves what is to be moved and says which listings those of the target are.
// It returns the transactions that were touched. The journals of what it touched have to be derived then.
func (s *Systems) carryOut(ctx context.Context, tx *db.Tx, p *plan) ([]id.ID, error) {
	if err := connection.Cut(ctx, tx, p.source, p.target, p.request.CutoverAt); err != nil {
		return nil, err
	}

	touched, err := p.move(ctx, tx)
	if err != nil {
		return nil, err
	}

	return touched, s.bindMerged(ctx, tx, p)
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

// move makes reservations of the source inactive, and moves those of the target and the lines of both. It returns the
// transactions that were touched.
func (p *plan) move(ctx context.Context, tx *db.Tx) ([]id.ID, error) {
	from, to := p.moves()

	lines, err := transaction.Move(ctx, tx, from, to)
	if err != nil {
		return nil, err
	}

	// Lines go to the same reservation of the target before their own is retired.
	old, now := ids(p.retired), make([]*id.ID, len(p.retired))
	for i, r := range p.retired {
		now[i] = p.matches[r.ID]
	}

	linked, err := transaction.Relink(ctx, tx, old, now)
	if err != nil {
		return nil, err
	}

	loosened, err := reservation.Retire(ctx, tx, old)
	if err != nil {
		return nil, err
	}

	_, following, err := reservation.Move(ctx, tx, from, to)

	return id.Distinct(slices.Concat(lines, linked, loosened, following)), err
}

// bindMerged says that the merged listings of the target are those of the source from now on, and archives those that
// they were if nothing is left of them.
func (s *Systems) bindMerged(ctx context.Context, tx *db.Tx, p *plan) error {
	refs, listings := []id.ID{}, []*id.ID{}
	for i := range p.merges {
		refs, listings = append(refs, p.merges[i].ref), append(listings, &p.merges[i].to)
	}

	if err := setListings(ctx, tx, p.target.ID, refs, listings); err != nil {
		return err
	}

	from, to := p.moves()
	if err := intake.Rebind(ctx, tx, p.target.ID, listingKind, intake.Moves{From: from, To: to}); err != nil {
		return err
	}

	writes := make([]intake.Write, len(from))
	for i := range from {
		writes[i] = intake.Write{ID: &from[i], Fields: intake.Values{"status": json.RawMessage(`"inactive"`)}}
	}

	// One that still has something, such as owners with a reserve, stays: its refusal changes nothing.
	_, err := s.listings.Save(ctx, tx, intake.Origin{}, writes)

	return err
}
