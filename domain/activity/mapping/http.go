package mapping

import (
	"context"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// endpoints returns the routes of line mappings.
func endpoints() []api.Endpoint {
	const tag = "Reservation line mappings"

	read, write := []string{"line-mappings:read"}, []string{"line-mappings:write"}

	const (
		path    = "/reservations/line-mappings"
		follows = " Journals of the reservations with such lines become stale and follow in an operation of type " +
			"reservation-journal-refresh, save those a lock holds."
	)

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    path,
			ID:      "listReservationLineMappings",
			Tag:     tag,
			Summary: "List line mappings",
			Scopes:  read,
			Doc:     "Line types that arrived without a mapping are listed with the status unmapped.",
		}, list),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    path + "/{id}",
			ID:      "getReservationLineMapping",
			Tag:     tag,
			Summary: "Read a line mapping",
			Scopes:  read,
			OneTrip: true,
		}, getMapping),
		api.Write(api.Endpoint{
			Method: "POST", Path: path, ID: "createReservationLineMapping", Tag: tag, Summary: "Map a line type",
			Errors: apierr.List{errDuplicate, account.ErrRequiredMissing},
			Scopes: write, Status: 201,
			Exclusive: true,
			Doc: "The most specific mapping of a line counts: by app and channel, by app, by channel, by type alone. " +
				"Fails with 400 for an unknown account and for a mapped type without one, with 409 when the type is " +
				"mapped for the app and channel already (reason duplicateName)." + follows,
		}, create),
		api.Write(api.Endpoint{
			Method:    "PUT",
			Path:      path + "/{id}",
			ID:        "updateReservationLineMapping",
			Tag:       tag,
			Summary:   "Change a line mapping",
			Errors:    apierr.List{errDuplicate, account.ErrRequiredMissing},
			Scopes:    write,
			Exclusive: true,
			Doc:       "Fields that are absent stay. Fails as creating does, and with 404." + follows,
		}, update),
		api.Write(api.Endpoint{
			Method:    "DELETE",
			Path:      path + "/{id}",
			ID:        "deleteReservationLineMapping",
			Tag:       tag,
			Summary:   "Delete a line mapping",
			Errors:    apierr.List{account.ErrRequiredMissing},
			Exclusive: true,
			Scopes:    write, Doc: "Less specific mappings count from now on. Fails with 404." + follows,
		}, remove),
	}
}

// Filter selects line mappings: the query parameters of the list and the body of its export alike.
type Filter struct {
	AppID      []string  `query:"appId" json:"appId,omitempty" doc:"null selects the mappings for every app."`
	LineType   []string  `query:"lineType" json:"lineType,omitempty"`
	Channel    []string  `query:"channel" json:"channel,omitempty" doc:"Case aside; null selects the mappings for every channel."`
	Status     Status    `query:"status" json:"status,omitempty"`
	AccountIDs page.Refs `query:"accountIds" json:"accountIds,omitempty"`
	Search     string    `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the line type, the app, the channel or the account's name."`
}

// listQuery returns the list of mappings m with their accounts a that a valid filter selects, in rows of Mapping.
func listQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{
		Columns: columns, From: tables, Default: "lineType", ID: "m.id",
		Sorts: sorts,
	}

	// The export of mappings uses the same conditions as the list.
	q.And("m.team_id = @team", db.Args{"team": tx.Team})
	q.Texts("m.app_id", f.AppID)
	q.Texts("m.channel", f.Channel)
	q.Narrow("m.line_type = any(?)", f.LineType)
	q.Narrow("m.status = ?", f.Status)
	q.Refs("m.account_id", f.AccountIDs)
	q.Search(f.Search, "m.line_type", "m.app_id", "m.channel", "a.name")

	return q
}

var sorts = page.Sorts{
	{Name: "lineType", Expr: "m.line_type", Text: true},
	{Name: "status", Expr: "m.status"},
	{Name: "createdAt", Expr: "m.created_at"},
}

// Sort is an order of line mappings.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort Sort `query:"sort" default:"lineType"`
	Filter
}

// list returns a page of line mappings.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Mapping], error) {
	return page.List[Mapping](ctx, tx, listQuery(tx, &in.Filter), in.Params, in.Sort)
}

// getMapping answers with a line mapping.
func getMapping(ctx context.Context, tx *db.Tx, in *oneInput) (*Mapping, error) {
	return loadMapping(ctx, tx, in.ID, "")
}

// Terms are the fields of a mapping except its line type.
type Terms struct {
	AppID              api.Opt[string]          `json:"appId,omitzero" minLength:"1" maxLength:"100"`
	Channel            api.Opt[string]          `json:"channel,omitzero" minLength:"1" maxLength:"100"`
	Status             *Status                  `json:"status,omitempty" doc:"Absent: mapped when there is an account, else unmapped."`
	AccountID          api.Opt[id.ID]           `json:"accountId,omitzero"`
	Party              api.Opt[ledger.Party]    `json:"party,omitzero"`
	RevenueRecognition api.Opt[fee.Recognition] `json:"revenueRecognition,omitzero" enum:"checkIn,checkOut,proRata,bookedAt"`
}

