package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/sandbox/legacy"
)

// monthsMoved is how many months of statements a legacy team has.
const monthsMoved = 36

// movedTables are those that an import of statements fills in a new team.
var movedTables = []string{"statement", "statement_origin", "ledger_entry", "audit_event", "audit_reference"}

// legacyMoves compares the import of a legacy team's statements, over HTTP and from the request to the end of the
// operation, with a COPY of the rows that it makes into tables with the same indexes. It also compares the memory of
// the process, while a team is filled with its dump and while its statements are imported, with that of a tenth.
func legacyMoves(ctx context.Context, b *bed) ([]Metric, error) {
	few, err := b.moveTeam(ctx, fewName, b.sizes.moved/10)
	if err != nil {
		return nil, err
	}

	many, err := b.moveTeam(ctx, manyName, b.sizes.moved)
	if err != nil {
		return nil, err
	}

	rows, copied, err := b.copyTables(ctx, tenant{team: many.target}, movedTables...)
	if err != nil {
		return nil, err
	}

	var all int64
	for _, n := range rows {
		all += n
	}

	// An import that leaves statements out would be too fast.
	if want := int64(b.sizes.moved * monthsMoved / 2); rows["statement"] < want || rows["ledger_entry"] < 5*want {
		return nil, fmt.Errorf("an import makes the rows %v", rows)
	}

	rate, base := float64(all)/many.took.Seconds(), float64(all)/copied.Seconds()
	detail := map[string]any{
		"listings": b.sizes.moved, "months": monthsMoved, "rows": rows, "rowsPerSecond": rate, "copiedPerSecond": base,
		"statementsPerSecond": float64(rows["statement"]) / many.took.Seconds(), "againSeconds": many.again.Seconds(),
		"fillSeconds": many.fill.Seconds(), "bootstrapSeconds": many.bootstrap.Seconds(),
	}
	memory := map[string]any{
		"listings": b.sizes.moved, "few": b.sizes.moved / 10, "peakMiB": many.peak, "peakMiBOfFew": few.peak,
		"fillPeakMiB": many.fillPeak, "fillPeakMiBOfFew": few.fillPeak,
	}

	return []Metric{
		atLeast("migration_import_ratio", rate/base, 0.3, detail),
		atMost("migration_import_peak_growth_mib", many.peak-few.peak, growthGoal, memory),
		atMost("migration_fill_peak_growth_mib", many.fillPeak-few.fillPeak, growthGoal, memory),
	}, nil
}

// moveResult is the outcome of the move of a team.
type moveResult struct {
	target id.ID
	// fill and bootstrap are how long the steps before the import take; took is the import, and again one that replaces
	// it.
	fill, bootstrap, took, again time.Duration
	fillPeak, peak               float64 // MiB resident
}

// moveTeam fills a legacy team with a dump of so many listings and moves it with its statements.
func (b *bed) moveTeam(ctx context.Context, name string, listings int) (r moveResult, err error) {
	t := b.teams[name]

	// The dump is made while it is sent.
	peak, begin := watchMemory(), time.Now()
	err = b.fillLegacy(ctx, t, legacy.Plan{Seed: 1, Listings: listings, Months: monthsMoved, AppID: string(protocolApp())})
	r.fill, r.fillPeak = time.Since(begin), peak()

	if err != nil {
		return r, err
	}

	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return r, err
	}
	defer c.close()

	c.team = t.team.String()

	if r.bootstrap, err = c.operate("/teams/migrate-vri-to-vrt", fmt.Sprintf(`{"sourceTenantId": %q, "targetName": "New", "glStartAt": "2023-01-01"}`, t.team)); err != nil {
		return r, err
	}

	if r.target, err = b.loadMoved(ctx, t.team); err != nil {
		return r, err
	}

	body, err := b.requestImport(c, t.team, r.target)
	if err != nil {
		return r, err
	}

	peak = watchMemory()
	r.took, err = c.operate("/teams/migrate-vri-to-vrt/statements", body)

	if r.peak = peak(); err != nil {
		return r, err
	}

	r.again, err = c.operate("/teams/migrate-vri-to-vrt/statements", body)

	return r, err
}

// loadMoved returns the team that was made of a legacy team.
func (b *bed) loadMoved(ctx context.Context, source id.ID) (target id.ID, err error) {
	err = b.db.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		target, err = db.Get[id.ID](ctx, tx, `select id from team where migrated_from_tenant_id = @source`, db.Args{"source": source})
		return err
	})

	return target, err
}

// requestImport initializes a new team and returns the request of an import in which every legacy account has an
// account.
func (*bed) requestImport(c *client, source, target id.ID) (string, error) {
	c.team = target.String()
	if err := c.ask(http.MethodPatch, "/teams/"+c.team+"/init", nil, nil); err != nil {
		return "", err
	}

	c.team = source.String()

	var preview struct {
		OldAccounts []struct {
			LegacyAccount          struct{ Key, Classification string }
			SuggestedTargetAccount *struct{ ID id.ID }
		}
		NewAccounts []struct {
			ID       id.ID
			Category struct{ Classification string }
		}
	}

	if err := c.ask(http.MethodGet, fmt.Sprintf("/teams/migrate-vri-to-vrt/statements/account-mappings?sourceTenantId=%v&targetTenantId=%v", source, target),
		nil, &preview); err != nil {
		return "", err
	}

	mappings := []item{}

	for _, old := range preview.OldAccounts {
		if old.SuggestedTargetAccount != nil {
			continue
		}

		for _, a := range preview.NewAccounts {
			if a.Category.Classification == old.LegacyAccount.Classification {
				mappings = append(mappings, item{"legacyAccountKey": old.LegacyAccount.Key, "targetAccountId": a.ID})
				break
			}
		}
	}

	text, err := json.Marshal(item{"sourceTenantId": source, "targetTenantId": target, "accountMappings": mappings})
	if err != nil {
		return "", fmt.Errorf("request an import: %w", err)
	}

	return string(text), nil
}

// fillLegacy sends a dump to a legacy team while it is made.
func (b *bed) fillLegacy(ctx context.Context, t tenant, p legacy.Plan) error {
	body, out := io.Pipe()
	form := multipart.NewWriter(out)

	go func() {
		part, err := form.CreateFormFile("file", "dump.json")
		if err == nil {
			err = legacy.Write(part, p)
		}

		_ = out.CloseWithError(errors.Join(err, form.Close()))
	}()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.ours+"/legacy/import", body)
	if err != nil {
		return fmt.Errorf("fill a legacy team: %w", err)
	}

	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("X-Api-Key", t.secret)

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("fill a legacy team: %w", err)
	}

	defer func() { _ = response.Body.Close() }()

	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusCreated {
		return fmt.Errorf("fill a legacy team: status %d: %.500s: %w", response.StatusCode, text, errors.Join(err))
	}

	return nil
}
