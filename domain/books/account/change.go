package account

import (
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// BankingChange are the fields of a bank account that are set or changed.
type BankingChange struct {
	Category *BankingCategory `json:"category,omitempty" doc:"Required for a new bank account."`
	Type     api.Opt[string]  `json:"type,omitzero" minLength:"1" maxLength:"50"`
	Last4    api.Opt[string]  `json:"last4,omitzero" pattern:"^[0-9]{4}$"`
	Currency *string          `json:"currency,omitempty" minLength:"3" maxLength:"3" doc:"ISO 4217; by default the team's currency."`
}

// Common are the fields that new accounts and changes share.
type Common struct {
	Code            api.Opt[string]        `json:"code,omitzero" minLength:"1" maxLength:"20"`
	UniqueRef       api.Opt[string]        `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	Assignments     []Assignment           `json:"assignments,omitempty" maxItems:"50" doc:"All parts the account plays; one that another account plays moves here."`
	OffsetAccountID api.Opt[id.ID]         `json:"offsetAccountId,omitzero"`
	Banking         api.Opt[BankingChange] `json:"banking,omitzero" doc:"For the type bank only."`
}

// Create is an account to be.
type Create struct {
	Name       string `json:"name" minLength:"1" maxLength:"200"`
	Type       Type   `json:"type"`
	CategoryID id.ID  `json:"categoryId"`
	Common
}

// Update changes the fields that are present; null clears.
type Update struct {
	Name       *string `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Status     *Status `json:"status,omitempty"`
	CategoryID *id.ID  `json:"categoryId,omitempty"`
	Common
}

// references has the records that a change names; nil if they do not exist.
type references struct {
	category *Category
	offset   *Account
}

// apply applies the change to an account, or refuses what the schema of the API cannot see: an unknown category or
// offset account, banking data on an account that is not at a bank, a locked classification, an assignment that the
// type of account cannot have.
func (in *Update) apply(a *Account, k references) error {
	if in.CategoryID != nil {
		if k.category == nil {
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody("categoryId"))
		}

		if a.CategoryLock != nil && k.category.Classification != a.Classification {
			return errClassificationLocked.At(apierr.IssueAccountClassificationLocked.InBody("categoryId"))
		}

		a.Category = CategoryRef{ID: k.category.ID, Name: k.category.Name, Classification: k.category.Classification}
		a.Classification = k.category.Classification
	}

	if in.Name != nil {
		a.Name = *in.Name
	}

	if in.Status != nil {
		a.Status = *in.Status
	}

	// Then the parts with rules of their own.
	a.Code, a.UniqueRef = in.Code.Or(a.Code), in.UniqueRef.Or(a.UniqueRef)
	if err := in.applyOffset(a, k); err != nil {
		return err
	}

	if err := in.applyBanking(a); err != nil {
		return err
	}

	return in.applyAssignments(a)
}

// applyOffset sets or removes the offset account.
func (in *Update) applyOffset(a *Account, k references) error {
	switch {
	case !in.OffsetAccountID.Present:
		return nil
	case in.OffsetAccountID.Value == nil:
		a.OffsetAccount = nil
		return nil
	case k.offset == nil:
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody("offsetAccountId"))
	case k.offset.ID == a.ID:
		return apierr.BadRequest.At(apierr.IssueSameAccount.InBody("offsetAccountId"))
	}

	a.OffsetAccount = &Offset{
		ID:        k.offset.ID,
		Name:      k.offset.Name,
		UniqueRef: k.offset.UniqueRef,
		Status:    k.offset.Status,
	}

	return nil
}

// applyBanking applies the banking data. A bank account needs a category; category and currency are locked while
// ledger entries use the account. Null is the banking data of any other account.
func (in *Update) applyBanking(a *Account) error {
	b := in.Banking.Value
	switch {
	case b == nil && (a.Type != TypeBank || a.Banking != nil && !in.Banking.Present):
		return nil
	case b == nil:
		return apierr.BadRequest.At(apierr.IssueRequired.InBody("banking"))
	case a.Type != TypeBank:
		return ErrNotBank.At(apierr.IssueNotBankAccount.InBody("banking"))
	case a.Banking == nil && b.Category == nil:
		return apierr.BadRequest.At(apierr.IssueRequired.InBody("banking", "category"))
	}

	// Change a copy: the caller compares it with the version before.
	var changed Banking
	if a.Banking != nil {
		changed = *a.Banking
	}

	if b.Category != nil {
		if a.CategoryLock != nil && *b.Category != changed.Category {
			return errBankingLocked.At(apierr.IssueAccountClassificationLocked.InBody("banking", "category"))
		}

		changed.Category = *b.Category
	}

	// Ledger entries keep the currency as it is.
	if b.Currency != nil {
		currency, err := money.ParseCurrency(*b.Currency)
		if err != nil {
			return apierr.BadRequest.At(apierr.IssueCurrency.InBody("banking", "currency"))
		}

		if a.CategoryLock != nil && string(currency) != changed.Currency {
			return errBankingLocked.At(apierr.IssueAccountClassificationLocked.InBody("banking", "currency"))
		}

		changed.Currency = string(currency)
	}

	changed.Type, changed.Last4 = b.Type.Or(changed.Type), b.Last4.Or(changed.Last4)
	a.Banking = &changed

	return nil
}

// applyAssignments sets the assignments, each once and only those that the type of account can have.
func (in *Update) applyAssignments(a *Account) error {
	if in.Assignments == nil {
		return nil
	}

	for i, part := range in.Assignments {
		if part.needsBank() && a.Type != TypeBank {
			return ErrNotBank.At(apierr.IssueNotBankAccount.InBody("assignments", i))
		}

		if a.Type == TypeNonPosting {
			return apierr.BadRequest.At(apierr.IssueNonPostingAccount.InBody("assignments", i))
		}

		// A repeated assignment is a mistake of the caller.
		if slices.Index(in.Assignments, part) != i {
			return apierr.BadRequest.At(apierr.IssueUnique.InBody("assignments", i))
		}
	}

	a.Assignments = in.Assignments

	return nil
}
