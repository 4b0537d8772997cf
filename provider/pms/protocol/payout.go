package protocol

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// wirePayouts is a page of payouts.
type wirePayouts struct {
	Payouts  *[]json.RawMessage `json:"payouts"`
	Next     string             `json:"next"`
	Mark     string             `json:"mark"`
	Complete bool               `json:"complete"`
}

type wirePayout struct {
	ID        string       `json:"id"`
	Gone      bool         `json:"gone"`
	Channel   string       `json:"channel"`
	Reference string       `json:"reference"`
	Date      day.Day      `json:"date"`
	Currency  string       `json:"currency"`
	Amount    wireAmount   `json:"amount"`
	Members   []wireMember `json:"members"`
	ChangedAt time.Time    `json:"changedAt"`
}

type wireMember struct {
	ReservationID string     `json:"reservationId"`
	Code          string     `json:"code"`
	Description   string     `json:"description"`
	Gross         wireAmount `json:"gross"`
	Fees          wireAmount `json:"fees"`
	Taxes         wireAmount `json:"taxes"`
}

// maxMembers is how many members a payout has at most.
const maxMembers = 1000

// readPage reads the answer to a query. It fails with a pms.Error.
func (w *wirePayouts) readPage(q *pms.Query) (*pms.PayoutPage, error) {
	if err := checkPlace(w.Next, w.Mark, q.Page); err != nil {
		return nil, err
	}

	rows, unreadable, err := readList(w.Payouts, readPayout)
	if err != nil {
		return nil, err
	}

	return &pms.PayoutPage{
		Payouts: rows, Unreadable: unreadable, Next: w.Next, Mark: w.Mark, Complete: w.Complete && q.Since == "",
	}, nil
}

// readPayout reads a payout. It fails with a FormError.
func readPayout(id string, content json.RawMessage) (pms.Payout, error) {
	if isGone(content) {
		return pms.Payout{ID: id, Gone: true}, nil
	}

	var w wirePayout
	if err := pms.ReadForm(content, &w); err != nil {
		return pms.Payout{}, err
	}

	currency, err := readCurrency(w.Currency)

	switch {
	case err != nil:
		return pms.Payout{}, err
	case w.Date.IsZero():
		return pms.Payout{}, pms.Wrong("date", pms.Missing)
	case len(w.Members) > maxMembers:
		return pms.Payout{}, pms.Wrong("members", pms.TooMany)
	}

	// The currency decides how many decimals an amount may have.
	amount, err := w.Amount.cents("amount", currency)

	switch {
	case err != nil:
		return pms.Payout{}, err
	case amount == nil:
		return pms.Payout{}, pms.Wrong("amount", pms.Missing)
	}

	out := pms.Payout{
		ID: w.ID, Channel: pms.Text(w.Channel), Reference: pms.Text(w.Reference), Day: w.Date,
		Currency: string(currency), Amount: *amount, Members: make([]pms.PayoutMember, len(w.Members)),
		ChangedAt: w.ChangedAt,
	}

	// The field of a fault names the member, too, as in members.0.gross.
	for i := range w.Members {
		if out.Members[i], err = w.Members[i].readMember(currency); err != nil {
			if e, is := errors.AsType[*pms.FormError](err); is {
				err = pms.Wrong("members."+strconv.Itoa(i)+"."+e.Field, e.Fault)
			}

			return pms.Payout{}, err
		}
	}

	return out, nil
}

// readMember reads a member. Absent fees and taxes are 0; gross is required. It fails with a FormError.
func (w *wireMember) readMember(currency money.Currency) (pms.PayoutMember, error) {
	out := pms.PayoutMember{
		ReservationID: pms.Text(w.ReservationID), Code: pms.Text(w.Code),
		Description: pms.Text(w.Description),
	}

	for _, f := range []struct {
		name string
		text wireAmount
		into *money.Cents
	}{{"gross", w.Gross, &out.Gross}, {"fees", w.Fees, &out.Fees}, {"taxes", w.Taxes, &out.Taxes}} {
		cents, err := f.text.cents(f.name, currency)

		switch {
		case err != nil:
			return out, err
		case cents != nil:
			*f.into = *cents
		case f.name == "gross":
			return out, pms.Wrong("gross", pms.Missing)
		}
	}

	return out, nil
}
