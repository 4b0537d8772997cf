package plaid

import (
	"context"
	"fmt"
	"time"

	"stayledger/platform/outbound"
)

// LinkLifetime is how long a link can be used.
const LinkLifetime = 30 * time.Minute

// MaxDays is how much history an item can have at most.
const MaxDays = 730

// LinkRequest asks for a page on which a person links an item, or repairs one.
type LinkRequest struct {
	// Name is ours as the page shows it, at most 30 characters; longer ones are cut.
	Name string
	// User identifies the person to the vendor: any stable text that says nothing about them.
	User string
	// Webhook gets the webhooks of the link and of the item, unless it is empty.
	Webhook string
	// ReturnTo is where the browser goes afterwards, unless it is empty.
	ReturnTo string
	// Language is a code such as en, the default; Countries are codes such as US, the default.
	Language  string
	Countries []string
	// Days is how far back the transactions of a new item reach, at most MaxDays, which 0 means. It cannot be changed
	// later.
	Days int
	// AccessToken is that of an item to repair: the page asks for its bank again, and token, item and accounts stay.
	// With ChooseAccounts the person can change which accounts it has.
	AccessToken    string
	ChooseAccounts bool
}

// Link is a page for one person, and the token by which its outcome is asked for.
type Link struct {
	Token     string
	URL       string
	ExpiresAt time.Time // by our clock
	RequestID string
}

type wireLinkRequest struct {
	ClientName  string   `json:"client_name"`
	Language    string   `json:"language"`
	Countries   []string `json:"country_codes"`
	User        wireUser `json:"user"`
	Products    []string `json:"products,omitempty"`
	Webhook     string   `json:"webhook,omitempty"`
	AccessToken string   `json:"access_token,omitempty"`

	Transactions *wireHistory `json:"transactions,omitempty"`
	Update       *wireUpdate  `json:"update,omitempty"`
	Hosted       wireHosted   `json:"hosted_link"`
}

type wireUser struct {
	ID string `json:"client_user_id"`
}

type wireHistory struct {
	Days int `json:"days_requested"`
}

type wireUpdate struct {
	AccountSelection bool `json:"account_selection_enabled"`
}

type wireHosted struct {
	ReturnTo string `json:"completion_redirect_uri,omitempty"`
	Lifetime int    `json:"url_lifetime_seconds"`
}

// wire returns the request as the protocol has it, with defaults for the fields that are empty.
func (r LinkRequest) wire() wireLinkRequest {
	w := wireLinkRequest{
		ClientName: text(r.Name, 30),
		Language:   r.Language,
		Countries:  countries(r.Countries),
		User:       wireUser{ID: r.User},
		Webhook:    r.Webhook,
		Hosted:     wireHosted{ReturnTo: r.ReturnTo, Lifetime: int(LinkLifetime / time.Second)},
	}
	if w.Language == "" {
		w.Language = "en"
	}

	// A repair names its item and, unlike a new item, no products and no history: both stay as they are.
	if r.AccessToken != "" {
		w.AccessToken = r.AccessToken
		if r.ChooseAccounts {
			w.Update = &wireUpdate{AccountSelection: true}
		}

		return w
	}

	// A new item gets the whole history that the vendor offers, unless the caller wants less.
	w.Products = []string{"transactions"}

	w.Transactions = &wireHistory{Days: r.Days}
	if r.Days <= 0 || r.Days > MaxDays {
		w.Transactions.Days = MaxDays
	}

	return w
}

// countries returns the codes, or the United States if there are none.
func countries(codes []string) []string {
	if len(codes) == 0 {
		return []string{"US"}
	}

	return codes
}

// CreateLink makes a page on which a person links an item, or repairs the item of the access token. It fails with
// ErrItemGone if that item cannot be repaired.
func (c *Client) CreateLink(ctx context.Context, r LinkRequest) (Link, error) {
	var w struct {
		LinkToken string `json:"link_token"`
		URL       string `json:"hosted_link_url"`
		RequestID string `json:"request_id"`
	}

	// Taken before the call, so that our time is never later than the vendor's.
	expires := time.Now().Add(LinkLifetime)

	if err := c.call(ctx, "/link/token/create", r.wire(), &w); err != nil {
		return Link{}, fmt.Errorf("create link: %w", err)
	}

	// Both texts are given to a browser or sent back, so they must look like what they are.
	if !outbound.Printable(w.LinkToken, maxToken) || !outbound.Printable(w.URL, 2000) {
		return Link{}, fmt.Errorf("create link: %w", badAnswer("has no page"))
	}

	return Link{Token: w.LinkToken, URL: w.URL, ExpiresAt: expires, RequestID: tidyID(w.RequestID)}, nil
}

// LinkState is how far a person has got on the page of a link.
type LinkState string

// The states. A person who left the page can open it again, so a link that was left can still be completed.
const (
	LinkOpen      LinkState = "open"
	LinkLeft      LinkState = "left"
	LinkCompleted LinkState = "completed"
)

// LinkOutcome is the result of a link so far.
type LinkOutcome struct {
	State LinkState
	// Items are those that were added, of a completed link; none when it repaired one.
	Items []AddedItem
	// Problem is why the person left, if the vendor says so.
	Problem   *Error
	RequestID string
}

