// Package team owns teams, the tenants of the service: property managers, and the partners that manage customer teams.
//
// The page docs/decisions/team.md says what the contract leaves open and how it is answered here.
package team

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/parts"
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

// PayoutBasis says what payouts to owners are suggested by.
type PayoutBasis string

// The payout bases.
const (
	ByCollected PayoutBasis = "collected"
	ByBooks     PayoutBasis = "books"
)

// Enum lists the payout bases.
func (PayoutBasis) Enum() []string { return []string{string(ByCollected), string(ByBooks)} }

// DestinationGuard says what the first payment by a provider to a new destination needs.
type DestinationGuard string

// The guards: days and a payer who is not who chose the destination, or a second person at once; or nothing.
const (
	GuardHold    DestinationGuard = "hold"
	GuardApprove DestinationGuard = "approve"
	GuardOff     DestinationGuard = "off"
)

// Enum lists the guards.
func (DestinationGuard) Enum() []string {
	return []string{string(GuardHold), string(GuardApprove), string(GuardOff)}
}

// weight orders the guards by what they ask.
func (g DestinationGuard) weight() int {
	return map[DestinationGuard]int{GuardOff: 0, GuardHold: 1, GuardApprove: 2}[g]
}

// OwnerOverdraft says what becomes of a bill that is paid by hand with more than its owners have.
type OwnerOverdraft string

// The answers to an overdraft.
const (
	OverdraftWarn   OwnerOverdraft = "warn"
	OverdraftRefuse OwnerOverdraft = "refuse"
)

// Enum lists the answers.
func (OwnerOverdraft) Enum() []string {
	return []string{string(OverdraftWarn), string(OverdraftRefuse)}
}

// FundsRelease says when the money of guests can be paid out.
type FundsRelease struct {
	BeforeStay        int64 `json:"beforeStay" minimum:"0" maximum:"100" doc:"Per cent of the owners' part of a collected stay that may be paid out before the check-in."`
	DepositsAfterStay bool  `json:"depositsAfterStay" doc:"Whether security deposits that owners have are paid out only after the check-out."`
}

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

