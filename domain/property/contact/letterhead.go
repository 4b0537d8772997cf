package contact

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/record/paper"
	"stayledger/platform/db"
)

// LoadLetterhead loads the letterhead of the team.
func LoadLetterhead(ctx context.Context, tx *db.Tx) (paper.StatementTeam, error) {
	type row struct {
		Name    string
		Email   *string
		Phone   *string
		Address *Address
		Logo    []byte
	}

	// An empty text counts as absent: then the team's own name or e-mail is taken.
	r, err := db.Get[row](ctx, tx, `
		select coalesce(nullif(company_name, ''), name) as name, coalesce(nullif(support_email, ''), email) as email, phone,
			coalesce(statement_address, billing_address) as address,
			(select content from team_logo where team_id = @team) as logo
		from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return paper.StatementTeam{}, fmt.Errorf("read the letterhead: %w", err)
	}

	out := paper.StatementTeam{Name: r.Name, Address: r.Address.Lines(), Logo: r.Logo}
	if r.Email != nil {
		out.Email = *r.Email
	}

	if r.Phone != nil {
		out.Phone = *r.Phone
	}

	return out, nil
}

// Lines returns the lines of the address as an envelope has them, none of no address.
func (a *Address) Lines() []string {
	if a == nil {
		return nil
	}

	// The last line is such as "Austin, TX 78701". Any of its three parts may be missing.
	region := a.StateCode
	if region == "" {
		region = a.State
	}

	place := strings.TrimSpace(region + " " + a.PostalCode)
	if a.City != "" && place != "" {
		place = a.City + ", " + place
	} else {
		place = a.City + place
	}

	var lines []string

	// An address without a part has no empty line.
	for _, line := range []string{a.Line1, a.Line2, place} {
		if line != "" {
			lines = append(lines, line)
		}
	}

	// Some sources give the address only as one text.
	if len(lines) == 0 && a.Full != "" {
		lines = []string{a.Full}
	}

	return lines
}
