package layout_test

import (
	"context"
	"log/slog"
	"testing"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

type (
	object = fixture.Object
	array  = fixture.Array
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
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Endpoints: parts.Join(layout.Part(), account.Part(nil)).Endpoints,
	})
	w := &team{Team: x, t: t, codes: fixture.StandardChart(x)}
	x.Tx(mapping.InstallStandard)

	return w
}

// chosen are the designs that listings have.
func (w *team) chosen(listings ...id.ID) (out map[id.ID]*layout.Design) {
	w.t.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = layout.LoadChosen(ctx, tx, listings)
		return err
	})

	return out
}

// stored are those that are not built in.
func (w *team) stored(listings ...id.ID) (out map[id.ID]*layout.Design) {
	w.t.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = layout.LoadStored(ctx, tx, listings)
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
