package layout_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

type (
	object = map[string]any
	array  = []any
)

// team is one with the standard chart and no layout.
type team struct {
	*apitest.Team
	t     *testing.T
	codes map[string]id.ID
}

func newTeam(t *testing.T) *team {
	t.Helper()
	x := apitest.New(t, apitest.Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Endpoints: slices.Concat(layout.Part().Endpoints, account.Part(nil).Endpoints),
	})
	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)
	w := &team{Team: x, t: t, codes: map[string]id.ID{}}
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		type coded struct {
			ID   id.ID
			Code string
		}
		rows, err := db.Select[coded](ctx, tx, `select id, code from account where team_id = @team and code is not null`, db.Args{"team": tx.Team})
		for _, r := range rows {
			w.codes[r.Code] = r.ID
		}
		return err
	})
	return w
}

// listing makes a property.
func (w *team) listing(name string) id.ID {
	w.t.Helper()
	v := id.New(w.DB.Now())
	w.Exec(`insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at) values (@team, @id, @name, @name, 'usd', now(), now())`,
		db.Args{"id": v, "name": name})
	return v
}

// chosen are the designs that listings have.
func (w *team) chosen(listings ...id.ID) (out map[id.ID]*layout.Design) {
	w.t.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = layout.Chosen(ctx, tx, listings)
		return err
	})
	return out
}

// stored are those that are not built in.
func (w *team) stored(listings ...id.ID) (out map[id.ID]*layout.Design) {
	w.t.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = layout.Stored(ctx, tx, listings)
		return err
	})
	return out
}

// add makes a layout and gives its path.
func (w *team) add(body object) string {
	w.t.Helper()
	return "/statement-layouts/" + w.Post("/statement-layouts", body).Want(201).String("id")
}

// col is the body of a column; more are further fields in name, value pairs.
func col(name, kind string, value object, more ...any) object {
	c := object{"name": name, "type": kind, "value": value}
	for i := 0; i+1 < len(more); i += 2 {
		key, _ := more[i].(string)
		c[key] = more[i+1]
	}
	return c
}

// revenue is a layout of one net revenue section.
func revenue(name string, columns ...any) object {
	return object{"name": name, "netRevenueSections": array{object{"name": "Net revenue", "columns": append(array{}, columns...)}}, "otherSections": array{}}
}

// with is a body with changes in name, value pairs; nil removes.
func with(body object, changes ...any) object {
	out := maps.Clone(body)
	for i := 0; i+1 < len(changes); i += 2 {
		name, _ := changes[i].(string)
		if out[name] = changes[i+1]; changes[i+1] == nil {
			delete(out, name)
		}
	}
	return out
}