// Create is the body of a new mapping.
type Create struct {
	LineType string `json:"lineType" minLength:"1" maxLength:"100"`
	Terms
}

// Update is the body of a changed mapping; absent fields stay as they are.
type Update struct {
	LineType *string `json:"lineType,omitempty" minLength:"1" maxLength:"100"`
	Terms
}

type oneInput struct {
	ID id.ID `path:"id"`
}

type createInput struct{ Body Create }

// create maps a line type.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Mapping, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	// A mapping changes many journals, so no other write of the team may run at the same time.
	m := &Mapping{ID: tx.NewID(), LineType: in.Body.LineType, CreatedAt: day.At(tx.Now)}

	return remap(ctx, tx, nil, m, &in.Body.Terms)
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a line mapping.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Mapping, error) {
	return Change(ctx, tx, in.ID, &in.Body)
}

// Change changes a mapping and outdates the journals of reservations with such lines. It fails with apierr.NotFound,
// with duplicateName, for an account that is unknown, missing or not wanted, and unless the transaction has its team to
// itself.
func Change(ctx context.Context, tx *db.Tx, mappingID id.ID, u *Update) (*Mapping, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	m, err := loadMapping(ctx, tx, mappingID, " for update of m")
	if err != nil {
		return nil, err
	}

	// The journals of the lines before the change are outdated as well.
	old := *m
	if u.LineType != nil {
		m.LineType = *u.LineType
	}

	return remap(ctx, tx, &old, m, &u.Terms)
}

// remap checks and saves a mapping, and outdates the journals that it applied to before or applies to now.
func remap(ctx context.Context, tx *db.Tx, old, m *Mapping, t *Terms) (*Mapping, error) {
	m.apply(t)

	if err := m.check(ctx, tx); err != nil {
		return nil, err
	}

	// An unmapped row of the same lines would be a duplicate.
	m.UpdatedAt = day.At(tx.Now)
	if err := deleteUnmapped(ctx, tx, m); err != nil {
		return nil, err
	}

	if err := save(ctx, tx, m); err != nil {
		return nil, err
	}

	note(tx, old, m)

	// Last, outdate the journals of before and after.
	if err := outdate(ctx, tx, old, m); err != nil {
		return nil, err
	}

	return loadMapping(ctx, tx, m.ID, "")
}

// apply sets the fields that are present, and derives the status if the caller does not set it.
func (m *Mapping) apply(t *Terms) {
	m.AppID, m.Channel, m.AccountID = t.AppID.Or(m.AppID), t.Channel.Or(m.Channel), t.AccountID.Or(m.AccountID)

	// Without a status an account means mapped; without an account the type waits for one, unless it was excluded.
	m.Party, m.RevenueRecognition = t.Party.Or(m.Party), t.RevenueRecognition.Or(m.RevenueRecognition)
	switch {
	case t.Status != nil:
		m.Status = *t.Status
	case m.AccountID != nil:
		m.Status = Mapped
	case m.Status != Excluded:
		m.Status = Unmapped
	}

	// A mapping that is no longer mapped loses its account, unless the caller names one, which check refuses.
	if m.Status != Mapped && t.AccountID.Value == nil {
		m.AccountID = nil
	}
}

// check refuses an account that is unknown, missing or not wanted.
func (m *Mapping) check(ctx context.Context, tx *db.Tx) error {
	switch {
	case m.Status == Mapped && m.AccountID == nil:
		return apierr.BadRequest.At(apierr.IssueRequired.InBody("accountId"))
	case m.Status != Mapped && m.AccountID != nil:
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("accountId"))
	case m.AccountID == nil:
		return nil
	}

	return account.CheckExists(ctx, tx, *m.AccountID)
}

// remove deletes a line mapping. Less specific mappings apply from then on.
func remove(ctx context.Context, tx *db.Tx, in *oneInput) (*api.None, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	m, err := loadMapping(ctx, tx, in.ID, " for update of m")
	if err != nil {
		return nil, err
	}

	// The row was locked when it was read, so it is still the same.
	if err := deleteMapping(ctx, tx, m.ID); err != nil {
		return nil, err
	}

	note(tx, m, nil)

	return &api.None{}, outdate(ctx, tx, m)
}

// outdate marks the journals of reservations that mappings apply to. Nil mappings are left out.
func outdate(ctx context.Context, tx *db.Tx, mappings ...*Mapping) error {
	var reservations []id.ID

	for _, m := range mappings {
		if m == nil {
			continue
		}

		found, err := loadReservations(ctx, tx, m)
		if err != nil {
			return err
		}

		reservations = append(reservations, found...)
	}

	// A reservation may have lines of both; it is derived once.
	_, err := ledger.Outdate(ctx, tx, ledger.Outdated{
		Reason:  ledger.MappingChanged,
		Cause:   operation.Resource{Type: operation.Team, ID: tx.Team},
		Sources: map[ledger.Noun][]id.ID{ledger.Reservations: id.Distinct(reservations)},
	})

	return err
}
