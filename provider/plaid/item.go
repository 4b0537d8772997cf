package plaid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stayledger/platform/money"
	"stayledger/platform/outbound"
)

// Item is a login at a bank as the vendor sees it.
type Item struct {
	ID              string
	InstitutionID   string
	InstitutionName string
	Webhook         string
	// Problem is why the item does not answer at present; nil when it does.
	Problem *Error
	// ConsentExpiresAt is when the person's consent ends; zero when it does not.
	ConsentExpiresAt time.Time
	RequestID        string
}

type wireItem struct {
	ID              string     `json:"item_id"`
	InstitutionID   string     `json:"institution_id"`
	InstitutionName string     `json:"institution_name"`
	Webhook         string     `json:"webhook"`
	Error           *wireError `json:"error"`
	ConsentExpires  string     `json:"consent_expiration_time"`
}

// item checks an item of the vendor, and returns it. It fails if it has no identifier.
func (w *wireItem) item(requestID string) (Item, error) {
	if !outbound.Printable(w.ID, maxToken) {
		return Item{}, badAnswer("has no item")
	}

	i := Item{
		ID:               w.ID,
		InstitutionID:    tidyID(w.InstitutionID),
		InstitutionName:  text(w.InstitutionName, maxText),
		Webhook:          text(w.Webhook, 2000),
		ConsentExpiresAt: parseTime(w.ConsentExpires),
		RequestID:        tidyID(requestID),
	}
	if w.Error != nil && w.Error.Code != "" {
		i.Problem = w.Error.error()
	}

	return i, nil
}

// parseTime reads a time of the vendor's. It returns the zero time if there is none.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}

	return t
}

type wireItemAnswer struct {
	Item      wireItem `json:"item"`
	RequestID string   `json:"request_id"`
}

type wireAccess struct {
	AccessToken string `json:"access_token"`
}

// ItemState asks for the state of an item.
func (c *Client) ItemState(ctx context.Context, accessToken string) (Item, error) {
	return c.item(ctx, "/item/get", wireAccess{AccessToken: accessToken})
}

// SetWebhook changes where an item's webhooks go; an empty address means nowhere.
func (c *Client) SetWebhook(ctx context.Context, accessToken, address string) (Item, error) {
	return c.item(ctx, "/item/webhook/update", struct {
		wireAccess

		Webhook *string `json:"webhook"`
	}{wireAccess{accessToken}, nullIfEmpty(address)})
}

// nullIfEmpty returns nil for the empty text: the protocol has null for it.
func nullIfEmpty(s string) *string {
	if s == "" {
		return nil
	}

	return &s
}

// item makes a call that is answered with an item.
func (c *Client) item(ctx context.Context, path string, body any) (Item, error) {
	var w wireItemAnswer

	err := c.call(ctx, path, body, &w)
	if err != nil {
		return Item{}, fmt.Errorf("bank feed item: %w", err)
	}

	item, err := w.Item.item(w.RequestID)
	if err != nil {
		return Item{}, fmt.Errorf("bank feed item: %w", err)
	}

	return item, nil
}

// RemoveItem gives the access back: the token ends, and so do the vendor's charges for it. An item that the vendor
// does not have any more counts as removed, so the call can be repeated until it succeeds.
func (c *Client) RemoveItem(ctx context.Context, accessToken string) error {
	var w struct{}

	err := c.call(ctx, "/item/remove", wireAccess{AccessToken: accessToken}, &w)
	if e, is := errors.AsType[*Error](err); is && e.Code == "ITEM_NOT_FOUND" {
		return nil
	}

	if err != nil {
		return fmt.Errorf("remove item: %w", err)
	}

	return nil
}

// AccountType is the kind of an account.
type AccountType string

// The types. Money in a depository account is the holder's; money of a credit or loan account is owed.
const (
	Depository AccountType = "depository"
	Credit     AccountType = "credit"
	Loan       AccountType = "loan"
	Investment AccountType = "investment"
	Other      AccountType = "other"
)

// Account is an account of an item. A bank can give it another ID, such as after a merger: then it disappears under the
// old one.
type Account struct {
	ID           string
	PersistentID string // the same over all items; a few banks have it
	Name         string
	OfficialName string
	Mask         string // the last digits, two to four characters; empty if the bank gives none
	Type         AccountType
	Subtype      string
	Balance      Balance
}