// Team is a team with its settings; booksClosedAt is the first open date.
type Team struct {
	ID                             id.ID             `json:"id"`
	Type                           Type              `json:"type"`
	Status                         Status            `json:"status"`
	Name                           string            `json:"name"`
	Slug                           *string           `json:"slug" doc:"Name in addresses: lower-case letters, digits and hyphens; no other team has it. Null until it is set."`
	CompanyName                    *string           `json:"companyName"`
	Email                          *string           `json:"email"`
	SupportEmail                   *string           `json:"supportEmail"`
	Phone                          *string           `json:"phone"`
	TaxID                          *string           `json:"taxId"`
	Logo                           *string           `json:"logo" doc:"Where the logo is read, or null."`
	DataRegion                     string            `json:"dataRegion"`
	DefaultCurrency                string            `json:"defaultCurrency"`
	TimeZone                       day.Zone          `json:"timeZone" doc:"IANA name of the time zone of its days."`
	DefaultRevenueRecognition      Recognition       `json:"defaultRevenueRecognition"`
	LongTermStayNights             *int64            `json:"longTermStayNights" doc:"Stays longer than this are recognised per night."`
	IsGeneralLedger                bool              `json:"isGeneralLedger"`
	DailyGLSummary                 bool              `json:"dailyGlSummary" doc:"Whether GET /general-ledger/daily-summary works; never without a general ledger."`
	OperationsAccounting           bool              `json:"operationsAccounting" doc:"Whether transactions can touch only operating accounts and no listing, and reports show the operating ledger alone; never without a general ledger."`
	BooksClosedAt                  *day.Day          `json:"booksClosedAt" doc:"First open date."`
	SoftClosedAt                   *day.Day          `json:"softClosedAt" doc:"From the first open date up to this day only softClosePosters post."`
	SoftClosePosters               []id.ID           `json:"softClosePosters" doc:"Users who may still post in the softly closed days."`
	StatementStartAt               *day.Day          `json:"statementStartAt"`
	EffectiveStatementStartAt      *day.Day          `json:"effectiveStatementStartAt"`
	StatementAddress               *Address          `json:"statementAddress"`
	BillingAddress                 *Address          `json:"billingAddress"`
	OwnerPortalShowDraftStatements bool              `json:"ownerPortalShowDraftStatements"`
	PayoutBasis                    PayoutBasis       `json:"payoutBasis" doc:"What payouts are suggested by: collected, what is available less what guests still owe on the stays in it; books, what is available."`
	FundsRelease                   FundsRelease      `json:"fundsRelease" doc:"When the money of guests can be paid out."`
	DestinationGuard               DestinationGuard  `json:"destinationGuard" doc:"What the first payment by a provider to a payment method needs: hold, destinationHoldDays and another payer than who chose it; approve, a second person who frees it; off, nothing."`
	DestinationHoldDays            int64             `json:"destinationHoldDays" doc:"How many days a destination is held."`
	OwnerOverdraft                 OwnerOverdraft    `json:"ownerOverdraft" doc:"A bill paid by hand with more than its owners have is paid with an issue (warn) or refused."`
	HistoricalStatementsImportedAt *day.Instant      `json:"historicalStatementsImportedAt" doc:"When a migration last imported the statements of the legacy team; null for none."`
	MigratedFromTenantID           *id.ID            `json:"migratedFromTenantId" doc:"The legacy team that a migration made this one of."`
	IsOnboarding                   bool              `json:"isOnboarding"`
	InitializedAt                  *day.Instant      `json:"initializedAt"`
	Partner                        *Reference        `json:"partner"`
	BillingPartner                 *Reference        `json:"billingPartner" doc:"The partner that is billed for the team: the team's own unless another one was chosen; null without a partner."`
	Issues                         []finding.Finding `json:"issues" db:"-"`
	ExtractableConnections         []Extractable     `json:"extractableConnections,omitzero" db:"-" doc:"The active connections that files can be made from; in the single read only."`
	IssueCount                     *int64            `json:"issueCount,omitempty" db:"-" doc:"How many issues GET /teams/issues has of the team; in the single read only."`
	CreatedAt                      day.Instant       `json:"createdAt"`
	UpdatedAt                      day.Instant       `json:"updatedAt"`
}

var columns = `t.id, t.type, t.status, t.name, t.slug, t.company_name, t.email, t.support_email, t.phone, t.tax_id,
	case when exists (select from team_logo g where g.team_id = t.id) then '/team/logo' end as logo, t.region as data_region,
	t.default_currency, t.time_zone, t.default_revenue_recognition, t.long_term_stay_nights, t.is_general_ledger, t.daily_gl_summary, t.operations_accounting and t.is_general_ledger as operations_accounting, t.books_closed_at, t.soft_closed_at, t.soft_close_posters, t.statement_start_at,
	t.statement_start_at as effective_statement_start_at, t.statement_address, t.billing_address, t.owner_portal_show_draft_statements, t.payout_basis,
	jsonb_build_object('beforeStay', t.funds_before_stay, 'depositsAfterStay', t.funds_deposits_after_stay) as funds_release,
	t.destination_guard, t.destination_hold_days, t.owner_overdraft,
	t.historical_statements_imported_at, t.migrated_from_tenant_id, t.status = 'onboarding' as is_onboarding, t.initialized_at,
	case when t.partner_id is not null then jsonb_build_object('id', t.partner_id, 'name', '') end as partner,
	case when coalesce(t.billing_partner_id, t.partner_id) is not null then jsonb_build_object('id', coalesce(t.billing_partner_id, t.partner_id), 'name', '') end as billing_partner,
	t.created_at, t.updated_at, ` + suspectedSQL() + ` as suspected`

// row is a team as its columns have it: without its issues and the names of its partners.
type row struct {
	Team

	// Suspected has the places in issueKinds of the issues that the team may have.
	Suspected []int
}

