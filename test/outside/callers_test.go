package outside_test

import (
	"slices"
	"strings"
	"testing"

	"stayledger/app"
)

// callers are everything that calls out: the kinds of work and the routes, each with a call that must come while the
// world is slow.
var callers = []struct{ by, call string }{
	// Connections and what they read and write.
	{"connection.connect", "new GET /account"},
	{"connection.leave", "archived DELETE /webhook"},
	{"connection.read", "moved PUT /webhook"},
	{"intake.page", "read GET /listings"},
	{"intake.page", "flow GET /reservations"},
	{"intake.page", "hostaway POST /v1/accessTokens"}, // a token is renewed
	{"intake.extract", "extracted GET /listings"},
	{"calendar.push", "blocked PUT /blocks"},
	{"calendar.push", "opened DELETE /blocks"},
	{"POST /connections", "names new.example.com."},
	{"PUT /connections/{id}", "names changed.example.com."},
	{"POST /connections/{id}/connect", "again GET /account"},
	{"POST /connections/connect", "ownerrez POST /oauth/access_token"},

	// Payments.
	{"payee.verify", "bank POST /v1/account-verifications"},
	{"payment.send", "bank POST /v1/payments"},
	{"payment.recover", "bank GET /v1/payments"},
	{"payment-ask", "bank GET /v1/payments"},

	// Mails and webhooks.
	{"payee.letter", "mail Where Test team pays you has changed"},
	{"delivery.send", "mail Owner statement January 2026: Villa"},
	{"webhook.letter", "mail A webhook of Test team was disabled"},
	{"webhook.send", "receiver POST /tested"},
	{"POST /webhooks", "names hook.example.com."},
	{"PUT /webhooks/{id}", "names moved-hook.example.com."},

	// Files.
	{"team-export", "store HEAD attached"},
	{"upload.stage", "store HEAD staged"},
	{"team-delete", "store HEAD deleted"},
	{"file-sweep", "store HEAD forgone"},
	{"file-purge", "store HEAD forgone"}, // each of the two tries all that is to be deleted
	{"audit-seal", "store PUT audit-checkpoint"},
	{"GET /transaction-attachments/{attachmentId}/download", "store HEAD downloaded"},
	{"GET /files/{id}/download", "store HEAD exported"},
	{"GET /links/{teamId}/{fileId}", "store HEAD linked"},
	{"GET /contacts/csv", "store PUT files"},
	{"export-contacts-csv", "store PUT files"},
	{"POST /transaction-attachments", "store PUT files"},
	{"POST /csv-imports/previews", "store PUT files"},
	{"POST /connections/{id}/csv-import", "store PUT files"},
	{"GET /contacts/csv", "store POST files"}, // in parts
	{"export-contacts-csv", "store POST files"},
	{"team-export", "store POST files"},
	{"the sender of webhooks", "receiver POST /verified"},
}

// atHome are the kinds of work, and the routes and tasks that work outside of one transaction, that call nobody.
const atHome = `
	GET /audit/events; GET /audit/events/{id}/proof; GET /csv-imports/templates/{kind}; GET /me;
	GET /operations/{id}; GET /partner/audit-events; GET /team/logo; POST /embed-sessions/exchange;
	POST /legacy/import; POST /owner-statement-links/exchange; POST /payment-callbacks/{connectionId};
	POST /pms-messages/apps/{appId}; POST /pms-messages/{connectionId}; PUT /team/logo; audit-sweep; bank-rule.run;
	bank-rule.undo; bank_fold; calendar-block; call-budget; connection-sync; connection.archive; csv-import-purge;
	embed-session-purge; flow.run; idempotency-purge; intake.retry; journal.historical-import; journal.refresh;
	ledger_fold; ledger_settle; linemapping.mapped; list_fold; listing-deactivation; operation-fold; operation-purge;
	owner-session-purge; payment-callback-purge; payment.nothing; reservation.refresh; statement-batch;
	statement-historical-import; statement-payout; statement-payout-preview; statement.mail; sync-item-purge;
	table-statistics; team-demo-data; team-duplicate; team-initialize; transaction-recurring; transaction.held-back;
	transaction.recurring; transaction.refresh; upload.take; upload.take-alone; upload.undo; vri-statement-import;
	vri-team-migration; webhook-purge; webhook.replay`

// TestEverythingSaysWhetherItCallsOut fails for work, tasks and routes that are neither among the callers nor at home,
// so that none is forgotten in the other test. Exports are one of them.
func TestEverythingSaysWhetherItCallsOut(t *testing.T) {
	t.Parallel()

	all := app.Parts(app.External{}, app.Config{})
	exports := map[string]bool{}

	for _, e := range all.Exports {
		exports[e.Route()] = e.Route() != "/contacts/csv"
	}

	var found []string

	for kind := range all.Handlers {
		if name := kind.String(); !strings.HasPrefix(name, "export-") || name == "export-contacts-csv" {
			found = append(found, name)
		}
	}

	for _, every := range all.Every {
		found = append(found, every.Name)
	}

	for i := range all.Endpoints {
		if e := &all.Endpoints[i]; e.IsApart() && !exports[e.Path] {
			found = append(found, e.Method+" "+e.Path)
		}
	}

	slices.Sort(found)

	var said []string
	for name := range strings.SplitSeq(atHome, ";") {
		said = append(said, strings.TrimSpace(name))
	}

	for _, c := range callers {
		if c.by != "the sender of webhooks" && !slices.Contains(said, c.by) {
			said = append(said, c.by)
		}
	}

	for _, name := range found {
		if !slices.Contains(said, name) {
			t.Errorf("%s is neither among the callers nor at home", name)
		}
	}

	for _, name := range said {
		if !slices.Contains(found, name) {
			t.Errorf("there is no %s that works outside of a transaction", name)
		}
	}
}
