package hostaway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// wireCharge is a payment of a guest.
type wireCharge struct {
	Type     text   `json:"type"`
	Status   text   `json:"status"`
	Currency text   `json:"currency"`
	Amount   number `json:"amount"`
}

// complete returns stays as reservations. A stay that lacks payments costs one call to ask for them. A stay with
// malformed payments is unreadable. It fails with a pms.Error.
func (c *Client) complete(
	ctx context.Context, stays []stay,
) (rows []pms.Reservation, unreadable []pms.Unreadable, err error) {
	rows = make([]pms.Reservation, 0, len(stays))

	for i := range stays {
		s := &stays[i]

		if s.lacksPayments {
			err := c.readPayments(ctx, s)

			switch _, isForm := errors.AsType[*pms.FormError](err); {
			case isForm:
				unreadable = append(unreadable, pms.NewUnreadable(s.ID, err))
				continue
			case err != nil:
				return nil, nil, err
			}
		}

		rows = append(rows, s.Reservation)
	}

	return rows, unreadable, nil
}

// readPayments sets the retained amount of a canceled stay: the payments of the guest less refunds. A hold on a card is
// no payment. It fails with a pms.Error or a FormError.
func (c *Client) readPayments(ctx context.Context, s *stay) error {
	answer, _, err := c.call(ctx, http.MethodGet,
		"/guestPayments/charges?limit="+strconv.Itoa(pageSize)+"&reservationId="+url.QueryEscape(s.ID), nil)
	if isAbsent(err) {
		return nil
	}

	if err != nil {
		return err
	}

	list, err := answer.rows()
	if err != nil {
		return err
	}

	// Add up the payments in the currency of the stay. Another currency cannot be converted.
	var paid money.Cents

	for i, content := range list {
		at := "charges." + strconv.Itoa(i)

		var w wireCharge
		if err := pms.ReadForm(content, &w); err != nil {
			return pms.Wrong(at, pms.BadForm)
		}

		if !strings.EqualFold(string(w.Status), "paid") || strings.EqualFold(string(w.Type), "preAuth") {
			continue
		}

		if w.Currency != "" && !strings.EqualFold(string(w.Currency), s.Currency) {
			return pms.Wrong(at+".currency", pms.Unknown)
		}

		amount, err := w.Amount.Cents(money.Currency(s.Currency))
		if err != nil {
			return pms.Wrong(at+".amount", pms.NotAmount)
		}

		switch {
		case amount == nil:
		case strings.EqualFold(string(w.Type), "refund"):
			paid -= absolute(*amount)
		default:
			paid += *amount
		}
	}

	s.keep(max(paid-s.refunded, 0))

	return s.CheckAmounts()
}
