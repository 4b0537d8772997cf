// Package team owns teams, the tenants of the service: property managers, and the partners that manage customer teams.
package team

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Type says whether a team keeps books or manages teams that do.
type Type string

// The team types.
const (
	Partner         Type = "partner"
	AdminTeam       Type = "admin"
	PropertyManager Type = "propertyManager"
)

// Enum lists the team types.
func (Type) Enum() []string { return []string{"partner", "admin", "propertyManager"} }

// Status of a team.
type Status string

// Enum lists the statuses.
func (Status) Enum() []string { return []string{"active", "inactive", "deleted", "onboarding"} }

// Recognition says on which day a stay's revenue is posted.
type Recognition string

// Enum lists the recognition settings.
func (Recognition) Enum() []string { return []string{"checkIn", "checkOut", "proRata", "bookedAt"} }

// Address is a postal address.
type Address struct {
	Full        string `json:"full,omitempty" maxLength:"500"`
	Line1       string `json:"line1,omitempty" maxLength:"200"`
	Line2       string `json:"line2,omitempty" maxLength:"200"`
	City        string `json:"city,omitempty" maxLength:"100"`
	State       string `json:"state,omitempty" maxLength:"100"`
	PostalCode  string `json:"postalCode,omitempty" maxLength:"30"`
	StateCode   string `json:"stateCode,omitempty" maxLength:"10"`
	CountryCode string `json:"countryCode,omitempty" maxLength:"2"`
}

// Reference names another team.
type Reference struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// Issue is something about the team that somebody should mend.
type Issue struct {
	Code     string         `json:"code"`
	Severity string         `json:"severity" enum:"error,warning"`
	Context  map[string]any `json:"context"`
}

// Team is a team with its settings; booksClosedAt is the first open date.
type Team struct {
	ID                             id.ID        `json:"id"`
	Type                           Type         `json:"type"`
	Status                         Status       `json:"status"`
	Name                           string       `json:"name"`
	CompanyName                    *string      `json:"companyName"`
	Email                          *string      `json:"email"`
	SupportEmail                   *string      `json:"supportEmail"`
	Phone                          *string      `json:"phone"`
	TaxID                          *string      `json:"taxId"`
	DataRegion                     string       `json:"dataRegion"`
	DefaultCurrency                string       `json:"defaultCurrency"`
	DefaultRevenueRecognition      Recognition  `json:"defaultRevenueRecognition"`
	LongTermStayNights             *int64       `json:"longTermStayNights" doc:"Stays longer than this are recognised per night."`
	IsGeneralLedger                bool         `json:"isGeneralLedger"`
	BooksClosedAt                  *day.Day     `json:"booksClosedAt" doc:"First open date."`
	StatementStartAt               *day.Day     `json:"statementStartAt"`
	EffectiveStatementStartAt      *day.Day     `json:"effectiveStatementStartAt"`
	StatementAddress               *Address     `json:"statementAddress"`
	BillingAddress                 *Address     `json:"billingAddress"`
	OwnerPortalShowDraftStatements bool         `json:"ownerPortalShowDraftStatements"`
	IsOnboarding                   bool         `json:"isOnboarding"`
	InitializedAt                  *day.Instant `json:"initializedAt"`
	Partner                        *Reference   `json:"partner"`
	Issues                         []Issue      `json:"issues"`
	CreatedAt                      day.Instant  `json:"createdAt"`
	UpdatedAt                      day.Instant  `json:"updatedAt"`
}

const columns = `t.id, t.type, t.status, t.name, t.company_name, t.email, t.support_email, t.phone, t.tax_id, t.region as data_region,
	t.default_currency, t.default_revenue_recognition, t.long_term_stay_nights, t.is_general_ledger, t.books_closed_at, t.statement_start_at,
	t.statement_start_at as effective_statement_start_at, t.statement_address, t.billing_address, t.owner_portal_show_draft_statements,
	t.status = 'onboarding' as is_onboarding, t.initialized_at,
	case when t.partner_id is not null then jsonb_build_object('id', t.partner_id, 'name', '') end as partner,
	'[]'::jsonb as issues, t.created_at, t.updated_at`

// Read gives the selected team.
func Read(ctx context.Context, tx *db.Tx) (*Team, error) {
	t, err := db.Get[Team](ctx, tx, `select `+columns+` from team t where t.team_id = @team`, db.Args{"team": tx.Team})
	if errors.Is(err, db.ErrNoRows) {
		return nil, apierr.NotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read team: %w", err)
	}
	return &t, namePartner(ctx, tx, map[id.ID]string{}, &t)
}

