package journal

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// LateAmount is an amount that a party gets more, or with a minus less.
type LateAmount struct {
	Party     LateParty   `json:"party"`
	Currency  string      `json:"currency"`
	CentTotal money.Cents `json:"centTotal" doc:"Positive for what it gets more."`
}

// LateParty says who has an amount that came late.
type LateParty string

// The parties: guests have the entries on the account of guests' money, others those on all other accounts.
const (
	lateOwners  LateParty = "owners"
	lateManager LateParty = "manager"
	lateGuests  LateParty = "guests"
	lateOthers  LateParty = "others"
)

// Enum lists the parties.
func (LateParty) Enum() []string {
	return []string{string(lateOwners), string(lateManager), string(lateGuests), string(lateOthers)}
}

// LateEntry is an entry that the books have more, or with the opposite sign one that they do not have.
type LateEntry struct {
	AccountID         id.ID       `json:"accountId"`
	AccountName       string      `json:"accountName"`
	Party             *string     `json:"party" doc:"owners, manager or null."`
	ListingID         *id.ID      `json:"listingId"`
	OwnershipPeriodID *id.ID      `json:"ownershipPeriodId"`
	Date              day.Day     `json:"date"`
	Currency          string      `json:"currency"`
	CentTotal         money.Cents `json:"centTotal" doc:"Positive for a debit."`
}

// LateLock is a lock that holds something back.
type LateLock struct {
	Reason       string   `json:"reason"`
	Date         *day.Day `json:"date" doc:"A day in closed books; null for another lock."`
	StatementID  *id.ID   `json:"statementId"`
	BankRecordID *id.ID   `json:"bankRecordId"`
}

// HeldBack is a change of a record that a lock keeps out of the books.
type HeldBack struct {
	ID           id.ID        `json:"id"`
	SourceType   string       `json:"sourceType" doc:"reservation, transaction or journal."`
	SourceID     *id.ID       `json:"sourceId" doc:"Null for a record that is not here yet."`
	ConnectionID *id.ID       `json:"connectionId" doc:"Whose record waits; null for a change here."`
	ExternalID   *string      `json:"externalId" doc:"Of a record that is not here yet."`
	Since        day.Instant  `json:"since"`
	Lock         LateLock     `json:"lock"`
	Amounts      []LateAmount `json:"amounts" doc:"By party."`
	Entries      []LateEntry  `json:"entries" doc:"That the books would have more."`
	StatementIDs []id.ID      `json:"statementIds" doc:"Saved statements whose months it changes."`
}

// heldEntries and heldStatements are the entries and the statements of a row h of ledger_held.
const (
	heldEntries = `(select coalesce(jsonb_agg(jsonb_build_object('accountId', l.account_id, 'accountName', a.name, 'party', l.party, 'listingId', l.listing_id,
			'ownershipPeriodId', l.ownership_period_id, 'date', l.txn_at, 'currency', l.currency, 'centTotal', l.cent_total) order by l.position), '[]')
		from ledger_held_line l join account a on a.team_id = l.team_id and a.id = l.account_id where l.team_id = h.team_id and l.held_id = h.id)`
	heldStatements = `array(select distinct s.id from ledger_held_line l join statement s on s.team_id = l.team_id and s.ownership_period_id = l.ownership_period_id
			and s.currency = l.currency and l.txn_at between s.start_at and s.end_at
		where l.team_id = h.team_id and l.held_id = h.id and l.party = 'owners' order by s.id)`
)

var heldSorts = page.Sorts{{Name: "since", Expr: "h.since"}}

// heldSort is an order of the list.
type heldSort string

// Enum lists the orders.
func (heldSort) Enum() []string { return heldSorts.Enum() }

type heldInput struct {
	page.Params
	Sort       heldSort `query:"sort" doc:"Default since."`
	ListingIDs page.IDs `query:"listingIds" doc:"Only with entries on these listings; an id with a leading ! is left out."`
	SourceIDs  page.IDs `query:"sourceIds" doc:"Only of these records; an id with a leading ! is left out."`
	page.Dates
}

