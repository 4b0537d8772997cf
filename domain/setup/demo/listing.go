package demo

import (
	"context"
	"fmt"
	"math/rand/v2"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// seller makes the books of one listing, day by day.
type seller struct {
	Data
	dice    *rand.Rand
	number  int
	listing id.ID
	vendor  id.ID
	tax     id.ID
	codes   map[string]id.ID
	rate    money.Cents // rent a night
	booked  []id.ID     // the transactions that were made
}

// bookTransaction adds a transaction and remembers it for the bank's side.
func (s *seller) bookTransaction(
	ctx context.Context,
	tx *db.Tx,
	c *transaction.Create,
) (*transaction.Transaction, error) {
	made, err := transaction.Add(ctx, tx, c, ledger.Lenience{})
	if err != nil {
		return nil, err
	}

	s.booked = append(s.booked, made.ID)

	return made, nil
}

// fillListing adds a listing with its owners, stays, money in and out, owner statements and bank records, in one
// transaction.
func fillListing(ctx context.Context, tx *db.Tx, d Data, number int) error {
	grantAccess(tx)

	// The listing comes first: everything else refers to it.
	s := &seller{Data: d, dice: dice(d.Seed, number), number: number}
	if err := s.addListing(ctx, tx); err != nil {
		return fmt.Errorf("demo listing: %w", err)
	}

	if err := s.bookStays(ctx, tx); err != nil {
		return fmt.Errorf("demo stays: %w", err)
	}

	if err := s.bookRepairs(ctx, tx); err != nil {
		return fmt.Errorf("demo expenses: %w", err)
	}

	// The costs of the office belong to no listing, so the first one adds them.
	if number == 0 {
		if err := s.bookOffice(ctx, tx); err != nil {
			return fmt.Errorf("demo office: %w", err)
		}
	}

	// Statements and the bank need all bookings.
	if err := s.publishStatements(ctx, tx); err != nil {
		return fmt.Errorf("demo statements: %w", err)
	}

	if err := s.bankSide(ctx, tx); err != nil {
		return fmt.Errorf("demo bank: %w", err)
	}

	return nil
}

// listingRef returns the reference of a listing of the sample books, numbered from 0.
func listingRef(number int) string { return fmt.Sprintf("demo-%d", number+1) }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// addListing adds the owners and the listing, subscribes it to the team's fees and books its opening balance.
func (s *seller) addListing(ctx context.Context, tx *db.Tx) error {
	var err error
	if s.codes, err = accountCodes(ctx, tx); err != nil {
		return err
	}

	if s.tax, err = demoTaxRate(ctx, tx); err != nil {
		return err
	}

	if s.vendor, err = db.Get[id.ID](ctx, tx, `select id from contact where team_id = @team and unique_ref = @ref`,
		db.Args{"team": tx.Team, "ref": vendorRef}); err != nil {
		return err
	}

	// Then the owners, and the listing that they own from the beginning.
	members, err := s.addOwners(ctx, tx)
	if err != nil {
		return err
	}

	reserve := money.Cents(s.dice.IntN(4) * 10_000)
	terms := &listing.CreatedTerms{Members: members}
	terms.Reserve = api.Set(reserve)
	name := pick(s.dice, "Beach", "Harbour", "Forest", "Lake", "Vineyard", "Old Town", "Meadow", "Cliff") + " " +
		pick(s.dice, "House", "Cottage", "Loft", "Villa", "Cabin", "Studio")

	l, err := listing.Add(ctx, tx, &listing.Create{
		Name:             fmt.Sprintf("%s %d", name, s.number+1),
		InitialOwnership: terms,
		Common:           listing.Common{UniqueRef: api.Set(listingRef(s.number))},
	})
	if err != nil {
		return err
	}

	// The rate per night and the fees decide the money of all stays.
	s.listing, s.rate = l.ID, money.Cents(9_000+s.dice.IntN(30)*500)
	if err := fee.SubscribeToAll(ctx, tx, l.ID); err != nil {
		return err
	}

	// The opening balance lies a day before the first statement.
	line := transaction.LineInput{Amount: money.Cents(20_000 + s.dice.IntN(40)*1_000)}
	line.Assignment, line.ListingID = api.Set(account.OpeningBalance), api.Set(l.ID)
	_, err = s.bookTransaction(ctx, tx, &transaction.Create{
		Type:             transaction.Deposit,
		Date:             s.Start().AddDays(-1),
		IsOpeningBalance: true,
		Description:      api.Set("Opening balance"),
		Lines:            []transaction.LineInput{line},
	})

	return err
}

// addOwners adds one to three owners and returns them with their shares.
func (s *seller) addOwners(ctx context.Context, tx *db.Tx) ([]listing.Member, error) {
	splits := pick(s.dice, []int64{100_000}, []int64{60_000, 40_000}, []int64{50_000, 30_000, 20_000})
	members := make([]listing.Member, len(splits))
	names := []string{"Anna", "Ben", "Chiara", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas"}
	s.dice.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })

	for i, split := range splits {
		first := names[i]
		last := pick(
			s.dice,
			"Albers",
			"Brandt",
			"Costa",
			"Dubois",
			"Eriksen",
			"Fischer",
			"Galli",
			"Hansen",
			"Ivanova",
			"Jansen",
		)

		c, err := contact.Add(ctx, tx, &contact.Create{
			Type: "owner",
			Name: first + " " + last,
			Optional: contact.Optional{
				Email: api.Set(fmt.Sprintf("owner-%d-%d@example.com", s.number+1, i+1)),
			},
		})
		if err != nil {
			return nil, err
		}

		members[i] = listing.Member{ContactID: c.ID, Split: split}
	}

	return members, nil
}
