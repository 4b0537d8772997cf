package demo

import (
	"context"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// publishStatements publishes the months that are over, except the last, and pays the owners the available amount on
// the fifth of the next month.
func (s *seller) publishStatements(ctx context.Context, tx *db.Tx) error {
	period, err := db.Get[id.ID](ctx, tx, `select id from listing_ownership_period where team_id = @team and listing_id = @listing`,
		db.Args{"team": tx.Team, "listing": s.listing})
	if err != nil {
		return err
	}

	first, err := db.Get[day.Day](ctx, tx, `select statement_start_at from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return err
	}

	published := statement.Published
	// In a team whose statements begin earlier, the opening balance falls into a month of its own.
	for m := day.Max(first, s.Start().AddDays(-1)).Month(); m.Compare(s.Today.Month().Prev()) < 0; m = m.Next() {
		saved, err := statement.Save(ctx, tx, &statement.Create{
			Month:            m,
			Status:           &published,
			ListingPeriodIDs: []id.ID{period},
		})
		if err != nil {
			return err
		}

		for i := range saved.Data {
			if err := s.payOwners(ctx, tx, &saved.Data[i]); err != nil {
				return err
			}
		}
	}

	return nil
}

// payOwners books the payouts of a statement to its owners, if the day has come.
func (s *seller) payOwners(ctx context.Context, tx *db.Tx, of *statement.Statement) error {
	at := of.EndAt.AddDays(5)
	if of.Financials.Available <= 0 || s.Today.Before(at) {
		return nil
	}

	for _, share := range of.Shares {
		line := transaction.LineInput{Amount: share.Amount}
		line.ListingID = api.Set(s.listing)
		line.ContactID = api.Set(share.ContactID)
		line.OwnerStatementID = api.Set(of.ID)

		_, err := s.bookTransaction(ctx, tx, &transaction.Create{
			Type:        transaction.Payout,
			Date:        at,
			ContactID:   api.Set(share.ContactID),
			Description: api.Set("Owner payout"),
			Lines:       []transaction.LineInput{line},
		})
		if err != nil {
			return err
		}
	}

	return nil
}
