package onboarding

import (
	"context"
	"fmt"
	"math/rand/v2"

	"stayledger/domain/account"
	"stayledger/domain/contact"
	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/domain/reservation"
	"stayledger/domain/transaction"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// seller makes the books of one listing, day by day.
type seller struct {
	DemoData
	dice    *rand.Rand
	number  int
	listing id.ID
	vendor  id.ID
	repairs id.ID
	rate    money.Cents // rent a night
}

// fillListing makes a listing with its owners, stays, money in and out, and owner statements, in one transaction.
func fillListing(ctx context.Context, tx *db.Tx, d DemoData, number int) error {
	grant(tx)
	s := &seller{DemoData: d, dice: dice(d.Seed, number), number: number}
	if err := s.open(ctx, tx); err != nil {
		return fmt.Errorf("demo listing: %w", err)
	}
	if err := s.stays(ctx, tx); err != nil {
		return fmt.Errorf("demo stays: %w", err)
	}
	if err := s.expenses(ctx, tx); err != nil {
		return fmt.Errorf("demo expenses: %w", err)
	}
	if err := s.statements(ctx, tx); err != nil {
		return fmt.Errorf("demo statements: %w", err)
	}
	return nil
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// open makes the owners and the listing, subscribes it to the team's fees and books its opening balance.
func (s *seller) open(ctx context.Context, tx *db.Tx) error {
	codes, err := accountCodes(ctx, tx)
	if err != nil {
		return err
	}
	s.repairs = codes["5200"]
	if s.vendor, err = db.Get[id.ID](ctx, tx, `select id from contact where team_id = @team and unique_ref = @ref`,
		db.Args{"team": tx.Team, "ref": vendorRef}); err != nil {
		return err
	}
	members, err := s.owners(ctx, tx)
	if err != nil {
		return err
	}
	reserve := money.Cents(s.dice.IntN(4) * 10_000)
	terms := &listing.CreatedTerms{Members: members}
	terms.Reserve = api.Set(reserve)
	name := pick(s.dice, "Beach", "Harbour", "Forest", "Lake", "Vineyard", "Old Town", "Meadow", "Cliff") + " " +
		pick(s.dice, "House", "Cottage", "Loft", "Villa", "Cabin", "Studio")
	l, err := listing.Add(ctx, tx, &listing.Create{
		Name: fmt.Sprintf("%s %d", name, s.number+1), InitialOwnership: terms, Common: listing.Common{UniqueRef: api.Set(fmt.Sprintf("demo-%d", s.number+1))},
	})
	if err != nil {
		return err
	}
	s.listing, s.rate = l.ID, money.Cents(9_000+s.dice.IntN(30)*500)
	if _, err := tx.Exec(ctx, `
		insert into fee_listing_period (team_id, id, fee_id, listing_id, created_at, updated_at)
		select @team, gen_random_uuid(), id, @listing, @now, @now from fee where team_id = @team and status = 'active'`,
		db.Args{"team": tx.Team, "listing": l.ID, "now": tx.Now}); err != nil {
		return err
	}
	line := transaction.LineInput{Amount: money.Cents(20_000 + s.dice.IntN(40)*1_000)}
	line.Assignment, line.ListingID = api.Set(account.OpeningBalance), api.Set(l.ID)
	_, err = transaction.Add(ctx, tx, &transaction.Create{
		Type: transaction.Deposit, Date: s.Start().AddDays(-1), IsOpeningBalance: true, Description: api.Set("Opening balance"),
		Lines: []transaction.LineInput{line},
	}, ledger.Lenience{})
	return err
}

func (s *seller) owners(ctx context.Context, tx *db.Tx) ([]listing.Member, error) {
	splits := pick(s.dice, []int64{100_000}, []int64{60_000, 40_000}, []int64{50_000, 30_000, 20_000})
	members := make([]listing.Member, len(splits))
	names := []string{"Anna", "Ben", "Chiara", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas"}
	s.dice.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, split := range splits {
		first := names[i]
		last := pick(s.dice, "Albers", "Brandt", "Costa", "Dubois", "Eriksen", "Fischer", "Galli", "Hansen", "Ivanova", "Jansen")
		c, err := contact.Add(ctx, tx, &contact.Create{Type: "owner", Name: first + " " + last, Optional: contact.Optional{
			Email: api.Set(fmt.Sprintf("owner-%d-%d@example.com", s.number+1, i+1)),
		}})
		if err != nil {
			return nil, err
		}
		members[i] = listing.Member{ContactID: c.ID, Split: split}
	}
	return members, nil
}

// stays books the calendar from the start to a month beyond today, and the guests' money as far as it has come in.
func (s *seller) stays(ctx context.Context, tx *db.Tx) error {
	end := s.Today.AddDays(30)
	for at := s.Start().AddDays(s.dice.IntN(5)); at.Before(end); at = at.AddDays(1 + s.dice.IntN(9)) {
		nights := 2 + s.dice.IntN(6)
		if err := s.stay(ctx, tx, at, nights); err != nil {
			return err
		}
		at = at.AddDays(nights)
	}
	return nil
}

func (s *seller) stay(ctx context.Context, tx *db.Tx, checkIn day.Day, nights int) error {
	channel := pick(s.dice, "direct", "direct", "airbnb", "vrbo", "bookingcom")
	bookedAt := day.Max(checkIn.AddDays(-7-s.dice.IntN(60)), s.Start())
	rent := s.rate * money.Cents(nights)
	cleaning := money.Cents(6_000 + s.dice.IntN(8)*500)
	guest := pick(s.dice, "Alex", "Bo", "Casey", "Dana", "Eli", "Frankie", "Gabi", "Hanna") + " " + pick(s.dice, "Moore", "Novak", "Olsen", "Park", "Quinn", "Rossi", "Silva", "Tran")
	code := fmt.Sprintf("D%03d-%s", s.number+1, checkIn)
	lines := []reservation.LineInput{{Type: "rent", Amount: rent}, {Type: "cleaningFee", Amount: cleaning}}
	total := rent + cleaning
	if channel != "airbnb" { // the channel remits the tax itself
		tax := money.Rate(12_000).Of(total)
		lines, total = append(lines, reservation.LineInput{Type: "tax", Amount: tax}), total+tax
	}
	r, err := reservation.Add(ctx, tx, &reservation.Create{
		ListingID: s.listing, GuestName: &guest, ConfirmationCode: &code, CheckIn: checkIn, CheckOut: checkIn.AddDays(nights), BookedAt: &bookedAt,
		BookingPlatform: &channel, Lines: lines,
	})
	if err != nil {
		return err
	}
	if channel == "direct" {
		return s.paidByCard(ctx, tx, r, total, bookedAt)
	}
	return s.paidOut(ctx, tx, r, total, channel)
}

// paidByCard books the guest's card payment on the day of booking; the processor keeps 2.9 % and 30 cents.
func (s *seller) paidByCard(ctx context.Context, tx *db.Tx, r *reservation.Reservation, total money.Cents, at day.Day) error {
	return s.deposit(ctx, tx, r.ID, deposit{at, "Card payment", total, money.Rate(2_900).Of(total) + 30, account.DepositMerchantFee})
}

// paidOut books the channel's payout on the day after arrival; the channel keeps 15 %.
func (s *seller) paidOut(ctx context.Context, tx *db.Tx, r *reservation.Reservation, total money.Cents, channel string) error {
	return s.deposit(ctx, tx, r.ID, deposit{r.CheckIn.AddDays(1), "Payout of " + channel, total, money.Rate(15_000).Of(total), account.DepositChannelFee})
}

// deposit is money that came in for a stay, and what was kept on the way.
type deposit struct {
	at     day.Day
	what   string
	total  money.Cents
	kept   money.Cents
	keeper account.Assignment
}

func (s *seller) deposit(ctx context.Context, tx *db.Tx, stay id.ID, d deposit) error {
	if s.Today.Before(d.at) {
		return nil
	}
	paid, fee := transaction.LineInput{Amount: d.total}, transaction.LineInput{Amount: -d.kept}
	paid.Assignment, paid.ReservationID = api.Set(account.AccountsReceivable), api.Set(stay)
	fee.Assignment, fee.ReservationID = api.Set(d.keeper), api.Set(stay)
	_, err := transaction.Add(ctx, tx, &transaction.Create{
		Type: transaction.Deposit, Date: d.at, Description: api.Set(d.what), Lines: []transaction.LineInput{paid, fee},
	}, ledger.Lenience{})
	return err
}

// expenses books a repair in most months, with a markup, paid five days after the bill.
func (s *seller) expenses(ctx context.Context, tx *db.Tx) error {
	for m := s.Start().Month(); !s.Today.Before(m.Last()); m = m.Next() {
		if s.dice.IntN(4) == 0 {
			continue
		}
		at := m.First().AddDays(8 + s.dice.IntN(12))
		amount := money.Cents(2_000 + s.dice.IntN(60)*250)
		line := transaction.LineInput{Amount: amount}
		line.AccountID, line.ListingID, line.Party = api.Set(s.repairs), api.Set(s.listing), api.Set(ledger.Party("owners"))
		line.Markup = api.Set(transaction.MarkupInput{Amount: amount / 10})
		_, err := transaction.Add(ctx, tx, &transaction.Create{
			Type: transaction.Expense, Date: at, ContactID: api.Set(s.vendor),
			Description: api.Set(pick(s.dice, "Water heater", "Light bulbs", "Lock repair", "Garden work", "Linen", "Pest control")),
			Payment:     api.Set(transaction.PaymentInput{Date: at.AddDays(5)}), Lines: []transaction.LineInput{line},
		}, ledger.Lenience{})
		if err != nil {
			return err
		}
	}
	return nil
}