// heldQuery returns the query of the changes that locks hold back.
func heldQuery(tx *db.Tx) page.Query {
	q := page.Query{
		Columns: `h.id, h.source as source_type, h.source_id, h.origin_id as connection_id, case when h.source_id is null then h.name end as external_id, h.since,
			` + ledger.HoldSQL + ` as lock, ` + ledger.AmountsSQL + ` as amounts, ` + heldEntries + ` as entries, ` + heldStatements + ` as statement_ids`,
		From: "ledger_held h", Where: []string{"h.team_id = @team"}, Args: db.Args{"team": tx.Team}, Sorts: heldSorts, Default: "since", ID: "h.id",
	}
	q.CountedAs("ledger_held")

	return q
}

// listHeld answers with a page of them.
func listHeld(ctx context.Context, tx *db.Tx, in *heldInput) (*page.Page[HeldBack], error) {
	q := heldQuery(tx)
	q.IDs("exists (select from ledger_held_line l where l.team_id = h.team_id and l.held_id = h.id and l.listing_id = any(?))", in.ListingIDs)
	q.IDs("h.source_id = any(?)", in.SourceIDs)

	if days := in.DateRange.Range(in.IsDateRangeEndInclusive); !in.DateRange.IsZero() {
		q.And(`exists (select from ledger_held_line l where l.team_id = h.team_id and l.held_id = h.id and l.txn_at >= @from and l.txn_at < @to)`,
			db.Args{"from": days.From, "to": days.To})
	}

	return page.List[HeldBack](ctx, tx, q, in.Params, in.Sort)
}

// mostCaughtUp is how much is caught up at once.
const mostCaughtUp = 500

type catchUpInput struct {
	Body struct {
		IDs []id.ID `json:"ids,omitempty" minItems:"1" maxItems:"500" doc:"What is caught up; absent means all, the oldest 500 at once."`
	}
}

// LateOutcome says how a change ended that was held back.
type LateOutcome string

// The outcomes: it is posted on the first open day, it was nothing any more, or it stays held back: a bank record is matched, or the system
// and a person disagree.
const (
	latePosted  LateOutcome = "posted"
	lateSettled LateOutcome = "settled"
	lateHeld    LateOutcome = "heldBack"
)

// Enum lists the outcomes.
func (LateOutcome) Enum() []string {
	return []string{string(latePosted), string(lateSettled), string(lateHeld)}
}

// LatePosting is a posting that catches up what a lock held back.
type LatePosting struct {
	TxnCode string      `json:"txnCode" doc:"Entries of the books with this code are of the posting."`
	Date    day.Day     `json:"date" doc:"The first day that no lock holds, or its own if that is later."`
	Entries []LateEntry `json:"entries"`
}

// LateStatement is a month of owners that a posting falls into.
type LateStatement struct {
	OwnershipPeriodID id.ID     `json:"ownershipPeriodId"`
	Month             day.Month `json:"month"`
}

// CaughtUp says how a change ended that was held back.
type CaughtUp struct {
	ID         id.ID           `json:"id"`
	SourceType string          `json:"sourceType" doc:"What has changed."`
	SourceID   *id.ID          `json:"sourceId"`
	Outcome    LateOutcome     `json:"outcome"`
	Amounts    []LateAmount    `json:"amounts" doc:"What was posted by party and currency."`
	Postings   []LatePosting   `json:"postings" doc:"The entries of the record that catch up the change."`
	Statements []LateStatement `json:"statements" doc:"The statements that show it."`
}

// AllCaughtUp is the answer of a catch-up.
type AllCaughtUp struct {
	Data      []CaughtUp `json:"data"`
	Remaining int64      `json:"remaining" doc:"How much is held back still."`
}

// lateEndpoints returns the routes of changes that locks hold back.
func lateEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/journals/held-back", ID: "listHeldBack", Tag: tag, Summary: "List changes that locks keep out of the books",
			Doc:    "What changed after its month was published or closed, until it is caught up or the lock goes.",
			Scopes: []string{"general-ledger:read"},
		}, listHeld),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/journals/catch-up", ID: "catchUpJournals", Tag: tag, Summary: "Post changes that locks keep out of the books",
			Doc:    "Posts the difference on the first open day, as entries of the record that has changed. A record of a system that waits is taken in.",
			Errors: apierr.List{reservation.DeriveErrors},
			Scopes: []string{"journals:post"}, DryRun: true,
		}, catchUp),
	}
}

