package listing

import (
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// BusinessModel says who collects the guests' money.
type BusinessModel string

// The business models: the manager collects and pays the owner; the manager assists; the channel pays owner and co-host
// separately.
const (
	Managed      BusinessModel = "managed"
	CoHost       BusinessModel = "co_host"
	CoHostAirbnb BusinessModel = "co_host_airbnb"
)

// Enum lists the business models.
func (BusinessModel) Enum() []string {
	return []string{string(Managed), string(CoHost), string(CoHostAirbnb)}
}

// Whole is the sum of the splits of a period.
const Whole = 100_000

// Member is an owner's part in a period.
type Member struct {
	ContactID id.ID `json:"contactId"`
	Split     int64 `json:"split" minimum:"1" maximum:"100000" doc:"Parts per 100000; the members of a period sum to 100000."`
}

// Period is who owns a listing from one day to another, and on which terms. Members are in the order given, which
// decides who gets the cents that do not divide.
type Period struct {
	ID                 id.ID         `json:"id"`
	ListingID          id.ID         `json:"listingId"`
	StartAt            *day.Day      `json:"startAt" doc:"First day; null means from inception."`
	EndAt              *day.Day      `json:"endAt" doc:"First day that is not owned any more; null means open."`
	BusinessModel      BusinessModel `json:"businessModel"`
	Reserve            *money.Cents  `json:"reserve" doc:"Cents held back from the owner's available balance."`
	SetListingInactive bool          `json:"setListingInactive" doc:"The listing becomes inactive on endAt, the day after the period, unless another period owns it then."`

	DeactivationHeld *HeldDeactivation `json:"deactivationHeld" doc:"Why the listing is still active after such a period; null for nothing."`

	Members   []Member    `json:"members"`
	Lock      ledger.Lock `json:"lock" db:"-" doc:"Bank reconciliation and the months of statements do not lock a period."`
	CreatedAt day.Instant `json:"createdAt"`
	UpdatedAt day.Instant `json:"updatedAt"`
}

// Covers reports whether the period owns the day.
func (p *Period) Covers(d day.Day) bool {
	return (p.StartAt == nil || !d.Before(*p.StartAt)) && (p.EndAt == nil || d.Before(*p.EndAt))
}

// Covering returns the period that covers the day, or nil. The periods are those of one listing.
func Covering(periods []Period, d day.Day) *Period {
	for i := range periods {
		if periods[i].Covers(d) {
			return &periods[i]
		}
	}

	return nil
}

// FindPeriod returns the period with an id, or nil.
func FindPeriod(periods []Period, one id.ID) *Period {
	for i := range periods {
		if periods[i].ID == one {
			return &periods[i]
		}
	}

	return nil
}

// overlaps reports whether two periods share a day. A missing start or end means forever.
func (p *Period) overlaps(o *Period) bool {
	return Span{p.StartAt, p.EndAt}.Overlaps(Span{o.StartAt, o.EndAt})
}

// contains reports whether every day that o and within share is also a day of p.
func (p *Period) contains(o, within *Period) bool {
	// First the days that o and within share: the later start and the earlier end, with nil for no bound.
	start, end := o.StartAt, o.EndAt
	if start == nil || within.StartAt != nil && start.Before(*within.StartAt) {
		start = within.StartAt
	}

	if end == nil || within.EndAt != nil && within.EndAt.Before(*end) {
		end = within.EndAt
	}

	// No day is left to contain.
	if start != nil && end != nil && !start.Before(*end) {
		return true
	}

	return (p.StartAt == nil || start != nil && !start.Before(*p.StartAt)) &&
		(p.EndAt == nil || end != nil && !p.EndAt.Before(*end))
}

// conflicts returns the listing's other periods that share a day with p, in the given order.
func conflicts(others []Period, p *Period) []Period {
	var out []Period

	for i := range others {
		if others[i].ID != p.ID && others[i].overlaps(p) {
			out = append(out, others[i])
		}
	}

	return out
}

// OnConflict says what to do with a period that overlaps the one being written.
type OnConflict string

// Truncate ends the earlier open period where the new one starts.
const Truncate OnConflict = "truncate"

// Enum lists the outcomes.
func (OnConflict) Enum() []string { return []string{string(Truncate)} }

// OnLast says what becomes of the period before when the last one of a listing is deleted.
type OnLast string

// The outcomes: the days of the deleted period have no owner, or the period before is extended over them.
const (
	LeaveGap OnLast = "none"
	Extend   OnLast = "extend"
)

// Enum lists the outcomes.
func (OnLast) Enum() []string { return []string{string(LeaveGap), string(Extend)} }

// before returns the period before p if p is the last of its listing, else nil. The periods are in the order of
// their days.
func before(periods []Period, p *Period) *Period {
	if n := len(periods); n > 1 && periods[n-1].ID == p.ID {
		return &periods[n-2]
	}

	return nil
}

// ConflictContext names the periods in the way.
type ConflictContext struct {
	ConflictingPeriodIDs []id.ID `json:"conflictingPeriodIds"`
}

// StatementContext names the statements that hold a period.
type StatementContext struct {
	LockReason   string  `json:"lockReason" enum:"statement"`
	StatementIDs []id.ID `json:"statementIds"`
}

// What can be wrong with a change of ownership.
var (
	errPeriodConflict = apierr.New(apierr.CodeConflict, "", "Ownership period overlaps another one of the listing")
	errPeriodLocked   = apierr.New(
		apierr.CodeForbidden, apierr.ReasonStatementAttachment, "Ownership period is attached to an owner statement",
	)
	errPeriodInUse = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Ownership period is still in use")
)

// resolveConflicts decides what becomes of the periods in the way: nothing to do, one period to end earlier, or a
// refusal.
func resolveConflicts(others []Period, p *Period, on *OnConflict) (*Period, error) {
	inTheWay := conflicts(others, p)
	if len(inTheWay) == 0 {
		return nil, nil
	}
	// An open period is the last of its listing, so when the first one in the way is open it is the only one.
	if earlier := inTheWay[0]; on != nil && *on == Truncate && earlier.EndAt == nil &&
		p.StartAt != nil && (earlier.StartAt == nil || earlier.StartAt.Before(*p.StartAt)) {
		earlier.EndAt = p.StartAt
		return &earlier, nil
	}

	// Otherwise refuse, and name all periods in the way.
	context := ConflictContext{ConflictingPeriodIDs: []id.ID{}}
	for i := range inTheWay {
		context.ConflictingPeriodIDs = append(context.ConflictingPeriodIDs, inTheWay[i].ID)
	}

	return nil, errPeriodConflict.With(context)
}

// checkStatements refuses what would change an owner statement that was saved: its owners, their shares, its terms, or
// days that leave the period.
func checkStatements(old, changed *Period, statements []ledger.StatementOver) error {
	// A statement depends on the terms for all its days, so changed terms refuse every statement of the period.
	terms := old.BusinessModel != changed.BusinessModel || !slices.Equal(old.Members, changed.Members)

	var held []id.ID

	for _, s := range statements {
		if s.PeriodID != old.ID {
			continue
		}

		// The end of a statement is its last day; that of a period is the day after.
		end := s.EndAt.AddDays(1)
		if terms || !changed.contains(&Period{StartAt: &s.StartAt, EndAt: &end}, old) {
			held = append(held, s.ID)
		}
	}

	if held == nil {
		return nil
	}

	return errPeriodLocked.With(StatementContext{LockReason: "statement", StatementIDs: held})
}

// checkMembers returns an issue for each contact that is named twice and for shares that do not sum to Whole. The
// path leads to the members in the body.
func checkMembers(members []Member, path ...any) []apierr.Issue {
	var (
		issues []apierr.Issue
		sum    int64
	)

	// The sum counts all shares, those of a repeated contact too.
	seen := map[id.ID]bool{}

	for i, m := range members {
		sum += m.Split
		if seen[m.ContactID] {
			issues = append(issues, apierr.IssueUnique.InBody(path, i, "contactId"))
		}

		seen[m.ContactID] = true
	}

	if sum != Whole {
		issues = append(issues, apierr.IssueSplitSum.InBody(path...))
	}

	return issues
}

// checkDays finds a period that ends before it starts; path leads to its end.
func checkDays(start, end *day.Day, path ...any) []apierr.Issue {
	if start == nil || end == nil || start.Before(*end) {
		return nil
	}

	return []apierr.Issue{apierr.IssueDateOrder.InBody(path...)}
}
