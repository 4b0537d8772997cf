package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stayledger/domain/record/operation"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/pgserver"
)

// The statements of the bare server are those of the service without filters and counts.
const (
	bareColumns = `o.id, o.type, o.status, o.initiated_by, o.resource_type, o.resource_id, o.resource_role, o.failure_code,
		o.created_at, o.started_at, o.finished_at`

	bareGet = `select ` + bareColumns + `, coalesce((
			select jsonb_agg(jsonb_build_object('type', r.type, 'id', r.resource_id, 'role', r.role) order by r.position)
			from operation_resource r where r.team_id = o.team_id and r.operation_id = o.id), '[]') as resources
		from operation o where o.team_id = $1 and o.type is not null and o.id = $2`

	bareList = `select ` + bareColumns + ` from operation o where o.team_id = $1 and o.type is not null order by o.id desc limit 51`

	bareInsertOperation = `insert into bench_operation (team_id, id, type, status, initiated_by, tasks_open, created_at)
		values ($1, $2, 'team-initialize', 'queued', $3, 1, now())`

	bareInsertTrail = `insert into bench_trail (team_id, id, actor_id, endpoint, request_id, created_at)
		values ($1, $2, $3, 'startNoop', 'r', now())`
)

// openBare opens connections that see the team's rows from the beginning, so that a bare request is only its own
// statement.
func (b *bed) openBare(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(b.url(pgserver.Role))
	if err != nil {
		return fmt.Errorf("bare pool: %w", err)
	}

	config.MaxConns = connections
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"

	// The setting of the policies is fixed for the connection, where the service sets it for each transaction.
	config.ConnConfig.RuntimeParams["options"] = "-c stayledger.teams={" + b.large.team.String() + "}"
	if b.bare, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("bare pool: %w", err)
	}

	return nil
}

// bareHandler returns the bare server: the two reads of operations, and the start of one.
func (b *bed) bareHandler(ctx context.Context) (http.Handler, error) {
	if err := b.openBare(ctx); err != nil {
		return nil, err
	}

	mux := http.NewServeMux()

	// The single read and the list answer with the same JSON as the service.
	mux.HandleFunc("GET /operations/{id}", b.bareAnswer(func(r *http.Request) (any, error) {
		operationID, err := id.Parse(r.PathValue("id"))
		if err != nil {
			return nil, err
		}

		out := &operation.Detail{}
		err = scanOperation(
			b.bare.QueryRow(r.Context(), bareGet, b.large.team, operationID),
			&out.Operation,
			&out.Resources,
		)

		return out, err
	}))
	mux.HandleFunc("GET /operations", b.bareAnswer(func(r *http.Request) (any, error) {
		rows, err := b.bare.Query(r.Context(), bareList, b.large.team)
		if err != nil {
			return nil, err
		}
		defer rows.Close()

		out := &operation.List{Items: make([]operation.Operation, 0, 51)}

		for rows.Next() {
			var o operation.Operation
			if err := scanOperation(rows, &o); err != nil {
				return nil, err
			}

			out.Items = append(out.Items, o)
		}

		// As in the service, one more row than the page says whether there is a next one.
		if len(out.Items) > 50 {
			out.Items = out.Items[:50]
			next := out.Items[49].ID.String()
			out.NextCursor = &next
		}

		return out, rows.Err()
	}))
	mux.HandleFunc("POST /bench/operations", b.bareAnswer(func(r *http.Request) (any, error) {
		var body struct{ Note string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}

		operationID := id.New(b.db.Now())

		// Two rows in one transaction: the operation and its trail.
		err := pgx.BeginFunc(r.Context(), b.bare, func(tx pgx.Tx) error {
			if _, err := tx.Exec(
				r.Context(),
				bareInsertOperation,
				b.large.team,
				operationID,
				b.large.user,
			); err != nil {
				return err
			}

			_, err := tx.Exec(r.Context(), bareInsertTrail, b.large.team, operationID, b.large.user)

			return err
		})

		return &operation.Acknowledgement{
			OperationID: operationID,
			Type:        operation.TeamInitialize,
			Status:      operation.Queued,
		}, err
	}))

	return mux, nil
}

// bareAnswer returns a handler that answers with JSON.
func (b *bed) bareAnswer(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := f(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}

		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	}
}

// scanOperation reads bareColumns into o, and further columns of the statement into more.
func scanOperation(row pgx.Row, o *operation.Operation, more ...any) error {
	var (
		resourceType *operation.ResourceType
		resourceID   id.ID
		role         *operation.Role
		failure      *operation.FailureCode
		created      day.Instant
	)

	err := row.Scan(append([]any{
		&o.ID,
		&o.Type,
		&o.Status,
		&o.Initiator.UserID,
		&resourceType,
		&resourceID,
		&role,
		&failure,
		&created,
		&o.StartedAt,
		&o.FinishedAt,
	}, more...)...)
	if err != nil {
		return err
	}

	o.Initiator.Type, o.CreatedAt = "user", created
	if resourceType != nil {
		o.Resource = &operation.Resource{Type: *resourceType, ID: resourceID, Role: *role}
	}

	if failure != nil {
		o.Failure = &operation.Failure{Code: *failure, Message: failure.Message()}
	}

	return nil
}