// namePartner fills in the partner's name, which is the other tenant's row and so takes a visit; names holds what was found before.
func namePartner(ctx context.Context, tx *db.Tx, names map[id.ID]string, t *Team) error {
	if t.Partner == nil {
		return nil
	}
	partner := t.Partner.ID
	if _, known := names[partner]; !known {
		err := tx.Visit(ctx, partner, func(ctx context.Context, tx *db.Tx) (err error) {
			names[partner], err = db.Get[string](ctx, tx, `select name from team where team_id = @partner`, db.Args{"partner": partner})
			return err
		})
		if err != nil {
			return fmt.Errorf("read partner: %w", err)
		}
	}
	t.Partner.Name = names[partner]
	return nil
}

// Channel is where changes of teams and credentials are announced.
const Channel = "stayledger_access"

// Announce tells every process that a team or a credential changed, so that none goes by what it remembers. Call it in the transaction
// that makes a team or a credential, or changes a team's status, region, partner or freeze; it is delivered only if that commits.
func Announce(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `select pg_notify(@channel, '')`, db.Args{"channel": Channel})
	return err
}

// New describes a team to make. Teams are made by the command line, by partners and by migrations.
type New struct {
	Name             string
	Type             Type
	Region           string
	PartnerID        id.ID
	Currency         string
	StatementStartAt *day.Day
}

// Create makes a team in a transaction that works across teams.
func Create(ctx context.Context, tx *db.Tx, n New) (id.ID, error) {
	if n.Currency == "" {
		n.Currency = "usd"
	}
	team := tx.NewID()
	_, err := tx.Exec(ctx, `
		insert into team (id, type, name, region, partner_id, default_currency, statement_start_at, created_at, updated_at)
		values (@id, @type, @name, @region, @partner, @currency, @start, @now, @now)`,
		db.Args{
			"id": team, "type": string(n.Type), "name": n.Name, "region": n.Region, "partner": n.PartnerID, "currency": n.Currency,
			"start": n.StatementStartAt, "now": tx.Now,
		})
	if err != nil {
		return id.Zero, fmt.Errorf("create team: %w", err)
	}
	return team, Announce(ctx, tx)
}

type listInput struct {
	page.Params
	Sort   string  `query:"sort" enum:"name,-name,createdAt,-createdAt" doc:"Default name."`
	IDs    []id.ID `query:"ids"`
	Status Status  `query:"status"`
	Type   Type    `query:"type"`
	Search string  `query:"search" maxLength:"200" doc:"Part of the name."`
}

