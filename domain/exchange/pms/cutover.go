package pms

import (
	"context"
	"net/http"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// What keeps a team from moving to another system.
var (
	errStartMissing = apierr.New(apierr.CodeBadRequest, apierr.ReasonPmsAccountingStartMissing, "Source connection has no accounting start")
	errStaysLocked  = apierr.New(apierr.CodeConflict, apierr.ReasonReservationLocked, "Reservations that would leave the books are locked")
)

// cutoverEndpoints returns the routes on which a team moves from one system to another.
func (s *Systems) cutoverEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/connections/pms-cutover/listing-mappings", ID: "getCutoverMappings", Tag: tag,
			Summary: "Compare the listings of two systems", Scopes: []string{"connections:read"},
			Doc: "Listings of the source, and those of the target with the listing of the source that each one is or could be, by name and address.",
		}, s.compareListings),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/pms-cutover/preview", ID: "previewCutover", Tag: tag, Summary: "See what a cutover would do",
			Errors: apierr.List{errStartMissing},
			Doc: "Says what applyCutover would do and what blocks it, and changes nothing. Fails with 400 for connections and days between which nothing can " +
				"be moved.",
			Scopes: []string{"connections:read"},
		}, s.previewCutover),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/pms-cutover/apply", ID: "applyCutover", Tag: tag, Summary: "Move to another property-management system",
			Errors: apierr.List{errStartMissing, errAmbiguous, errStaysLocked, ledger.MoveRefusals},
			Doc: "Ends the accounting window of the source on a day and begins that of the target on it. Reservations of the source from that day on become " +
				"inactive, and the lines that name them go to the same reservations of the target. Listings of the target that are listings of the source become " +
				"these. All of it happens or nothing. Fails as the preview does, and with 409 for what blocks it.",
			Scopes: []string{"connections:write"}, Exclusive: true,
		}, s.applyCutover),
	}
}

// Cutover says how a team moves from one system to another.
type Cutover struct {
	SourceConnectionID id.ID            `json:"sourceConnectionId"`
	TargetConnectionID id.ID            `json:"targetConnectionId"`
	CutoverAt          day.Day          `json:"cutoverAt" doc:"First day of the target."`
	ListingMappings    []CutoverMapping `json:"listingMappings,omitempty" maxItems:"20000" doc:"Where it is to be otherwise than suggested, or than ambiguous."`
}

// CutoverMapping says which listing of the source a listing of the target is.
type CutoverMapping struct {
	TargetListingConnectionID id.ID  `json:"targetListingConnectionId"`
	SourceListingID           *id.ID `json:"sourceListingId" doc:"null keeps it a listing of its own."`
}

// CutoverTarget is a listing of the target, and the listing of the source that it is or could be.
type CutoverTarget struct {
	TargetListingConnectionID id.ID            `json:"targetListingConnectionId"`
	UniqueRef                 string           `json:"uniqueRef" doc:"The system's own id of the listing."`
	Name                      string           `json:"name"`
	Address                   *contact.Address `json:"address"`
	ListingID                 *id.ID           `json:"listingId" doc:"The listing here that it is now; null before the first sync."`
	Status                    mappingStatus    `json:"status" doc:"alreadyShared: it is a listing of the source; matched: one of these has its name; ambiguous: several have, or one at another address; unmapped: none has."`
	SuggestedListing          *place           `json:"suggestedListing" doc:"The listing of the source that it probably is; null for none that is certain."`
}

// CutoverListings are the listings of two systems.
type CutoverListings struct {
	SourceListings []place         `json:"sourceListings" doc:"Listings here that the source has."`
	TargetListings []CutoverTarget `json:"targetListings" doc:"Listings of the target, and what they are or could be."`
}

type compareInput struct {
	SourceConnectionID id.ID `query:"sourceConnectionId" required:"true"`
	TargetConnectionID id.ID `query:"targetConnectionId" required:"true"`
}

// compareListings answers with the listings of two systems.
func (s *Systems) compareListings(ctx context.Context, tx *db.Tx, in *compareInput) (*CutoverListings, error) {
	for _, c := range []struct {
		id id.ID
		at string
	}{{in.SourceConnectionID, "sourceConnectionId"}, {in.TargetConnectionID, "targetConnectionId"}} {
		found, err := connection.Get(ctx, tx, c.id)
		if err != nil {
			return nil, err
		}

		if find(found.AppID) == nil {
			return nil, apierr.BadRequest.At(apierr.IssueContradiction.InQuery(c.at))
		}
	}

	found, err := loadPairs(ctx, tx, in.SourceConnectionID, in.TargetConnectionID)
	if err != nil {
		return nil, err
	}

	return found.view(), nil
}

// ImpactedReservations counts the reservations that a cutover changes.
type ImpactedReservations struct {
	SourceCount         int64 `json:"sourceCount" doc:"Reservations of the source on or after the day, which become inactive."`
	TargetCount         int64 `json:"targetCount" doc:"Reservations of the target on or after the day."`
	JournalRefreshCount int64 `json:"journalRefreshCount" doc:"Reservations whose journals are derived again."`
	LockedCount         int64 `json:"lockedCount" doc:"Reservations that would leave the books although a statement or closed books hold their entries; 0 or the cutover is refused."`
}

