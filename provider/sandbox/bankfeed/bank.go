package bankfeed

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"stayledger/platform/money"
)

// Institution is a bank. Every item that is linked at it gets accounts like its own.
type Institution struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Accounts []Account `json:"accounts"`
	// Status is how well its products work, by key, such as transactions_updates; HEALTHY, DEGRADED or DOWN. Links to a
	// bank fail while its item_logins are DOWN.
	Status map[string]string `json:"status,omitempty"`
	// Down says that the bank does not answer: every call that needs it fails.
	Down bool `json:"down,omitempty"`
	// Unsupported says that the bank has been given up for good.
	Unsupported bool `json:"unsupported,omitempty"`
}

// Account is an account that a bank offers.
type Account struct {
	ID           string      `json:"id"` // at the bank; items have identifiers of their own
	Name         string      `json:"name"`
	OfficialName string      `json:"officialName,omitempty"`
	Mask         string      `json:"mask,omitempty"`
	Type         string      `json:"type"`
	Subtype      string      `json:"subtype,omitempty"`
	Currency     string      `json:"currency,omitempty"`   // USD when both are empty
	Unofficial   string      `json:"unofficial,omitempty"` // money that is no currency
	Balance      json.Number `json:"balance"`              // without its transactions; of credit and loans, what is owed
	Limit        json.Number `json:"limit,omitempty"`
}

// banks returns the banks that a sandbox begins with.
func banks() []*Institution {
	// The accounts are of the types that the vendor has: depository, credit and loan.
	checking := Account{
		ID:           "checking",
		Name:         "Trust Checking",
		OfficialName: "Client Trust Checking",
		Mask:         "0001",
		Type:         "depository",
		Subtype:      "checking",
		Balance:      "25000.00",
	}
	savings := Account{
		ID:      "savings",
		Name:    "Reserve Savings",
		Mask:    "1112",
		Type:    "depository",
		Subtype: "savings",
		Balance: "8000.5",
	}
	card := Account{
		ID:      "card",
		Name:    "Company Card",
		Mask:    "3333",
		Type:    "credit",
		Subtype: "credit card",
		Balance: "410",
		Limit:   "5000",
	}
	loan := Account{ID: "loan", Name: "Equipment Loan", Type: "loan", Subtype: "business", Balance: "12000"}

	// Accounts in other currencies, with two decimals and with none.
	euro, yen := checking, savings
	euro.ID, euro.Name, euro.Mask, euro.Currency = "euro", "Euro Account", "0977", "EUR"
	yen.ID, yen.Name, yen.Mask, yen.Currency, yen.Balance = "yen", "Yen Account", "0392", "JPY", "90000"

	return []*Institution{
		{ID: "ins_109508", Name: "First Harbor Bank", Accounts: []Account{checking, savings, card}},
		{ID: "ins_109509", Name: "Second Harbor Credit Union", Accounts: []Account{checking, savings, loan}},
		{ID: "ins_109510", Name: "Harbor International", Accounts: []Account{euro, yen}},
	}
}

// SetInstitution adds a bank, or replaces the bank with the same identifier. Items that were linked before keep
// their accounts.
func (s *Server) SetInstitution(i Institution) {
	s.mu.Lock()
	defer s.mu.Unlock()

	at := slices.IndexFunc(s.institutions, func(known *Institution) bool { return known.ID == i.ID })
	if at < 0 {
		s.institutions = append(s.institutions, &i)
		return
	}

	s.institutions[at] = &i
}

// Institutions returns the banks.
func (s *Server) Institutions() []Institution {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := make([]Institution, len(s.institutions))
	for i, known := range s.institutions {
		out[i] = *known
	}

	return out
}

// institution returns a bank, or nil. The caller has the lock.
func (s *Server) institution(id string) *Institution {
	return find(s.institutions, func(i *Institution) bool { return i.ID == id })
}

// Progress is how much of its history an item shows.
type Progress string

// The states of progress.
const (
	NotReady   Progress = "NOT_READY"
	Initial    Progress = "INITIAL_UPDATE_COMPLETE" // the last thirty days
	Historical Progress = "HISTORICAL_UPDATE_COMPLETE"
)