// AddedItem is an item that a person linked. Its public token is exchanged once, within LinkLifetime.
type AddedItem struct {
	PublicToken     string
	InstitutionID   string
	InstitutionName string
	Accounts        []LinkedAccount
}

// LinkedAccount is an account as the person was shown it.
type LinkedAccount struct {
	ID      string
	Name    string
	Mask    string // the last digits, two to four characters; empty if the bank gives none
	Type    string
	Subtype string
}

type wireSession struct {
	FinishedAt *string `json:"finished_at"`
	Results    *struct {
		Items []wireAdded `json:"item_add_results"`
	} `json:"results"`
	Exit *struct {
		Error *wireError `json:"error"`
	} `json:"exit"`
}

type wireAdded struct {
	PublicToken string        `json:"public_token"`
	Accounts    []wireAccount `json:"accounts"`
	Institution *struct {
		ID   string `json:"institution_id"`
		Name string `json:"name"`
	} `json:"institution"`
}

// item checks an item that a person linked, and returns it. It fails if its public token or an account cannot be
// used.
func (w wireAdded) item() (AddedItem, error) {
	if !outbound.Printable(w.PublicToken, maxToken) {
		return AddedItem{}, badAnswer("has no public token")
	}

	item := AddedItem{PublicToken: w.PublicToken}

	// The bank is for display; without a bank the item can be used all the same.
	if w.Institution != nil {
		item.InstitutionID, item.InstitutionName = tidyID(w.Institution.ID), text(w.Institution.Name, maxText)
	}

	for i := range w.Accounts {
		a := &w.Accounts[i]

		// Accounts are matched by their identifiers later, so one without is of no use.
		if !outbound.Printable(a.id(), maxToken) {
			return AddedItem{}, badAnswer("has an account without a name")
		}

		item.Accounts = append(item.Accounts, LinkedAccount{
			ID:      a.id(),
			Name:    text(a.Name, maxText),
			Mask:    text(a.Mask, 4),
			Type:    text(a.Type, maxCode),
			Subtype: text(a.Subtype, maxCode),
		})
	}

	return item, nil
}

// LinkOutcome asks for the result of a link. It fails with ErrLinkSpent if the vendor does not know the link, or
// has forgotten it, six hours after it ended.
func (c *Client) LinkOutcome(ctx context.Context, linkToken string) (LinkOutcome, error) {
	var w struct {
		Sessions  []wireSession `json:"link_sessions"`
		RequestID string        `json:"request_id"`
	}
	if err := c.call(ctx, "/link/token/get", map[string]string{"link_token": linkToken}, &w); err != nil {
		return LinkOutcome{}, fmt.Errorf("ask for link: %w", err)
	}

	// The page can be opened several times: each time is a session, and the vendor lists all of them.
	out := LinkOutcome{State: LinkOpen, RequestID: tidyID(w.RequestID)}
	for i := range w.Sessions {
		if err := out.add(&w.Sessions[i]); err != nil {
			return LinkOutcome{}, fmt.Errorf("ask for link: %w", err)
		}
	}

	return out, nil
}

// add adds one session to the result. A link that was completed once stays completed.
func (o *LinkOutcome) add(s *wireSession) error {
	// A session that finished without an exit is completed even if it added no item: it repaired one.
	switch {
	case s.Results != nil && len(s.Results.Items) > 0, s.FinishedAt != nil && s.Exit == nil:
		o.State, o.Problem = LinkCompleted, nil
	case s.Exit != nil && o.State != LinkCompleted:
		o.State, o.Problem = LinkLeft, nil
		if s.Exit.Error != nil && s.Exit.Error.Code != "" {
			o.Problem = s.Exit.Error.error()
		}
	}

	if s.Results == nil {
		return nil
	}

	for i := range s.Results.Items {
		item, err := s.Results.Items[i].item()
		if err != nil {
			return err
		}

		o.Items = append(o.Items, item)
	}

	return nil
}

// Access is the right to read an item until it is removed.
type Access struct {
	Token     string // a secret
	ItemID    string
	RequestID string
}

// Exchange trades a public token for access. The vendor accepts a public token only once: after ErrTimeout or
// ErrUnavailable the access may have been handed out and lost. Then a second exchange fails with ErrLinkSpent, and
// only a new link helps.
func (c *Client) Exchange(ctx context.Context, publicToken string) (Access, error) {
	var w struct {
		AccessToken string `json:"access_token"`
		ItemID      string `json:"item_id"`
		RequestID   string `json:"request_id"`
	}

	body := map[string]string{"public_token": publicToken}
	if err := c.call(ctx, "/item/public_token/exchange", body, &w); err != nil {
		return Access{}, fmt.Errorf("exchange public token: %w", err)
	}

	// Without the token the item could never be read or removed, and without the identifier no webhook would find it.
	if !outbound.Printable(w.AccessToken, maxToken) || !outbound.Printable(w.ItemID, maxToken) {
		return Access{}, fmt.Errorf("exchange public token: %w", badAnswer("has no access token"))
	}

	return Access{Token: w.AccessToken, ItemID: w.ItemID, RequestID: tidyID(w.RequestID)}, nil
}
