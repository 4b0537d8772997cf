package rule

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// named are the records that rules name, as far as the team has them.
type named struct {
	accounts map[id.ID]namedRow
	contacts map[id.ID]namedRow
	listings map[id.ID]namedRow
	rates    map[id.ID]namedRow
	assigned map[account.Assignment]id.ID
}

type namedRow struct {
	Kind string
	ID   id.ID
	Code *string
	Name string
	// Status is active or inactive, Type that of an account.
	Type, Status string
}

// loadNames loads the records that rules refer to.
func loadNames(ctx context.Context, tx *db.Tx, rules ...*Rule) (*named, error) {
	args := db.Args{
		"team":     tx.Team,
		"accounts": []id.ID{},
		"contacts": []id.ID{},
		"listings": []id.ID{},
		"rates":    []id.ID{},
	}

	add := func(name string, ids ...*id.ID) {
		for _, v := range ids {
			if v != nil {
				args[name] = append(args[name].([]id.ID), *v) //nolint:errcheck,forcetypeassert // made so above
			}
		}
	}
	for _, r := range rules {
		add("contacts", r.VendorContactID)

		for i := range r.AccountIDs {
			add("accounts", &r.AccountIDs[i])
		}

		for i := range r.Lines {
			l := &r.Lines[i]
			add("accounts", l.AccountID)
			add("listings", l.ListingID)
			add("rates", l.TaxRateID)

			if l.Markup != nil {
				add("rates", l.Markup.TaxRateID)
			}
		}
	}

	// Then all kinds in one statement, with the assigned accounts in the same round trip.
	n := &named{
		accounts: map[id.ID]namedRow{},
		contacts: map[id.ID]namedRow{},
		listings: map[id.ID]namedRow{},
		rates:    map[id.ID]namedRow{},
	}

	var rows []namedRow

	err := tx.Together(ctx, db.Load(&n.assigned, account.LoadAssigned), func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[namedRow](ctx, tx, `
			select 'account' as kind, id, code, name, type, status from account where team_id = @team and id = any(@accounts)
			union all select 'contact', id, null, name, '', status from contact where team_id = @team and id = any(@contacts)
			union all select 'listing', id, null, name, '', status from listing where team_id = @team and id = any(@listings)
			union all select 'rate', id, null, name, '', status from tax_rate where team_id = @team and id = any(@rates)`, args)

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what bank rules name: %w", err)
	}

	for _, row := range rows {
		map[string]map[id.ID]namedRow{
			"account": n.accounts,
			"contact": n.contacts,
			"listing": n.listings,
			"rate":    n.rates,
		}[row.Kind][row.ID] = row
	}

	return n, nil
}

// lack is something that keeps a rule from booking, though Check finds nothing wrong with it.
type lack struct {
	code apierr.IssueCode
	path []any
	id   id.ID
}

// lacks returns the references of a rule that lead to no record, or to one that cannot be used there.
func (n *named) lacks(r *Rule) []lack {
	var out []lack

	refuse := func(code apierr.IssueCode, of id.ID, path ...any) { out = append(out, lack{code, path, of}) }
	exists := func(rows map[id.ID]namedRow, of *id.ID, path ...any) {
		if of == nil {
			return
		}

		if _, known := rows[*of]; !known {
			refuse(apierr.IssueNotFound, *of, path...)
		}
	}
	exists(n.contacts, r.VendorContactID, "vendorContactId")

	// Records only come from bank accounts.
	for i, a := range r.AccountIDs {
		if code := n.notBank(a); code != "" {
			refuse(code, a, "accountIds", i)
		}
	}

	for i := range r.Lines {
		l := &r.Lines[i]

		// The account of a line must be open and fit its assignment.
		if code := n.refuseAccount(l); code != "" {
			refuse(code, *l.AccountID, "lines", i, "accountId")
		}

		exists(n.listings, l.ListingID, "lines", i, "listingId")
		exists(n.rates, l.TaxRateID, "lines", i, "taxRateId")

		if l.Markup != nil {
			exists(n.rates, l.Markup.TaxRateID, "lines", i, "markup", "taxRateId")
		}
	}

	return out
}

// notBank returns why no record can be of an account, or "" for a bank account.
func (n *named) notBank(of id.ID) apierr.IssueCode {
	switch a, known := n.accounts[of]; {
	case !known:
		return apierr.IssueNotFound
	case a.Type != "bank":
		return apierr.IssueNotBankAccount
	}

	return ""
}

// refuseAccount returns why nothing can be booked on the account of a line, or "" if it is open or none is named.
func (n *named) refuseAccount(l *Line) apierr.IssueCode {
	if l.AccountID == nil {
		return ""
	}

	a, known := n.accounts[*l.AccountID]
	switch {
	case !known:
		return apierr.IssueNotFound
	case a.Type == "nonPosting":
		return apierr.IssueNonPostingAccount
	case a.Status == "inactive":
		return apierr.IssueAccountInactive
	case l.Assignment != nil && !n.assigned[*l.Assignment].IsZero() && n.assigned[*l.Assignment] != *l.AccountID:
		return apierr.IssueAssignmentMismatch
	}

	return ""
}

