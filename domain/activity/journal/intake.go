package journal

import (
	"context"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Intake says how manual journals from files are taken in. Their values are the fields of Create.
func Intake() intake.Kind {
	door := &intake.Singles[Create, Update]{
		Create: api.NewForm[Create](), Update: api.NewForm[Update](), Add: intake.AddEach(add),
		Change: func(ctx context.Context, tx *db.Tx, one id.ID, item *Update) error {
			_, err := updateJournal(ctx, tx, one, item)
			return err
		},
	}

	return intake.Kind{
		Name: "journal", Entity: audit.Journal, Match: intake.MatchByRef("journal"),
		Current: currentValues, Show: loadValues, Save: door.Write, Any: intake.AnyIn("journal"),
	}
}

// add stores and posts a journal, and returns its id.
func add(ctx context.Context, tx *db.Tx, item *Create) (id.ID, error) {
	made, err := createJournal(ctx, tx, item)
	if err != nil {
		return id.ID{}, err
	}

	return made.ID, nil
}

// currentValues locks journals and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	if err := lockAll(ctx, tx, ids); err != nil {
		return nil, err
	}

	return loadValues(ctx, tx, ids)
}

// loadValues returns the values of journals, with their lines as a caller writes them.
func loadValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := loadAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for i := range found {
		lines := make([]LineInput, len(found[i].Lines))
		for n := range found[i].Lines {
			lines[n] = found[i].Lines[n].input()
		}

		if out[found[i].ID], err = intake.Encode(struct {
			*Journal
			Lines []LineInput `json:"lines"`
		}{&found[i], lines}); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// input returns the line as a caller would write it.
func (l *Line) input() LineInput {
	return LineInput{
		AccountID: l.AccountID, CentTotal: l.CentTotal, Party: api.SetIf(l.Party), ListingID: api.SetIf(l.ListingID),
		ContactID: api.SetIf(l.ContactID), ReservationID: api.SetIf(l.ReservationID),
		OwnershipPeriodID: api.SetIf(l.OwnershipPeriodID), Description: api.SetIf(l.Description),
	}
}
