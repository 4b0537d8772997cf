package pms

import "slices"

// Payout is a sum that a channel has paid out.
type Payout struct {
	ID        string         `json:"id"`
	Channel   string         `json:"channel"`
	Reference string         `json:"reference"`
	Date      string         `json:"date"` // YYYY-MM-DD
	Currency  string         `json:"currency"`
	Amount    string         `json:"amount"` // a decimal, as those of members
	Members   []PayoutMember `json:"members"`
}

// PayoutMember is a part of a payout.
type PayoutMember struct {
	ReservationID string   `json:"reservationId,omitempty"`
	Code          string   `json:"code,omitempty"`
	Description   string   `json:"description,omitempty"`
	Gross         string   `json:"gross"`
	Fees          Optional `json:"fees"`
	Taxes         Optional `json:"taxes"`
}

// SetPayout adds or replaces a payout.
func (s *Server) SetPayout(p Payout) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if at := slices.IndexFunc(s.payouts, func(o Payout) bool { return o.ID == p.ID }); at >= 0 {
		s.payouts[at] = p
	} else {
		s.payouts = append(s.payouts, p)
	}
}

// DeletePayout removes a payout.
func (s *Server) DeletePayout(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.payouts = slices.DeleteFunc(s.payouts, func(p Payout) bool { return p.ID == id })
}

// getPayouts answers with a page of payouts. It has no mark: everything is read each time.
func (s *Server) getPayouts(x *exchange) (answer, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	from, failure := readCursor(x.r.URL.Query().Get("page"), s.epoch)
	if failure != nil {
		return nil, failure
	}

	begin := min(from.listings, len(s.payouts))
	end := min(begin+*s.settings.PageSize, len(s.payouts))

	page := make([]any, 0, end-begin)
	for _, p := range s.payouts[begin:end] {
		page = append(page, p)
	}

	next := ""
	if end < len(s.payouts) {
		next = cursor{listings: end}.write(s.epoch)
	}

	return s.spoil(x, "payouts", answer{"payouts": page, "next": next, "mark": "", "complete": true}, from), nil
}