// inactive returns a finding for each archived record that a rule names. It is an error where the transaction would be
// refused for it: for the account and the listing of a line.
func (n *named) inactive(r *Rule) []finding.Finding {
	var out []finding.Finding

	check := func(rows map[id.ID]namedRow, of *id.ID, s finding.Severity, kind string, path ...any) {
		if of != nil && rows[*of].Status == string(Inactive) {
			out = append(out, finding.Inactive(s, kind, *of, path...))
		}
	}
	check(n.contacts, r.VendorContactID, finding.Warning, "contact", "vendorContactId")

	for i := range r.AccountIDs {
		check(n.accounts, &r.AccountIDs[i], finding.Warning, "account", "accountIds", i)
	}

	for i := range r.Lines {
		l := &r.Lines[i]
		check(n.accounts, l.AccountID, finding.Error, "account", "lines", i, "accountId")
		check(n.listings, l.ListingID, finding.Error, "listing", "lines", i, "listingId")
		check(n.rates, l.TaxRateID, finding.Warning, "taxRate", "lines", i, "taxRateId")

		if l.Markup != nil {
			check(n.rates, l.Markup.TaxRateID, finding.Warning, "taxRate", "lines", i, "markup", "taxRateId")
		}
	}

	return out
}

// findings returns everything that keeps a rule from booking: its own faults, bad references, and assignments
// without an account. It also returns a finding for each archived record that the rule names.
func (n *named) findings(r *Rule) []finding.Finding {
	out := []finding.Finding{}
	for _, issue := range Check(r) {
		out = append(out, finding.Finding{
			Code:     string(issue.Code),
			Severity: finding.Error,
			Context:  map[string]any{"path": issue.Path},
		})
	}

	for _, l := range n.lacks(r) {
		// Archived records of any kind have one code.
		if l.code != apierr.IssueAccountInactive {
			out = append(out, finding.Finding{
				Code:     string(l.code),
				Severity: finding.Error,
				Context:  map[string]any{"path": l.path, "id": l.id},
			})
		}
	}

	out = append(out, n.inactive(r)...)

	// Lines can name an assignment that has no account yet.
	for i := range r.Lines {
		if a := r.Lines[i].Assignment; a != nil && n.assigned[*a].IsZero() {
			out = append(out, finding.Finding{
				Code: string(apierr.ReasonRequiredAccountMissing), Severity: finding.Error,
				Context: map[string]any{"path": []any{"lines", i, "assignment"}, "assignment": *a},
			})
		}
	}

	return out
}

// fillNames sets the names of a rule's references and its issues.
func (n *named) fillNames(s *Stored) {
	s.Issues, s.Accounts = n.findings(&s.Rule), []account.Ref{}
	if s.VendorContactID != nil {
		if c, known := n.contacts[*s.VendorContactID]; known {
			s.VendorContact = &contact.Ref{ID: c.ID, Name: c.Name}
		}
	}

	for _, v := range s.AccountIDs {
		if a, known := n.accounts[v]; known {
			s.Accounts = append(s.Accounts, account.Ref{ID: a.ID, Code: a.Code, Name: a.Name})
		}
	}

	// Names of records that have vanished stay empty.
	for i := range s.Lines {
		l := &s.Lines[i]
		if l.AccountID != nil {
			if a, known := n.accounts[*l.AccountID]; known {
				l.Account = &account.Ref{ID: a.ID, Code: a.Code, Name: a.Name}
			}
		}

		if l.ListingID != nil {
			if v, known := n.listings[*l.ListingID]; known {
				l.Listing = &listing.NameRef{ID: v.ID, Name: v.Name}
			}
		}
	}
}

// completeRules sets the reference names and the issues of rules.
func completeRules(ctx context.Context, tx *db.Tx, rules []Stored) error {
	all := make([]*Rule, len(rules))
	for i := range rules {
		all[i] = &rules[i].Rule
	}

	n, err := loadNames(ctx, tx, all...)
	if err != nil {
		return err
	}

	for i := range rules {
		n.fillNames(&rules[i])
	}

	return nil
}

// InactiveReference is a field of an active rule that names an archived record.
type InactiveReference struct {
	RuleID id.ID
	// Type is account, contact, listing or taxRate.
	Type string
	ID   id.ID
}

// ListInactiveReferences returns the fields of active rules that name archived records, in the order of the rules.
func ListInactiveReferences(ctx context.Context, tx *db.Tx) ([]InactiveReference, error) {
	rules, err := loadRules(ctx, tx, "r.status = 'active'", nil)
	if err != nil {
		return nil, err
	}

	all := make([]*Rule, len(rules))
	for i := range rules {
		all[i] = &rules[i].Rule
	}

	n, err := loadNames(ctx, tx, all...)
	if err != nil {
		return nil, err
	}

	var out []InactiveReference

	for _, r := range all {
		for _, f := range n.inactive(r) {
			kind, _ := f.Context["type"].(string)
			named, _ := f.Context["id"].(id.ID)
			out = append(out, InactiveReference{RuleID: r.ID, Type: kind, ID: named})
		}
	}

	return out, nil
}
