// Package cutover moves a team from one property-management system to another on a day, together with shared listings
// and with the edits of stays that both systems have.
//
// The file plan.go finds out what a cutover would change and what blocks it, stay.go pairs the stays of both systems,
// apply.go carries the plan out, and books.go compares the books before and after.
//
// The page docs/decisions/pms.md says what the contract leaves open and how it is answered here.
package cutover

import (
	"context"
	"net/http"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/domain/exchange/merge"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// Movers moves teams from one system to another.
type Movers struct {
	apps     connection.Apps
	listings intake.Kind // saves listings
	stays    intake.Kind // saves reservations
}

// Part returns the endpoints of cutovers between systems of some apps. Listings and stays are the kinds that save
// them.
func Part(apps connection.Apps, listings, stays intake.Kind) parts.Part {
	return parts.Part{Endpoints: (&Movers{apps, listings, stays}).endpoints()}
}

const tag = "Connections"

// The refusals of a cutover.
var (
	errStartMissing = apierr.New(apierr.CodeBadRequest, apierr.ReasonPmsAccountingStartMissing,
		"Source connection has no accounting start")
	errStaysLocked = apierr.New(apierr.CodeConflict, apierr.ReasonReservationLocked,
		"Reservations that would leave the books are locked")
)

// endpoints returns the routes for moving a team to another system.
func (m *Movers) endpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/connections/pms-cutover/listing-mappings", ID: "getCutoverMappings", Tag: tag,
			Summary: "Compare the listings of two systems", Scopes: []string{"connections:read"},
			Doc: "Listings of the source, and those of the target with the listing of the source that each one is or could be, by name and address.",
		}, compareListings),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/pms-cutover/preview", ID: "previewCutover", Tag: tag, Summary: "See what a cutover would do",
			Errors: append(apierr.List{errStartMissing, merge.Refusals}, listing.MergeErrors...),
			Doc: "Says what applyCutover would do and what blocks it, and changes nothing. Fails with 400 for connections and days between which nothing can " +
				"be moved, and as a merge of listings does for owners or fees that differ. Its amounts are those of the general ledger.",
			Scopes: []string{"connections:read", "reports:read"},
		}, m.preview),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/pms-cutover/apply", ID: "applyCutover", Tag: tag, Summary: "Move to another property-management system",
			Errors: append(apierr.List{
				errStartMissing, pms.ErrAmbiguous, errStaysLocked, ledger.MoveRefusals, merge.Refusals,
			}, listing.MergeErrors...),
			Doc: "Ends the accounting window of the source on a day and begins that of the target on it. Reservations of the source from that day on become " +
				"inactive, and the lines that name them go to the same reservations of the target, with what people have done to them. Where both systems have " +
				"a stay, the one of them counts that the day of the target says. Listings of the target that are listings of the source become " +
				"these. All of it happens or nothing. Fails as the preview does, with 409 for what blocks it, and with 403 statementPeriod for what would " +
				"come under a saved statement.",
			Scopes: []string{"connections:write", "reports:read"}, Exclusive: true,
		}, m.apply),
	}
}

// Cutover says how a team moves from one system to another.
type Cutover struct {
	SourceConnectionID id.ID     `json:"sourceConnectionId"`
	TargetConnectionID id.ID     `json:"targetConnectionId"`
	CutoverAt          day.Day   `json:"cutoverAt" doc:"First day of the target."`
	ListingMappings    []Mapping `json:"listingMappings,omitempty" maxItems:"20000" doc:"Where it is to be otherwise than suggested, or than ambiguous."`
}

// Mapping binds a listing of the target to a listing of the source.
type Mapping struct {
	TargetListingConnectionID id.ID  `json:"targetListingConnectionId"`
	SourceListingID           *id.ID `json:"sourceListingId" doc:"null keeps it a listing of its own."`
}

type compareInput struct {
	SourceConnectionID id.ID `query:"sourceConnectionId" required:"true"`
	TargetConnectionID id.ID `query:"targetConnectionId" required:"true"`
}

// compareListings returns the listings of both systems with their matches.
func compareListings(ctx context.Context, tx *db.Tx, in *compareInput) (*pms.CutoverListings, error) {
	if in.SourceConnectionID == in.TargetConnectionID {
		return nil, apierr.BadRequest.At(apierr.IssueContradiction.InQuery("targetConnectionId"))
	}

	for _, c := range []struct {
		id id.ID
		at string
	}{{in.SourceConnectionID, "sourceConnectionId"}, {in.TargetConnectionID, "targetConnectionId"}} {
		found, err := connection.Get(ctx, tx, c.id)
		if err != nil {
			return nil, err
		}

		if !pms.IsSystem(found.AppID) {
			return nil, apierr.BadRequest.At(apierr.IssueContradiction.InQuery(c.at))
		}
	}

	return pms.Compare(ctx, tx, in.SourceConnectionID, in.TargetConnectionID)
}

// ImpactedReservations counts the reservations that a cutover changes.
type ImpactedReservations struct {
	SourceCount         int64 `json:"sourceCount" doc:"Reservations of the source, or that were entered here and that the target has, on or after the day, which become inactive."`
	TargetCount         int64 `json:"targetCount" doc:"Reservations of the target on or after the day."`
	JournalRefreshCount int64 `json:"journalRefreshCount" doc:"Reservations whose journals are derived again."`
	LockedCount         int64 `json:"lockedCount" doc:"Reservations that would leave the books or change entries although a lock holds them, a pair once; 0 or the cutover is refused."`
}