// Enum lists the states of progress.
func (Progress) Enum() []string {
	return []string{string(NotReady), string(Initial), string(Historical)}
}

// item is a login at a bank.
type item struct {
	id       string
	access   string // empty until it is fetched
	bank     string
	webhook  string
	accounts []*account
	days     int
	removed  bool
	problem  *Failure
	progress Progress
	withheld []Transaction // rows that are not shown yet
	log      []entry
	rows     map[string]*row
	synced   bool // its transactions have been asked for

	balances map[string]*big.Rat // money that went out of each account, by the first reckoned entries of the log
	reckoned int
}

type account struct {
	id     string
	of     Account
	closed bool
}

// places returns how many decimals the account's money has. A unit that is no currency has two here.
func (a *account) places() int { return money.Currency(strings.ToLower(a.of.Currency)).MinorDigits() }

// entry says that a row changed. It counts while it is the row's last.
type entry struct{ row *row }

// row is a transaction with where it began and last changed in the log of its item, counted from 1.
type row struct {
	Transaction

	began, changed int
	gone           bool
}

// newItem makes an item at a bank, with all accounts of the bank if none are chosen. The caller has the lock.
func (s *Server) newItem(bank *Institution, chosen []string, webhook string, days int) (*item, error) {
	i := &item{
		id:       randomID("item"),
		bank:     bank.ID,
		webhook:  webhook,
		days:     days,
		progress: Historical,
		rows:     map[string]*row{},
	}
	if s.settings.Begins != nil {
		i.progress = *s.settings.Begins
	}

	if len(chosen) == 0 {
		for _, a := range bank.Accounts {
			chosen = append(chosen, a.ID)
		}
	}

	// Each account begins with its history; how much of it shows depends on the item's progress.
	for _, id := range chosen {
		if err := s.open(i, bank, id); err != nil {
			return nil, err
		}
	}

	s.items = append(s.items, i)

	return i, nil
}

// open gives an item an account of its bank, with its history. It fails with ErrUnknown if the bank has no such
// account. The caller has the lock.
func (s *Server) open(i *item, bank *Institution, id string) error {
	at := slices.IndexFunc(bank.Accounts, func(a Account) bool { return a.ID == id })
	if at < 0 {
		return fmt.Errorf("%w: account %s of %s", ErrUnknown, id, bank.ID)
	}

	a := &account{id: randomID("acc"), of: bank.Accounts[at]}
	if a.of.Currency == "" && a.of.Unofficial == "" {
		a.of.Currency = "USD"
	}

	i.accounts = append(i.accounts, a)
	i.addRows(s.history(a, i.days, s.now()), s.now())

	return nil
}

// account returns an account of an item that is not closed, or nil.
func (i *item) account(id string) *account {
	return find(i.accounts, func(a *account) bool { return a.id == id && !a.closed })
}

// balance returns the balance of an account by the bank: the one at the start and all posted rows. The sums are
// computed anew only after a change.
func (i *item) balance(a *account) json.Number {
	if i.balances == nil || i.reckoned != len(i.log) {
		i.balances, i.reckoned = i.reckon(), len(i.log)
	}

	// A test may send a balance that is no number: it goes out as it is.
	sum, known := new(big.Rat).SetString(string(a.of.Balance))
	if !known {
		return a.of.Balance
	}

	// Rows are positive if money goes out: that lowers a balance, and raises a debt.
	if out := i.balances[a.id]; out != nil && (a.of.Type == "credit" || a.of.Type == "loan") {
		sum.Add(sum, out) // The bank gives debts as positive.
	} else if out != nil {
		sum.Sub(sum, out)
	}

	return json.Number(sum.FloatString(a.places()))
}

// reckon adds up the money that went out of each account.
func (i *item) reckon() map[string]*big.Rat {
	out := map[string]*big.Rat{}

	for _, r := range i.rows {
		// Pending rows do not count yet, and an amount that is no number counts for nothing.
		amount, ok := new(big.Rat).SetString(string(r.Amount))
		if !ok || r.gone || r.Pending {
			continue
		}

		if out[r.AccountID] == nil {
			out[r.AccountID] = new(big.Rat)
		}

		out[r.AccountID].Add(out[r.AccountID], amount)
	}

	return out
}
