package journal

import (
	"strconv"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/ptr"
)

// derivePosting returns the posting of a journal. It fails with the issue ownershipPeriodMissing for an owners' line on
// a listing that had no owner on the date.
func (j *Journal) derivePosting(n *references) (ledger.Posting, error) {
	p := ledger.Posting{
		SourceID: j.ID,
		TxnCode:  "journal:" + j.ID.String(),
		Ledger:   ledger.Ledger(j.Ledger),
		Status:   ledger.Active,
		TxnAt:    j.Date,
		Currency: j.Currency,
		Lines:    make([]ledger.Line, len(j.Lines)),
	}

	trigger := ledger.TriggerManual
	if j.ReversesID != nil {
		trigger = triggerReversal
	}

	for i := range j.Lines {
		l := &j.Lines[i]

		p.Lines[i] = ledger.Line{
			Ref:           "line:" + strconv.Itoa(i+1),
			AccountID:     l.AccountID,
			CentTotal:     l.CentTotal,
			Party:         ptr.Value(l.Party),
			ListingID:     ptr.Value(l.ListingID),
			ContactID:     ptr.Value(l.ContactID),
			ReservationID: ptr.Value(l.ReservationID),
			Trigger:       trigger,
			Description:   ptr.Value(l.Description),
		}

		// A line without a description has the journal's.
		if p.Lines[i].Description == "" {
			p.Lines[i].Description = ptr.Value(j.Description)
		}

		if p.Lines[i].Party != ledger.Owners {
			continue
		}

		// Owners' money belongs to the ownership period of the date.
		period := n.periodAt(l, j.Date)
		if period == nil {
			return ledger.Posting{}, apierr.BadRequest.At(
				apierr.IssueOwnershipPeriodMissing.InBody("lines", i, "listingId"),
			)
		}

		p.Lines[i].OwnershipPeriodID = period.ID
	}

	return p, nil
}

// triggerReversal marks the entries of a journal that takes another one back.
const triggerReversal = "reversal"