// Read returns the selected team. It fails with apierr.NotFound.
func Read(ctx context.Context, tx *db.Tx) (*Team, error) {
	r, err := db.One[row](ctx, tx, apierr.NotFound, `select `+columns+` from team t where t.team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read team: %w", err)
	}

	all, err := complete(ctx, tx, []row{r})

	return &all[0], err
}

// complete returns the teams of rows with their issues and the names of their partners.
func complete(ctx context.Context, tx *db.Tx, rows []row) ([]Team, error) {
	teams, suspected := make([]Team, len(rows)), make([][]int, len(rows))
	for i := range rows {
		teams[i], suspected[i] = rows[i].Team, rows[i].Suspected
	}

	if err := fillIssues(ctx, tx, teams, suspected); err != nil {
		return teams, err
	}

	// The partners of several teams are often the same.
	names := map[id.ID]string{}
	for i := range teams {
		if err := teams[i].namePartners(ctx, tx, names); err != nil {
			return teams, err
		}
	}

	return teams, nil
}

// namePartners fills in the names of the partner and of the one that is billed; names holds what was found before.
func (t *Team) namePartners(ctx context.Context, tx *db.Tx, names map[id.ID]string) error {
	if err := namePartner(ctx, tx, names, t.Partner); err != nil {
		return err
	}

	return namePartner(ctx, tx, names, t.BillingPartner)
}

// namePartner fills in a partner's name, which is the other tenant's row and so takes a visit.
func namePartner(ctx context.Context, tx *db.Tx, names map[id.ID]string, named *Reference) error {
	if named == nil {
		return nil
	}

	partner := named.ID
	if _, known := names[partner]; !known {
		err := tx.Visit(ctx, partner, func(ctx context.Context, tx *db.Tx) (err error) {
			names[partner], err = db.Get[string](ctx, tx, `select name from team where team_id = @partner`, db.Args{"partner": partner})
			return err
		})
		if err != nil {
			return fmt.Errorf("read partner: %w", err)
		}
	}

	named.Name = names[partner]

	return nil
}

// Channel is where changes of teams and credentials are announced.
const Channel = "stayledger_access"

// Announce notifies every process that a team or a credential changed, so that none uses what it remembers. Call it in
// the transaction that creates a team or a credential, or changes a team's status, region, partner or freeze. It is
// delivered only if that commits.
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
	Zone             day.Zone // that of the region when empty
	ID               id.ID    // a new one when zero
	// Legacy says that it has no general ledger.
	Legacy bool
}

// defaultZone returns the time zone of a new team of a data region.
func defaultZone(region string) day.Zone {
	switch region {
	case "us":
		return "America/New_York"
	case "ca":
		return "America/Toronto"
	case "eu":
		return "Europe/Berlin"
	case "ap":
		return "Australia/Sydney"
	case "sa":
		return "America/Sao_Paulo"
	}

	return day.UTC
}

// errNoPartner is an id of no partner where one is named.
var errNoPartner = errors.New("no partner has this id")

// checkPartner fails with errNoPartner unless the id is zero or that of a partner in sight.
func checkPartner(ctx context.Context, tx *db.Tx, partner id.ID) error {
	if partner.IsZero() {
		return nil
	}

	is, err := db.Get[bool](ctx, tx, `select exists (select from team where id = @id and type = 'partner' and status <> 'deleted')`, db.Args{"id": partner})
	if err != nil {
		return fmt.Errorf("look for a partner: %w", err)
	}

	if !is {
		return errNoPartner
	}

	return nil
}

// Create inserts a team in a transaction that works across teams. It fails for a first day of statements that no
// request may name.
func Create(ctx context.Context, tx *db.Tx, n New) (id.ID, error) {
	if n.Currency == "" {
		n.Currency = "usd"
	}

	if accepted := day.RequestRange(day.Of(tx.Now)); n.StatementStartAt != nil &&
		!accepted.Contains(*n.StatementStartAt) {
		return id.Zero, fmt.Errorf("create team: the first day of owner statements is %s: it has to be %s at the "+
			"earliest and before %s",
			n.StatementStartAt, accepted.From, accepted.To)
	}

	if n.Zone == "" {
		n.Zone = defaultZone(n.Region)
	}

	if _, err := money.ParseCurrency(n.Currency); err != nil {
		return id.Zero, fmt.Errorf("create team: %w", err)
	}

	if err := checkPartner(ctx, tx, n.PartnerID); err != nil {
		return id.Zero, err
	}

	team := n.ID
	if team.IsZero() {
		team = tx.NewID()
	}

	// A new team has no settings and no accounts yet: Install adds them.
	_, err := tx.Exec(ctx, `
		insert into team (id, type, name, region, partner_id, default_currency, time_zone, statement_start_at, is_general_ledger, created_at, updated_at)
		values (@id, @type, @name, @region, @partner, @currency, @zone, @start, not @legacy::boolean, @now, @now)`,
		db.Args{
			"id":       team,
			"type":     string(n.Type),
			"name":     n.Name,
			"region":   n.Region,
			"partner":  n.PartnerID,
			"currency": n.Currency,
			"zone":     string(n.Zone),
			"start":    n.StatementStartAt,
			"legacy":   n.Legacy,
			"now":      tx.Now,
		})
	if err != nil {
		return id.Zero, fmt.Errorf("create team: %w", err)
	}

	audit.NoteIn(tx, team, audit.Created, audit.Team, team, nil, map[string]any{
		"type":             n.Type,
		"name":             n.Name,
		"region":           n.Region,
		"partnerId":        n.PartnerID,
		"defaultCurrency":  n.Currency,
		"timeZone":         n.Zone,
		"statementStartAt": n.StatementStartAt,
	})

	return team, Announce(ctx, tx)
}

var sorts = page.Sorts{{Name: "name", Expr: "t.name", Text: true}, {Name: "createdAt", Expr: "t.created_at"}}

// listSort is an order of teams.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort      listSort  `query:"sort" doc:"Default name."`
	IDs       page.IDs  `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	Status    Status    `query:"status"`
	Type      Type      `query:"type"`
	PartnerID page.Refs `query:"partnerId" doc:"Teams of these partners; null for those without one."`
	Date      day.Span  `query:"date" doc:"Teams that were made in these days, which are those of UTC."`
	Search    string    `query:"search" maxLength:"200" doc:"Part of the name."`
}

// Config connects teams to other packages.
type Config struct {
	// Journals are the sources of journals that depend on settings of the team.
	Journals ledger.Sources
	// Extractable are the apps from which files can be exported.
	Extractable []string
	// Waits find the issues of other records, until a person settles them.
	Waits []parts.Wait
	// Admit lets who makes the team of the transaction work in it, by what the maker may do in another one. Reach are
	// the teams that the maker's credential had reached when it asked.
	Admit func(ctx context.Context, tx *db.Tx, of id.ID, reach []id.ID) error
	// Dismiss keeps whoever works for a partner out of the team of the transaction.
	Dismiss func(ctx context.Context, tx *db.Tx, partner id.ID) error
	// Serves refuses a region that is served elsewhere; nil serves all.
	Serves func(region string) error
	// MonthChecks find what is open when the books are closed.
	MonthChecks parts.MonthChecks
}

// handler answers the requests.
type handler struct {
	Config
	drawing chan struct{} // held by the one who works on an image
}

// endpoints returns the routes of teams and their settings.
func endpoints(c Config) []api.Endpoint {
	h := handler{c, make(chan struct{}, 1)}

	return append(append(h.closingEndpoints(), h.logoEndpoints()...),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/team", ID: "getTeam", Tag: "Teams", Summary: "Read the selected team",
			Scopes: []string{"team:read"}, OneTrip: true,
		}, h.read),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/currencies", ID: "listCurrencies", Tag: "Teams",
			Summary: "List currencies and the places of their amounts", Scopes: []string{"team:read"},
		}, listCurrencies),
		api.Write(api.Endpoint{
			Method:    "PUT",
			Path:      "/team",
			ID:        "updateTeam",
			Tag:       "Teams",
			Summary:   "Change the selected team's settings",
			Errors:    apierr.List{apierr.RouteClosed, apierr.LedgerDisabled, errDuplicateSlug},
			Exclusive: true,
			Doc: "Fields that are present change, null clears. A change of defaultRevenueRecognition or " +
				"longTermStayNights starts an operation of type reservation-journal-refresh that derives the " +
				"journals of all reservations; those that a lock holds stay as they are. Failures in order: malformed " +
				"input; 403 for a billingPartnerId of a credential that does not act for that partner; 400 for one that is no " +
				"partner; `generalLedgerDisabled` for turning a setting of the books on in a team without them; 409 " +
				"with `duplicateName` for a slug that another team has.",
			Scopes: []string{"team:write"},
		}, h.update),
		deleteEndpoint(),
		duplicateEndpoint(),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/teams",
			ID:      "listTeams",
			Tag:     "Teams",
			Summary: "List the teams that the credential manages",
			Scopes:  []string{"team:read"}, OneTripPage: true,
			Open:      []api.Credential{api.PartnerKey, api.User, api.TeamKey},
			Portal:    true,
			Selection: api.ManagedTeams,
			Region:    true,
		}, list),
		h.issueEndpoint(),
	)
}

