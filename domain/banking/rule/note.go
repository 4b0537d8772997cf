package rule

import (
	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// note notes the change of a rule. A new rule has no version before, a deleted one none after.
func note(tx *db.Tx, before, after *Rule) {
	what, of := audit.Updated, id.Zero

	var (
		views [2]any
		refs  []audit.Reference
	)

	switch {
	case before == nil:
		what = audit.Created
	case after == nil:
		what = audit.Deleted
	}

	// The event refers to everything that the rule named before or after.
	for i, r := range []*Rule{before, after} {
		if r == nil {
			continue
		}

		views[i], of = r, r.ID

		refs = append(refs, audit.Ref(audit.RoleOwner, audit.Contact, r.VendorContactID))
		for _, a := range r.AccountIDs {
			refs = append(refs, audit.Ref(audit.RoleAccount, audit.Account, a))
		}

		for k := range r.Lines {
			l := &r.Lines[k]
			refs = append(
				refs,
				audit.Ref(audit.RoleAccount, audit.Account, l.AccountID),
				audit.Ref(audit.RoleListing, audit.Listing, l.ListingID),
			)
		}
	}

	audit.Note(tx, what, audit.BankRule, of, views[0], views[1], refs...)
}