// Balance has the money of an account, in the smallest unit of its currency. Figures that the bank does not give are
// nil.
type Balance struct {
	// Current is the holder's money: negative if money is owed, for accounts of every type. The vendor gives debts as
	// positive.
	Current *money.Cents
	// Available is the money that can be taken out now, and Limit the credit, both as the vendor gives them.
	Available *money.Cents
	Limit     *money.Cents
	// Currency is empty for money that is none of ISO 4217; Unofficial names it then, and its unit counts as a hundred
	// smaller ones.
	Currency   money.Currency
	Unofficial string
	// Rounded says that an amount had more digits than the currency.
	Rounded bool
}

type wireAccount struct {
	AccountID    string `json:"account_id"`
	LinkID       string `json:"id"` // as the page of a link calls it
	PersistentID string `json:"persistent_account_id"`
	Name         string `json:"name"`
	OfficialName string `json:"official_name"`
	Mask         string `json:"mask"`
	Type         string `json:"type"`
	Subtype      string `json:"subtype"`
	Balances     struct {
		Available  json.RawMessage `json:"available"`
		Current    json.RawMessage `json:"current"`
		Limit      json.RawMessage `json:"limit"`
		Currency   string          `json:"iso_currency_code"`
		Unofficial string          `json:"unofficial_currency_code"`
	} `json:"balances"`
}

// id returns the identifier of the account, under either of the names that the protocol has for it.
func (w *wireAccount) id() string {
	if w.AccountID == "" {
		return w.LinkID
	}

	return w.AccountID
}

// account checks an account, and returns it. It fails if it has no identifier, or a balance that is no amount.
func (w *wireAccount) account() (Account, error) {
	a := Account{
		ID:           w.AccountID,
		PersistentID: tidyID(w.PersistentID),
		Name:         text(w.Name, maxText),
		OfficialName: text(w.OfficialName, maxText),
		Mask:         text(w.Mask, 4),
		Type:         AccountType(text(w.Type, maxCode)),
		Subtype:      text(w.Subtype, maxCode),
	}
	if !outbound.Printable(a.ID, maxToken) {
		return Account{}, badAnswer("has an account without a name")
	}

	// All three balances are in the account's currency, and each of them may be absent.
	a.Balance.Currency, a.Balance.Unofficial = readCurrency(w.Balances.Currency, w.Balances.Unofficial)
	for _, part := range []struct {
		raw  json.RawMessage
		into **money.Cents
	}{
		{w.Balances.Current, &a.Balance.Current},
		{w.Balances.Available, &a.Balance.Available},
		{w.Balances.Limit, &a.Balance.Limit},
	} {
		if isAbsent(part.raw) {
			continue
		}

		cents, rounded, err := money.ParseDecimal(string(part.raw), a.Balance.Currency)
		if err != nil {
			return Account{}, badAnswer("has a balance that is no amount")
		}

		*part.into = &cents
		a.Balance.Rounded = a.Balance.Rounded || rounded
	}

	// Debts are negative here, so that balances of all types can be added up.
	if current := a.Balance.Current; current != nil && (a.Type == Credit || a.Type == Loan) {
		*current = -*current
	}

	return a, nil
}

// isAbsent reports whether a value of JSON is missing or null.
func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// readCurrency returns the currency that two codes mean, of which at most one is set. A code that ISO 4217 does not
// have counts as unofficial.
func readCurrency(iso, unofficial string) (money.Currency, string) {
	if iso == "" {
		return "", text(unofficial, maxCode)
	}

	currency, err := money.ParseCurrency(iso)
	if err != nil {
		return "", text(iso, maxCode)
	}

	return currency, ""
}

// maxAccounts is how many accounts a login at a bank can have.
const maxAccounts = 1000

// readAccounts checks a list of accounts, and returns each account once. It fails for more than maxAccounts.
func readAccounts(list []wireAccount) ([]Account, error) {
	if len(list) > maxAccounts {
		return nil, badAnswer("has too many accounts")
	}

	out := make([]Account, 0, len(list))
	for i := range list {
		a, err := list[i].account()
		if err != nil {
			return nil, err
		}

		if !slices.ContainsFunc(out, func(known Account) bool { return known.ID == a.ID }) {
			out = append(out, a)
		}
	}

	return out, nil
}

