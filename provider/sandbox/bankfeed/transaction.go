package bankfeed

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/platform/money"
)

// ErrUnknown means that the sandbox has no such thing.
var ErrUnknown = errors.New("bank-feed sandbox: unknown")

// Transaction is a row as it goes over the wire, and as a test adds it: without an identifier it gets one, without a
// currency that of its account.
type Transaction struct {
	ID             string      `json:"transaction_id"`
	AccountID      string      `json:"account_id"`
	Amount         json.Number `json:"amount"` // positive is money out of the account; any digits
	Currency       *string     `json:"iso_currency_code"`
	Unofficial     *string     `json:"unofficial_currency_code"`
	Date           string      `json:"date"` // today when empty
	AuthorizedDate *string     `json:"authorized_date"`
	Name           string      `json:"name"`
	Original       *string     `json:"original_description"`
	Merchant       *string     `json:"merchant_name"`
	Pending        bool        `json:"pending"`
	PendingID      *string     `json:"pending_transaction_id"`
	CheckNumber    *string     `json:"check_number"`
	Channel        string      `json:"payment_channel"`
	Code           *string     `json:"transaction_code"`
	Meta           Meta        `json:"payment_meta"`
}

// Meta is what a bank tells of a payment.
type Meta struct {
	Reference *string `json:"reference_number"`
	Payee     *string `json:"payee"`
	Payer     *string `json:"payer"`
}

// Removed names a row that is gone.
type Removed struct {
	ID        string `json:"transaction_id"`
	AccountID string `json:"account_id"`
}

const dayForm = "2006-01-02"

// tell takes rows into the log of an item as far as its progress lets them be seen, and withholds the others.
func (i *item) tell(rows []Transaction, now time.Time) {
	recent := now.AddDate(0, 0, -30).Format(dayForm)
	for _, t := range rows {
		if i.progress == Historical || (i.progress == Initial && t.Date >= recent) {
			i.note(&row{Transaction: t})
		} else {
			i.withheld = append(i.withheld, t)
		}
	}
}

// note adds the change of a row to the log.
func (i *item) note(r *row) {
	i.log = append(i.log, entry{r})

	r.changed = len(i.log)
	if r.began == 0 {
		r.began = r.changed
		i.rows[r.ID] = r
	}
}

// whole fills in what a row that is added leaves out.
func (t Transaction) whole(a *account, now time.Time) Transaction {
	if t.ID == "" {
		t.ID = made("txn")
	}

	if t.Date == "" {
		t.Date = now.Format(dayForm)
	}

	if t.Currency == nil && t.Unofficial == nil {
		t.Currency, t.Unofficial = unlessEmpty(a.of.Currency), unlessEmpty(a.of.Unofficial)
	}

	if t.Channel == "" {
		t.Channel = "other"
	}

	if t.Original == nil {
		t.Original = unlessEmpty(t.Name)
	}

	if t.Amount == "" {
		t.Amount = "0"
	}

	return t
}

func unlessEmpty(s string) *string {
	if s == "" {
		return nil
	}

	return &s
}

// change runs a change of an item's rows, and tells of it afterwards.
func (s *Server) change(itemID string, f func(*item) error) error {
	s.mu.Lock()

	i := s.item(itemID)
	if i == nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: item %s", ErrUnknown, itemID)
	}

	before := len(i.log)
	err := f(i)
	changed := err == nil && len(i.log) > before
	silent := s.settings.Silent != nil && *s.settings.Silent
	s.mu.Unlock()

	if changed && !silent {
		s.announceSync(itemID)
	}

	return err
}

// item gives an item, or nil; the caller has the lock.
func (s *Server) item(id string) *item {
	return find(s.items, func(i *item) bool { return i.id == id })
}

// Add gives an item rows; their accounts are those of the item. It gives their identifiers, in their order.
func (s *Server) Add(itemID string, rows ...Transaction) ([]string, error) {
	ids := make([]string, 0, len(rows))

	err := s.change(itemID, func(i *item) error {
		whole := make([]Transaction, 0, len(rows))
		for _, t := range rows {
			a := i.account(t.AccountID)
			if a == nil {
				return fmt.Errorf("%w: account %s", ErrUnknown, t.AccountID)
			}

			t = t.whole(a, s.now())
			if i.rows[t.ID] != nil {
				return fmt.Errorf("bank-feed sandbox: there is a transaction %s", t.ID)
			}

			whole = append(whole, t)
			ids = append(ids, t.ID)
		}

		i.tell(whole, s.now())

		return nil
	})
	if err != nil {
		return nil, err
	}

	return ids, nil
}