// ListingContinuity counts what becomes of the listings of the target.
type ListingContinuity struct {
	AlreadySharedCount     int64 `json:"alreadySharedCount" doc:"They are listings of the source already."`
	MatchedCount           int64 `json:"matchedCount" doc:"They become listings of the source."`
	AmbiguousCount         int64 `json:"ambiguousCount" doc:"It is to be said what they are; 0 or the cutover is refused."`
	UnmappedCount          int64 `json:"unmappedCount" doc:"They stay listings of their own."`
	TargetReservationCount int64 `json:"targetReservationCount" doc:"Reservations that go to a listing of the source."`
	TransactionLineCount   int64 `json:"transactionLineCount" doc:"Lines of other transactions than payments that go there."`
	PaymentLineCount       int64 `json:"paymentLineCount" doc:"Lines of deposits and payouts that go there."`
	LockedCount            int64 `json:"lockedCount" doc:"Journals that would move although a statement or closed books hold them; 0 or the cutover is refused."`
}

// Unmatched is a reservation of the source that becomes inactive without one of the target that is the same.
type Unmatched struct {
	ReservationID id.ID         `json:"reservationId"`
	Reason        apierr.Reason `json:"reason" doc:"reservationUnmatched"`
}

// CutoverPlan is what a cutover does.
type CutoverPlan struct {
	operation.Acknowledgement

	ImpactedReservations  ImpactedReservations `json:"impactedReservations" doc:"Reservations that leave the books or come into them."`
	ListingContinuity     ListingContinuity    `json:"listingContinuity" doc:"What becomes of the listings of the target."`
	UnmatchedReservations []Unmatched          `json:"unmatchedReservations" doc:"Lines that name them are detached."`
}

// CutoverPreview is what a cutover would do.
type CutoverPreview struct {
	CutoverPlan

	JournalChanges *[]JournalChange `json:"journalChanges" doc:"How the books would differ then, by account and month. null while something blocks the cutover, and if it touches more than 5000 reservations and transactions."`
}

// CutoverDone is what a cutover has done.
type CutoverDone struct {
	CutoverPlan

	Applied                       bool    `json:"applied" doc:"Always true."`
	QueuedReservationRefreshCount int64   `json:"queuedReservationRefreshCount" doc:"Reservations whose journals are being derived again."`
	OperationIDs                  []id.ID `json:"operationIds" doc:"The operations that derive journals again."`
}

type cutoverInput struct{ Body Cutover }

// previewCutover answers with what a cutover would do.
func (s *Systems) previewCutover(ctx context.Context, tx *db.Tx, in *cutoverInput) (*CutoverPreview, error) {
	if err := holdBoth(ctx, tx, in.Body.SourceConnectionID, in.Body.TargetConnectionID); err != nil {
		return nil, err
	}

	p, err := s.plan(ctx, tx, &in.Body)
	if err != nil {
		return nil, err
	}

	changes, err := s.compareBooks(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	ack, err := operation.Record(ctx, tx, p.operation(operation.PMSCutoverPreview))
	if err != nil {
		return nil, err
	}

	return &CutoverPreview{CutoverPlan: *p.view(ack), JournalChanges: changes}, nil
}

// operation describes the operation of a cutover.
func (p *plan) operation(typ operation.Type) operation.New {
	target := operation.Resource{Type: operation.Connection, ID: p.target.ID, Role: operation.Target}
	source := operation.Resource{Type: operation.Connection, ID: p.source.ID, Role: operation.Source}

	return operation.New{Type: typ, Primary: &target, Resources: []operation.Resource{target, source}}
}

// view returns the plan as callers see it.
func (p *plan) view(ack *operation.Acknowledgement) *CutoverPlan {
	out := &CutoverPlan{Acknowledgement: *ack, ImpactedReservations: p.stays, ListingContinuity: p.listings, UnmatchedReservations: []Unmatched{}}
	for _, r := range p.retired {
		if p.matches[r.ID] == nil {
			out.UnmatchedReservations = append(out.UnmatchedReservations, Unmatched{r.ID, apierr.ReasonReservationUnmatched})
		}
	}

	return out
}

// blocker returns what keeps a plan from being applied, nil for nothing.
func (p *plan) blocker() error {
	switch {
	case p.listings.AmbiguousCount > 0:
		return errAmbiguous
	case p.stays.LockedCount > 0:
		return errStaysLocked
	}

	return p.held.Refusal()
}

// isBlocked returns true if something keeps a plan from being applied.
func (p *plan) isBlocked() bool { return p.blocker() != nil }

// ids returns the ids of stays.
func ids(stays []reservation.Stay) []id.ID {
	out := make([]id.ID, len(stays))
	for i := range stays {
		out[i] = stays[i].ID
	}

	return out
}
