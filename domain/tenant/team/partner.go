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

// Callers know the schema by the name that it has had first.
var _ = api.PublishAs[Region]("AccessRegion")

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
				"An inactive team is active again then. Its own settings are those of PUT /team. Fails with " +
				"404 for a team that is no customer, 410 for one that was deleted, 421 for one of a region " +
				"that is served elsewhere and 423 for one that is frozen.",
			Errors: append(apierr.List{apierr.NotFound, apierr.TeamDeleted}, apierr.Freezes()...),
			Scopes: []string{"partner:manage"}, PartnerOnly: true, AnyRegion: true,
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

		if err := h.Admit(ctx, tx, n.PartnerID, nil); err != nil {
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

// customer has the facts about a customer that its partner changes, or that keep it from that.
type customer struct {
	Status       Status  `json:"status"`
	PartnerID    *id.ID  `json:"partnerId"`
	Region       string  `json:"-"`
	FreezeReason *string `json:"-"`
}

// manage changes a customer of the partner, which is the transaction's team: what the caller may do counts there and not
// in the customer.
func (h handler) manage(ctx context.Context, tx *db.Tx, in *manageInput) (out *Team, err error) {
	partner := tx.Team

	err = tx.Within(ctx, in.ID, tx.Zone, func(ctx context.Context, tx *db.Tx) error {
		was, err := h.lockCustomer(ctx, tx, partner)
		if err != nil {
			return err
		}

		is := *was
		set(&is.Status, (*Status)(in.Body.Status))

		// Only the partner wakes an inactive team, so it does not leave asleep.
		if in.Body.PartnerID.Present {
			is.PartnerID = nil

			if is.Status == "inactive" {
				is.Status = "active"
			}

			if err := h.Dismiss(ctx, tx, partner); err != nil {
				return err
			}
		}

		if err := saveCustomer(ctx, tx, was, &is); err != nil {
			return err
		}

		out, err = Read(ctx, tx)

		return err
	})

	return out, err
}

// lockCustomer locks the team of the transaction for its partner. It fails for a team that is no customer, was deleted, is
// frozen or is served elsewhere.
func (h handler) lockCustomer(ctx context.Context, tx *db.Tx, partner id.ID) (*customer, error) {
	c, err := db.One[customer](ctx, tx, apierr.NotFound, `
		select status, partner_id, region, freeze_reason from team where id = @team and partner_id = @partner for update`,
		db.Args{"team": tx.Team, "partner": partner})
	if err != nil {
		return nil, fmt.Errorf("read a customer: %w", err)
	}

	switch {
	case c.Status == "deleted":
		return nil, apierr.TeamDeleted
	case c.FreezeReason != nil:
		return nil, apierr.FrozenBy(*c.FreezeReason)
	case h.Serves != nil:
		return &c, h.Serves(c.Region)
	}

	return &c, nil
}

// saveCustomer saves the status of a customer, and that it leaves its partner. The partner's own trail says that too,
// since the partner does not see that of the customer any more.
func saveCustomer(ctx context.Context, tx *db.Tx, was, is *customer) error {
	// The billing partner goes with the partner that had chosen it.
	if _, err := tx.Exec(ctx, `
		update team set status = @status, partner_id = @partner, billing_partner_id = case when @partner::uuid is not null then billing_partner_id end,
			updated_at = @now where id = @team`,
		db.Args{"team": tx.Team, "status": is.Status, "partner": is.PartnerID, "now": tx.Now}); err != nil {
		return fmt.Errorf("manage a customer: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, was, is)

	if is.PartnerID == nil {
		audit.NoteIn(tx, *was.PartnerID, audit.Updated, audit.Team, tx.Team, was, is)
	}

	return Announce(ctx, tx)
}
