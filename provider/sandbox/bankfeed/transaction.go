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

// Meta has what a bank knows of a payment.
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

// addRows adds rows to the log of an item if its progress shows them already, and withholds the others.
func (i *item) addRows(rows []Transaction, now time.Time) {
	// Until the whole history is there, an item shows the last thirty days or nothing.
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

	// Positions count from 1, so that 0 means that the row is new.
	r.changed = len(i.log)
	if r.began == 0 {
		r.began = r.changed
		i.rows[r.ID] = r
	}
}

// fillIn fills in the fields that an added row leaves out, and returns it.
func (t Transaction) fillIn(a *account, now time.Time) Transaction {
	if t.ID == "" {
		t.ID = randomID("txn")
	}

	if t.Date == "" {
		t.Date = now.Format(dayForm)
	}

	// A row in neither kind of currency is in that of its account.
	if t.Currency == nil && t.Unofficial == nil {
		t.Currency, t.Unofficial = nullIfEmpty(a.of.Currency), nullIfEmpty(a.of.Unofficial)
	}

	if t.Channel == "" {
		t.Channel = "other"
	}

	if t.Original == nil {
		t.Original = nullIfEmpty(t.Name)
	}

	if t.Amount == "" {
		t.Amount = "0"
	}

	return t
}

// nullIfEmpty returns nil for the empty text: the protocol has null for texts that are absent.
func nullIfEmpty(s string) *string {
	if s == "" {
		return nil
	}

	return &s
}

// change runs a change of the rows of an item, and sends a webhook if it added to the log. It fails with ErrUnknown
// if there is no such item.
func (s *Server) change(itemID string, f func(*item) error) error {
	s.mu.Lock()

	i := s.item(itemID)
	if i == nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: item %s", ErrUnknown, itemID)
	}

	// A change that failed, or that changed no row, is no news.
	before := len(i.log)
	err := f(i)
	changed := err == nil && len(i.log) > before
	silent := s.settings.Silent != nil && *s.settings.Silent
	s.mu.Unlock()

	// The webhook goes out after the lock is released, because announceSync takes it.
	if changed && !silent {
		s.announceSync(itemID)
	}

	return err
}

// item returns an item, or nil. The caller has the lock.
func (s *Server) item(id string) *item {
	return find(s.items, func(i *item) bool { return i.id == id })
}

// Add adds rows to an item and returns their identifiers, in their order. It adds none if one of them names an
// account that the item does not have, or an identifier that it has.
func (s *Server) Add(itemID string, rows ...Transaction) ([]string, error) {
	ids := make([]string, 0, len(rows))

	err := s.change(itemID, func(i *item) error {
		// First all rows are checked and filled in, so that a bad one keeps the others out too.
		whole := make([]Transaction, 0, len(rows))
		for _, t := range rows {
			a := i.account(t.AccountID)
			if a == nil {
				return fmt.Errorf("%w: account %s", ErrUnknown, t.AccountID)
			}

			t = t.fillIn(a, s.now())
			if i.rows[t.ID] != nil {
				return fmt.Errorf("bank-feed sandbox: there is a transaction %s", t.ID)
			}

			whole = append(whole, t)
			ids = append(ids, t.ID)
		}

		i.addRows(whole, s.now())

		return nil
	})
	if err != nil {
		return nil, err
	}

	return ids, nil
}

// correct changes a row, as a bank does if it finds an error. The identifier stays.
func (s *Server) correct(itemID, id string, change func(*Transaction)) error {
	return s.changeRow(itemID, id, func(i *item, r *row) {
		change(&r.Transaction)

		// The change comes from outside and could have named another identifier.
		r.ID = id
		i.note(r)
	})
}

// Remove takes a row back.
func (s *Server) Remove(itemID, id string) error {
	return s.changeRow(itemID, id, func(i *item, r *row) { i.remove(r) })
}

// remove marks a row as gone and adds that to the log.
func (i *item) remove(r *row) {
	r.gone = true
	i.note(r)
}