// heldRow is something to catch up.
type heldRow struct {
	ID       id.ID
	Source   ledger.Noun
	SourceID *id.ID
	OriginID *id.ID
	Name     string
}

// loadHeld loads the changes to catch up: some ids, or the oldest of all. It fails with an issue for each id that is not held back.
func loadHeld(ctx context.Context, tx *db.Tx, ids []id.ID) ([]heldRow, error) {
	found, err := db.Select[heldRow](ctx, tx, `
		select h.id, h.source, h.source_id, h.origin_id, h.name from ledger_held h where h.team_id = @team and (@ids::uuid[] is null or h.id = any(@ids))
		order by h.id limit @most`, db.Args{"team": tx.Team, "ids": ids, "most": mostCaughtUp})
	if err != nil {
		return nil, fmt.Errorf("read what is held back: %w", err)
	}

	var issues []apierr.Issue

	for i, v := range ids {
		if !slices.ContainsFunc(found, func(r heldRow) bool { return r.ID == v }) {
			issues = append(issues, apierr.IssueNotFound.InBody("ids", i))
		}
	}

	if issues != nil {
		return nil, apierr.BadRequest.At(issues...)
	}

	return found, nil
}

// catchUp posts what locks hold back on the first open day.
func catchUp(ctx context.Context, tx *db.Tx, in *catchUpInput) (*AllCaughtUp, error) {
	held, err := loadHeld(ctx, tx, in.Body.IDs)
	if err != nil {
		return nil, err
	}

	// First take in the records of systems: syncs lock their source before any record.
	if err := takeWaiting(ctx, tx, held); err != nil {
		return nil, err
	}

	ids := map[ledger.Noun][]id.ID{}

	for i := range held {
		if r := &held[i]; r.SourceID != nil {
			ids[r.Source] = append(ids[r.Source], *r.SourceID)
		}
	}

	// Then post the difference of each, in the order of the locks of the nouns.
	late := ledger.Collecting()
	late.CatchesUp = true

	for _, source := range Sources() {
		if _, err := source.Book(ctx, tx, ids[source.Noun], ledger.Lenience{SkipLocked: true, Late: late}); err != nil {
			return nil, err
		}
	}

	return showCaughtUp(ctx, tx, held, late)
}

// takeWaiting takes in the records of systems among the changes, and sets their ids here.
func takeWaiting(ctx context.Context, tx *db.Tx, held []heldRow) error {
	names := map[id.ID][]string{}

	for i := range held {
		if r := &held[i]; r.OriginID != nil {
			names[*r.OriginID] = append(names[*r.OriginID], r.Name)
		}
	}

	kind := reservation.LateIntake()

	for _, origin := range id.Distinct(keys(names)) {
		found, err := intake.TakeWaiting(ctx, tx, &kind, origin, names[origin])
		if err != nil {
			return err
		}

		for i := range held {
			if r := &held[i]; r.OriginID != nil && *r.OriginID == origin && r.SourceID == nil {
				r.SourceID = found[r.Name]
			}
		}
	}

	return nil
}

// keys returns the keys of a map.
func keys[V any](of map[id.ID]V) []id.ID {
	out := make([]id.ID, 0, len(of))
	for k := range of {
		out = append(out, k)
	}

	return out
}

