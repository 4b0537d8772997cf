package statement

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/paper"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// background is the data that the documents of statements show in addition to the statements.
type background struct {
	addresses map[id.ID]*contact.Address
	// unplaced has the accounts that no column shows, by statement: see func unplaced.
	unplaced map[id.ID]map[id.ID]bool
}

// loadBackground loads the background of many statements at once.
func loadBackground(ctx context.Context, tx *db.Tx, all []Detail) (b background, err error) {
	if b.addresses, err = loadAddresses(ctx, tx, all); err != nil {
		return b, err
	}

	b.unplaced, err = loadUnplaced(ctx, tx, all)

	return b, err
}

// document returns a statement as its document shows it, with the letterhead of the sender. It is dated with the
// day after its month, so that the same statement gives the same bytes whenever it is rendered.
func (b *background) document(s *Detail, sender *paper.StatementTeam) paper.StatementDoc {
	listing, owner := b.listingAddress(s), b.ownerAddress(s)

	doc := paper.StatementDoc{
		Title:    "Owner statement",
		Currency: strings.ToUpper(s.Currency),
		Created:  s.EndAt.AddDays(1).In(time.UTC),
		Team:     *sender,
		Statement: paper.StatementRef{
			ID:          s.ShortRef,
			Status:      s.Status.Title(),
			PeriodStart: s.StartAt.String(),
			PeriodEnd:   s.EndAt.String(),
			Draft:       s.Status == Draft,
		},
		Listing: paper.StatementListing{Name: s.Listing.Name, Address: strings.Join(listing.Lines(), ", ")},
	}

	// The layout decides whether owners see the e-mail address of the team.
	if s.Layout != nil && !s.Layout.ShowTeamEmail {
		doc.Team.Email = ""
	}

	// Then the owners with their shares, and the summary.
	for _, share := range s.Shares {
		doc.Owners = append(doc.Owners, paper.StatementOwner{
			Name:         share.Name,
			Address:      owner(share.ContactID).Lines(),
			SplitPercent: money.Rate(share.Split).Percent(),
			ShareCents:   share.Amount,
		})
	}

	for _, line := range s.Summary {
		doc.Summary = append(doc.Summary, paper.SummaryLine{
			Label:    line.Text,
			Cents:    line.Value,
			Emphasis: line.Separated,
		})
	}

	// Last, the tables and lines that the summary adds up.
	addEntries(&doc, s, b.unplaced[s.ID])

	return doc
}

// listingAddress returns the address of the listing. A published statement keeps the one of its publication.
func (b *background) listingAddress(s *Detail) *contact.Address {
	if s.Words != nil {
		return s.Words.Listing.Address
	}

	return b.addresses[s.Listing.ID]
}

// ownerAddress returns a lookup of the owners' addresses. A published statement keeps those of its publication.
func (b *background) ownerAddress(s *Detail) func(id.ID) *contact.Address {
	return func(owner id.ID) *contact.Address {
		if s.Words != nil {
			if kept, known := s.Words.Owners[owner]; known {
				return kept.Address
			}
		}

		return b.addresses[owner]
	}
}

// loadAddresses loads the addresses of the listings and owners of all statements, by id.
func loadAddresses(ctx context.Context, tx *db.Tx, all []Detail) (map[id.ID]*contact.Address, error) {
	type row struct {
		ID      id.ID
		Address *contact.Address
	}

	// First collect the ids of all statements, so that one query is enough.
	var listings, owners []id.ID
	for i := range all {
		listings = append(listings, all[i].Listing.ID)
		for k := range all[i].Shares {
			owners = append(owners, all[i].Shares[k].ContactID)
		}
	}

	// Ids are unique over both tables, so one map can hold both.
	rows, err := db.Select[row](ctx, tx, `
		select id, address from listing where team_id = @team and id = any(@listings)
		union all
		select id, address from contact where team_id = @team and id = any(@owners)`,
		db.Args{"team": tx.Team, "listings": listings, "owners": owners})
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}

	out := make(map[id.ID]*contact.Address, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Address
	}

	return out, nil
}
