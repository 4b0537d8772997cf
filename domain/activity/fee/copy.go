package fee

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// copyable are the active fees of a team with the periods in which listings are charged them.
type copyable struct {
	fees    []Fee
	periods []Period
}

// loadCopyable loads the active fees of a team that the transaction may read, and their periods.
func loadCopyable(ctx context.Context, tx *db.Tx, team id.ID) (copyable, error) {
	fees, err := loadActive(ctx, tx, team)
	if err != nil {
		return copyable{}, err
	}

	periods, err := db.Select[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+` where p.team_id = @team and f.status = 'active'
		order by p.listing_id, p.start_at nulls first, p.id`, db.Args{"team": team})
	if err != nil {
		return copyable{}, fmt.Errorf("read the listing periods of a team: %w", err)
	}

	return copyable{fees, periods}, nil
}

// loadActive loads the active fees of a team that the transaction may read.
func loadActive(ctx context.Context, tx *db.Tx, team id.ID) ([]Fee, error) {
	fees, err := db.Select[Fee](ctx, tx, `select `+feeColumns+` from `+feeTables+` where f.team_id = @team and f.status = 'active' order by f.id`,
		db.Args{"team": team})
	if err != nil {
		return nil, fmt.Errorf("read the recurring fees of a team: %w", err)
	}

	for i := range fees {
		fees[i].useCurrentNames()
	}

	return fees, nil
}

// copyFees copies the fees of another team that can be charged here: those with a counterpart for each account, the tax
// rate and everything else that their formula and conditions name. A fee that the team has already, by name or
// reference, is not copied; it takes the place of the other team's fee in formulas that build on it. Copied fees are
// charged to the counterparts of the listings that have them.
func copyFees(ctx context.Context, tx *db.Tx, all copyable, here parts.Counterparts) error {
	from := all.fees

	own, err := loadOwnFees(ctx, tx)
	if err != nil {
		return err
	}

	// First find the fees that exist here already and those that can be copied.
	fees := map[id.ID]id.ID{} // the other team's fees that are here, or will be

	var added []*Fee

	for i := range from {
		f := from[i]
		if same := own(&f); !same.IsZero() {
			fees[f.ID] = same
		} else if f.chargeable(here) {
			fees[f.ID], added = tx.NewID(), append(added, &f)
		}
	}

	// Then drop fees that build on a fee which is not here, until no more of them are left: each one that goes may take
	// others with it.
	for again := true; again; {
		again = false
		added = slices.DeleteFunc(added, func(f *Fee) bool {
			// A fee that is dropped has no counterpart any more.
			broken := slices.ContainsFunc(
				f.References, func(r Reference) bool { return r.Kind == RefFee && fees[r.ID].IsZero() },
			)
			if broken {
				delete(fees, f.ID)

				again = true
			}

			return broken
		})
	}

	// Last, write the fees before their conditions and references: a formula may name a fee that comes later.
	var writes, details []db.Stmt

	for _, f := range added {
		f.replaceIDs(fees, here)
		f.CreatedAt, f.UpdatedAt = day.At(tx.Now), day.At(tx.Now)
		audit.Note(tx, audit.Created, audit.RecurringFee, f.ID, nil, f)
		stmts := feeStatements(tx, f)
		writes, details = append(writes, stmts[0]), append(details, stmts[1:]...)
	}

	if writes == nil {
		return nil
	}

	details = append(details, copyPeriods(tx, all.periods, added, fees, here)...)

	if err := tx.Pipeline(ctx, append(writes, details...)...); err != nil {
		return fmt.Errorf("copy recurring fees: %w", err)
	}

	return nil
}

// copyPeriods returns the statements that charge copied fees to listings. The map fees has the counterparts of all fees.
func copyPeriods(tx *db.Tx, periods []Period, added []*Fee, fees map[id.ID]id.ID, here parts.Counterparts) []db.Stmt {
	var out []*Period

	for _, p := range periods {
		p.FeeID, p.ListingID = fees[p.FeeID], here[p.ListingID]
		if isAdded := slices.ContainsFunc(added, func(f *Fee) bool { return f.ID == p.FeeID }); !isAdded || p.ListingID.IsZero() {
			continue
		}

		p.ID, p.CreatedAt, p.UpdatedAt = tx.NewID(), day.At(tx.Now), day.At(tx.Now)
		p.RecurringFee.ID = p.FeeID
		notePeriod(tx, audit.Created, nil, &p)
		out = append(out, &p)
	}

	if out == nil {
		return nil
	}

	return []db.Stmt{periodTable.Insert(tx, out...)}
}

// loadOwnFees returns a function that finds the team's own fee for a fee of another team: the one of the same name,
// else of the same reference. It returns the zero id for none.
func loadOwnFees(ctx context.Context, tx *db.Tx) (func(*Fee) id.ID, error) {
	type own struct {
		ID        id.ID
		Name      string
		UniqueRef *string
	}

	rows, err := db.Select[own](ctx, tx, `select id, name, unique_ref from fee where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the recurring fees of the team that copies: %w", err)
	}

	// Names come before references, which not every fee has.
	names, refs := map[string]id.ID{}, map[string]id.ID{}
	for _, f := range rows {
		names[f.Name] = f.ID
		if f.UniqueRef != nil {
			refs[*f.UniqueRef] = f.ID
		}
	}

	return func(f *Fee) id.ID {
		if here := names[f.Name]; !here.IsZero() || f.UniqueRef == nil {
			return here
		}

		return refs[*f.UniqueRef]
	}, nil
}

// chargeable reports whether the accounts and the tax rate that a fee names have counterparts.
func (f *Fee) chargeable(here parts.Counterparts) bool {
	lacks := func(v id.ID) bool { return here[v].IsZero() }

	return !lacks(f.CreditAccountID) && !lacks(f.DebitAccountID) &&
		(f.TaxRateID == nil || !here[*f.TaxRateID].IsZero()) &&
		!slices.ContainsFunc(f.AccountTotalConditions, func(c Condition) bool { return lacks(c.AccountID) }) &&
		!slices.ContainsFunc(f.References, func(r Reference) bool { return r.Kind == RefAccount && lacks(r.ID) })
}

// replaceIDs replaces the records that a copied fee names by their counterparts.
func (f *Fee) replaceIDs(fees map[id.ID]id.ID, here parts.Counterparts) {
	f.ID, f.CreditAccountID, f.DebitAccountID = fees[f.ID], here[f.CreditAccountID], here[f.DebitAccountID]
	if f.TaxRateID != nil {
		rate := here[*f.TaxRateID]
		f.TaxRateID = &rate
	}

	// The fee is a shallow copy, so its lists are cloned before they change.
	f.AccountTotalConditions, f.References = slices.Clone(f.AccountTotalConditions), slices.Clone(f.References)
	for i := range f.AccountTotalConditions {
		f.AccountTotalConditions[i].AccountID = here[f.AccountTotalConditions[i].AccountID]
	}

	for i := range f.References {
		if r := &f.References[i]; r.Kind == RefFee {
			r.ID = fees[r.ID]
		} else {
			r.ID = here[r.ID]
		}
	}
}