// Correct changes a row, as a bank does that finds an error.
func (s *Server) Correct(itemID, id string, change func(*Transaction)) error {
	return s.changeRow(itemID, id, func(i *item, r *row) {
		change(&r.Transaction)
		r.ID = id
		i.note(r)
	})
}

// Remove takes a row back.
func (s *Server) Remove(itemID, id string) error {
	return s.changeRow(itemID, id, func(i *item, r *row) { i.remove(r) })
}

func (i *item) remove(r *row) {
	r.gone = true
	i.note(r)
}

func (s *Server) changeRow(itemID, id string, f func(*item, *row)) error {
	return s.change(itemID, func(i *item) error {
		r := i.rows[id]
		if r == nil || r.gone {
			return fmt.Errorf("%w: transaction %s", ErrUnknown, id)
		}

		f(i, r)

		return nil
	})
}

// Post replaces a pending row by a posted one, which has another identifier and can have another amount or date. It
// gives the identifier.
func (s *Server) Post(itemID, pendingID string, change func(*Transaction)) (string, error) {
	posted := ""
	err := s.change(itemID, func(i *item) error {
		r := i.rows[pendingID]
		if r == nil || r.gone || !r.Pending {
			return fmt.Errorf("%w: pending transaction %s", ErrUnknown, pendingID)
		}

		t := r.Transaction

		t.ID, t.Pending, t.PendingID = made("txn"), false, &pendingID
		if change != nil {
			change(&t)
		}

		posted = t.ID
		i.note(&row{Transaction: t})
		i.remove(r)

		return nil
	})

	return posted, err
}

// Advance lets an item tell more of its history.
func (s *Server) Advance(itemID string, to Progress) error {
	return s.change(itemID, func(i *item) error {
		i.progress = to
		rows := i.withheld
		i.withheld = nil
		i.tell(rows, s.now())

		return nil
	})
}

// Rekey gives an account of an item another identifier, as after a merger of banks, and all its rows with it: they come
// again under new identifiers. The old ones are taken back when removeOld says so; otherwise nothing more is heard of
// them.
func (s *Server) Rekey(itemID, accountID string, removeOld bool) (string, error) {
	fresh := ""
	err := s.change(itemID, func(i *item) error {
		old := i.account(accountID)
		if old == nil {
			return fmt.Errorf("%w: account %s", ErrUnknown, accountID)
		}

		old.closed = true
		fresh = made("acc")

		i.accounts = append(i.accounts, &account{id: fresh, of: old.of})
		for _, e := range slices.Clip(i.log) {
			r := e.row
			if r.gone || r.AccountID != accountID {
				continue
			}

			t := r.Transaction
			t.ID, t.AccountID = made("txn"), fresh
			i.note(&row{Transaction: t})

			if removeOld {
				i.remove(r)
			} else {
				delete(i.rows, r.ID)
				r.gone, r.changed = true, 0
			}
		}

		return nil
	})

	return fresh, err
}

// CloseAccount makes an account disappear from the list of its item.
func (s *Server) CloseAccount(itemID, accountID string) error {
	return s.change(itemID, func(i *item) error {
		a := i.account(accountID)
		if a == nil {
			return fmt.Errorf("%w: account %s", ErrUnknown, accountID)
		}

		a.closed = true

		return nil
	})
}

// Transactions are the rows that an item tells now, in the order in which they were told first.
func (s *Server) Transactions(itemID string) ([]Transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	i := s.item(itemID)
	if i == nil {
		return nil, fmt.Errorf("%w: item %s", ErrUnknown, itemID)
	}

	out := []Transaction{}

	for at, e := range i.log {
		if e.row.began == at+1 && !e.row.gone {
			out = append(out, e.row.Transaction)
		}
	}

	return out, nil
}

// names of those who are paid, and who pay, in a history.
var names = []string{
	"CITY UTILITIES", "BLUE LAUNDRY CO", "AIRBNB PAYMENTS", "HARDWARE STORE 114", "VRBO PAYOUT", "CLEANING CREW LLC", "BOOKING.COM BV", "POOL SERVICE",
}

// history are the rows that an account begins with: as many as the settings say, evenly over the days, the same every
// time. One of four brings money. The caller has the lock.
func (s *Server) history(a *account, days int, now time.Time) []Transaction {
	count := *s.settings.History

	rows := make([]Transaction, count)
	for n := range rows {
		cents := money.Cents(500 + (n*3571)%90000)
		if n%4 == 2 {
			cents *= -3
		}

		t := Transaction{
			AccountID: a.id, Amount: json.Number(cents.AppendDecimal(nil, a.places())), Name: names[n%len(names)],
			Date: now.AddDate(0, 0, -(days-1)+n*(days-1)/max(count-1, 1)).Format(dayForm),
		}
		rows[n] = t.whole(a, now)
	}

	return rows
}
