package legacy

import (
	"context"
	"net/http"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// maxDump is the longest dump in bytes.
const maxDump = 1 << 30

// Part returns the part that fills legacy teams. The kinds save contacts, listings and reservations.
func Part(box *seal.Box, contacts, listings, reservations intake.Kind) parts.Part {
	d := doors{box, contacts, listings, reservations}

	return parts.Part{
		Endpoints: []api.Endpoint{
			api.Receive(api.Endpoint{
				Method: http.MethodPost, Path: "/legacy/import", ID: "importLegacyTeam", Tag: "Migrations",
				Summary: "Fill a legacy team with a dump",
				Doc: "The file is one JSON object with the lists accounts, owners, listings, connections, " +
					"reservations, templates and statements, in this order; each can be missing. It is read as it " +
					"arrives, and all of it is taken in or nothing. A dump that comes again replaces accounts, " +
					"shares, templates and statements, and changes the other records by their ids. Fails with 400 in " +
					"a team with a general ledger (`sourceNotLegacy`), and with the place of the record for what is " +
					"no dump; a record has at most 1 MiB, a statement 32 MiB (`length`).",
				Errors: apierr.List{apierr.MalformedJSON}, Scopes: []string{"legacy:import"},
				Status: http.StatusCreated, MaxBody: maxDump, Timeout: 10 * time.Minute,
				Form: []api.Part{{Name: "file", Required: true, File: true, Doc: "The dump, at most 1 GiB."}},
			}, api.Receiver[importInput, *Filled, Filled]{Receive: d.receive, Settle: settle}),
		},
		Tables: parts.Owns("legacy_statement", "legacy_ownership", "legacy_template", "legacy_account"),
		Uses: []parts.Use{
			{Of: "listing", Reason: "ownerStatements", Columns: []string{"legacy_statement.listing_id"}},
		},
	}
}

type importInput struct{ Upload *api.Upload }

// receive reads a dump while it arrives and saves its records, in one transaction.
func (s doors) receive(ctx context.Context, d *db.DB, scope db.Scope, in *importInput) (*Filled, error) {
	out := &Filled{TeamID: scope.Team}
	scope.Timeout = 10 * time.Minute

	var before error // from an attempt that met a conflicting transaction

	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		// A second attempt has nothing to read: the upload can be read only once. The caller has to send it again.
		if before != nil {
			return apierr.ServiceUnavailable.Because(before)
		}

		defer func() { before = err }()

		// Only a team without books can be filled: its records would bypass the ledger.
		shell, err := team.LoadShell(ctx, tx, tx.Team)
		if err != nil {
			return err
		}

		if !shell.IsLegacy() {
			return apierr.BadRequest.At(apierr.IssueSourceNotLegacy.InHeader("x-team-id"))
		}

		// Records without a currency get the default currency of the team.
		currency, err := db.Get[string](ctx, tx, `select default_currency from team where id = @team`, db.Args{"team": tx.Team})
		if err != nil {
			return err
		}

		r := &reader{
			doors: s, tx: tx, currency: currency, accounts: map[string]bool{}, owners: map[string]id.ID{},
			listings: map[string]id.ID{},
		}

		if err := r.begin(ctx); err != nil {
			return err
		}

		// Decode the file while it arrives, so that a dump never lies in memory as a whole.
		_, err = in.Upload.Read(func(f api.Incoming) error { return r.read(ctx, f) })
		out.Counts = r.counts

		return err
	})

	return out, err
}

// settle returns the counts of saved records as the answer.
func settle(_ context.Context, _ *db.Tx, _ *importInput, filled *Filled) (*Filled, error) {
	return filled, nil
}
