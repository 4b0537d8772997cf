package migration

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/exchange/legacy"
	"stayledger/domain/property/listing"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// history has the records that a new team can import from its legacy team.
type history struct {
	source  id.ID
	cutover day.Day
	chart   *chart
	// assigned are the accounts of the new team by their part in the books.
	assigned map[account.Assignment]id.ID

	accounts   map[string]legacy.Account
	templates  []legacy.Template
	inTemplate map[string]bool
	// records are the ids in the new team by kind and legacy id.
	records map[string]map[string]id.ID
	stored  map[string]id.ID           // mappings of the last import
	periods map[id.ID][]listing.Period // of the new listings

	// final has the last final statement of each listing and currency, imported or not; namesPayees those with an
	// imported payout to an owner by name.
	final       map[place]string
	namesPayees map[place]bool
	// heads are the statements to import, keys the sorted legacy accounts of their lines; skipped are left out.
	heads   []legacy.Head
	keys    []string
	skipped []SkippedStatement
}

// place is a listing of a legacy team and a currency.
type place struct {
	listing  id.ID
	currency string
}

// checkTeams fails with an issue for a team that the caller does not reach, for a source that is not a legacy team,
// and for a target that was not migrated from it. The argument at says where the request has the ids.
func checkTeams(
	ctx context.Context, tx *db.Tx,
	source, target id.ID,
	at func(apierr.IssueCode, ...any) apierr.Issue,
) error {
	var issues []apierr.Issue

	found := [2]*team.Shell{}

	for i, of := range []struct {
		id    id.ID
		field string
	}{{source, "sourceTenantId"}, {target, "targetTenantId"}} {
		s, err := reach(ctx, tx, of.id, of.field)

		switch {
		case apierr.IsRefusal(err):
			issues = append(issues, at(apierr.IssueNotFound, of.field))
		case err != nil:
			return err
		}

		found[i] = s
	}

	if s := found[0]; s != nil && !s.IsLegacy() {
		issues = append(issues, at(apierr.IssueSourceNotLegacy, "sourceTenantId"))
	}

	if s := found[1]; s != nil && (s.MigratedFrom == nil || *s.MigratedFrom != source) {
		issues = append(issues, at(apierr.IssueNotFound, "targetTenantId"))
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// loadHistory loads what the team of the transaction can import. It fails with account.ErrRequiredMissing until the
// team is initialized (MIG-20).
func loadHistory(ctx context.Context, tx *db.Tx, source id.ID) (*history, error) {
	h := &history{source: source, inTemplate: map[string]bool{}}

	var err error
	if h.assigned, err = account.LoadAssigned(ctx, tx); err != nil {
		return nil, fmt.Errorf("read the assignments of a new team: %w", err)
	}

	if err := account.Require(h.assigned, account.PayoutDistribution); err != nil {
		return nil, err //nolint:wrapcheck // It is a refusal.
	}

	if h.chart, err = loadChart(ctx, tx); err != nil {
		return nil, err
	}

	if err := h.loadRecords(ctx, tx); err != nil {
		return nil, err
	}

	// Then the accounts, templates and statements in the legacy team.
	var all []legacy.Head

	err = tx.Visit(ctx, source, func(ctx context.Context, tx *db.Tx) (err error) {
		if h.accounts, err = legacy.LoadAccounts(ctx, tx, source); err != nil {
			return err
		}

		if h.templates, err = legacy.LoadTemplates(ctx, tx, source); err != nil {
			return err
		}

		all, err = legacy.LoadHeads(ctx, tx, source)

		return err
	})
	if err != nil {
		return nil, err
	}

	// People see in the preview which accounts their templates name.
	for _, t := range h.templates {
		for _, s := range slices.Concat(t.NetRevenue, t.Other) {
			for _, c := range s.Columns {
				for _, key := range c.AccountKeys {
					h.inTemplate[key] = true
				}
			}
		}
	}

	return h, h.choose(ctx, tx, all)
}

// loadRecords loads what earlier steps of the migration have saved.
func (h *history) loadRecords(ctx context.Context, tx *db.Tx) error {
	type record struct {
		Kind, SourceID string
		TargetID       id.ID
	}

	type mapping struct {
		Key       string
		AccountID id.ID
	}

	records, err := db.Select[record](ctx, tx, `select kind, source_id, target_id from migration_record where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read the records of a migration: %w", err)
	}

	h.records = map[string]map[string]id.ID{"contact": {}, "listing": {}, "connection": {}, "layout": {}}
	for _, r := range records {
		h.records[r.Kind][r.SourceID] = r.TargetID
	}

	mappings, err := db.Select[mapping](ctx, tx, `select key, account_id from migration_mapping where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read the mappings of a migration: %w", err)
	}

	h.stored = map[string]id.ID{}
	for _, m := range mappings {
		h.stored[m.Key] = m.AccountID
	}

	h.cutover, err = db.Get[day.Day](ctx, tx, `select gl_start_at from migration where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read a migration: %w", err)
	}

	return nil
}

// choose decides which statements can be imported, and the cutover: the requested day, or the first day of the month
// after the last final statement if that is later (MIG-33, MIG-45).
func (h *history) choose(ctx context.Context, tx *db.Tx, all []legacy.Head) error {
	listings := make([]id.ID, 0, len(h.records["listing"]))
	for _, target := range h.records["listing"] {
		listings = append(listings, target)
	}

	var err error
	if h.periods, err = listing.LoadOwnPeriods(ctx, tx, listings); err != nil {
		return fmt.Errorf("read the ownership periods of a new team: %w", err)
	}

	// Only final statements count; drafts stay in the legacy team.
	names := map[string]bool{}
	h.final, h.namesPayees = map[place]string{}, map[place]bool{}

	var last *legacy.Head

	for i := range all {
		s := &all[i]
		if s.Status != legacy.Posted && s.Status != legacy.Published {
			continue
		}

		if after := s.EndAt.LastOfMonth().AddDays(1); after.After(h.cutover) {
			h.cutover = after
		}

		h.final[place{s.ListingID, s.Currency}] = s.SourceID
		target := h.records["listing"][s.ListingID.String()]

		if reason := h.skipReason(s, last, h.periods[target]); reason != "" {
			h.skipped = append(h.skipped, SkippedStatement{
				s.SourceID, s.StartAt, s.EndAt, int64(s.BalanceEnd), s.Currency, reason,
			})

			continue
		}

		for _, key := range s.Keys {
			names[key] = true
		}

		if len(s.Payees) > 0 {
			h.namesPayees[place{s.ListingID, s.Currency}] = true
		}

		// Drop accounts and payees, which thousands of statements would hold in memory.
		last, s.Keys, s.Payees = s, nil, nil
		h.heads = append(h.heads, *s)
	}

	for key := range names {
		h.keys = append(h.keys, key)
	}

	slices.Sort(h.keys)

	return nil
}

// ownersOn returns the ownership period in the new team that covers a legacy listing on a day, or the zero id.
func (h *history) ownersOn(source id.ID, on day.Day) id.ID {
	if p := listing.Covering(h.periods[h.records["listing"][source.String()]], on); p != nil {
		return p.ID
	}

	return id.Zero
}

// skipReason returns why a statement is left out, "" if it is imported; last is the imported statement before it.
func (h *history) skipReason(s, last *legacy.Head, periods []listing.Period) SkipReason {
	p := listing.Covering(periods, s.StartAt)

	switch {
	case p == nil || !p.Covers(s.EndAt):
		return noPeriod
	case last != nil && last.ListingID == s.ListingID && last.Currency == s.Currency && !s.StartAt.After(last.EndAt):
		return overlapped
	case s.HasPayouts && len(p.Members) == 0:
		return noMembers
	}

	// A payout to someone who was no owner then cannot be shown on the statement of the owners.
	for _, payee := range s.Payees {
		contact := h.records["contact"][payee.String()]

		if !slices.ContainsFunc(p.Members, func(m listing.Member) bool { return m.ContactID == contact }) {
			return notMember
		}
	}

	return ""
}
