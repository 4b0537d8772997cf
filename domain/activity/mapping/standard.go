package mapping

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
)

// standard returns where the standard chart posts the types of lines, by the code of the account. Tax and deposits
// are no party's revenue, and what a channel collects and remits itself is excluded: it has no account. A difference
// to a stated total is mapped to nothing: a person says what it is.
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

	var mappings []*Mapping

	for _, s := range standard() {
		m := &Mapping{LineType: s.lineType, Status: Excluded}

		// A type that is posted has the account and the party; a team without the account gets no mapping of it.
		if s.code != "" {
			on := accounts[s.code]
			if on.IsZero() {
				continue
			}

			m.Status, m.AccountID = Mapped, &on
			if s.party != ledger.NoParty {
				m.Party = &s.party
			}
		}

		mappings = append(mappings, m)
	}

	if err := addNew(ctx, tx, mappings); err != nil {
		return fmt.Errorf("install the standard line mappings: %w", err)
	}

	return nil
}