// Extractable is a connection that files can be made from.
type Extractable struct {
	ID    id.ID  `json:"id"`
	Name  string `json:"name"`
	AppID string `json:"appId" doc:"GET /apps says which files its app has."`
}

// wholeTeam is a team with what only the single read shows, as one statement reads it.
type wholeTeam struct {
	row

	Extractable []Extractable
	// Waiting counts the issues of other records.
	Waiting int64
}

// read answers with the selected team, the connections that files can be made from, and how much waits. It fails with
// apierr.NotFound.
func (h handler) read(ctx context.Context, tx *db.Tx, _ *api.None) (*Team, error) {
	w, err := db.One[wholeTeam](ctx, tx, apierr.NotFound, `select `+columns+`,
			coalesce((select jsonb_agg(jsonb_build_object('id', c.id, 'name', c.name, 'appId', c.app_id) order by c.name, c.id)
				from connection c where c.team_id = @team and c.status = 'active' and c.app_id = any(@apps)), '[]') as extractable,
			`+h.waitingSQL()+` as waiting
		from team t cross join (select @team::uuid as team_id) g where t.team_id = @team`, db.Args{"team": tx.Team, "apps": h.Extractable})
	if err != nil {
		return nil, fmt.Errorf("read team: %w", err)
	}

	all, err := complete(ctx, tx, []row{w.row})
	t := &all[0]
	count := w.Waiting + int64(len(t.Issues))
	t.ExtractableConnections, t.IssueCount = w.Extractable, &count

	return t, err
}

