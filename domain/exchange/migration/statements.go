package migration

import (
	"context"
	"fmt"
	"time"

	"stayledger/domain/activity/journal"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/exchange/legacy"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/historic"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/statement"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

var importKind = job.NewKind("vri-statement-import")

// importErrors are the refusals of an import, in their order.
var importErrors = apierr.List{account.ErrRequiredMissing, errUnmapped, ledger.Refusals}

// errUnmapped refuses an import with lines of legacy accounts that have no account.
var errUnmapped = apierr.New(apierr.CodeUnprocessableContent, "", "Legacy accounts have no account")

// HistoricalImport says which team imports statements from which legacy team.
type HistoricalImport struct {
	SourceTenantID  id.ID            `json:"sourceTenantId"`
	TargetTenantID  id.ID            `json:"targetTenantId"`
	AccountMappings []AccountMapping `json:"accountMappings,omitempty" maxItems:"5000" doc:"Accounts other than those of the last import or those that are suggested."`
	OpeningBalances bool             `json:"openingBalances,omitempty" doc:"Also gives each listing without an opening balance the last imported one, by currency and member. This posts to the live books. Fails with 400 without a trust account in a currency (currencyMismatch; context.currencies), and with 403 when the books are closed on the day before the first day of the statements."`
}

// AccountMapping chooses the account for the lines of a legacy account.
type AccountMapping struct {
	LegacyAccountKey string `json:"legacyAccountKey" minLength:"1" maxLength:"180" doc:"The legacy account."`
	TargetAccountID  id.ID  `json:"targetAccountId" doc:"The account of the new team."`
}

type importInput struct{ Body HistoricalImport }

// startImport checks an import as if it ran now, and starts its operation. Both teams are frozen meanwhile.
func startImport(ctx context.Context, tx *db.Tx, in *importInput) (*operation.Acknowledgement, error) {
	r := &in.Body
	if err := checkTeams(ctx, tx, r.SourceTenantID, r.TargetTenantID, apierr.IssueCode.InBody); err != nil {
		return nil, err
	}

	err := within(ctx, tx, r.TargetTenantID, func(ctx context.Context, tx *db.Tx) error {
		h, err := loadHistory(ctx, tx, r.SourceTenantID)
		if err != nil {
			return err
		}

		if _, err := h.resolveAccounts(r.AccountMappings); err != nil || !r.OpeningBalances {
			return err
		}

		return h.checkOpenings(ctx, tx)
	})
	if err != nil {
		return nil, err
	}

	target := operation.Resource{Type: operation.Team, ID: r.TargetTenantID, Role: operation.Target}
	source := operation.Resource{Type: operation.Team, ID: r.SourceTenantID, Role: operation.Source}

	return start(ctx, tx, &operation.New{
		Type: operation.LegacyStatementImport, Primary: &target, Resources: []operation.Resource{target, source},
		Tasks: []operation.Task{{Kind: importKind, Args: in.Body}},
	}, r.SourceTenantID, r.TargetTenantID)
}

// resolveAccounts returns the account for each legacy account: chosen, else of the last import, else suggested. It
// fails with 400 for an impossible choice, and with errUnmapped for lines without an account (MIG-34..MIG-37).
func (h *history) resolveAccounts(chosen []AccountMapping) (map[string]id.ID, error) {
	var issues []apierr.Issue

	out := map[string]id.ID{}

	// First the choices of the caller.
	for i, m := range chosen {
		if _, known := h.accounts[m.LegacyAccountKey]; !known {
			issues = append(issues, apierr.IssueNotFound.InBody("accountMappings", i, "legacyAccountKey"))
		}

		if _, twice := out[m.LegacyAccountKey]; twice {
			issues = append(issues, apierr.IssueUnique.InBody("accountMappings", i, "legacyAccountKey"))
		}

		if h.chart.byID[m.TargetAccountID] == nil {
			issues = append(issues, apierr.IssueNotFound.InBody("accountMappings", i, "targetAccountId"))
		}

		out[m.LegacyAccountKey] = m.TargetAccountID
	}

	if issues != nil {
		return nil, apierr.BadRequest.At(issues...)
	}

	// Then the accounts without a choice.
	for key := range h.accounts {
		if _, said := out[key]; said {
			continue
		}

		a := h.accounts[key]
		if stored, known := h.stored[key]; known && h.chart.byID[stored] != nil {
			out[key] = stored
		} else if suggested := h.chart.suggest(&a); suggested != nil {
			out[key] = *suggested
		}
	}

	// Only accounts with lines need an account.
	for _, key := range h.keys {
		if _, known := out[key]; !known {
			issues = append(issues, apierr.IssueAccountMappingRequired.InBody("accountMappings", key))
		}
	}

	if issues != nil {
		return nil, errUnmapped.At(issues...)
	}

	return out, nil
}

// importHandler returns the handler of the task that imports statements. When the task ends, well or not, the teams
// are thawed.
func importHandler() job.Handler {
	h := operation.External(30*time.Minute, importStatements).InBulk()
	h.Exhausted = giveUpAndThaw(func(r *HistoricalImport) []id.ID { return []id.ID{r.SourceTenantID, r.TargetTenantID} })

	return operation.Checked(h)
}

// maxResults is the largest number of statements that an operation lists as results.
const maxResults = 100

// importStatements imports all statements in one transaction of the new team. If a worker dies, all or nothing is
// left, and importing again changes nothing.
func importStatements(
	ctx context.Context, d *db.DB,
	scope db.Scope,
	run operation.Run,
	r HistoricalImport,
) (db.Work, error) {
	if err := settle(ctx, d, run.OperationID, r.SourceTenantID, r.TargetTenantID); err != nil {
		return nil, err
	}

	scope.Team, scope.Timeout, scope.Ungated = r.TargetTenantID, 30*time.Minute, true

	var done []historic.Statement

	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		// The teams are frozen, but the accounts may have changed since the request was checked.
		h, err := loadHistory(ctx, tx, r.SourceTenantID)
		if err != nil {
			return err
		}

		accounts, err := h.resolveAccounts(r.AccountMappings)
		if err != nil {
			return err
		}

		if done, err = h.importAll(ctx, tx, run.OperationID, accounts); err != nil {
			return err
		}

		if err := h.saveMappings(ctx, tx, accounts); err != nil {
			return err
		}

		if err := team.NoteImport(ctx, tx, journal.Sources(), h.cutover); err != nil || !r.OpeningBalances {
			return err
		}

		return h.openBooks(ctx, tx, done)
	})
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, tx *db.Tx) error {
		for i := range done[:min(len(done), maxResults)] {
			result := operation.Resource{Type: operation.Statement, ID: done[i].ID, Role: operation.Result}
			if err := operation.AddResult(ctx, tx, run.OperationID, result); err != nil {
				return err
			}
		}

		return thaw(r.SourceTenantID, r.TargetTenantID)(ctx, tx)
	}, nil
}

