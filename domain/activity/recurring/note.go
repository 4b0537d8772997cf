package recurring

import (
	"stayledger/domain/activity/transaction"
	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// note writes the audit event of a recurring template. It concerns the accounts, contacts and listings of before
// and after.
func note(tx *db.Tx, what audit.Type, before, after *Template) {
	type view struct {
		*Template

		Account   *struct{} `json:"account,omitempty"`
		Contact   *struct{} `json:"contact,omitempty"`
		Next      *struct{} `json:"nextTransactionInstanceAt,omitempty"`
		Instances *struct{} `json:"instancesCount,omitempty"`
		HeldBack  *struct{} `json:"heldBack,omitempty"`
		Issues    *struct{} `json:"issues,omitempty"`
		Lines     any       `json:"lines"`
	}

	views, templateID := [2]any{}, id.ID{}

	var refs []audit.Reference

	for i, t := range []*Template{before, after} {
		if t == nil {
			continue
		}

		// Fields that are computed from other records stay out of the view.
		views[i] = view{Template: t, Lines: transaction.ViewLines(t.Lines)}

		templateID = t.ID

		refs = append(
			refs,
			audit.Ref(audit.RoleAccount, audit.Account, t.AccountID),
			audit.Ref(audit.RoleOwner, audit.Contact, t.ContactID),
		)
		for k := range t.Lines {
			refs = append(refs, audit.Ref(audit.RoleListing, audit.Listing, t.Lines[k].ListingID))
		}
	}

	audit.Note(tx, what, audit.RecurringTemplate, templateID, views[0], views[1], refs...)
}
