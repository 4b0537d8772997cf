package account_test

import (
	"context"
	"testing"

	"stayledger/domain/books/account"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// A line acts as what its account is assigned to; what it named itself counts when the account is assigned to nothing
// any more, and decides when the account is assigned to several.
func TestActing(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	fees, both, idle := codes["5200"], codes["5290"], codes["5100"]

	x.Exec(`delete from account_assignment where team_id = @team`, nil)

	for assignment, of := range map[account.Assignment]id.ID{
		account.DepositChannelFee: both, account.DepositMerchantFee: both, account.AccountsReceivable: fees,
	} {
		x.Exec(`insert into account_assignment (team_id, assignment, account_id) values (@team, @assignment, @account)`,
			db.Args{"assignment": string(assignment), "account": of})
	}

	named := func(a account.Assignment) *string { return new(string(a)) }
	for what, c := range map[string]struct {
		account id.ID
		named   *string
		acts    bool // as cost of a channel or of a processor
		part    string
	}{
		"one of the wanted by its account":         {both, nil, true, "deposit_channelFee"},
		"one of several, which it names":           {both, named(account.DepositMerchantFee), true, "deposit_merchantFee"},
		"another by its account":                   {fees, nil, false, ""},
		"another by its account, whatever it says": {fees, named(account.DepositChannelFee), false, ""},
		"nothing": {idle, nil, false, ""},
		"what it says, for an account without assignments":        {idle, named(account.DepositMerchantFee), true, "deposit_merchantFee"},
		"another that it says, for an account without":            {idle, named(account.AccountsReceivable), false, ""},
		"one of the wanted, whatever else it says of the account": {both, named(account.AccountsReceivable), true, "deposit_channelFee"},
	} {
		type row struct {
			Acts bool
			Part *string
		}

		var (
			got   row
			books *account.Books
		)

		x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			if books, err = account.LoadBooks(ctx, tx); err != nil {
				return err
			}

			got, err = db.Get[row](ctx, tx, `select `+account.ActingSQL("l", account.DepositChannelFee, account.DepositMerchantFee)+` as acts, `+
				account.ActingPartSQL("l", account.DepositChannelFee, account.DepositMerchantFee)+` as part
				from (select @account::uuid as account_id, @named::text as assignment) l`, db.Args{"team": tx.Team, "account": c.account, "named": c.named})

			return err
		})

		part := ""
		if got.Part != nil {
			part = *got.Part
		}

		if got.Acts != c.acts || part != c.part {
			t.Errorf("%s: acts %t as %q, want %t as %q", what, got.Acts, part, c.acts, c.part)
		}

		if part := books.Part(c.account, (*account.Assignment)(c.named), account.DepositChannelFee, account.DepositMerchantFee); string(part) != c.part {
			t.Errorf("%s: the books say that it acts as %q, want %q", what, part, c.part)
		}
	}
}