// importAll imports the statements of a history (MIG-41..MIG-43, MIG-46).
func (h *history) importAll(
	ctx context.Context, tx *db.Tx,
	operationID id.ID,
	accounts map[string]id.ID,
) ([]historic.Statement, error) {
	heads, sources := make([]historic.Head, len(h.heads)), make([]string, len(h.heads))

	for i := range h.heads {
		s := &h.heads[i]
		sources[i] = s.SourceID
		heads[i] = historic.Head{LineCount: s.LineCount, HasPayouts: s.HasPayouts, Statement: historic.Import{
			UniqueRef: "legacy:" + s.SourceID, ListingID: h.records["listing"][s.ListingID.String()],
			StartAt: s.StartAt, EndAt: s.EndAt, Currency: s.Currency, Status: historic.Status(statement.Published),
			CentBalanceStart: s.BalanceStart, CentBalanceEnd: &s.BalanceEnd,
		}}
	}

	if len(heads) == 0 {
		return nil, nil
	}

	// Lines are loaded in batches: a team has too many to hold at once.
	loadLines := func(ctx context.Context, tx *db.Tx, from, to int) (lines [][]historic.Line, err error) {
		var read [][]legacy.Line

		err = tx.Visit(ctx, h.source, func(ctx context.Context, tx *db.Tx) (err error) {
			read, err = legacy.LoadLines(ctx, tx, h.source, sources[from:to])
			return err
		})

		for _, of := range read {
			lines = append(lines, h.convert(of, accounts))
		}

		return lines, err
	}

	done, err := historic.ImportAll(ctx, tx, heads, loadLines)
	if err != nil {
		return nil, fmt.Errorf("import legacy statements: %w", err)
	}

	ids := make([]id.ID, len(done))
	for i := range done {
		ids[i] = done[i].ID
	}

	origins := &statement.Origins{
		SourceTenantID: h.source, OperationID: operationID, Statements: ids, SourceIDs: sources,
	}
	if err := statement.NoteOrigins(ctx, tx, origins); err != nil {
		return nil, fmt.Errorf("import legacy statements: %w", err)
	}

	return done, nil
}

