package plaid

import (
	"context"
	"fmt"
	"time"
)

// LinkLifetime is how long a link can be used.
const LinkLifetime = 30 * time.Minute

// MaxDays is how much history an item can have at most.
const MaxDays = 730

// LinkRequest asks for a page on which a person links an item, or repairs one.
type LinkRequest struct {
	// Name is ours as the page shows it, at most 30 characters; longer ones are cut.
	Name string
	// User is what the vendor knows the person by: any stable text that tells nothing of them.
	User string
	// Webhook is told of the link and of the item, unless it is empty.
	Webhook string
	// ReturnTo is where the browser goes afterwards, unless it is empty.
	ReturnTo string
	// Language is a code such as en, which an empty one means; Countries are codes such as US, which none mean.
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

func (r LinkRequest) wire() wireLinkRequest {
	w := wireLinkRequest{
		ClientName: text(r.Name, 30), Language: r.Language, Countries: countries(r.Countries), User: wireUser{ID: r.User}, Webhook: r.Webhook,
		Hosted: wireHosted{ReturnTo: r.ReturnTo, Lifetime: int(LinkLifetime / time.Second)},
	}
	if w.Language == "" {
		w.Language = "en"
	}

	if r.AccessToken != "" {
		w.AccessToken = r.AccessToken
		if r.ChooseAccounts {
			w.Update = &wireUpdate{AccountSelection: true}
		}

		return w
	}

	w.Products = []string{"transactions"}

	w.Transactions = &wireHistory{Days: r.Days}
	if r.Days <= 0 || r.Days > MaxDays {
		w.Transactions.Days = MaxDays
	}

	return w
}

func countries(codes []string) []string {
	if len(codes) == 0 {
		return []string{"US"}
	}

	return codes
}

// CreateLink makes a page on which a person links an item or repairs the one of the access token; ErrItemGone when that
// one cannot be repaired.
func (c *Client) CreateLink(ctx context.Context, r LinkRequest) (Link, error) {
	var w struct {
		LinkToken string `json:"link_token"`
		URL       string `json:"hosted_link_url"`
		RequestID string `json:"request_id"`
	}

	expires := time.Now().Add(LinkLifetime)

	if err := c.call(ctx, "/link/token/create", r.wire(), &w); err != nil {
		return Link{}, fmt.Errorf("create link: %w", err)
	}

	if !printable(w.LinkToken, maxToken) || !printable(w.URL, 2000) {
		return Link{}, fmt.Errorf("create link: %w", nonsense("has no page"))
	}

	return Link{Token: w.LinkToken, URL: w.URL, ExpiresAt: expires, RequestID: tidyID(w.RequestID)}, nil
}

// LinkState is what a person has done on the page of a link.
type LinkState string

// The states. A person who left the page can open it again, so a link that was left can still be completed.
const (
	LinkOpen      LinkState = "open"
	LinkLeft      LinkState = "left"
	LinkCompleted LinkState = "completed"
)

// LinkOutcome is what a link came to.
type LinkOutcome struct {
	State LinkState
	// Items are those that were added, of a completed link; none when it repaired one.
	Items []AddedItem
	// Problem is why the person left, when that was told.
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
	Mask    string // the last digits, two to four characters; empty when the bank tells none
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

func (w wireAdded) item() (AddedItem, error) {
	if !printable(w.PublicToken, maxToken) {
		return AddedItem{}, nonsense("has no public token")
	}

	item := AddedItem{PublicToken: w.PublicToken}
	if w.Institution != nil {
		item.InstitutionID, item.InstitutionName = tidyID(w.Institution.ID), text(w.Institution.Name, maxText)
	}

	for i := range w.Accounts {
		a := &w.Accounts[i]
		if !printable(a.id(), maxToken) {
			return AddedItem{}, nonsense("has an account without a name")
		}

		item.Accounts = append(item.Accounts, LinkedAccount{
			ID: a.id(), Name: text(a.Name, maxText), Mask: text(a.Mask, 4), Type: text(a.Type, maxCode), Subtype: text(a.Subtype, maxCode),
		})
	}

	return item, nil
}

// LinkOutcome asks what a link came to; ErrLinkSpent when the vendor does not know it or has forgotten it, six hours
// after it ended.
func (c *Client) LinkOutcome(ctx context.Context, linkToken string) (LinkOutcome, error) {
	var w struct {
		Sessions  []wireSession `json:"link_sessions"`
		RequestID string        `json:"request_id"`
	}
	if err := c.call(ctx, "/link/token/get", map[string]string{"link_token": linkToken}, &w); err != nil {
		return LinkOutcome{}, fmt.Errorf("ask for link: %w", err)
	}

	out := LinkOutcome{State: LinkOpen, RequestID: tidyID(w.RequestID)}
	for i := range w.Sessions {
		if err := out.add(&w.Sessions[i]); err != nil {
			return LinkOutcome{}, fmt.Errorf("ask for link: %w", err)
		}
	}

	return out, nil
}

// add takes in one time that the page was open. Whatever was completed stays so.
func (o *LinkOutcome) add(s *wireSession) error {
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

// Exchange trades a public token for access. A public token is taken once: after ErrTimeout or ErrUnavailable the
// access may have been handed out and lost, and a second exchange is ErrLinkSpent; then only a new link helps.
func (c *Client) Exchange(ctx context.Context, publicToken string) (Access, error) {
	var w struct {
		AccessToken string `json:"access_token"`
		ItemID      string `json:"item_id"`
		RequestID   string `json:"request_id"`
	}
	if err := c.call(ctx, "/item/public_token/exchange", map[string]string{"public_token": publicToken}, &w); err != nil {
		return Access{}, fmt.Errorf("exchange public token: %w", err)
	}

	if !printable(w.AccessToken, maxToken) || !printable(w.ItemID, maxToken) {
		return Access{}, fmt.Errorf("exchange public token: %w", nonsense("has no access token"))
	}

	return Access{Token: w.AccessToken, ItemID: w.ItemID, RequestID: tidyID(w.RequestID)}, nil
}
