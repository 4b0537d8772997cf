package contact

import (
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// Optional are the fields that a contact can go without.
type Optional struct {
	UniqueRef       api.Opt[string]      `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200" doc:"The caller's own reference, unique in the team."`
	ConnectionID    api.Opt[id.ID]       `json:"connectionId,omitzero" doc:"The connection that it comes over."`
	SourceID        api.Opt[string]      `json:"sourceId,omitzero" minLength:"1" maxLength:"200" doc:"The contact's own key in the app of the connection, unique in the connection."`
	Status          *Status              `json:"status,omitempty"`
	FirstName       api.Opt[string]      `json:"firstName,omitzero" minLength:"1" maxLength:"200"`
	Email           api.Opt[string]      `json:"email,omitzero" format:"email" maxLength:"254"`
	Phone           api.Opt[string]      `json:"phone,omitzero" minLength:"1" maxLength:"50"`
	Address         api.Opt[Address]     `json:"address,omitzero"`
	CompanyType     api.Opt[CompanyType] `json:"companyType,omitzero"`
	TaxIdentifier   api.Opt[string]      `json:"taxIdentifier,omitzero" pattern:"^([0-9]{9}|[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9]{2}-[0-9]{7})$" doc:"SSN or EIN, with or without hyphens. Only the last four digits are ever returned."`
	PayoutAccountID api.Opt[id.ID]       `json:"payoutAccountId,omitzero" doc:"A bank account."`
}

// Create is a contact to be.
type Create struct {
	Type Type   `json:"type"`
	Name string `json:"name" minLength:"1" maxLength:"200"`
	Optional
}

// Update changes the fields that are present; null clears.
type Update struct {
	Type *Type   `json:"type,omitempty"`
	Name *string `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Optional
}

// writer has what decisions need to know: the rights of the caller, and the accounts and connections of the team.
type writer struct {
	box         *seal.Box
	vendorsOnly bool
	// accounts are the accounts named as payout accounts: true for bank accounts.
	accounts map[id.ID]bool
	// connections are those of the named connections that the team has.
	connections map[id.ID]bool
}

// stored is a contact as read from the database. Owned says that it is or was the member of an ownership period.
type stored struct {
	Contact
	Owned bool
}

// decide returns the contact as it will be, or refuses: a missing scope for an owner (AUTH-53), a type that cannot
// change, an unknown connection or payout account. A new contact has no old one.
func (w writer) decide(old *stored, in *Update) (*Contact, error) {
	var c Contact
	if old != nil {
		c = old.Contact
	}

	in.apply(&c)

	// The scope counts for the old and the new type: a vendor cannot become an owner without it.
	if w.vendorsOnly && (c.Type == Owner || old != nil && old.Type == Owner) {
		return nil, apierr.MissingScope.With(map[string]any{"requiredScopes": []string{"contacts:write"}})
	}

	// Statements of the past name this contact as an owner.
	if old != nil && old.Owned && c.Type != Owner {
		return nil, errTypeLocked.At(apierr.IssueContactTypeLocked.InBody("type"))
	}

	if v := in.ConnectionID.Value; v != nil && !w.connections[*v] {
		return nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("connectionId"))
	}

	if in.PayoutAccountID.Value == nil {
		return &c, nil
	}

	// Payouts can only go out of a bank account.
	switch bank, known := w.accounts[*in.PayoutAccountID.Value]; {
	case !known:
		return nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("payoutAccountId"))
	case !bank:
		return nil, errNotBank.At(apierr.IssueNotBankAccount.InBody("payoutAccountId"))
	}

	return &c, nil
}

// apply sets the fields that the request names. The tax identifier keeps only its last four digits here; save seals
// the whole.
func (in *Update) apply(c *Contact) {
	if in.Type != nil {
		c.Type = *in.Type
	}

	if in.Name != nil {
		c.Name = *in.Name
	}

	if in.Status != nil {
		c.Status = *in.Status
	}

	// These can also be cleared: null sets them to nothing, and an absent field leaves them.
	c.UniqueRef = in.UniqueRef.Or(c.UniqueRef)
	c.ConnectionID = in.ConnectionID.Or(c.ConnectionID)
	c.SourceID = in.SourceID.Or(c.SourceID)
	c.FirstName = in.FirstName.Or(c.FirstName)
	c.Email = in.Email.Or(c.Email)
	c.Phone = in.Phone.Or(c.Phone)
	c.Address = in.Address.Or(c.Address)
	c.CompanyType = in.CompanyType.Or(c.CompanyType)

	c.PayoutAccountID = in.PayoutAccountID.Or(c.PayoutAccountID)
	if in.TaxIdentifier.Present {
		c.TaxIdentifier = nil
		if v := in.TaxIdentifier.Value; v != nil {
			masked := mask + lastFour(*v)
			c.TaxIdentifier = &masked
		}
	}
}