// convert returns legacy lines as historic lines, without zero lines.
func (h *history) convert(lines []legacy.Line, accounts map[string]id.ID) []historic.Line {
	out := make([]historic.Line, 0, len(lines))

	for i := range lines {
		l := &lines[i]
		if l.Amount == 0 {
			continue
		}

		converted := historic.Line{
			UniqueRef: l.ID, Type: historic.LineType(l.Type), CentTotal: l.Amount, Description: l.Description, Date: l.Date,
		}

		// Payouts name an owner; all other lines name an account.
		if l.Type == legacy.Payout {
			if l.OwnerID != nil {
				to := h.records["contact"][*l.OwnerID]
				converted.ContactID = &to
			}
		} else {
			to := accounts[*l.AccountKey]
			converted.AccountID = &to
		}

		out = append(out, converted)
	}

	return out
}

// saveMappings saves the mappings, and makes layouts of the legacy templates (MIG-38, MIG-44).
func (h *history) saveMappings(ctx context.Context, tx *db.Tx, accounts map[string]id.ID) error {
	keys, targets := make([]string, 0, len(h.keys)), make([]id.ID, 0, len(h.keys))
	for _, key := range h.keys {
		keys, targets = append(keys, key), append(targets, accounts[key])
	}

	_, err := tx.Exec(ctx, `
		insert into migration_mapping (team_id, key, account_id) select @team, m.key, m.account from unnest(@keys::text[], @accounts::uuid[]) m (key, account)
		on conflict (team_id, key) do update set account_id = excluded.account_id`, db.Args{"team": tx.Team, "keys": keys, "accounts": targets})
	if err != nil {
		return fmt.Errorf("keep the mappings of a migration: %w", err)
	}

	made := map[string]id.ID{}

	for i := range h.templates {
		t := &h.templates[i]

		// A repeated import changes the layout it made before.
		var before *id.ID
		if known, is := h.records["layout"][t.ID]; is {
			before = &known
		}

		if made[t.ID], err = layout.Adopt(ctx, tx, before, convertTemplate(t, accounts)); err != nil {
			return fmt.Errorf("import a template: %w", err)
		}
	}

	return upsertLayouts(ctx, tx, made)
}

// convertTemplate returns a template with accounts of the new team. Unknown accounts are left out: no line has them,
// and accounts without a column get one of their own.
func convertTemplate(t *legacy.Template, accounts map[string]id.ID) *layout.Foreign {
	sections := func(from []legacy.Section) []layout.ForeignSection {
		out := make([]layout.ForeignSection, len(from))

		for i, s := range from {
			out[i].Name = s.Name

			for _, c := range s.Columns {
				column := layout.ForeignColumn{Name: c.Name}

				for _, key := range c.AccountKeys {
					if to, known := accounts[key]; known {
						column.AccountIDs = append(column.AccountIDs, to)
					}
				}

				out[i].Columns = append(out[i].Columns, column)
			}
		}

		return out
	}

	return &layout.Foreign{Name: t.Name, NetRevenue: sections(t.NetRevenue), Other: sections(t.Other)}
}

// upsertLayouts saves the layout made of each template.
func upsertLayouts(ctx context.Context, tx *db.Tx, made map[string]id.ID) error {
	sources, targets := make([]string, 0, len(made)), make([]id.ID, 0, len(made))
	for source, target := range made {
		sources, targets = append(sources, source), append(targets, target)
	}

	return upsertRecords(ctx, tx, "layout", sources, targets)
}
