package rule

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Stored is a rule as the team keeps it.
type Stored struct {
	Rule

	VendorContact *contact.Ref      `json:"vendorContact" db:"-" doc:"Null when there is none, or it is gone."`
	Accounts      []account.Ref     `json:"accounts" db:"-" doc:"The accounts of accountIds that still exist."`
	Issues        []finding.Finding `json:"issues" db:"-" doc:"What keeps the rule from booking, and inactiveReference: context.path leads to the field, context.id is the id that it names."`
	CreatedAt     day.Instant       `json:"createdAt"`
	UpdatedAt     day.Instant       `json:"updatedAt"`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`
}

// Version is a state that a rule has, or had.
type Version struct {
	Version   int         `json:"version" doc:"Number of the version, from 1."`
	Name      string      `json:"name" doc:"What the rule was called."`
	CreatedAt day.Instant `json:"createdAt" doc:"When the rule was made or changed so."`
}

// ruleTable has the columns of a rule.
var ruleTable = db.NewTable[Stored]("bank_rule", `
	id uuid key, version int, name text, status text, priority int, transaction_type text, mode text, match_mode text, conditions jsonb,
	description_override text, use_prior_month_end boolean, vendor_contact_id uuid, account_ids uuid[], lines jsonb, created_at timestamptz fixed,
	updated_at timestamptz`)

var columns = ruleTable.ColumnsSQL("r")

// query returns the query of all rules r, by default in the order in which they take records.
func query(tx *db.Tx) page.Query {
	return page.Query{
		Columns: columns,
		From:    "bank_rule r",
		Rows:    "bank_rule r",
		Lines:   "jsonb_array_length(r.lines)",
		Where:   []string{"r.team_id = @team"},
		Args:    db.Args{"team": tx.Team},
		Sorts:   sorts,
		Default: "priority",
		ID:      "r.id",
	}
}

var sorts = page.Sorts{
	{Name: "priority", Expr: "r.priority"},
	{Name: "name", Expr: "r.name", Text: true},
	{Name: "createdAt", Expr: "r.created_at"},
	{Name: "updatedAt", Expr: "r.updated_at"},
}

// loadRule reads a rule. It fails with apierr.NotFound.
func loadRule(ctx context.Context, tx *db.Tx, one id.ID) (*Stored, error) {
	return selectRule(ctx, tx, one, "")
}

// lockForChange reads a rule and keeps others from changing it until the transaction ends; records can be reconciled by
// it meanwhile. It fails with apierr.NotFound.
func lockForChange(ctx context.Context, tx *db.Tx, one id.ID) (*Stored, error) {
	return selectRule(ctx, tx, one, " for no key update")
}

// lockForDelete locks a rule against every other use. It waits for transactions that reconcile a record by the rule. It
// fails with apierr.NotFound.
func lockForDelete(ctx context.Context, tx *db.Tx, one id.ID) (*Stored, error) {
	return selectRule(ctx, tx, one, " for update")
}

func selectRule(ctx context.Context, tx *db.Tx, one id.ID, lock string) (*Stored, error) {
	found, err := db.One[Stored](ctx, tx, apierr.NotFound, `select `+columns+` from bank_rule r where r.team_id = @team and r.id = @id`+lock,
		db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return nil, fmt.Errorf("read a bank rule: %w", err)
	}

	return &found, nil
}

// loadVersion returns a rule as it was in a version. It fails with apierr.NotFound.
func loadVersion(ctx context.Context, tx *db.Tx, one id.ID, version int64) (*Stored, error) {
	type row struct {
		Rule                 Rule
		CreatedAt, UpdatedAt day.Instant
	}

	found, err := db.One[row](ctx, tx, apierr.NotFound, `
		select v.rule, r.created_at, v.created_at as updated_at
		from bank_rule_version v join bank_rule r on r.team_id = v.team_id and r.id = v.bank_rule_id
		where v.team_id = @team and v.bank_rule_id = @id and v.version = @version`, db.Args{"team": tx.Team, "id": one, "version": version})
	if err != nil {
		return nil, fmt.Errorf("read a version of a bank rule: %w", err)
	}

	return &Stored{Rule: found.Rule, CreatedAt: found.CreatedAt, UpdatedAt: found.UpdatedAt}, nil
}

// saveWithVersion saves a rule that passed Check, and its version.
func (s *Stored) saveWithVersion(ctx context.Context, tx *db.Tx) error {
	err := tx.Pipeline(ctx, ruleTable.Upsert(tx, s), db.Stmt{
		SQL:  `insert into bank_rule_version (team_id, bank_rule_id, version, rule, created_at) values (@team, @id, @version, @rule, @updated)`,
		Args: db.Args{"team": tx.Team, "id": s.ID, "version": s.Version, "rule": s.Rule, "updated": s.UpdatedAt},
	})
	if err != nil {
		return fmt.Errorf("store a bank rule: %w", err)
	}

	return nil
}

// maxRules is how many rules a team has at the most: whoever applies them holds all of them.
const maxRules = 1000

// checkRoom fails with errTooMany when a team has as many rules as it can have. Requests that add a rule take turns,
// so the count holds.
func checkRoom(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.Exec(ctx, `select from team where team_id = @team for no key update`, db.Args{"team": tx.Team}); err != nil {
		return fmt.Errorf("lock team: %w", err)
	}

	n, err := db.Get[int64](ctx, tx, `select count(*) from bank_rule where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("count bank rules: %w", err)
	}

	if n >= maxRules {
		return errTooMany.With(map[string]any{"maxRules": maxRules})
	}

	return nil
}

// loadRules returns the rules that a condition selects, in the order in which they take records.
func loadRules(ctx context.Context, tx *db.Tx, condition string, args db.Args) ([]Stored, error) {
	q := query(tx)
	q.And(condition, args)

	found, err := db.Select[Stored](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read bank rules: %w", err)
	}

	return found, nil
}
