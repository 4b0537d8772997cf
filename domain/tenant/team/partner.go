package team

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// errNotItsPartner is the refusal of a caller who does not act for the partner of a team.
var errNotItsPartner = apierr.New(apierr.CodeForbidden, "", "Only the partner of the team can do this")

// Creation is the body that makes a customer of a partner.
type Creation struct {
	Name             string           `json:"name" minLength:"1" maxLength:"200"`
	GeneralLedger    *bool            `json:"generalLedger,omitempty" default:"true" doc:"Whether the team has a general ledger."`
	Init             *Init            `json:"init,omitempty" doc:"Also installs the chart and settings, as PATCH /teams/{id}/init does."`
	DataRegion       Region           `json:"dataRegion,omitempty" doc:"Where its data are; that of the partner when absent."`
	DefaultCurrency  *string          `json:"defaultCurrency,omitempty" minLength:"3" maxLength:"3" doc:"ISO 4217; usd when absent."`
	TimeZone         *day.Zone        `json:"timeZone,omitempty" maxLength:"64" doc:"That of the region when absent."`
	StatementStartAt api.Opt[day.Day] `json:"statementStartAt,omitzero"`
}

// Region is a data region.
type Region string

// Enum lists the regions.
func (Region) Enum() []string { return []string{"ap", "ca", "eu", "sa", "us"} }

type createInput struct{ Body Creation }

// Resolve refuses a name of no time zone and a currency that there is not.
func (in *createInput) Resolve() (issues []apierr.Issue) {
	if zone := in.Body.TimeZone; zone != nil && !zone.Known() {
		issues = append(issues, apierr.IssueTimeZone.InBody("timeZone"))
	}

	if c := in.Body.DefaultCurrency; c != nil {
		if _, err := money.ParseCurrency(*c); err != nil {
			issues = append(issues, apierr.IssueCurrency.InBody("defaultCurrency"))
		}
	}

	return issues
}

// partnerEndpoints returns the routes with which a partner makes and manages customers.
func (h handler) partnerEndpoints(b beginning) []api.Endpoint {
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: "POST", Path: "/teams", ID: "createTeam", Tag: "Teams", Summary: "Make a customer team of the partner",
			Doc: "The team belongs to the partner, whose keys reach it at once; a person who makes it " +
				"works in it with the scopes that the person has in the partner team. Fails with 421 " +
				"for a region that is served elsewhere.",
			Scopes: []string{"partner:manage"}, PartnerOnly: true, AnyRegion: true, Status: 201, Exclusive: true,
		}, func(ctx context.Context, tx *db.Tx, in *createInput) (*Team, error) {
			return h.create(ctx, tx, b, &in.Body)
		}),
		api.Write(api.Endpoint{
			Method: "PATCH", Path: "/teams/{id}", ID: "manageTeam", Tag: "Teams", Summary: "Change how a partner has a customer team",
			Doc: "With partnerId null the team leaves the partner: from then on the partner's keys, " +
				"embedded sessions and people do not reach it, nor keys that other teams have issued. " +
				"An inactive team is active again then. Its own settings are those of PUT /team.",
			Errors: apierr.List{errNotItsPartner},
			Scopes: []string{"partner:manage"}, Open: []api.Credential{api.PartnerKey, api.User}, TeamInPath: true, Exclusive: true,
		}, h.manage),
		overviewEndpoint(),
	}
}

// create makes a customer of the partner, which is the transaction's team.
func (h handler) create(ctx context.Context, tx *db.Tx, b beginning, in *Creation) (made *Team, err error) {
	n := New{
		Name: in.Name, Type: PropertyManager, PartnerID: tx.Team, Region: string(in.DataRegion),
		StatementStartAt: in.StatementStartAt.Value,
	}
	if n.Region == "" {
		if n.Region, err = db.Get[string](ctx, tx, `select region from team where id = @team`, db.Args{"team": tx.Team}); err != nil {
			return nil, fmt.Errorf("read the partner: %w", err)
		}
	}

	if h.Serves != nil {
		if err := h.Serves(n.Region); err != nil {
			return nil, err
		}
	}

	// What is absent has a default.
	n.Legacy = in.GeneralLedger != nil && !*in.GeneralLedger
	if in.DefaultCurrency != nil {
		currency, _ := money.ParseCurrency(*in.DefaultCurrency) // Resolve has looked
		n.Currency = string(currency)
	}

	set(&n.Zone, in.TimeZone)

	if in.Init != nil {
		if err := checkInit(tx, in.Init); err != nil {
			return nil, err
		}
	}

	// The team is made in its own scope, where the partner is in sight too.
	n.ID = tx.NewID()

	err = tx.Within(ctx, n.ID, n.Zone, func(ctx context.Context, tx *db.Tx) error {
		if _, err := Create(ctx, tx, n); err != nil {
			return err
		}

		if err := h.Admit(ctx, tx, n.PartnerID); err != nil {
			return err
		}

		if in.Init != nil {
			if err := Install(ctx, tx, b.journals, b.nouns, in.Init); err != nil {
				return err
			}
		}

		made, err = Read(ctx, tx)

		return err
	})

	return made, err
}

