package payee

import (
	"context"
	"net/http"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

const tag = "Contacts"

// endpoints returns the routes of payment methods. The box seals the numbers.
func endpoints(box *seal.Box, used *parts.Usage) []api.Endpoint {
	e := edge{box: box, used: used}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/contacts/{id}/payment-methods",
			ID:      "listPaymentMethods",
			Tag:     tag,
			Summary: "List how a contact is paid",
			Scopes:  []string{"contacts:read"},
		}, list),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/contacts/{id}/payment-methods/ach",
			ID:      "addAchPaymentMethod",
			Tag:     tag,
			Summary: "Pay a contact by ACH",
			Doc: "Keeps the account, sealed, and starts an operation that verifies it: with the payment provider of " +
				"an active connection, else by the routing number alone. The first verified account of a contact is " +
				"the one that it is paid to; another becomes that only by PUT. The first payment by a provider to an " +
				"account is guarded by the team's destinationGuard. The contact's address, and one that was changed " +
				"shortly before, get a letter. The account of a method that is in use is verified again under the " +
				"same method. Fails with 400 for a routing number " +
				"that is none (issue routingNumberInvalid).",
			Scopes: []string{"contacts:write"},
			Status: http.StatusAccepted,
		}, e.add),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/contacts/{id}/payment-methods/{methodId}",
			ID:      "getPaymentMethod",
			Tag:     tag,
			Summary: "Read a payment method",
			Scopes:  []string{"contacts:read"},
			OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    "/contacts/{id}/payment-methods/{methodId}",
			ID:      "updatePaymentMethod",
			Tag:     tag,
			Summary: "Pay a contact with a method from now on",
			Errors:  apierr.List{errNotReady},
			Doc:     "Fails with 400 for one that is not verified.",
			Scopes:  []string{"contacts:write"},
			DryRun:  true,
		}, put),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/contacts/{id}/payment-methods/{methodId}/release",
			ID:      "releasePaymentMethod",
			Tag:     tag,
			Summary: "Free a payment method for its first payment",
			Errors:  apierr.List{errNotReady, ErrSelf},
			Doc: "A second person frees what the team's destinationGuard holds, and does not make the first payment. " +
				"Fails with 400 for one that is not verified, `selfModification` for whoever chose it.",
			Scopes: []string{"payments:approve"},
			DryRun: true,
		}, free),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/payment-methods/changes",
			ID:      "listPaymentMethodChanges",
			Tag:     tag,
			Summary: "List who changed where money goes",
			Scopes:  []string{"contacts:read"},
		}, listChanges),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    "/contacts/{id}/payment-methods/{methodId}",
			ID:      "deletePaymentMethod",
			Tag:     tag,
			Summary: "Archive a payment method",
			Errors:  apierr.List{errInUse},
			Doc:     "No other method takes the place of an archived default.",
			Scopes:  []string{"contacts:delete"},
			DryRun:  true,
		}, e.del),
	}
}

// edge holds the box that the routes need to seal and open numbers.
type edge struct {
	box  *seal.Box
	used *parts.Usage
}

type listInput struct {
	ID id.ID `path:"id"`
	page.Params
	Sort   listSort `query:"sort" default:"createdAt"`
	Status Status   `query:"status"`
}