// ListingContinuity counts the listings of the target by what happens to them, and what moves with them.
type ListingContinuity struct {
	AlreadySharedCount     int64 `json:"alreadySharedCount" doc:"They are listings of the source already."`
	MatchedCount           int64 `json:"matchedCount" doc:"They become listings of the source."`
	AmbiguousCount         int64 `json:"ambiguousCount" doc:"It is to be said what they are; 0 or the cutover is refused."`
	UnmappedCount          int64 `json:"unmappedCount" doc:"They stay listings of their own."`
	TargetReservationCount int64 `json:"targetReservationCount" doc:"Reservations that go to a listing of the source."`
	TransactionLineCount   int64 `json:"transactionLineCount" doc:"Lines of other transactions than payments that go there."`
	PaymentLineCount       int64 `json:"paymentLineCount" doc:"Lines of deposits and payouts that go there."`
	LockedCount            int64 `json:"lockedCount" doc:"Journals that would move although a statement or closed books hold them, or come under a saved statement of the listing that they go to; 0 or the cutover is refused."`
}

// Unmatched is a reservation of the source that becomes inactive without an equal reservation of the target.
type Unmatched struct {
	ReservationID id.ID         `json:"reservationId"`
	Reason        apierr.Reason `json:"reason" doc:"reservationUnmatched"`
}

// PairedStay is a reservation of a pair.
type PairedStay struct {
	ReservationID id.ID              `json:"reservationId"`
	CheckIn       day.Day            `json:"checkIn"`
	CheckOut      day.Day            `json:"checkOut"`
	Status        reservation.Status `json:"status"`
	Total         money.Cents        `json:"total" doc:"Lines and financial adjustments, as they are before the cutover."`
	Currency      string             `json:"currency"`
}

// ReservationPair is a stay that both systems have with different data, or that was entered here and the target has.
type ReservationPair struct {
	ConfirmationCode *string    `json:"confirmationCode" doc:"That of the target."`
	Source           PairedStay `json:"source" doc:"The reservation of the system that the team leaves, or one that was entered here."`
	Target           PairedStay `json:"target" doc:"The reservation of the system that the team moves to."`
	Counts           side       `json:"counts" doc:"Which of the two is in the books after the cutover."`
}

// side is the source or the target.
type side string

const (
	sourceSide side = "source"
	targetSide side = "target"
)

// Enum lists the sides.
func (side) Enum() []string { return []string{string(sourceSide), string(targetSide)} }

// Impact says how much a cutover changes.
type Impact struct {
	operation.Acknowledgement

	ImpactedReservations  ImpactedReservations `json:"impactedReservations" doc:"Reservations that leave the books or come into them."`
	ListingContinuity     ListingContinuity    `json:"listingContinuity" doc:"What becomes of the listings of the target."`
	UnmatchedReservations []Unmatched          `json:"unmatchedReservations" doc:"Lines that name them are detached."`
	ReservationPairs      []ReservationPair    `json:"reservationPairs" doc:"Stays of both systems that differ in days, status, amounts or accounting dates, and those entered here that the target has. The target's gives its days to both, unless people have said other ones."`
}

// Preview says how a cutover would change the team.
type Preview struct {
	Impact

	JournalChanges *[]JournalChange `json:"journalChanges" doc:"How the books would differ then, by account and month. null while something blocks the cutover, and if it touches more than 5000 reservations and transactions."`
}

// Done says how a cutover has changed the team.
type Done struct {
	Impact

	Applied                       bool    `json:"applied" doc:"Always true."`
	QueuedReservationRefreshCount int64   `json:"queuedReservationRefreshCount" doc:"Reservations whose journals are being derived again."`
	OperationIDs                  []id.ID `json:"operationIds" doc:"The operations that derive journals again."`
}

type cutoverInput struct{ Body Cutover }

// preview returns what a cutover would do.
func (m *Movers) preview(ctx context.Context, tx *db.Tx, in *cutoverInput) (*Preview, error) {
	if err := lockBoth(ctx, tx, in.Body.SourceConnectionID, in.Body.TargetConnectionID); err != nil {
		return nil, err
	}

	p, err := m.plan(ctx, tx, &in.Body)
	if err != nil {
		return nil, err
	}

	changes, err := m.compareBooks(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	ack, err := operation.Record(ctx, tx, p.operation(operation.PMSCutoverPreview))
	if err != nil {
		return nil, err
	}

	return &Preview{Impact: *p.render(ack), JournalChanges: changes}, nil
}

// operation describes the operation of a cutover.
func (p *plan) operation(typ operation.Type) operation.New {
	target := operation.Resource{Type: operation.Connection, ID: p.target.ID, Role: operation.Target}
	source := operation.Resource{Type: operation.Connection, ID: p.source.ID, Role: operation.Source}

	return operation.New{Type: typ, Primary: &target, Resources: []operation.Resource{target, source}}
}

// render returns the plan as the API shows it.
func (p *plan) render(ack *operation.Acknowledgement) *Impact {
	out := &Impact{
		Acknowledgement: *ack, ImpactedReservations: p.stays, ListingContinuity: p.listings,
		UnmatchedReservations: []Unmatched{}, ReservationPairs: append([]ReservationPair{}, p.differing...),
	}

	for _, r := range p.retired {
		if p.matches[r.ID] == nil {
			unmatched := Unmatched{r.ID, apierr.ReasonReservationUnmatched}
			out.UnmatchedReservations = append(out.UnmatchedReservations, unmatched)
		}
	}

	return out
}

// blocker returns why a plan cannot be applied, nil if it can.
func (p *plan) blocker() error {
	switch {
	case p.listings.AmbiguousCount > 0:
		return pms.ErrAmbiguous
	case p.stays.LockedCount > 0:
		return errStaysLocked.With(map[string]any{"reservationIds": p.locked[:min(len(p.locked), mostNamed)]})
	}

	return p.held.Refusal()
}

// isBlocked reports whether a plan cannot be applied.
func (p *plan) isBlocked() bool { return p.blocker() != nil }