// Management is the body of a change of a customer by its partner.
type Management struct {
	Status    *ManagedStatus `json:"status,omitempty" doc:"An inactive team is left alone by syncs, recurring bills and other work that begins by itself."`
	PartnerID api.Opt[id.ID] `json:"partnerId,omitzero" doc:"Null lets the team go; other values are refused."`
}

// ManagedStatus is a status that a partner gives a team.
type ManagedStatus string

// Enum lists the statuses.
func (ManagedStatus) Enum() []string { return []string{"active", "inactive", "onboarding"} }

type manageInput struct {
	ID   id.ID `path:"id"`
	Body Management
}

// Resolve refuses another partner: a team goes to one by its partner or by the service.
func (in *manageInput) Resolve() []apierr.Issue {
	if p := in.Body.PartnerID; p.Present && p.Value != nil {
		return []apierr.Issue{apierr.IssueContradiction.InBody("partnerId")}
	}

	return nil
}

// letGo keeps whoever works for the partner out of the team, and says in the partner's own trail that the team left.
func (h handler) letGo(ctx context.Context, tx *db.Tx, partner id.ID) error {
	if err := h.Dismiss(ctx, tx, partner); err != nil {
		return err
	}

	if err := tx.Join(ctx, partner); err != nil {
		return fmt.Errorf("note that a team left: %w", err)
	}

	was, is := map[string]any{"partnerId": partner}, map[string]any{"partnerId": nil}
	audit.NoteIn(tx, partner, audit.Updated, audit.Team, tx.Team, was, is)

	return nil
}

// Move gives a team to another partner, in a transaction across teams. The function dismiss keeps whoever works for
// the former one out. It fails with errNoPartner for what is no partner, and with apierr.NotFound.
func Move(
	ctx context.Context, tx *db.Tx, moved, partner id.ID, dismiss func(ctx context.Context, tx *db.Tx, partner id.ID) error,
) error {
	if err := checkPartner(ctx, tx, partner); err != nil {
		return err
	}

	type found struct {
		PartnerID *id.ID
		Zone      day.Zone
	}

	was, err := db.One[found](ctx, tx, apierr.NotFound, `
		select partner_id, time_zone as zone from team where id = @team and type <> 'partner' and status <> 'deleted' for update`, db.Args{"team": moved})
	if err != nil {
		return fmt.Errorf("read a team to move: %w", err)
	}

	return tx.Within(ctx, moved, was.Zone, func(ctx context.Context, tx *db.Tx) error {
		if was.PartnerID != nil && *was.PartnerID != partner {
			if err := dismiss(ctx, tx, *was.PartnerID); err != nil {
				return err
			}
		}

		if _, err := tx.Exec(ctx, `update team set partner_id = @partner, billing_partner_id = null, updated_at = @now where id = @team`,
			db.Args{"team": moved, "partner": partner, "now": tx.Now}); err != nil {
			return fmt.Errorf("move a team: %w", err)
		}

		before, after := map[string]any{"partnerId": was.PartnerID}, map[string]any{"partnerId": partner}
		audit.Note(tx, audit.Updated, audit.Team, moved, before, after)

		return Announce(ctx, tx)
	})
}

// manage changes the selected team for its partner.
func (h handler) manage(ctx context.Context, tx *db.Tx, in *manageInput) (*Team, error) {
	type view struct {
		Status    Status `json:"status"`
		PartnerID *id.ID `json:"partnerId"`
	}

	was, err := db.Get[view](ctx, tx, `select status, partner_id from team where id = @team for update`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read a team to manage: %w", err)
	}

	// The credential reaches the team, perhaps for itself and not for the partner.
	if was.PartnerID == nil || !tx.Actor.Reaches(*was.PartnerID) {
		return nil, errNotItsPartner
	}

	is := was
	if in.Body.Status != nil {
		is.Status = Status(*in.Body.Status)
	}

	// Nobody could wake a team that left while it was inactive.
	if in.Body.PartnerID.Present {
		is.PartnerID = nil

		if is.Status == "inactive" {
			is.Status = "active"
		}
	}

	// The billing partner goes with the partner that had chosen it.
	if _, err := tx.Exec(ctx, `
		update team set status = @status, partner_id = @partner, billing_partner_id = case when @partner::uuid is not null then billing_partner_id end,
			updated_at = @now where id = @team`,
		db.Args{"team": tx.Team, "status": is.Status, "partner": is.PartnerID, "now": tx.Now}); err != nil {
		return nil, fmt.Errorf("manage a team: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, was, is)

	if is.PartnerID == nil {
		if err := h.letGo(ctx, tx, *was.PartnerID); err != nil {
			return nil, err
		}
	}

	if err := Announce(ctx, tx); err != nil {
		return nil, err
	}

	return Read(ctx, tx)
}
