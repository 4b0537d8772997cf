package contact

import (
	"context"
	"errors"
	"net/http"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

const (
	tag = "Contacts"
	// Either scope opens the route; with the second alone only vendors can be written.
	writeScope = "contacts:write|contacts:vendors:write"
	batchBytes = api.MaxBatch
)

// endpoints returns the routes of contacts. The box seals tax identifiers.
func endpoints(box *seal.Box, used *parts.Usage) []api.Endpoint {
	e := edge{box: box, used: used}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/contacts", ID: "listContacts", Tag: tag, Summary: "List owners and vendors",
			Scopes: []string{"contacts:read"}, OneTripPage: true,
		}, list),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/contacts", ID: "createContact", Tag: tag,
			Summary: "Create an owner or vendor",
			Errors:  apierr.List{errNotBank, errDuplicateUniqueRef, errDuplicateSource},
			Doc:     "Fails with 403 for an owner when the credential may write vendors only.",
			Scopes:  []string{writeScope}, DryRun: true, Status: http.StatusCreated,
		}, e.create),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/contacts/batch", ID: "batchContacts", Tag: tag,
			Summary: "Create and change many contacts",
			Doc: "An item with the id or the reference of a contact changes it, as does one with its connectionId " +
				"and sourceId; any other creates one. Good items land and bad ones are reported with the codes and " +
				"reasons of the single routes; with atomic=true nothing lands when one item is bad.",
			Scopes: []string{writeScope}, DryRun: true, MaxBody: batchBytes,
		}, e.batch),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/contacts/{id}", ID: "getContact", Tag: tag,
			Summary: "Read a contact with the listings it owns today",
			Scopes:  []string{"contacts:read"}, OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: "/contacts/{id}", ID: "updateContact", Tag: tag, Summary: "Change a contact",
			Errors: apierr.List{errTypeLocked, errNotBank, errDuplicateUniqueRef, errDuplicateSource},
			Doc: "Fields that are present change; null clears. Fails with 403 for an owner when the credential may " +
				"write vendors only; 400 when an owner of a listing would become a vendor (issue contactTypeLocked); " +
				"400 for an unknown connection or payout account.",
			Scopes: []string{writeScope}, DryRun: true,
		}, e.update),
		api.Write(api.Endpoint{
			Method: http.MethodDelete, Path: "/contacts/{id}", ID: "deleteContact", Tag: tag,
			Summary: "Delete or archive a contact",
			Errors:  apierr.List{errInUse},
			Doc:     "onLocked=archive archives it instead.",
			Scopes:  []string{"contacts:delete"}, DryRun: true,
		}, e.deleteContact),
	}
}

// edge has what the routes that write need from the service.
type edge struct {
	box  *seal.Box
	used *parts.Usage
}

type getInput struct {
	ID id.ID `path:"id"`
}

func get(ctx context.Context, tx *db.Tx, in *getInput) (*Detail, error) {
	return loadDetail(ctx, tx, in.ID)
}

type createInput struct{ Body Create }

func (e edge) create(ctx context.Context, tx *db.Tx, in *createInput) (*Detail, error) {
	c := &in.Body
	return e.write(ctx, tx, nil, &Update{Type: &c.Type, Name: &c.Name, Optional: c.Optional})
}

// Add creates a contact without a tax identifier. It fails as createContact does.
func Add(ctx context.Context, tx *db.Tx, c *Create) (*Detail, error) {
	if c.TaxIdentifier.Value != nil {
		return nil, errUnsealed
	}

	return edge{}.create(ctx, tx, &createInput{Body: *c})
}

// errUnsealed is a mistake of the program: tax identifiers come through the routes alone.
var errUnsealed = errors.New("a tax identifier cannot be kept without a box")

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a contact. It fails with 404 for one that does not exist.
func (e edge) update(ctx context.Context, tx *db.Tx, in *putInput) (*Detail, error) {
	found, err := lockContacts(ctx, tx, names{ids: []id.ID{in.ID}})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	return e.write(ctx, tx, &found[0], &in.Body)
}

// write creates or changes one contact and returns it as the API shows it. A new contact has no old one.
func (e edge) write(ctx context.Context, tx *db.Tx, old *stored, in *Update) (*Detail, error) {
	w, err := e.writer(ctx, tx, []*Update{in})
	if err != nil {
		return nil, err
	}

	// All refusals come before the write.
	c, err := w.decide(old, in)
	if err != nil {
		return nil, err
	}

	if old == nil {
		fill(tx, c)
	}

	// The unique indexes decide about a reference or key that two requests use at once.
	if err := tx.Pipeline(ctx, w.save(tx, c, in, old == nil)...); err != nil {
		return nil, conflict(err)
	}

	note(tx, old, c, in)

	return loadDetail(ctx, tx, c.ID)
}

// note notes what became of a contact. A tax identifier that is named counts as changed, since only its last digits are
// compared.
func note(tx *db.Tx, old *stored, c *Contact, in *Update) {
	if old == nil {
		audit.Note(tx, audit.Created, audit.Contact, c.ID, nil, view{Contact: c})
		return
	}

	before := old.Contact
	if in.TaxIdentifier.Value != nil && before.TaxIdentifier != nil {
		before.TaxIdentifier = new(string)
	}

	audit.Note(tx, audit.Updated, audit.Contact, c.ID, view{Contact: &before}, view{Contact: c})
}

// view is a contact as audit events show it: without the fields that are computed from other records.
type view struct {
	*Contact
	Source *struct{} `json:"source,omitempty"`
}

// fill sets the fields of a new contact that only the service decides.
func fill(tx *db.Tx, c *Contact) {
	c.ID = tx.NewID()
	if c.Status == "" {
		c.Status = Active
	}
}

// writer returns what a request needs to write contacts: the payout accounts and connections that changes name, and
// whether the caller may write vendors only.
func (e edge) writer(ctx context.Context, tx *db.Tx, changes []*Update) (writer, error) {
	var accounts, connections []id.ID

	for _, c := range changes {
		if v := c.PayoutAccountID.Value; v != nil {
			accounts = append(accounts, *v)
		}

		if v := c.ConnectionID.Value; v != nil {
			connections = append(connections, *v)
		}
	}

	w := writer{box: e.box, vendorsOnly: !tx.Actor.Has("contacts:write")}
	err := tx.Together(
		ctx, db.LoadBy(&w.accounts, loadAccounts, accounts), db.LoadBy(&w.connections, connection.HoldAll, connections),
	)

	return w, err
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"What to do with a contact in use."`
}

// deleteContact deletes a contact. If records refer to it, it archives the contact when the caller asked for that, and
// refuses otherwise.
func (e edge) deleteContact(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	// The lock keeps new references away while the old ones are counted.
	found, err := lockContacts(ctx, tx, names{ids: []id.ID{in.ID}})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	// What refers to the contact decides between deleting, archiving and refusing.
	used, err := e.used.Load(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	switch refused := checkDelete(used); {
	case refused == nil:
		err = deleteContact(ctx, tx, &found[0].Contact)
	case in.OnLocked == "archive":
		err = archiveContact(ctx, tx, &found[0].Contact)
	default:
		return nil, refused
	}

	if err != nil {
		return nil, err
	}

	return &api.None{}, nil
}
