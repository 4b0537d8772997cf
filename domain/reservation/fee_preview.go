package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/account"
	"stayledger/domain/fee"
	"stayledger/domain/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// FeePreviewRequest names a stay and a fee, stored or not.
type FeePreviewRequest struct {
	ReservationID  id.ID       `json:"reservationId"`
	RecurringFeeID *id.ID      `json:"recurringFeeId,omitempty" doc:"A stored fee; else fee."`
	Fee            *fee.Create `json:"fee,omitempty" doc:"A fee that is not stored; its listingSubscriptions are ignored."`
}

// Resolve wants exactly one fee.
func (b FeePreviewRequest) Resolve() []apierr.Issue {
	if (b.RecurringFeeID == nil) == (b.Fee == nil) {
		return []apierr.Issue{issue("Give either recurringFeeId or fee", "contradiction", "fee")}
	}
	return nil
}

type feePreviewInput struct{ Body FeePreviewRequest }

// FeePreview is what a stay comes to when it is charged a fee.
type FeePreview struct {
	Totals FeePreviewTotals `json:"totals"`
	Lines  []PreviewLine    `json:"lines"`
}

// FeePreviewTotals add up the journal of a stay.
type FeePreviewTotals struct {
	Tax         money.Cents `json:"tax" doc:"Lines that are nobody's revenue, and the tax on fees."`
	Manager     money.Cents `json:"manager" doc:"What is left to the manager after all fees and the costs of deposits."`
	Owner       money.Cents `json:"owner" doc:"What is left to the owners after all fees."`
	Reservation money.Cents `json:"reservation" doc:"Active lines."`
	Expense     money.Cents `json:"expense" doc:"What processor and channel kept of deposits."`
	Deposit     money.Cents `json:"deposit" doc:"What deposits brought in."`
	Guest       money.Cents `json:"guest" doc:"What the guest owes in all: active lines and financial adjustments."`
	Fee         money.Cents `json:"fee" doc:"What the previewed fee comes to, with its tax."`
}

// previewFee charges the fee in a transaction that is rolled back, so that it is checked and computed as a stored one is.
func previewFee(ctx context.Context, d *db.DB, scope db.Scope, in *feePreviewInput) (out *FeePreview, err error) {
	err = d.DryRun(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		out, err = feePreview(ctx, tx, &in.Body)
		return err
	})
	return out, err
}

func feePreview(ctx context.Context, tx *db.Tx, b *FeePreviewRequest) (*FeePreview, error) {
	r, err := show(ctx, tx, b.ReservationID)
	if err != nil {
		return nil, unknown(err, "reservationId")
	}
	feeID, err := chargeable(ctx, tx, b, r)
	if err != nil {
		return nil, err
	}
	loaded, err := inputs(ctx, tx, []Reservation{*r})
	if err != nil {
		return nil, err
	}
	in := &loaded[0]
	derived := Journal(in)
	out := &FeePreview{Lines: derived.previewLines(in)}
	costs, err := depositCosts(ctx, tx, r.ID)
	if err != nil {
		return nil, err
	}
	out.Lines = append(out.Lines, costs...)
	ids := make([]id.ID, len(out.Lines))
	for i := range out.Lines {
		l := &out.Lines[i]
		ids[i] = l.accountID
		l.Fee = l.Type == PreviewRecurringFee && l.RecurringFee.ID == feeID
	}
	accounts, err := account.ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for i := range out.Lines {
		out.Lines[i].Account = refOf(accounts, ids[i])
	}
	out.total(&derived, r)
	return out, nil
}

// total adds up what the journal does, and what deposits cost.
func (p *FeePreview) total(d *Derived, r *Reservation) {
	t := &p.Totals
	t.Guest, t.Deposit, t.Reservation = r.Financials.Total, r.Financials.Paid, r.Financials.Total-r.Financials.Adjustments
	for i := range d.Postings {
		for k := range d.Postings[i].Lines {
			l := &d.Postings[i].Lines[k]
			switch {
			case l.Party == ledger.Owners:
				t.Owner -= l.CentTotal
			case l.Party == ledger.Manager:
				t.Manager -= l.CentTotal
			case l.Ref == "tax" || l.Trigger == ledger.TriggerReservation && l.Ref != "guest":
				t.Tax -= l.CentTotal
			}
		}
	}
	for i := range p.Lines {
		l := &p.Lines[i]
		switch {
		case l.Type == PreviewDeposit:
			t.Expense += l.Amount
			if l.Party != nil && *l.Party == ledger.Owners {
				t.Owner -= l.Amount
			} else {
				t.Manager -= l.Amount
			}
		case l.Fee && l.Status == LineActive:
			t.Fee += l.Amount
		}
	}
}

