package demo

import (
	"context"
	"fmt"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// kind says how a stay goes: ordinary, canceled and so on.
type kind int

// Every listing goes round these, each beginning with another, so that a short demo has one of each.
const (
	ordinary kind = iota
	withSecurityDeposit
	canceled
	ownerStay
	longStay
	adjusted
)

// booking is a stay to be made.
type booking struct {
	kind              kind
	checkIn, checkOut day.Day
	bookedAt          day.Day
	channel           string
	rent, cleaning    money.Cents
	tax               money.Cents
}

func (b *booking) total() money.Cents { return b.rent + b.cleaning + b.tax }

// cancelDay returns the day of cancellation.
func (b *booking) cancelDay() day.Day { return day.Max(b.checkIn.AddDays(-5), b.bookedAt) }

// bookStays books the calendar from the start to a month beyond today, and the guests' money as far as it has come in.
func (s *seller) bookStays(ctx context.Context, tx *db.Tx) error {
	end := s.Today.AddDays(30)
	n := 0

	for at := s.Start().AddDays(s.dice.IntN(5)); at.Before(end); at = at.AddDays(1 + s.dice.IntN(9)) {
		nights := 2 + s.dice.IntN(6)

		what := kind(n+s.number) % (adjusted + 1)
		if what == longStay { // over the end of the month
			nights = max(21, at.DaysUntil(at.Month().Last())+4)
		}

		if err := s.bookStay(ctx, tx, s.booking(what, at, nights)); err != nil {
			return err
		}

		at, n = at.AddDays(nights), n+1
	}

	return nil
}

// booking returns a random stay of a kind. A stay that would be canceled later than today is an ordinary one.
func (s *seller) booking(what kind, checkIn day.Day, nights int) *booking {
	b := &booking{
		kind:     what,
		checkIn:  checkIn,
		checkOut: checkIn.AddDays(nights),
		channel:  pick(s.dice, "direct", "direct", "airbnb", "vrbo", "bookingcom"),
		bookedAt: day.Max(checkIn.AddDays(-7-s.dice.IntN(60)), s.Start()),
		rent:     s.rate * money.Cents(nights),
		cleaning: money.Cents(6_000 + s.dice.IntN(8)*500),
	}

	// Some kinds only make sense for guests who booked directly; owners pay nothing.
	switch {
	case what == canceled && s.Today.Before(b.cancelDay()):
		b.kind = ordinary // it has not been canceled yet
	case what == canceled || what == withSecurityDeposit || what == adjusted:
		b.channel = "direct"
	case what == ownerStay:
		b.channel, b.rent, b.cleaning = "owner", 0, 0
	}

	if b.channel != "airbnb" { // the channel remits the tax itself
		b.tax = money.Rate(12_000).Of(b.rent + b.cleaning)
	}

	return b
}

// bookStay adds a reservation and books the money around it.
func (s *seller) bookStay(ctx context.Context, tx *db.Tx, b *booking) error {
	guest := pick(
		s.dice,
		"Alex",
		"Bo",
		"Casey",
		"Dana",
		"Eli",
		"Frankie",
		"Gabi",
		"Hanna",
	) + " " + pick(s.dice, "Moore", "Novak", "Olsen", "Park", "Quinn", "Rossi", "Silva", "Tran")
	code := fmt.Sprintf("D%03d-%s", s.number+1, b.checkIn)

	c := &reservation.Create{
		ListingID:        s.listing,
		GuestName:        &guest,
		ConfirmationCode: &code,
		CheckIn:          b.checkIn,
		CheckOut:         b.checkOut,
		BookedAt:         &b.bookedAt,
		BookingPlatform:  &b.channel,
	}

	// Lines without an amount are left out.
	for _, l := range []reservation.LineInput{
		{Type: "rent", Amount: b.rent},
		{Type: "cleaningFee", Amount: b.cleaning},
		{Type: "tax", Amount: b.tax},
	} {
		if l.Amount != 0 {
			c.Lines = append(c.Lines, l)
		}
	}

	// The kind decides the status and type of the reservation.
	switch b.kind {
	case canceled:
		at := b.cancelDay()
		c.Status, c.CancelledAt = reservation.Canceled, &at
	case ownerStay:
		c.Type = reservation.OwnerStay
	case ordinary, withSecurityDeposit, longStay, adjusted:
	}

	r, err := reservation.Add(ctx, tx, c)
	if err != nil {
		return err
	}

	if err := s.bookMoney(ctx, tx, r.ID, b); err != nil {
		return fmt.Errorf("stay %s: %w", code, err)
	}

	return nil
}

// bookMoney books the money around a stay.
func (s *seller) bookMoney(ctx context.Context, tx *db.Tx, stay id.ID, b *booking) error {
	switch b.kind {
	case ownerStay:
		return nil
	case canceled:
		return s.bookCancellation(ctx, tx, stay, b)
	case withSecurityDeposit:
		if err := s.bookSecurity(ctx, tx, stay, b); err != nil {
			return err
		}
	case adjusted:
		if err := s.adjustStay(ctx, tx, stay); err != nil {
			return err
		}
	case ordinary, longStay:
	}

	// The guest pays the channel or, for direct bookings, by card.
	if b.channel != "direct" {
		// The channel pays out on the day after arrival and keeps 15 %.
		total := b.total()

		return s.bookPayment(ctx, tx, stay, deposit{
			b.checkIn.AddDays(1),
			"Payout of " + b.channel,
			total,
			money.Rate(15_000).Of(total),
			account.DepositChannelFee,
		})
	}

	return s.paidByCard(ctx, tx, stay, b.total(), b.bookedAt)
}

// cardPayment describes a guest's card payment.
const cardPayment = "Card payment"

// paidByCard books a guest's card payment. The processor keeps 2.9 % and 30 cents.
func (s *seller) paidByCard(ctx context.Context, tx *db.Tx, stay id.ID, total money.Cents, at day.Day) error {
	return s.bookPayment(ctx, tx, stay, deposit{
		at,
		cardPayment,
		total,
		money.Rate(2_900).Of(total) + 30,
		account.DepositMerchantFee,
	})
}

// bookCancellation books a canceled stay: half was paid when it was booked, half of that is refunded, and the rest is
// kept as cancellation revenue.
func (s *seller) bookCancellation(ctx context.Context, tx *db.Tx, stay id.ID, b *booking) error {
	paid := b.total() / 2

	refund := paid / 2
	if err := s.paidByCard(ctx, tx, stay, paid, b.bookedAt); err != nil {
		return err
	}

	if err := s.bookPayment(ctx, tx, stay, deposit{at: b.cancelDay(), what: "Refund", total: -refund}); err != nil {
		return err
	}

	return addAdjustment(ctx, tx, stay, adjustment{
		reservation.Financial,
		"Cancellation terms",
		paid - refund,
		s.codes["4090"],
		nil,
	})
}

// bookSecurity books a security deposit, which is held until three days after the stay.
func (s *seller) bookSecurity(ctx context.Context, tx *db.Tx, stay id.ID, b *booking) error {
	held := transaction.LineInput{Amount: 30_000}
	held.AccountID, held.ReservationID = api.Set(s.codes["2300"]), api.Set(stay)
	returned := held

	returned.Amount = -held.Amount
	if err := s.bookReceipt(ctx, tx, day.Max(b.checkIn.AddDays(-1), b.bookedAt), "Security deposit", held); err != nil {
		return err
	}

	return s.bookReceipt(ctx, tx, b.checkOut.AddDays(3), "Security deposit returned", returned)
}

// adjustStay charges the guest for a late check-out, which is still open, and credits the owner a part of the
// commission.
func (s *seller) adjustStay(ctx context.Context, tx *db.Tx, stay id.ID) error {
	owners := ledger.Owners
	if err := addAdjustment(ctx, tx, stay, adjustment{
		reservation.Financial,
		"Late check-out",
		5_000,
		s.codes["4020"],
		&owners,
	}); err != nil {
		return err
	}

	return addAdjustment(ctx, tx, stay, adjustment{
		reservation.FeeAdjustment,
		"Goodwill",
		2_500,
		s.codes["4100"],
		&owners,
	})
}

// adjustment is a correction of a stay.
type adjustment struct {
	kind    reservation.AdjustmentType
	what    string
	amount  money.Cents
	account id.ID
	party   *ledger.Party
}

// addAdjustment adds an adjustment to a stay.
func addAdjustment(ctx context.Context, tx *db.Tx, stay id.ID, a adjustment) error {
	terms := reservation.AdjustmentTerms{Type: &a.kind, Description: api.Set(a.what), AccountID: api.Set(a.account)}
	if a.party != nil {
		terms.Party = api.Set(*a.party)
	}

	_, err := reservation.Adjust(ctx, tx, stay, &reservation.CreateAdjustment{Amount: a.amount, AdjustmentTerms: terms})
	if err != nil {
		return fmt.Errorf("adjust a stay: %w", err)
	}

	return nil
}

// deposit is money that came in for a stay, and what was kept on the way.
type deposit struct {
	at     day.Day
	what   string
	total  money.Cents
	kept   money.Cents
	keeper account.Assignment
}

// bookPayment books a guest's payment for a stay, less the fee that the payer keeps.
func (s *seller) bookPayment(ctx context.Context, tx *db.Tx, stay id.ID, d deposit) error {
	paid := transaction.LineInput{Amount: d.total}
	paid.Assignment, paid.ReservationID = api.Set(account.AccountsReceivable), api.Set(stay)
	lines := []transaction.LineInput{paid}

	if d.kept != 0 {
		fee := transaction.LineInput{Amount: -d.kept}
		fee.Assignment, fee.ReservationID = api.Set(d.keeper), api.Set(stay)
		lines = append(lines, fee)
	}

	return s.bookReceipt(ctx, tx, d.at, d.what, lines...)
}

// bookReceipt books money that has come in by today.
func (s *seller) bookReceipt(
	ctx context.Context,
	tx *db.Tx,
	at day.Day,
	what string,
	lines ...transaction.LineInput,
) error {
	if s.Today.Before(at) {
		return nil
	}

	_, err := s.bookTransaction(ctx, tx, &transaction.Create{
		Type:        transaction.Deposit,
		Date:        at,
		Description: api.Set(what),
		Lines:       lines,
	})

	return err
}