// Endpoints of the package.
func Endpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: "GET", Path: "/team", ID: "getTeam", Tag: "Teams", Summary: "Read the selected team",
			Scopes: []string{"team:read"},
		}, func(ctx context.Context, tx *db.Tx, _ *api.None) (*Team, error) { return Read(ctx, tx) }),
		api.Write(api.Endpoint{
			Method: "PUT", Path: "/team", ID: "updateTeam", Tag: "Teams", Summary: "Change the selected team's settings",
			Doc: "Fields that are present change, null clears. A change of defaultRevenueRecognition or longTermStayNights starts an operation of type " +
				"reservation-journal-refresh that derives the journals of all reservations; those that a lock holds stay as they are.",
			Scopes: []string{"team:write"},
		}, update),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/teams", ID: "listTeams", Tag: "Teams", Summary: "List the teams that the credential manages",
			Scopes: []string{"team:read"}, Open: []api.Credential{api.PartnerKey, api.User, api.TeamKey}, Selection: api.ManagedTeams, Region: true,
		}, list),
	}
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Team], error) {
	q := page.Query{
		Columns: columns, From: "team t", Default: "name", ID: "t.id",
		Sorts: page.Sorts{"name": {Expr: "t.name", Text: true}, "createdAt": {Expr: "t.created_at"}},
	}
	q.And("t.team_id = any(@managed::uuid[])", db.Args{"managed": tx.Teams})
	if in.IDs != nil {
		q.And("t.id = any(@ids)", db.Args{"ids": in.IDs})
	}
	if in.Status != "" {
		q.And("t.status = @status", db.Args{"status": string(in.Status)})
	}
	if in.Type != "" {
		q.And("t.type = @type", db.Args{"type": string(in.Type)})
	}
	if in.Search != "" {
		q.And("t.name ilike @search", db.Args{"search": page.Like(in.Search)})
	}
	out, err := page.List[Team](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	names := map[id.ID]string{}
	for i := range out.Data {
		if err := namePartner(ctx, tx, names, &out.Data[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Change is the body of an update.
type Change struct {
	Name                           *string          `json:"name,omitempty" minLength:"1" maxLength:"200"`
	CompanyName                    api.Opt[string]  `json:"companyName,omitzero" minLength:"1" maxLength:"200"`
	Email                          api.Opt[string]  `json:"email,omitzero" format:"email" maxLength:"254"`
	SupportEmail                   api.Opt[string]  `json:"supportEmail,omitzero" format:"email" maxLength:"254"`
	Phone                          api.Opt[string]  `json:"phone,omitzero" minLength:"1" maxLength:"50"`
	TaxID                          api.Opt[string]  `json:"taxId,omitzero" minLength:"1" maxLength:"50"`
	DefaultRevenueRecognition      *Recognition     `json:"defaultRevenueRecognition,omitempty"`
	LongTermStayNights             api.Opt[int64]   `json:"longTermStayNights,omitzero" minimum:"1" maximum:"3650"`
	StatementStartAt               api.Opt[day.Day] `json:"statementStartAt,omitzero"`
	StatementAddress               api.Opt[Address] `json:"statementAddress,omitzero"`
	BillingAddress                 api.Opt[Address] `json:"billingAddress,omitzero"`
	OwnerPortalShowDraftStatements *bool            `json:"ownerPortalShowDraftStatements,omitempty"`
}

type updateInput struct{ Body Change }

func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Team, error) {
	// Locked first: what is absent keeps the value that the change before this one left.
	if _, err := tx.Exec(ctx, `select from team where team_id = @team for update`, db.Args{"team": tx.Team}); err != nil {
		return nil, fmt.Errorf("lock team: %w", err)
	}
	t, err := Read(ctx, tx)
	if err != nil {
		return nil, err
	}
	c := in.Body
	if c.Name != nil {
		t.Name = *c.Name
	}
	recognition, nights := t.DefaultRevenueRecognition, t.LongTermStayNights
	if c.DefaultRevenueRecognition != nil {
		t.DefaultRevenueRecognition = *c.DefaultRevenueRecognition
	}
	t.LongTermStayNights = c.LongTermStayNights.Or(t.LongTermStayNights)
	if c.OwnerPortalShowDraftStatements != nil {
		t.OwnerPortalShowDraftStatements = *c.OwnerPortalShowDraftStatements
	}
	_, err = tx.Exec(ctx, `
		update team set name = @name, company_name = @company, email = @email, support_email = @support, phone = @phone, tax_id = @tax,
			default_revenue_recognition = @recognition, long_term_stay_nights = @nights, statement_start_at = @start,
			statement_address = @statement_address, billing_address = @billing_address, owner_portal_show_draft_statements = @drafts,
			updated_at = @now
		where team_id = @team`, db.Args{
		"name": t.Name, "company": c.CompanyName.Or(t.CompanyName), "email": c.Email.Or(t.Email), "support": c.SupportEmail.Or(t.SupportEmail),
		"phone": c.Phone.Or(t.Phone), "tax": c.TaxID.Or(t.TaxID), "recognition": string(t.DefaultRevenueRecognition),
		"nights": t.LongTermStayNights, "start": c.StatementStartAt.Or(t.StatementStartAt),
		"statement_address": c.StatementAddress.Or(t.StatementAddress), "billing_address": c.BillingAddress.Or(t.BillingAddress),
		"drafts": t.OwnerPortalShowDraftStatements, "now": tx.Now, "team": tx.Team,
	})
	if err != nil {
		return nil, fmt.Errorf("update team: %w", err)
	}
	if t.DefaultRevenueRecognition != recognition || !equal(t.LongTermStayNights, nights) {
		if err := refreshJournals(ctx, tx); err != nil {
			return nil, err
		}
	}
	return Read(ctx, tx)
}

func equal(a, b *int64) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// RefreshKind is the kind of the task that derives the journals of all the team's reservations; package reservation handles it.
const RefreshKind = "team.refresh"

// refreshJournals has the journals of all reservations follow the team's settings.
func refreshJournals(ctx context.Context, tx *db.Tx) error {
	target := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}
	_, err := operation.Start(ctx, tx, operation.New{
		Type: operation.ReservationJournal, Primary: &target, Resources: []operation.Resource{target},
		Tasks: []operation.Task{{Kind: RefreshKind, Args: struct{}{}, Priority: 1}},
	})
	return err
}
