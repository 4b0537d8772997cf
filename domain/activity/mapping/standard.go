package mapping

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// standard returns where the standard chart posts the types of lines, by the code of the account. Tax and deposits are no party's revenue, and
// what a channel collects and remits itself is excluded: it has no account. A difference to a stated total is mapped to nothing: a person
// says what it is.
func standard() []struct {
	lineType, code string
	party          ledger.Party
} {
	return []struct {
		lineType, code string
		party          ledger.Party
	}{
		{"rent", "4000", ledger.Owners},
		{"cleaningFee", "4010", ledger.Owners},
		{"guestFee", "4020", ledger.Owners},
		{"damage", "4030", ledger.Owners},
		{"discount", "4000", ledger.Owners},
		{"other", "4020", ledger.Owners},
		{"tax", "2100", ledger.NoParty},
		{"cancellation", "4090", ledger.Owners},
		{RetainedTax, "2100", ledger.NoParty},
		{"securityDeposit", "2300", ledger.NoParty},
		{RetainedDeposit, "2300", ledger.NoParty},
		{"resolution", "4020", ledger.Owners},
		{"channelTax", "", ledger.NoParty},
	}
}

// InstallStandard maps the usual types of lines to the accounts of the standard chart, as far as the team has them.
// It changes no mapping that exists: running it again adds nothing.
func InstallStandard(ctx context.Context, tx *db.Tx) error {
	accounts, err := account.ListStandard(ctx, tx)
	if err != nil {
		return err
	}

	var (
		writes []db.Stmt
		made   []id.ID
	)

	for _, m := range standard() {
		// A team without the account gets no mapping of the type.
		on, status := accounts[m.code], Mapped
		if m.code == "" {
			status = Excluded
		}

		if !on.IsZero() || status == Excluded {
			mapping := tx.NewID()
			made = append(made, mapping)
			writes = append(writes, db.Stmt{
				SQL: `insert into reservation_line_mapping (team_id, id, line_type, status, account_id, party)
					values (@team, @id, @type, @status, @account, nullif(@party, ''))
					on conflict do nothing`,
				Args: db.Args{
					"team":    tx.Team,
					"id":      mapping,
					"type":    m.lineType,
					"status":  status,
					"account": on,
					"party":   string(m.party),
				},
			})
		}
	}

	if err := tx.Pipeline(ctx, writes...); err != nil {
		return fmt.Errorf("install the standard line mappings: %w", err)
	}

	return noteCreated(ctx, tx, made)
}