// Accounts returns the open accounts of an item with the balances that the vendor has, and the item.
func (c *Client) Accounts(ctx context.Context, accessToken string) ([]Account, Item, error) {
	var w struct {
		wireItemAnswer

		Accounts []wireAccount `json:"accounts"`
	}
	if err := c.call(ctx, "/accounts/get", wireAccess{AccessToken: accessToken}, &w); err != nil {
		return nil, Item{}, fmt.Errorf("accounts of item: %w", err)
	}

	item, err := w.Item.item(w.RequestID)
	if err != nil {
		return nil, Item{}, fmt.Errorf("accounts of item: %w", err)
	}

	accounts, err := readAccounts(w.Accounts)
	if err != nil {
		return nil, Item{}, fmt.Errorf("accounts of item: %w", err)
	}

	return accounts, item, nil
}

// The products that a bank feed depends on, under the vendor's keys (ERR-115, ERR-116).
const (
	ItemLogins          = "item_logins"          // new links and repairs
	TransactionsUpdates = "transactions_updates" // news of transactions
)

// Health is how well a product works.
type Health string

// The healths.
const (
	Healthy  Health = "HEALTHY"
	Degraded Health = "DEGRADED"
	Down     Health = "DOWN"
)

// ProductHealth is how well a product works at a bank.
type ProductHealth struct {
	Product string // the vendor's key
	Health  Health
	// Refresh is NORMAL, DELAYED or STOPPED for products that fetch by themselves, otherwise empty.
	Refresh string
	Since   time.Time // zero if the vendor does not give it
}

// isImpaired reports whether the product works badly.
func (p ProductHealth) isImpaired() bool {
	return p.Health != Healthy || p.Refresh == "DELAYED" || p.Refresh == "STOPPED"
}

// Institution is a bank with how well its products work, by key. Products of which the vendor knows too little are left
// out.
type Institution struct {
	ID        string
	Name      string
	Products  []ProductHealth
	RequestID string
}

// FindImpaired returns those of the products ItemLogins and TransactionsUpdates that work badly.
func (i *Institution) FindImpaired() []string {
	var out []string

	for _, p := range i.Products {
		if (p.Product == ItemLogins || p.Product == TransactionsUpdates) && p.isImpaired() {
			out = append(out, p.Product)
		}
	}

	return out
}

type wireProduct struct {
	Status    Health `json:"status"`
	Changed   string `json:"last_status_change"`
	Breakdown struct {
		Refresh string `json:"refresh_interval"`
	} `json:"breakdown"`
}

// Institution asks for a bank and how well its products work. Without countries it searches in the United States.
func (c *Client) Institution(ctx context.Context, id string, inCountries ...string) (Institution, error) {
	var w struct {
		Institution struct {
			ID     string                     `json:"institution_id"`
			Name   string                     `json:"name"`
			Status map[string]json.RawMessage `json:"status"`
		} `json:"institution"`
		RequestID string `json:"request_id"`
	}

	body := map[string]any{
		"institution_id": id,
		"country_codes":  countries(inCountries),
		"options":        map[string]bool{"include_status": true},
	}
	if err := c.call(ctx, "/institutions/get_by_id", body, &w); err != nil {
		return Institution{}, fmt.Errorf("institution: %w", err)
	}

	// An answer about another bank would show its troubles for this one.
	if w.Institution.ID != id {
		return Institution{}, fmt.Errorf("institution: %w", badAnswer("is of another bank"))
	}

	// Each product is decoded by itself, because the list has values of other kinds as well.
	out := Institution{ID: id, Name: text(w.Institution.Name, maxText), RequestID: tidyID(w.RequestID)}
	for product, raw := range w.Institution.Status {
		var p wireProduct
		if err := json.Unmarshal(raw, &p); err != nil || p.Status == "" {
			continue // null, or a list of incidents
		}

		out.Products = append(out.Products, ProductHealth{
			Product: text(product, maxCode), Health: p.Status, Refresh: p.Breakdown.Refresh, Since: parseTime(p.Changed),
		})
	}

	// The vendor's object has no order; the answer has one.
	slices.SortFunc(out.Products, func(a, b ProductHealth) int { return strings.Compare(a.Product, b.Product) })

	return out, nil
}
