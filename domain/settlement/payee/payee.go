// Package payee owns the payment methods of contacts: ACH accounts that are sealed and verified, and which of them is
// the default.
//
// The numbers of a method never change: other numbers make another method. The first verified method of a contact becomes
// the default one, with which the contact is paid. After that a person must decide where money goes: no other method
// becomes the default by itself, also when the default goes. The first payment by a provider to a method is guarded (Guard).
package payee

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/settlement/payapp"
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

// The errors of requests on a payment method.
var (
	errInUse    = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Payment method is still in use")
	errNotReady = apierr.New(apierr.CodeBadRequest, "", "Payment method is not verified")
)

// ErrSelf refuses a decision on money by whoever has asked for it, or has chosen where it goes.
var ErrSelf = apierr.New(
	apierr.CodeForbidden,
	apierr.ReasonSelfModification,
	"Whoever has asked for payments, or chosen where they go, does not decide on them",
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

	Destination Destination `json:"destination" doc:"How old it is as a place where money goes, and who made it one."`

	Issues []finding.Finding `json:"issues" db:"-" doc:"verificationFailed when the last verification ended without an answer, with the fault (error); payProviderRecipientNotReady for each app of an active connection that can never pay to it, with the app and the cause."`

	// Apps are those of the team's active connections.
	Apps    []connection.AppID `json:"-"`
	Numbers []byte             `json:"-"`
	// Fault is why the last verification ended without an answer.
	Fault *connection.Fault `json:"-"`
}

// LockDefaults returns the default method of each of the contacts that has one. Default methods are verified. They are
// locked for sharing until the transaction ends, so that no money is sent to an account that was archived
// meanwhile.
func LockDefaults(ctx context.Context, tx *db.Tx, contacts []id.ID) (map[id.ID]Method, error) {
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

// LockMethods returns methods, locked for sharing as LockDefaults does.
func LockMethods(ctx context.Context, tx *db.Tx, methods []id.ID) ([]Method, error) {
	found, err := db.Select[Method](ctx, tx, `select `+columns+` from payee_method m where m.team_id = @team and m.id = any(@methods) order by m.id for share of m`,
		db.Args{"team": tx.Team, "methods": methods})
	if err != nil {
		return nil, fmt.Errorf("read payment methods: %w", err)
	}

	return found, nil
}

// LockMethod returns a method, locked for sharing as LockDefaults does. It fails with apierr.NotFound.
func LockMethod(ctx context.Context, tx *db.Tx, method id.ID) (*Method, error) {
	return loadMethod(ctx, tx, id.Zero, method, "for share of m")
}

// findIssues sets an issue for a verification without an answer, and one for each app of the team that can never pay to
// the method.
func (m *Method) findIssues(today day.Day) {
	m.Issues = []finding.Finding{}

	if m.Fault != nil {
		m.Issues = append(m.Issues, finding.Finding{
			Code: "verificationFailed", Severity: finding.Error, Context: map[string]any{"error": *m.Fault},
		})
	}

	for _, app := range m.Apps {
		// A small payment of today shows the faults that no other payment could avoid.
		probe := pay.Payment{
			Amount:    1,
			Currency:  "usd",
			Date:      today,
			Recipient: pay.Account{Holder: m.AccountHolder, Type: m.AccountType},
		}
		if cause := payapp.Fault(app, &probe); cause != "" {
			m.Issues = append(m.Issues, finding.Finding{
				Code: string(apierr.ReasonPayProviderRecipientNotReady), Severity: finding.Error,
				Context: map[string]any{"provider": app, "cause": cause},
			})
		}
	}
}

// label returns the name under which the numbers of a method are sealed.
func label(method id.ID) string { return "payee_method:" + method.String() }

// SealedColumn returns the column of the sealed account numbers.
func SealedColumn() seal.Column {
	return seal.Column{Table: "payee_method", Name: "numbers", Label: label}
}

// sealedNumbers is the content of Numbers.
type sealedNumbers struct {
	Routing string `json:"routing"`
	Account string `json:"account"`
}

// Account decrypts the bank account of a method.
func (m *Method) Account(box *seal.Box) (pay.Account, error) {
	plain, err := box.Open(m.Numbers, label(m.ID))
	if err != nil {
		return pay.Account{}, fmt.Errorf("payment method %v: %w", m.ID, err)
	}

	// The errors name the method only: the numbers must not reach a log.
	var n sealedNumbers
	if err := json.Unmarshal(plain, &n); err != nil {
		return pay.Account{}, fmt.Errorf("payment method %v: %w", m.ID, err)
	}

	return pay.Account{Holder: m.AccountHolder, Routing: n.Routing, Number: n.Account, Type: m.AccountType}, nil
}

// seal encrypts the numbers of an account and keeps only their last digits readable.
func (m *Method) seal(box *seal.Box, routing, account string) error {
	plain, err := json.Marshal(sealedNumbers{Routing: routing, Account: account})
	if err != nil {
		return fmt.Errorf("payment method %v: %w", m.ID, err)
	}

	m.Numbers = box.Seal(plain, label(m.ID))
	m.Last4 = account[len(account)-4:]
	m.RoutingLast4 = routing[len(routing)-4:]

	return nil
}