// showCaughtUp returns how the changes ended.
func showCaughtUp(ctx context.Context, tx *db.Tx, held []heldRow, late *ledger.Late) (*AllCaughtUp, error) {
	var accounts []id.ID

	for _, postings := range late.Posted {
		for i := range postings {
			for _, l := range postings[i].Lines {
				accounts = append(accounts, l.AccountID)
			}
		}
	}

	type name struct {
		ID   id.ID
		Name string
	}

	rows, err := db.Select[name](ctx, tx, `select id, name from account where team_id = @team and id = any(@ids)`, db.Args{"team": tx.Team, "ids": accounts})
	if err != nil {
		return nil, fmt.Errorf("read the names of accounts: %w", err)
	}

	named := map[id.ID]string{}
	for _, r := range rows {
		named[r.ID] = r.Name
	}

	assigned, err := account.LoadAssigned(ctx, tx)
	if err != nil {
		return nil, err
	}

	s := lateShow{named, assigned[account.AccountsReceivable]}
	out := &AllCaughtUp{Data: make([]CaughtUp, len(held))}

	for i := range held {
		r := &held[i]
		c := &out.Data[i]
		*c = CaughtUp{
			ID: r.ID, SourceType: string(r.Source), SourceID: r.SourceID, Outcome: lateSettled,
			Amounts: []LateAmount{}, Postings: []LatePosting{}, Statements: []LateStatement{},
		}

		if r.SourceID == nil {
			c.Outcome = lateHeld
			continue
		}

		if _, stays := late.Held[*r.SourceID]; stays {
			c.Outcome = lateHeld
		}

		if postings := late.Posted[*r.SourceID]; postings != nil {
			c.Outcome = latePosted
			s.fill(c, postings)
			noteCaughtUp(tx, r, c)

			// A record that several rows are about is posted once.
			delete(late.Posted, *r.SourceID)
		}
	}

	out.Remaining, err = db.Get[int64](ctx, tx, `select count(*) from ledger_held where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("count what is held back: %w", err)
	}

	return out, nil
}

// noteCaughtUp writes the audit event of a record with a change that was posted late.
func noteCaughtUp(tx *db.Tx, r *heldRow, c *CaughtUp) {
	codes := make([]string, len(c.Postings))
	for i := range c.Postings {
		codes[i] = c.Postings[i].TxnCode
	}

	audit.Note(tx, audit.Updated, audit.Entity(r.Source), *r.SourceID, map[string]any{"caughtUp": nil}, map[string]any{"caughtUp": strings.Join(codes, " ")})
}

// lateShow has what postings are shown with: the names of accounts, and the account of guests' money.
type lateShow struct {
	names  map[id.ID]string
	guests id.ID
}

// fill sets what was posted.
func (s *lateShow) fill(c *CaughtUp, postings []ledger.Posting) {
	for i := range postings {
		p := &postings[i]
		shown := LatePosting{TxnCode: p.TxnCode, Date: p.TxnAt, Entries: make([]LateEntry, len(p.Lines))}

		for k := range p.Lines {
			l := &p.Lines[k]
			shown.Entries[k] = s.entry(p, l)
			c.add(LateAmount{s.party(l), p.Currency, -l.CentTotal})

			show := LateStatement{l.OwnershipPeriodID, p.TxnAt.Month()}
			if l.Party == ledger.Owners && !slices.Contains(c.Statements, show) {
				c.Statements = append(c.Statements, show)
			}
		}

		c.Postings = append(c.Postings, shown)
	}
}

// party returns who has an entry.
func (s *lateShow) party(l *ledger.Line) LateParty {
	switch {
	case l.Party == ledger.Owners:
		return lateOwners
	case l.Party == ledger.Manager:
		return lateManager
	case l.AccountID == s.guests:
		return lateGuests
	default:
		return lateOthers
	}
}

// entry returns a line of a posting as it is shown.
func (s *lateShow) entry(p *ledger.Posting, l *ledger.Line) LateEntry {
	out := LateEntry{AccountID: l.AccountID, AccountName: s.names[l.AccountID], Date: p.TxnAt, Currency: p.Currency, CentTotal: l.CentTotal}

	if l.Party != ledger.NoParty {
		party := string(l.Party)
		out.Party = &party
	}

	if !l.ListingID.IsZero() {
		out.ListingID = &l.ListingID
	}

	if !l.OwnershipPeriodID.IsZero() {
		out.OwnershipPeriodID = &l.OwnershipPeriodID
	}

	return out
}

// add adds an amount to that of its party and currency.
func (c *CaughtUp) add(a LateAmount) {
	for i := range c.Amounts {
		if is := &c.Amounts[i]; is.Party == a.Party && is.Currency == a.Currency {
			is.CentTotal += a.CentTotal
			return
		}
	}

	c.Amounts = append(c.Amounts, a)
}
