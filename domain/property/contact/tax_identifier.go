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

// lastFour returns the digits of a tax identifier that callers see.
func lastFour(identifier string) string { return identifier[len(identifier)-4:] }

// label returns the name that a contact's tax identifier is sealed under.
func label(contact id.ID) string { return "contact:" + contact.String() }

// SealedColumn names the column that keeps tax identifiers.
func SealedColumn() seal.Column {
	return seal.Column{Table: "contact", Name: "tax_identifier", Label: label}
}

// TaxIdentifiers returns the whole tax identifiers of the contacts that have one, for information returns:
// 123-45-6789 or 12-3456789. Hyphens stay as they were given; without any they are set for an individual or a
// company. Do not show the result to anybody else.
func TaxIdentifiers(ctx context.Context, tx *db.Tx, box *seal.Box, contacts []id.ID) (map[id.ID]string, error) {
	type row struct {
		ID            id.ID
		TaxIdentifier []byte
		Company       bool
	}

	// Contacts without an identifier are left out.
	rows, err := db.Select[row](ctx, tx, `
		select id, tax_identifier, company_type is not null as company from contact
		where team_id = @team and id = any(@contacts) and tax_identifier is not null`, db.Args{"team": tx.Team, "contacts": contacts})
	if err != nil {
		return nil, fmt.Errorf("read tax identifiers: %w", err)
	}

	// Open each under the label of its contact; a value that was moved to another row fails here.
	out := make(map[id.ID]string, len(rows))
	for _, r := range rows {
		plain, err := box.Open(r.TaxIdentifier, label(r.ID))
		if err != nil {
			return nil, fmt.Errorf("tax identifier of contact %v: %w", r.ID, err)
		}

		out[r.ID] = hyphenate(string(plain), r.Company)
	}

	return out, nil
}

// hyphenate returns an identifier with its hyphens: two digits first for a company, three and two for a person.
func hyphenate(identifier string, company bool) string {
	switch {
	case strings.Contains(identifier, "-"):
		return identifier
	case company:
		return identifier[:2] + "-" + identifier[2:]
	default:
		return identifier[:3] + "-" + identifier[3:5] + "-" + identifier[5:]
	}
}
