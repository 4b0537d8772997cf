package db

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stayledger/platform/id"
)

// taken is the failure of a statement with a value that another row has. It keeps what the statement was given: the
// server does not say which value it was where rows are hidden from other teams.
type taken struct {
	error
	args Args
}

// Unwrap returns the error of the server.
func (t *taken) Unwrap() error { return t.error }

// keepArgs returns the error of a statement, with its arguments if a value of a unique column was taken.
func keepArgs(err error, args Args) error {
	if SQLState(err) != "23505" {
		return err
	}

	return &taken{err, args}
}

// Holder returns the row of the team that has the unique value which a failed statement wanted to give to another row.
// The constraint has the name of the table and the column, such as contact_unique_ref, and the statement has arguments
// named id and as the column, each with a value or a list. Otherwise, and if the row is gone, it returns the zero id.
func (tx *Tx) Holder(ctx context.Context, err error) (id.ID, error) {
	failed, ok := errors.AsType[*taken](err)
	pg, known := errors.AsType[*pgconn.PgError](err)

	if !ok || !known {
		return id.ID{}, nil
	}

	column := strings.TrimPrefix(pg.ConstraintName, pg.TableName+"_")

	ids, values := failed.args["id"], failed.args[column]
	if ids == nil || values == nil {
		return id.ID{}, nil
	}

	holder, err := Maybe[id.ID](ctx, tx, `select t.id from `+pgx.Identifier{pg.TableName}.Sanitize()+` t
		join unnest(@ids::uuid[], @values::text[]) w (id, value) on t.`+pgx.Identifier{column}.Sanitize()+` = w.value and t.id <> w.id
		where t.team_id = @team limit 1`,
		Args{"team": tx.Team, "ids": listOf(ids), "values": listOf(values)})
	if err != nil {
		return id.ID{}, fmt.Errorf("find the row that has a unique value: %w", err)
	}

	if holder == nil {
		return id.ID{}, nil
	}

	return *holder, nil
}

// listOf returns a list as it is, and another value in a list of one.
func listOf(value any) any {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Slice {
		return value
	}

	return reflect.Append(reflect.MakeSlice(reflect.SliceOf(v.Type()), 0, 1), v).Interface()
}
