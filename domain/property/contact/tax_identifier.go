package contact

import (
	"context"
	"fmt"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

const mask = "***"

// lastFour are the digits of a tax identifier that are shown.
func lastFour(identifier string) string { return identifier[len(identifier)-4:] }

// label is what a contact's tax identifier is sealed under.
func label(contact id.ID) string { return "contact:" + contact.String() }

// Sealed is where tax identifiers are kept.
func Sealed() seal.Column { return seal.Column{Table: "contact", Name: "tax_identifier", Label: label} }

// TaxIdentifiers gives the whole tax identifiers of those of the contacts that have one, for information returns:
// 123-45-6789 or 12-3456789, as they were given, else by whether the contact is an individual or a company. What it
// gives is shown to nobody else.
func TaxIdentifiers(ctx context.Context, tx *db.Tx, box *seal.Box, contacts []id.ID) (map[id.ID]string, error) {
	type row struct {
		ID            id.ID
		TaxIdentifier []byte
		Company       bool
	}

	rows, err := db.Select[row](ctx, tx, `
		select id, tax_identifier, company_type is not null as company from contact
		where team_id = @team and id = any(@contacts) and tax_identifier is not null`, db.Args{"team": tx.Team, "contacts": contacts})
	if err != nil {
		return nil, fmt.Errorf("read tax identifiers: %w", err)
	}

	out := make(map[id.ID]string, len(rows))
	for _, r := range rows {
		plain, err := box.Open(r.TaxIdentifier, label(r.ID))
		if err != nil {
			return nil, fmt.Errorf("tax identifier of contact %v: %w", r.ID, err)
		}

		out[r.ID] = hyphenated(string(plain), r.Company)
	}

	return out, nil
}

func hyphenated(identifier string, company bool) string {
	switch {
	case strings.Contains(identifier, "-"):
		return identifier
	case company:
		return identifier[:2] + "-" + identifier[2:]
	default:
		return identifier[:3] + "-" + identifier[3:5] + "-" + identifier[5:]
	}
}