// list returns a page of the teams that the caller manages.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Team], error) {
	q := page.Query{Columns: columns, From: "team t", Sorts: sorts, Default: "name", ID: "t.id"}
	q.And("t.team_id = any(@managed::uuid[])", db.Args{"managed": tx.Teams})
	q.IDs("t.id = any(?)", in.IDs)
	q.Narrow("t.status = ?", in.Status)
	q.Narrow("t.type = ?", in.Type)
	q.Refs("t.partner_id", in.PartnerID)
	q.Days("(t.created_at at time zone 'UTC')::date", in.Date, nil)
	q.Search(in.Search, "t.name")

	found, err := page.List[row](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	all, err := complete(ctx, tx, found.Data)

	return &page.Page[Team]{Data: all, Pagination: found.Pagination}, err
}

// markInitialized keeps when the team got its chart and settings for the first time.
func markInitialized(ctx context.Context, tx *db.Tx) error {
	type view struct {
		InitializedAt *day.Instant `json:"initializedAt"`
	}

	was, err := db.Get[view](ctx, tx, `
		update team t set initialized_at = coalesce(t.initialized_at, @now), updated_at = @now from team o
		where t.team_id = @team and o.id = t.id returning o.initialized_at`, db.Args{"now": tx.Now, "team": tx.Team})
	if err != nil {
		return fmt.Errorf("mark a team as initialized: %w", err)
	}

	if now := day.At(tx.Now); was.InitializedAt == nil {
		audit.Note(tx, audit.Updated, audit.Team, tx.Team, was, view{&now})
	}

	return nil
}