// changeRow runs a change of a row that is not gone. It fails with ErrUnknown if there is none.
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
// returns the new identifier.
func (s *Server) Post(itemID, pendingID string, change func(*Transaction)) (string, error) {
	posted := ""
	err := s.change(itemID, func(i *item) error {
		r := i.rows[pendingID]
		if r == nil || r.gone || !r.Pending {
			return fmt.Errorf("%w: pending transaction %s", ErrUnknown, pendingID)
		}

		// The posted row begins as a copy of the pending one and names it.
		t := r.Transaction

		t.ID, t.Pending, t.PendingID = randomID("txn"), false, &pendingID
		if change != nil {
			change(&t)
		}

		posted = t.ID

		// Both changes go to the log: the posted row is added, then the pending one is removed.
		i.note(&row{Transaction: t})
		i.remove(r)

		return nil
	})

	return posted, err
}

// advance lets an item show more of its history.
func (s *Server) advance(itemID string, to Progress) error {
	return s.change(itemID, func(i *item) error {
		i.progress = to

		// The rows are taken out first; those that are still too early are withheld again.
		rows := i.withheld
		i.withheld = nil
		i.addRows(rows, s.now())

		return nil
	})
}

// rekey gives an account of an item another identifier, as after a merger of banks. All its rows come again under
// new identifiers. With removeOld the old rows are removed; without it nothing more is heard of them. It returns
// the new identifier.
func (s *Server) rekey(itemID, accountID string, removeOld bool) (string, error) {
	fresh := ""
	err := s.change(itemID, func(i *item) error {
		old := i.account(accountID)
		if old == nil {
			return fmt.Errorf("%w: account %s", ErrUnknown, accountID)
		}

		// First the account: the old one closes, and a new one at the same account of the bank takes its place.
		old.closed = true
		fresh = randomID("acc")

		i.accounts = append(i.accounts, &account{id: fresh, of: old.of})

		// Then the rows. The loop ranges over the log as it is now, while note appends to it.
		for _, e := range slices.Clip(i.log) {
			r := e.row
			if r.gone || r.AccountID != accountID {
				continue
			}

			t := r.Transaction
			t.ID, t.AccountID = randomID("txn"), fresh
			i.note(&row{Transaction: t})

			// Without removeOld changed becomes 0: no entry of the log counts for the row, so no page says that it is
			// gone.
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

// closeAccount makes an account disappear from the list of its item.
func (s *Server) closeAccount(itemID, accountID string) error {
	return s.change(itemID, func(i *item) error {
		a := i.account(accountID)
		if a == nil {
			return fmt.Errorf("%w: account %s", ErrUnknown, accountID)
		}

		a.closed = true

		return nil
	})
}

// Transactions returns the rows that an item shows now, in the order in which they were first shown.
func (s *Server) Transactions(itemID string) ([]Transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	i := s.item(itemID)
	if i == nil {
		return nil, fmt.Errorf("%w: item %s", ErrUnknown, itemID)
	}

	out := []Transaction{}

	// Each row is taken where it began; later entries of it are changes.
	for at, e := range i.log {
		if e.row.began == at+1 && !e.row.gone {
			out = append(out, e.row.Transaction)
		}
	}

	return out, nil
}

// names of payees and payers in a history.
var names = []string{
	"CITY UTILITIES",
	"BLUE LAUNDRY CO",
	"AIRBNB PAYMENTS",
	"HARDWARE STORE 114",
	"VRBO PAYOUT",
	"CLEANING CREW LLC",
	"BOOKING.COM BV",
	"POOL SERVICE",
}

// history returns the rows that an account begins with: as many as the settings say, evenly over the days, the same
// every time. One of four brings money. The caller has the lock.
func (s *Server) history(a *account, days int, now time.Time) []Transaction {
	count := *s.settings.History

	rows := make([]Transaction, count)
	for n := range rows {
		// Amounts from 5.00 to 904.99 that differ from row to row; money that comes in is negative, and three times
		// as much.
		cents := money.Cents(500 + (n*3571)%90000)
		if n%4 == 2 {
			cents *= -3
		}

		// The first row is days-1 days old, the last one is of today.
		t := Transaction{
			AccountID: a.id, Amount: json.Number(cents.AppendDecimal(nil, a.places())), Name: names[n%len(names)],
			Date: now.AddDate(0, 0, -(days-1)+n*(days-1)/max(count-1, 1)).Format(dayForm),
		}
		rows[n] = t.fillIn(a, now)
	}

	return rows
}
