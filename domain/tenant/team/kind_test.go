package team_test

import (
	"context"
	"testing"

	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Proves: RSN-21.
func TestSettingsOfTheBooksNeedBooks(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	x.Get("/team").Want(200).WantFields("", object{"dailyGlSummary": false, "operationsAccounting": true})

	settings := object{"dailyGlSummary": true, "operationsAccounting": false}
	x.Put("/team", settings).Want(200).WantFields("", settings)
	x.Put("/team", object{"name": "Other"}).Want(200).WantFields("", settings)
	x.Put("/team", object{"dailyGlSummary": false, "operationsAccounting": true}).Want(200)
	x.Put("/team", object{"isGeneralLedger": false}).WantError(apierr.CodeBadRequest, "")

	// Without a general ledger both are off and stay so. What is read can be written back.
	x.KeepLedger(false)

	off := object{"isGeneralLedger": false, "dailyGlSummary": false, "operationsAccounting": false}
	x.Get("/team").Want(200).WantFields("", off)

	for _, name := range []string{"dailyGlSummary", "operationsAccounting"} {
		x.Put("/team", object{name: true, "name": "Half"}).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
		x.Put("/team", object{name: false}).Want(200).WantFields("", off)
	}

	if got := x.Get("/team").Want(200).String("name"); got != "Other" {
		t.Errorf("a refused change has named the team %s", got)
	}

	// A team that is made without a general ledger has neither.
	var made id.ID

	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		made, err = team.Create(ctx, tx, team.New{Name: "Old", Type: team.PropertyManager, Region: "us", Legacy: true})
		return err
	})

	err := x.DB.Read(t.Context(), db.Scope{Team: made}, func(ctx context.Context, tx *db.Tx) error {
		got, err := team.Read(ctx, tx)
		if err == nil && (got.IsGeneralLedger || got.DailyGLSummary || got.OperationsAccounting) {
			t.Errorf("made: %+v", got)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A slug is that of one team of the deployment, until the team is deleted.
func TestSlugsAreUnique(t *testing.T) {
	t.Parallel()
	x, y := newTeam(t), newTeam(t)
	slug := "a-" + x.ID.String()

	x.Get("/team").Want(200).WantFields("", object{"slug": nil})
	x.Put("/team", object{"slug": slug}).Want(200).WantFields("", object{"slug": slug})
	x.Put("/team", object{"slug": slug, "name": "Other"}).Want(200)
	y.Put("/team", object{"slug": slug}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)

	for _, bad := range []string{"", "a", "Shore", "shore_stays", "shore stays", "shöre", "a123456789012345678901234567890123456789012345678901234567890"} {
		y.Put("/team", object{"slug": bad}).WantError(apierr.CodeBadRequest, "")
	}

	x.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set status = 'deleted' where id = @team`, db.Args{"team": x.ID})
		return err
	})
	y.Put("/team", object{"slug": slug}).Want(200).WantFields("", object{"slug": slug})
	y.Put("/team", object{"slug": nil}).Want(200).WantFields("", object{"slug": nil})
}

// The partner of a team is billed for it, until somebody who acts for another partner chooses that one.
func TestPartnersChooseWhoIsBilled(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	manager := apitest.New(t, apitest.Config{Endpoints: team.Part(team.Config{}).Endpoints})

	var own, other id.ID

	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		if own, err = team.Create(ctx, tx, team.New{Name: "Harbour", Type: team.Partner, Region: "us"}); err != nil {
			return err
		}

		if other, err = team.Create(ctx, tx, team.New{Name: "Lighthouse", Type: team.Partner, Region: "us"}); err != nil {
			return err
		}

		_, err = tx.Exec(ctx, `update team set partner_id = @partner where id = @team`, db.Args{"partner": own, "team": x.ID})

		return err
	})

	manager.Get("/team").Want(200).WantFields("", object{"billingPartner": nil})
	x.Get("/team").Want(200).WantFields("", object{"billingPartner.id": own.String(), "billingPartner.name": "Harbour"})

	// Who does not act for a partner does not choose it, whether it exists or not.
	for _, chosen := range []any{other, own, nil, id.New(x.DB.Now())} {
		x.Put("/team", object{"billingPartnerId": chosen, "name": "Half"}).WantError(apierr.CodeForbidden, "")
	}

	x.Reach(other, manager.ID)
	x.Put("/team", object{"billingPartnerId": other}).Want(200).WantFields("", object{
		"billingPartner.id": other.String(), "billingPartner.name": "Lighthouse", "partner.name": "Harbour",
	})
	x.Put("/team", object{"billingPartnerId": manager.ID}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "billingPartnerId")
	x.Put("/team", object{"name": "Shore"}).Want(200).WantFields("", object{"billingPartner.name": "Lighthouse", "name": "Shore"})

	// The team's own partner takes it back.
	x.Put("/team", object{"billingPartnerId": nil}).WantError(apierr.CodeForbidden, "")
	x.Reach(own)
	x.Put("/team", object{"billingPartnerId": nil}).Want(200).WantFields("", object{"billingPartner.name": "Harbour"})
}
