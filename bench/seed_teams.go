package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// The partners of the section teams, one with few customers and one with many, and how many they have.
const (
	fewCustomersName, manyCustomersName = "few customers", "many customers"
	fewCustomers, manyCustomers         = 10, 300
)

// The teams that are exported and deleted, and a team that works meanwhile.
const wholeSmallName, neighbourName = "whole small", "neighbour"

// wholeTeams is how many large teams are exported and deleted.
const wholeTeams = 3

// wholeName returns the name of the n-th large team.
func wholeName(n int) string { return "whole" + strconv.Itoa(n) }

// entriesOfStay is how many entries a team that is exported has for each of its stays. It has as many events as entries.
const entriesOfStay = 5

// teamsSeed is two partners that differ in how many customers they have, large teams and one of a tenth of the entries,
// and a team with stays on one listing.
func teamsSeed(entries int) *seed {
	return &seed{name: "teams", sizes: []int{entries}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for name, customers := range map[string]int{fewCustomersName: fewCustomers, manyCustomersName: manyCustomers} {
			t, err := b.newPartner(ctx, customers)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}
		}

		sizes := map[string]int{wholeSmallName: entries / 10}
		for n := range wholeTeams {
			sizes[wholeName(n)] = entries
		}

		for name, n := range sizes {
			t, err := b.newWhole(ctx, n)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}
		}

		return b.newContended(ctx, neighbourName)
	}}
}

// newPartner creates a partner with so many customers, and a key of it. Each customer has a chart, and kept counts and
// sums as of a year of business.
func (b *bed) newPartner(ctx context.Context, customers int) (t tenant, err error) {
	var teams []id.ID

	t.rows = customers

	err = b.db.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		if t.team, err = team.Create(ctx, tx, team.New{Name: fmt.Sprintf("Partner of %d", customers), Type: team.Partner, Region: "us"}); err != nil {
			return err
		}

		key, err := access.IssueKey(ctx, tx, access.NewKey{Name: "bench", Teams: []id.ID{t.team}, Partner: true, Scopes: access.Scopes()})
		if err != nil {
			return err
		}

		t.user, t.secret = key.UserID, key.Secret

		for i := range customers {
			one, err := team.Create(ctx, tx, team.New{
				Name: fmt.Sprintf("Customer %03d", i), Type: team.PropertyManager, Region: "us", PartnerID: t.team,
			})
			if err != nil {
				return err
			}

			teams = append(teams, one)
		}

		return nil
	})
	if err != nil {
		return t, err
	}

	for _, one := range teams {
		if err := b.db.Write(ctx, tenant{team: one, user: t.user}.scope(b.db), account.InstallStandard); err != nil {
			return t, fmt.Errorf("install the chart of a customer: %w", err)
		}
	}

	return t, b.asAdministrator(ctx, []string{
		`insert into list_count_kept (team_id, list, rows)
			select id, list, rows from team cross join (values ('listing', 40), ('reservation', 9000), ('transaction', 3000)) l (list, rows) where partner_id = $1`,
		`insert into ledger_month_kept (team_id, ledger, currency, account_id, party, month, debit, credit, entries)
			select a.team_id, 'trust', 'usd', a.id, '', m, 500000, 400000, 800
			from team t join account a on a.team_id = t.id cross join generate_series(date '2025-01-01', date '2025-12-01', interval '1 month') m where t.partner_id = $1`,
	}, t)
}

// newWhole creates a team of newBooks with so many entries, and stays and a trail of changes to go with them.
func (b *bed) newWhole(ctx context.Context, entries int) (tenant, error) {
	t, err := b.newBooks(ctx)
	if err != nil {
		return t, err
	}

	t.rows = entries

	// Numbers are written into the text: a statement takes only the team.
	fill := strings.NewReplacer("%d", strconv.Itoa(portfolio), "$2", strconv.Itoa(entries), "$events", strconv.Itoa(entries),
		"$perAction", strconv.Itoa(eventsOfAction), "$perReservation", strconv.Itoa(eventsOfReservation), "$listings", strconv.Itoa(listingsOfTrail))

	statements := slices.Concat([]string{fill.Replace(insertEntries)}, insertSums, settleStays)
	statements = append(statements, staysSQL(entries/entriesOfStay)...)

	for _, sql := range trailSQL {
		statements = append(statements, fill.Replace(sql))
	}

	// The triggers have counted the chart of newBooks.
	return t, b.asAdministrator(ctx, append(statements,
		"delete from list_delta where team_id = $1", "delete from list_count_kept where team_id = $1", insertListed), t)
}
