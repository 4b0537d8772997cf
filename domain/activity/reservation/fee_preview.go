package reservation

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
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
	Fee            *fee.Create `json:"fee,omitempty" doc:"A fee that is not stored; its listingSubscriptions are checked and change nothing."`
}

// Resolve refuses a request that names no fee or two.
func (b FeePreviewRequest) Resolve() []apierr.Issue {
	if (b.RecurringFeeID == nil) == (b.Fee == nil) {
		return []apierr.Issue{apierr.IssueContradiction.InBody("fee")}
	}

	return nil
}

type feePreviewInput struct{ Body FeePreviewRequest }

// FeePreview is the outcome of charging a stay a fee.
type FeePreview struct {
	Totals FeePreviewTotals `json:"totals"`
	Lines  []PreviewLine    `json:"lines"`
}

// FeePreviewTotals add up the journal of a stay.
type FeePreviewTotals struct {
	Tax         money.Cents `json:"tax" doc:"Lines that are no party's revenue, and the tax on fees."`
	Manager     money.Cents `json:"manager" doc:"What is left to the manager after all fees and the costs of deposits."`
	Owner       money.Cents `json:"owner" doc:"What is left to the owners after all fees."`
	Reservation money.Cents `json:"reservation" doc:"Active lines."`
	Expense     money.Cents `json:"expense" doc:"What processor and channel kept of deposits."`
	Deposit     money.Cents `json:"deposit" doc:"What deposits brought in."`
	Guest       money.Cents `json:"guest" doc:"What the guest owes in all: active lines and financial adjustments."`
	Fee         money.Cents `json:"fee" doc:"What the previewed fee comes to, with its tax."`
}

// previewFee derives the journal of the stay as if its listing were charged the fee. Nothing is written.
func previewFee(ctx context.Context, tx *db.Tx, request *feePreviewInput) (*FeePreview, error) {
	r, err := show(ctx, tx, request.Body.ReservationID)
	if err != nil {
		return nil, notFoundIssue(err, "reservationId")
	}

	f, err := request.Body.fee(ctx, tx)
	if err != nil {
		return nil, err
	}

	// Then derive the journal with the fee among those of the listing.
	loaded, _, err := Known{}.inputs(ctx, tx, []Reservation{r.stored()})
	if err != nil {
		return nil, err
	}

	in := &loaded[0]
	if err := in.subscribe(f); err != nil {
		return nil, err
	}

	derived := Journal(in)
	out := &FeePreview{Lines: derived.previewLines(in)}

	// Costs of deposits are not in the stay's journal, but they reduce the same balances.
	costs, err := loadDepositCosts(ctx, tx, r.ID)
	if err != nil {
		return nil, err
	}

	out.Lines = append(out.Lines, costs...)

	// Last, mark the lines of the previewed fee and name all accounts with one query.
	ids := make([]id.ID, len(out.Lines))
	for i := range out.Lines {
		l := &out.Lines[i]
		ids[i] = l.accountID
		l.Fee = l.Type == PreviewRecurringFee && l.RecurringFee.ID == f.ID
	}

	accounts, err := account.ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	for i := range out.Lines {
		out.Lines[i].Account = renderAccount(accounts, ids[i])
	}

	out.total(&derived, r)

	return out, nil
}

// total adds up the lines of the journal and the costs of deposits.
func (p *FeePreview) total(d *Derived, r *Reservation) {
	t := &p.Totals
	t.Guest, t.Deposit = r.Financials.Total, r.Financials.Paid
	t.Reservation = r.Financials.Total - r.Financials.Adjustments

	// Credits are negative in the ledger and count as money left, hence the minus signs.
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

	// Lines have the costs of deposits, which are not in the journal, and the previewed fee.
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

// fee returns the fee that the request names or brings along. It fails with the issues of a fee in the request.
func (b *FeePreviewRequest) fee(ctx context.Context, tx *db.Tx) (*fee.Fee, error) {
	if b.Fee != nil {
		f, err := fee.NewUnsaved(ctx, tx, b.Fee)
		return f, underFee(err)
	}

	f, err := fee.Active(ctx, tx, *b.RecurringFeeID)

	return f, notFoundIssue(err, "recurringFeeId")
}

// subscribe adds a subscription of the stay's listing to a fee, unless a listing period of the fee charges the stay
// already.
func (in *Input) subscribe(f *fee.Fee) error {
	for i := range in.Fees {
		if s := &in.Fees[i]; s.Fee.ID == f.ID && in.feeSegments(s) != nil {
			return nil
		}
	}

	// The listing period of the new subscription has no bounds. It replaces periods of the fee that miss the stay.
	always, err := fee.NewSubscription(*f, fee.Period{FeeID: f.ID, ListingID: in.Reservation.ListingID})
	if err != nil {
		return err
	}

	in.Fees = append(slices.DeleteFunc(in.Fees, func(s fee.Subscription) bool { return s.Fee.ID == f.ID }), always)

	return nil
}

// notFoundIssue turns the absence of a record that the body names into an issue of the field; other errors stay as they
// are.
func notFoundIssue(err error, field string) error {
	if err != nil && apierr.From(err).Code() == apierr.CodeNotFound {
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody(field))
	}

	return err
}

// underFee moves the issues of an unsaved fee to its place in the body.
func underFee(err error) error {
	if err == nil {
		return nil
	}

	e := apierr.From(err)
	if len(e.Issues()) == 0 || e.Code() != apierr.CodeBadRequest {
		return err
	}

	return e.Under("fee")
}

// loadDepositCosts returns lines for the sums that processor and channel kept of the active deposits of a reservation,
// by date.
func loadDepositCosts(ctx context.Context, tx *db.Tx, reservationID id.ID) ([]PreviewLine, error) {
	type row struct {
		ID         id.ID
		ShortRef   string
		Date       day.Day
		Assignment account.Assignment
		AccountID  id.ID
		Party      string
		Amount     money.Cents
	}

	// A line of a deposit is a cost by the assignment that it acts as; without a party it is the manager's.
	rows, err := db.Select[row](ctx, tx, `
		select t.id, t.short_ref, t.date, `+depositCost+` as assignment, l.account_id, coalesce(l.party, 'manager') as party, -l.amount as amount
		from transaction_line l join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active' and t.type = 'deposit'
		where l.team_id = @team and l.reservation_id = @id and `+account.ActingSQL("l", account.DepositChannelFee, account.DepositMerchantFee)+`
		order by t.date, t.id, l.position`, db.Args{"team": tx.Team, "id": reservationID})
	if err != nil {
		return nil, fmt.Errorf("read the costs of deposits: %w", err)
	}

	out := make([]PreviewLine, len(rows))
	for i, l := range rows {
		party := ledger.Party(l.Party)
		out[i] = PreviewLine{
			Name: map[account.Assignment]string{
				account.DepositMerchantFee: fee.MerchantFee,
				account.DepositChannelFee:  fee.ChannelFee,
			}[l.Assignment],
			Type:        PreviewDeposit,
			Party:       &party,
			Status:      LineActive,
			Amount:      l.Amount,
			accountID:   l.AccountID,
			Transaction: &TransactionRef{l.ID, l.ShortRef, l.Date},
		}
	}

	return out, nil
}
