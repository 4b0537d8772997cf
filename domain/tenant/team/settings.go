package team

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Change is the body of an update.
type Change struct {
	Name                           *string           `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Slug                           api.Opt[string]   `json:"slug,omitzero" pattern:"^[a-z0-9-]{2,60}$" doc:"As shown."`
	CompanyName                    api.Opt[string]   `json:"companyName,omitzero" minLength:"1" maxLength:"200"`
	Email                          api.Opt[string]   `json:"email,omitzero" format:"email" maxLength:"254"`
	SupportEmail                   api.Opt[string]   `json:"supportEmail,omitzero" format:"email" maxLength:"254"`
	Phone                          api.Opt[string]   `json:"phone,omitzero" minLength:"1" maxLength:"50"`
	TaxID                          api.Opt[string]   `json:"taxId,omitzero" minLength:"1" maxLength:"50"`
	DefaultRevenueRecognition      *Recognition      `json:"defaultRevenueRecognition,omitempty"`
	LongTermStayNights             api.Opt[int64]    `json:"longTermStayNights,omitzero" minimum:"1" maximum:"3650"`
	TimeZone                       *day.Zone         `json:"timeZone,omitempty" maxLength:"64" doc:"As shown."`
	StatementStartAt               api.Opt[day.Day]  `json:"statementStartAt,omitzero"`
	StatementAddress               api.Opt[Address]  `json:"statementAddress,omitzero"`
	BillingAddress                 api.Opt[Address]  `json:"billingAddress,omitzero"`
	OwnerPortalShowDraftStatements *bool             `json:"ownerPortalShowDraftStatements,omitempty"`
	BillingPartnerID               api.Opt[id.ID]    `json:"billingPartnerId,omitzero" doc:"Partner that is billed for the team, null for the team's own. Only who acts for the partner chooses it."`
	DailyGLSummary                 *bool             `json:"dailyGlSummary,omitempty" doc:"As shown."`
	OperationsAccounting           *bool             `json:"operationsAccounting,omitempty" doc:"As shown."`
	PayoutBasis                    *PayoutBasis      `json:"payoutBasis,omitempty" doc:"What payouts are suggested by."`
	FundsRelease                   *FundsChange      `json:"fundsRelease,omitempty" doc:"When the money of guests can be paid out; absent fields stay."`
	DestinationGuard               *DestinationGuard `json:"destinationGuard,omitempty" doc:"Needs the scope payments:approve."`
	DestinationHoldDays            *int64            `json:"destinationHoldDays,omitempty" minimum:"1" maximum:"30" doc:"Needs the scope payments:approve."`
	OwnerOverdraft                 *OwnerOverdraft   `json:"ownerOverdraft,omitempty" doc:"As shown."`
}

// FundsChange holds the fields of the release of funds that change.
type FundsChange struct {
	BeforeStay        *int64 `json:"beforeStay,omitempty" minimum:"0" maximum:"100" doc:"As shown."`
	DepositsAfterStay *bool  `json:"depositsAfterStay,omitempty" doc:"As shown."`
}

var errDuplicateSlug = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateName, "Another team has this slug")

type updateInput struct{ Body Change }

// Resolve refuses a name of no time zone.
func (in *updateInput) Resolve() []apierr.Issue {
	if in.Body.TimeZone == nil || in.Body.TimeZone.Known() {
		return nil
	}

	return []apierr.Issue{apierr.IssueTimeZone.InBody("timeZone")}
}

// money applies the settings of money that leaves. It fails with MissingScope if the guard of destinations is changed
// without the scope for it, and reports whether the guard is weaker than before.
func (c *Change) money(tx *db.Tx, t *Team) (weaker bool, err error) {
	if (c.DestinationGuard != nil || c.DestinationHoldDays != nil) && !tx.Actor.Has("payments:approve") {
		return false, apierr.MissingScope.With(map[string]any{"requiredScopes": []string{"payments:approve"}})
	}

	if f := c.FundsRelease; f != nil {
		set(&t.FundsRelease.BeforeStay, f.BeforeStay)
		set(&t.FundsRelease.DepositsAfterStay, f.DepositsAfterStay)
	}

	set(&t.OwnerOverdraft, c.OwnerOverdraft)

	guard, days := t.DestinationGuard, t.DestinationHoldDays
	set(&t.DestinationGuard, c.DestinationGuard)
	set(&t.DestinationHoldDays, c.DestinationHoldDays)

	return t.DestinationGuard.weight() < guard.weight() || t.DestinationGuard == GuardHold &&
		t.DestinationHoldDays < days, nil
}

// books applies the settings of the books. It fails with apierr.LedgerDisabled if one is turned on in a team without a
// general ledger.
func (c *Change) books(t *Team) error {
	on := func(setting *bool) bool { return setting != nil && *setting }
	if !t.IsGeneralLedger && (on(c.DailyGLSummary) || on(c.OperationsAccounting)) {
		return apierr.LedgerDisabled
	}

	set(&t.DailyGLSummary, c.DailyGLSummary)
	set(&t.OperationsAccounting, c.OperationsAccounting)

	return nil
}

// billing returns the partner that is chosen to be billed for the team, nil for the team's own or if none is chosen.
// Only who acts for the partner that is going to be billed chooses it: it fails with apierr.RouteClosed for anybody
// else, and with the issue notFound for a team that is no partner.
func (c *Change) billing(ctx context.Context, tx *db.Tx, t *Team) (*id.ID, error) {
	if !c.BillingPartnerID.Present {
		return nil, nil
	}

	chosen := c.BillingPartnerID.Value
	billed := chosen

	if billed == nil && t.Partner != nil {
		billed = &t.Partner.ID
	}

	if billed == nil || !tx.Actor.Reaches(*billed) {
		return nil, apierr.RouteClosed
	}

	// The partner is out of sight in the transaction of its customer.
	var known bool

	err := tx.Visit(ctx, *billed, func(ctx context.Context, tx *db.Tx) (err error) {
		known, err = db.Get[bool](ctx, tx, `
			select exists (select from team where team_id = @billed and type in ('partner', 'admin') and status <> 'deleted')`,
			db.Args{"billed": *billed})

		return err
	})
	if err == nil && !known {
		err = apierr.BadRequest.At(apierr.IssueNotFound.InBody("billingPartnerId"))
	}

	return chosen, err
}

// set sets a field to a value that is given.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

func (h handler) update(ctx context.Context, tx *db.Tx, in *updateInput) (*Team, error) {
	return Update(ctx, tx, h.Journals, &in.Body)
}

// Update changes the settings of the team and outdates the journals that depend on what changed. It fails in a
// transaction that is not alone in its team.
func Update(ctx context.Context, tx *db.Tx, journals ledger.Sources, c *Change) (*Team, error) {
	// Two changes at once must not overwrite each other with old values of absent fields.
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	t, err := Read(ctx, tx)
	if err != nil {
		return nil, err
	}

	// Apply the fields that are present to the settings as they are.
	before := audit.See(t)
	if c.Name != nil {
		t.Name = *c.Name
	}

	recognition, nights := t.DefaultRevenueRecognition, t.LongTermStayNights

	start := c.StatementStartAt.Or(t.StatementStartAt)
	if c.DefaultRevenueRecognition != nil {
		t.DefaultRevenueRecognition = *c.DefaultRevenueRecognition
	}

	t.LongTermStayNights = c.LongTermStayNights.Or(t.LongTermStayNights)
	if c.OwnerPortalShowDraftStatements != nil {
		t.OwnerPortalShowDraftStatements = *c.OwnerPortalShowDraftStatements
	}

	set(&t.PayoutBasis, c.PayoutBasis)
	set(&t.TimeZone, c.TimeZone)

	weaker, err := c.money(tx, t)
	if err != nil {
		return nil, err
	}

	billing, err := c.billing(ctx, tx, t)
	if err != nil {
		return nil, err
	}

	if err := c.books(t); err != nil {
		return nil, err
	}

	// Save all of them in one statement.
	_, err = tx.Exec(ctx, `
		update team set name = @name, slug = @slug, company_name = @company, email = @email, support_email = @support, phone = @phone, tax_id = @tax,
			default_revenue_recognition = @recognition, long_term_stay_nights = @nights, statement_start_at = @start, time_zone = @zone,
			statement_address = @statement_address, billing_address = @billing_address, owner_portal_show_draft_statements = @drafts, payout_basis = @basis,
			funds_before_stay = @before_stay, funds_deposits_after_stay = @after_stay, destination_guard = @guard, destination_hold_days = @hold_days,
			destination_guard_by = case when @weaker::boolean then @user else destination_guard_by end, owner_overdraft = @overdraft,
			billing_partner_id = case when @bills::boolean then @billing else billing_partner_id end, daily_gl_summary = @daily,
			operations_accounting = case when is_general_ledger then @operations else operations_accounting end,
			updated_at = @now
		where team_id = @team`, db.Args{
		"name":              t.Name,
		"slug":              c.Slug.Or(t.Slug),
		"bills":             c.BillingPartnerID.Present,
		"billing":           billing,
		"daily":             t.DailyGLSummary,
		"operations":        t.OperationsAccounting,
		"company":           c.CompanyName.Or(t.CompanyName),
		"email":             c.Email.Or(t.Email),
		"support":           c.SupportEmail.Or(t.SupportEmail),
		"phone":             c.Phone.Or(t.Phone),
		"tax":               c.TaxID.Or(t.TaxID),
		"recognition":       string(t.DefaultRevenueRecognition),
		"nights":            t.LongTermStayNights,
		"start":             start,
		"zone":              string(t.TimeZone),
		"statement_address": c.StatementAddress.Or(t.StatementAddress),
		"billing_address":   c.BillingAddress.Or(t.BillingAddress),
		"drafts":            t.OwnerPortalShowDraftStatements,
		"basis":             string(t.PayoutBasis),
		"before_stay":       t.FundsRelease.BeforeStay,
		"after_stay":        t.FundsRelease.DepositsAfterStay,
		"guard":             string(t.DestinationGuard),
		"hold_days":         t.DestinationHoldDays,
		"weaker":            weaker,
		"user":              tx.Actor.User,
		"overdraft":         string(t.OwnerOverdraft),
		"now":               tx.Now,
		"team":              tx.Team,
	})
	if db.Constraint(err) == "team_slug" {
		return nil, errDuplicateSlug.Because(err)
	}

	if err != nil {
		return nil, fmt.Errorf("update team: %w", err)
	}

	// Journals of reservations depend on these three.
	if t.DefaultRevenueRecognition != recognition || !equal(t.LongTermStayNights, nights) ||
		!equal(t.StatementStartAt, start) {
		err := journals.Outdate(ctx, tx, ledger.Basis{Settings: true}, ledger.Outdated{
			Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Team, ID: tx.Team},
		})
		if err != nil {
			return nil, err
		}
	}

	changed, err := Read(ctx, tx)
	if err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, before, changed)

	// Requests that are let in from now on have their days in the new zone.
	if c.TimeZone != nil {
		return changed, Announce(ctx, tx)
	}

	return changed, nil
}

// equal reports whether two values are the same, or absent on both sides.
func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
