package cutover

import (
	"context"
	"fmt"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Join returns how reservations that the target brings after a cutover are joined with equal stays of the source or
// stays entered by people, as the cutover would have done. Stays is the kind that saves reservations. A lock on a
// stay that leaves or enters the books refuses it.
func Join(stays intake.Kind) *intake.Join {
	m := &Movers{stays: stays}

	return &intake.Join{
		Locked: reservation.IsLocked,
		Applies: func(ctx context.Context, tx *db.Tx, from intake.Origin) (bool, error) {
			if from.ConnectionID == nil {
				return false, nil
			}

			former, err := connection.ListFormer(ctx, tx, *from.ConnectionID)

			return len(former) > 0, err
		},
		Do: m.joinLate,
	}
}

// joinLate joins reservations just created by the target of a cutover with equal stays.
func (m *Movers) joinLate(ctx context.Context, tx *db.Tx, from intake.Origin, created []id.ID) error {
	target, err := connection.Get(ctx, tx, *from.ConnectionID)
	if err != nil || target.AccountingStartAt == nil {
		return err
	}

	// A plan of these reservations alone; the day of the cutover is the start of the accounting window.
	p := &plan{target: target, request: &Cutover{CutoverAt: *target.AccountingStartAt}, matches: map[id.ID]*id.ID{}}

	if p.arriving, err = reservation.ListNamed(ctx, tx, created); err != nil {
		return err
	}

	if p.recognition, err = reservation.LoadRecognition(ctx, tx); err != nil {
		return err
	}

	former, err := connection.ListFormer(ctx, tx, target.ID)
	if err != nil {
		return err
	}

	// Match the stays of former systems first, then stays without a system.
	for _, of := range append(former, nil) {
		found, err := reservation.ListCandidates(ctx, tx, of, p.listArrivals(), ids(p.arriving))
		if err != nil {
			return err
		}

		p.addPairs(found)
	}

	if p.settlePairs(); len(p.pairs) == 0 {
		return nil
	}

	for i := range p.pairs {
		if one := &p.pairs[i]; one.counts == targetSide {
			p.retired, p.matches[one.source.ID] = append(p.retired, *one.source), &one.target.ID
		}
	}

	return m.finishLate(ctx, tx, p)
}

// finishLate joins the pairs of a plan and derives their journals at once: there is no operation to wait for.
func (m *Movers) finishLate(ctx context.Context, tx *db.Tx, p *plan) error {
	done, err := m.joinStays(ctx, tx, p)
	if err != nil {
		return err
	}

	if err := reservation.Derive(ctx, tx, id.Distinct(append(ids(p.arriving), done.stays...))); err != nil {
		return fmt.Errorf("derive the reservations of pairs: %w", err)
	}

	return reservation.StartRelink(ctx, tx, listTargets(listPairs(p.pairs)), done.transactions)
}
