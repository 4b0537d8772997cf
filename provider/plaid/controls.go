package plaid

import (
	"context"
	"fmt"

	"stayledger/platform/day"
)

// SandboxItem asks for an item without a person.
type SandboxItem struct {
	InstitutionID string
	Webhook       string
	Days          int // of history
}

// SandboxPublicToken links an item at a bank that is not real, and returns its public token. This and the other
// methods here work only at sandboxes, the vendor's and ours; everywhere else they fail with an Error.
func (c *Client) SandboxPublicToken(ctx context.Context, r SandboxItem) (string, error) {
	var w struct {
		PublicToken string `json:"public_token"`
	}

	// Without an option the sandbox decides.
	options := map[string]any{}
	if r.Webhook != "" {
		options["webhook"] = r.Webhook
	}

	if r.Days > 0 {
		options["transactions"] = map[string]int{"days_requested": r.Days}
	}

	body := map[string]any{
		"institution_id":   r.InstitutionID,
		"initial_products": []string{"transactions"},
		"options":          options,
	}
	if err := c.call(ctx, "/sandbox/public_token/create", body, &w); err != nil {
		return "", fmt.Errorf("sandbox item: %w", err)
	}

	return w.PublicToken, nil
}

// SandboxFireWebhook makes the sandbox send a webhook of the item, such as SYNC_UPDATES_AVAILABLE.
func (c *Client) SandboxFireWebhook(ctx context.Context, accessToken, code string) error {
	return c.sandbox(ctx, "/sandbox/item/fire_webhook", struct {
		wireAccess

		Code string `json:"webhook_code"`
	}{wireAccess{accessToken}, code})
}

// SandboxResetLogin makes the item ask for its person to log in again.
func (c *Client) SandboxResetLogin(ctx context.Context, accessToken string) error {
	return c.sandbox(ctx, "/sandbox/item/reset_login", wireAccess{accessToken})
}

// SandboxTransaction is a row to make up. Amount has the vendor's sign and form: "12.34" is money that leaves the
// account.
type SandboxTransaction struct {
	Date        day.Day
	Amount      string
	Description string
	Currency    string // USD when empty
}

// SandboxAddTransactions adds at most ten rows to the first depository account of the item.
func (c *Client) SandboxAddTransactions(ctx context.Context, accessToken string, rows ...SandboxTransaction) error {
	type row struct {
		Occurred    day.Day `json:"date_transacted"`
		Posted      day.Day `json:"date_posted"`
		Amount      number  `json:"amount"`
		Description string  `json:"description"`
		Currency    string  `json:"iso_currency_code,omitempty"`
	}

	// The vendor has two dates for a row; ours are the same.
	list := make([]row, len(rows))
	for i, r := range rows {
		list[i] = row{
			Occurred:    r.Date,
			Posted:      r.Date,
			Amount:      number(r.Amount),
			Description: r.Description,
			Currency:    r.Currency,
		}
	}

	return c.sandbox(ctx, "/sandbox/transactions/create", struct {
		wireAccess

		Transactions []row `json:"transactions"`
	}{wireAccess{accessToken}, list})
}

// number is the text of a JSON number.
type number string

// MarshalJSON writes the number as it is.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// sandbox makes a call with an answer that says nothing of use.
func (c *Client) sandbox(ctx context.Context, path string, body any) error {
	var w struct{}
	if err := c.call(ctx, path, body, &w); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}

	return nil
}
