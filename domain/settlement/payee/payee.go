// Package payee owns how contacts are paid: their ACH payment methods, sealed, verified, and which one counts.
//
// The numbers of a method never change: others make another method. A verified method becomes the default one, which is
// what its contact is paid with, unless somebody has chosen another since. When a default method goes, none takes its
// place by itself: where money goes is for a person to say.
package payee

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// Status says whether a method can be used.
type Status string

// The states.
const (
	Pending  Status = "pending"
	Verified Status = "verified"
	Rejected Status = "rejected"
	Archived Status = "archived"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Pending), string(Verified), string(Rejected), string(Archived)}
}

// What can be wrong with a request on a payment method.
var (
	errInUse    = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Payment method is still in use")
	errNotReady = apierr.New(apierr.CodeBadRequest, "", "Payment method is not verified")
)

// Method is a payment method of a contact.
type Method struct {
	ID            id.ID           `json:"id"`
	ContactID     id.ID           `json:"contactId"`
	Kind          string          `json:"kind" enum:"ach"`
	Status        Status          `json:"status"`
	AccountHolder string          `json:"accountHolder"`
	AccountType   pay.AccountType `json:"accountType"`
	Last4         string          `json:"last4" doc:"Of the account number; nothing more of it is ever returned."`
	RoutingLast4  string          `json:"routingLast4"`
	IsDefault     bool            `json:"isDefault" doc:"The method that the contact is paid with."`
	VerifiedAt    *day.Instant    `json:"verifiedAt"`
	CreatedAt     day.Instant     `json:"createdAt"`
	UpdatedAt     day.Instant     `json:"updatedAt"`

	Issues []finding.Finding `json:"issues" db:"-" doc:"payProviderRecipientNotReady for each app of an active connection that can never pay to it, with the app and the cause."`

	// Apps are those of the team's active connections.
	Apps     []connection.App `json:"-"`
	Numbers  []byte           `json:"-"`
	ChosenAt day.Instant      `json:"-"`
}

// Ready gives the default method, which is verified, of each of the contacts that has one. They stay so until the
// transaction ends: no money is sent to an account that was put away meanwhile.
func Ready(ctx context.Context, tx *db.Tx, contacts []id.ID) (map[id.ID]Method, error) {
	methods, err := db.Select[Method](ctx, tx, `
		select `+columns+` from payee_method m
		where team_id = @team and contact_id = any(@contacts) and is_default order by id for share`,
		db.Args{"team": tx.Team, "contacts": contacts})
	if err != nil {
		return nil, fmt.Errorf("read payment methods: %w", err)
	}

	out := make(map[id.ID]Method, len(methods))
	for i := range methods {
		out[methods[i].ContactID] = methods[i]
	}

	return out, nil
}

// findIssues finds the apps of the team that cannot pay to the method, whatever the payment.
func (m *Method) findIssues(today day.Day) {
	m.Issues = []finding.Finding{}
	for _, app := range m.Apps {
		probe := pay.Payment{Amount: 1, Currency: "usd", Date: today, Recipient: pay.Account{Holder: m.AccountHolder, Type: m.AccountType}}
		if cause := app.Fault(&probe); cause != "" {
			m.Issues = append(m.Issues, finding.Finding{
				Code: string(apierr.ReasonPayProviderRecipientNotReady), Severity: finding.Error,
				Context: map[string]any{"provider": app, "cause": cause},
			})
		}
	}
}

// label is what the numbers of a method are sealed under.
func label(method id.ID) string { return "payee_method:" + method.String() }

// Sealed is where the numbers of accounts are kept.
func Sealed() seal.Column { return seal.Column{Table: "payee_method", Name: "numbers", Label: label} }

// sealedNumbers are what Numbers holds.
type sealedNumbers struct {
	Routing string `json:"routing"`
	Account string `json:"account"`
}

// Account opens the bank account of a method.
func (m *Method) Account(box *seal.Box) (pay.Account, error) {
	plain, err := box.Open(m.Numbers, label(m.ID))
	if err != nil {
		return pay.Account{}, fmt.Errorf("payment method %v: %w", m.ID, err)
	}

	var n sealedNumbers
	if err := json.Unmarshal(plain, &n); err != nil {
		return pay.Account{}, fmt.Errorf("payment method %v: %w", m.ID, err)
	}

	return pay.Account{Holder: m.AccountHolder, Routing: n.Routing, Number: n.Account, Type: m.AccountType}, nil
}

// seal puts the numbers of an account away.
func (m *Method) seal(box *seal.Box, routing, account string) error {
	plain, err := json.Marshal(sealedNumbers{Routing: routing, Account: account})
	if err != nil {
		return fmt.Errorf("payment method %v: %w", m.ID, err)
	}

	m.Numbers, m.Last4, m.RoutingLast4 = box.Seal(plain, label(m.ID)), account[len(account)-4:], routing[len(routing)-4:]

	return nil
}