// chargeable makes sure that the listing of the stay is charged the fee on the day of the stay.
func chargeable(ctx context.Context, tx *db.Tx, b *FeePreviewRequest, r *Reservation) (id.ID, error) {
	if b.Fee != nil {
		unsaved := *b.Fee
		unsaved.ListingSubscriptions = []fee.ListingSubscription{{ListingID: r.ListingID}}
		f, err := fee.Add(ctx, tx, &unsaved)
		if err != nil {
			return id.ID{}, inFee(err)
		}
		return f.ID, nil
	}
	active, err := activeFee(ctx, tx, *b.RecurringFeeID)
	switch {
	case err != nil:
		return id.ID{}, err
	case !active:
		return id.ID{}, unknown(apierr.NotFound, "recurringFeeId")
	}
	return *b.RecurringFeeID, chargeListing(ctx, tx, *b.RecurringFeeID, r)
}

// unknown turns the absence of something that the body names into the caller's mistake.
func unknown(err error, field string) error {
	if apierr.From(err).Code() == apierr.CodeNotFound {
		return apierr.BadRequest.At(issue("Does not exist", "notFound", field))
	}
	return err
}

// inFee puts the findings about an unsaved fee where it stands in the body.
func inFee(err error) error {
	e := apierr.From(err)
	issues := e.Issues()
	if len(issues) == 0 || e.Code() != apierr.CodeBadRequest {
		return err
	}
	moved := apierr.BadRequest.With(e.Context())
	for i := range issues {
		issues[i].Path = append([]any{"fee"}, issues[i].Path...)
	}
	return moved.At(issues...)
}

// chargeListing subscribes the listing of a stay to a fee where it is not; the transaction is rolled back.
func chargeListing(ctx context.Context, tx *db.Tx, feeID id.ID, r *Reservation) error {
	_, err := tx.Exec(ctx, `
		insert into fee_listing_period (team_id, id, fee_id, listing_id, start_at, end_at, created_at, updated_at)
		select @team, @id, @fee, @listing, max(p.end_at) filter (where p.end_at <= @from), min(p.start_at) filter (where p.start_at >= @to), @now, @now
		from (values (1)) as once left join fee_listing_period p on p.team_id = @team and p.fee_id = @fee and p.listing_id = @listing
		having not coalesce(bool_or(daterange(p.start_at, p.end_at) && daterange(@from, @to)) filter (where p.id is not null), false)`,
		db.Args{"team": tx.Team, "id": tx.NewID(), "fee": feeID, "listing": r.ListingID, "from": r.CheckIn, "to": r.CheckOut.AddDays(1), "now": tx.Now})
	if err != nil {
		return fmt.Errorf("charge a listing for a preview: %w", err)
	}
	return nil
}

// depositCosts are what processor and channel kept of the active deposits of a reservation.
func depositCosts(ctx context.Context, tx *db.Tx, reservationID id.ID) ([]PreviewLine, error) {
	type row struct {
		ID         id.ID
		ShortRef   string
		Date       day.Day
		Assignment string
		AccountID  id.ID
		Party      string
		Amount     money.Cents
	}
	rows, err := db.Select[row](ctx, tx, `
		select t.id, t.short_ref, t.date, l.assignment, l.account_id, coalesce(l.party, 'manager') as party, -l.amount as amount
		from transaction_line l join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active' and t.type = 'deposit'
		where l.team_id = @team and l.reservation_id = @id and l.assignment in ('deposit_merchantFee', 'deposit_channelFee')
		order by t.date, t.id, l.position`, db.Args{"team": tx.Team, "id": reservationID})
	if err != nil {
		return nil, fmt.Errorf("read the costs of deposits: %w", err)
	}
	out := make([]PreviewLine, len(rows))
	for i, l := range rows {
		party := ledger.Party(l.Party)
		out[i] = PreviewLine{
			Name: map[string]string{"deposit_merchantFee": fee.MerchantFee, "deposit_channelFee": fee.ChannelFee}[l.Assignment], Type: PreviewDeposit,
			Party: &party, Status: LineActive, Amount: l.Amount, accountID: l.AccountID,
			Transaction: &TransactionRef{l.ID, l.ShortRef, l.Date},
		}
	}
	return out, nil
}