// list returns a page of the payment methods of a contact.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Method], error) {
	if err := checkContact(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	q := query(tx, in.ID)
	q.Narrow("m.status = ?", in.Status)

	methods, err := page.List[Method](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	// Issues depend on today and on the apps of the team, so they are not stored.
	for i := range methods.Data {
		methods.Data[i].findIssues(tx.Today())
	}

	return methods, nil
}

type methodInput struct {
	ID       id.ID `path:"id"`
	MethodID id.ID `path:"methodId"`
}

// get returns a payment method.
func get(ctx context.Context, tx *db.Tx, in *methodInput) (*Method, error) {
	return loadMethod(ctx, tx, in.ID, in.MethodID)
}

// ACH is a bank account to pay to.
type ACH struct {
	AccountHolder string          `json:"accountHolder" minLength:"1" maxLength:"100" pattern:"^[^\\s\\p{C}]([^\\p{C}]*[^\\s\\p{C}])?$"`
	RoutingNumber string          `json:"routingNumber" minLength:"9" maxLength:"9" pattern:"^[0-9]{9}$"`
	AccountNumber string          `json:"accountNumber" minLength:"4" maxLength:"17" pattern:"^[0-9]{4,17}$" doc:"Sealed; only the last four digits are ever returned."`
	AccountType   pay.AccountType `json:"accountType"`
}

type addInput struct {
	ID   id.ID `path:"id"`
	Body ACH
}

// Resolve checks the routing number, which has a check digit.
func (in *addInput) Resolve() []apierr.Issue {
	if len(in.Body.RoutingNumber) != 9 || pay.ValidRouting(in.Body.RoutingNumber) {
		return nil
	}

	return []apierr.Issue{apierr.IssueRoutingNumberInvalid.InBody("routingNumber")}
}

// add adds an account to a contact and starts the operation that verifies it.
func (e edge) add(ctx context.Context, tx *db.Tx, in *addInput) (*operation.Acknowledgement, error) {
	if err := lockContact(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	// Two requests with the same account must find the same method, so the contact is locked.
	m, err := e.findOrInsert(ctx, tx, in.ID, &in.Body)
	if err != nil {
		return nil, err
	}

	// Verification talks to a provider and so runs in an operation.
	contact := operation.Resource{Type: operation.Contact, ID: in.ID, Role: operation.Target}

	return operation.Start(ctx, tx, operation.New{
		Type: operation.ACHVerification, Primary: &contact, Resources: []operation.Resource{contact},
		Tasks: []operation.Task{{Kind: verifyKind, Args: jobArgs{MethodID: m}}},
	})
}

// findOrInsert returns the method of an account: the one in use that has the account already, else a new one.
func (e edge) findOrInsert(ctx context.Context, tx *db.Tx, contact id.ID, a *ACH) (id.ID, error) {
	m := &Method{
		ID:            tx.NewID(),
		ContactID:     contact,
		AccountHolder: a.AccountHolder,
		AccountType:   a.AccountType,
		Issues:        []finding.Finding{},
	}
	if err := m.seal(e.box, a.RoutingNumber, a.AccountNumber); err != nil {
		return id.Zero, err
	}

	// Numbers are sealed, so methods with the same last digits are opened and compared.
	like, err := loadAlike(ctx, tx, m)
	if err != nil {
		return id.Zero, err
	}

	for i := range like {
		account, err := like[i].Account(e.box)
		if err != nil {
			return id.Zero, err
		}

		if account.Routing == a.RoutingNumber && account.Number == a.AccountNumber {
			return like[i].ID, nil
		}
	}

	return m.ID, insertMethod(ctx, tx, m)
}

type putInput struct {
	ID       id.ID `path:"id"`
	MethodID id.ID `path:"methodId"`
	Body     struct {
		IsDefault bool `json:"isDefault" doc:"Only true: choose another method instead of unsetting this one."`
	}
}

// Resolve refuses to unset the default, because the contact would have no method by accident.
func (in *putInput) Resolve() []apierr.Issue {
	if in.Body.IsDefault {
		return nil
	}

	return []apierr.Issue{apierr.IssueEnum.InBody("isDefault")}
}

// put makes a verified method the default of its contact.
func put(ctx context.Context, tx *db.Tx, in *putInput) (*Method, error) {
	m, err := lockMethod(ctx, tx, in.ID, in.MethodID)
	if err != nil {
		return nil, err
	}

	// No money is sent to an account that is not verified.
	if m.Status != Verified {
		return nil, errNotReady
	}

	if !m.IsDefault {
		if err := makeDefault(ctx, tx, m); err != nil {
			return nil, err
		}
	}

	return loadMethod(ctx, tx, in.ID, in.MethodID)
}

// free frees a verified method for payments of others.
func free(ctx context.Context, tx *db.Tx, in *methodInput) (*Method, error) {
	m, err := lockMethod(ctx, tx, in.ID, in.MethodID)

	switch {
	case err != nil:
		return nil, err
	case m.Status != Verified:
		return nil, errNotReady
	case m.Destination.By != nil && *m.Destination.By == tx.Actor.User:
		return nil, ErrSelf
	}

	if err := release(ctx, tx, m); err != nil {
		return nil, err
	}

	return loadMethod(ctx, tx, in.ID, in.MethodID)
}

// del archives a payment method. It fails with errInUse while a payment with it is under way.
func (e edge) del(ctx context.Context, tx *db.Tx, in *methodInput) (*api.None, error) {
	m, err := lockMethod(ctx, tx, in.ID, in.MethodID)
	if err != nil {
		return nil, err
	}

	used, err := e.used.Load(ctx, tx, m.ID)
	if err != nil {
		return nil, err
	}

	if used.Archiving != nil {
		return nil, errInUse.With(apierr.InUse{LockReasons: used.Archiving})
	}

	return &api.None{}, archive(ctx, tx, m.ID)
}

// lockMethod locks a contact and a method of it, and returns the method.
func lockMethod(ctx context.Context, tx *db.Tx, contact, method id.ID) (*Method, error) {
	if err := lockContact(ctx, tx, contact); err != nil {
		return nil, err
	}

	return loadMethod(ctx, tx, contact, method, "for update")
}
