package tax

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// rateTable has the columns of a tax rate.
var rateTable = db.NewTable[Rate]("tax_rate", `
	id uuid key, name text, basis_points int, status text, unique_ref text, created_at now fixed, updated_at now`)

var columns = rateTable.ColumnsSQL("tax_rate")

// ByID loads tax rates of the team by id; ids that name none are absent.
func ByID(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Rate, error) {
	rows, err := db.Select[Rate](ctx, tx, `select `+columns+` from tax_rate where team_id = @team and id = any(@ids::uuid[])`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read tax rates: %w", err)
	}

	out := make(map[id.ID]Rate, len(rows))
	for _, r := range rows {
		out[r.ID] = r
	}

	return out, nil
}

// loadRate loads a tax rate, or fails with apierr.NotFound.
func loadRate(ctx context.Context, tx *db.Tx, rate id.ID) (*Rate, error) {
	found, err := ByID(ctx, tx, []id.ID{rate})
	if err != nil {
		return nil, err
	}

	r, ok := found[rate]
	if !ok {
		return nil, apierr.NotFound
	}

	return &r, nil
}

// lockRate locks a tax rate until the transaction ends and loads it, or fails with apierr.NotFound.
func lockRate(ctx context.Context, tx *db.Tx, rate id.ID) (*Rate, error) {
	found, err := db.One[Rate](ctx, tx, apierr.NotFound, `select `+columns+` from tax_rate where team_id = @team and id = @id for update`,
		db.Args{"team": tx.Team, "id": rate})
	if err != nil {
		return nil, fmt.Errorf("lock tax rate: %w", err)
	}

	return &found, nil
}

// query returns the list of all tax rates.
func query(tx *db.Tx) page.Query {
	return page.Query{
		Columns: columns, From: "tax_rate", Where: []string{"team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: sorts, Default: "name", ID: "id",
	}
}

var sorts = page.Sorts{
	{Name: "name", Expr: "name", Text: true},
	{Name: "basisPoints", Expr: "basis_points"},
	{Name: "createdAt", Expr: "created_at"},
}

// insertRate inserts a tax rate.
func insertRate(ctx context.Context, tx *db.Tx, r *Rate) error {
	return constraintError(tx.Pipeline(ctx, rateTable.Insert(tx, r)))
}

// updateRate updates a tax rate.
func updateRate(ctx context.Context, tx *db.Tx, r *Rate) error {
	return constraintError(tx.Pipeline(ctx, rateTable.Update(tx, r)))
}

// deleteRate deletes a tax rate.
func deleteRate(ctx context.Context, tx *db.Tx, rate id.ID) error {
	_, err := tx.Exec(ctx, `delete from tax_rate where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": rate})
	return err
}

// constraintError translates a broken constraint into the error that the caller gets; other errors stay as they are.
func constraintError(err error) error {
	// The constraints that callers can break.
	switch db.Constraint(err) {
	case "tax_rate_name":
		return errDuplicateName.Because(err)
	case "tax_rate_unique_ref":
		return errDuplicateUniqueRef.Because(err)
	}

	return err
}
