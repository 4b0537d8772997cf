package account

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// ErrDuplicateLast4 refuses last digits that another bank account or account connection of the team has (RSN-18).
var ErrDuplicateLast4 = apierr.New(
	apierr.CodeBadRequest, apierr.ReasonDuplicateLast4, "Last four digits are used by another bank account or feed",
)

// Last4Context names the accounts and connections that have the digits already. Rule ERR-118.
type Last4Context struct {
	AccountIDs           []id.ID `json:"accountIds"`
	AccountConnectionIDs []id.ID `json:"accountConnectionIds"`
	LastDigits           string  `json:"lastDigits"`
}

// Last4 are last digits that a bank account or an account connection is going to have.
type Last4 struct {
	Digits string `json:"digits"`
	// AccountID and ConnectionID are the two that may share the digits, being attached to each other; the zero id is
	// none.
	AccountID    id.ID `json:"account_id"`
	ConnectionID id.ID `json:"connection_id"`
	// Path leads to the field of the body. Digits that a connection has and its account takes over have none (ERR-126).
	Path []any `json:"-"`
}

// last4Holder is an account or an account connection that has wanted digits.
type last4Holder struct {
	Wanted       int // the index of who wants them
	AccountID    *id.ID
	ConnectionID *id.ID
}

// CheckLast4 refuses digits that others have, or that are wanted twice, with ErrDuplicateLast4: an issue for each,
// and the holders of the first. The present digits of connections that get new ones by a path do not count. Rules
// ERR-117 to ERR-126.
func CheckLast4(ctx context.Context, tx *db.Tx, wanted ...Last4) error {
	if len(wanted) == 0 {
		return nil
	}

	changing := []id.ID{}

	for i := range wanted {
		if wanted[i].Path != nil && !wanted[i].ConnectionID.IsZero() {
			changing = append(changing, wanted[i].ConnectionID)
		}
	}

	// An account and the connection attached to it may share their digits.
	holders, err := db.Select[last4Holder](ctx, tx, `
		with w as (select (n - 1)::int as wanted, v ->> 'digits' as digits, nullif(v ->> 'account_id', '')::uuid as account, nullif(v ->> 'connection_id', '')::uuid as connection
			from jsonb_array_elements(@wanted) with ordinality as x (v, n))
		select w.wanted, a.id as account_id, null::uuid as connection_id
		from w join account a on a.team_id = @team and a.banking_last4 = w.digits and a.id is distinct from w.account
		union all
		select w.wanted, null, c.id
		from w join account_connection c on c.team_id = @team and c.last_digits = w.digits and c.id is distinct from w.connection
			and (c.account_id is null or c.account_id is distinct from w.account) and not c.id = any(@changing)
		order by 1, 2, 3`, db.Args{"team": tx.Team, "wanted": wanted, "changing": changing})
	if err != nil {
		return fmt.Errorf("look up last digits: %w", err)
	}

	return duplicateLast4(wanted, holders)
}

// duplicateLast4 decides about wanted digits by their holders, in the order in which they are wanted.
func duplicateLast4(wanted []Last4, holders []last4Holder) error {
	var refused *apierr.Error

	for i := range wanted {
		w := &wanted[i]
		context := Last4Context{AccountIDs: []id.ID{}, AccountConnectionIDs: []id.ID{}, LastDigits: w.Digits}

		for _, h := range holders {
			switch {
			case h.Wanted != i:
			case h.AccountID != nil:
				context.AccountIDs = append(context.AccountIDs, *h.AccountID)
			case h.ConnectionID != nil:
				context.AccountConnectionIDs = append(context.AccountConnectionIDs, *h.ConnectionID)
			}
		}

		// Digits without a path are those of a connection that its account takes over, so they do not count as
		// wanted twice.
		twice := w.Path != nil && slices.ContainsFunc(
			wanted[:i], func(o Last4) bool { return o.Path != nil && o.Digits == w.Digits },
		)
		if len(context.AccountIDs) == 0 && len(context.AccountConnectionIDs) == 0 && !twice {
			continue
		}

		// The context has the holders of the first duplicate, the issues are of all.
		if refused == nil {
			refused = ErrDuplicateLast4.With(context)
		}

		refused = refused.At(apierr.IssueDuplicateLast4.InBody(w.Path...))
	}

	if refused == nil {
		return nil
	}

	return refused
}

// CopyLast4 gives a bank account without last digits those of the account connection that is attached to it. The
// caller has checked them.
func CopyLast4(ctx context.Context, tx *db.Tx, account id.ID, digits string) error {
	type view struct {
		Last4 *string `json:"banking.last4"`
	}

	if _, err := tx.Exec(ctx, `update account set banking_last4 = @digits, updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": account, "digits": digits, "now": tx.Now}); err != nil {
		return fmt.Errorf("copy last digits to an account: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Account, account, view{}, view{&digits})

	return nil
}
