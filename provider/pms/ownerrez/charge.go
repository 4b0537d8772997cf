package ownerrez

import (
	"cmp"
	"strings"

	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// wireCharge is something that the guest pays for. Its split between owner and manager is not read: our own fees decide it.
type wireCharge struct {
	Type             text   `json:"type"`
	Amount           number `json:"amount"`
	Description      text   `json:"description"`
	IsChannelManaged bool   `json:"is_channel_managed"`
	Surcharge        struct {
		Name text `json:"name"`
	} `json:"surcharge"`
}

// maxCharges is how many charges a booking has at most.
const maxCharges = 500

// readCharges returns the charges of a booking as lines. It fails if an amount is none.
func readCharges(charges []wireCharge, currency money.Currency) ([]pms.Line, error) {
	if len(charges) > maxCharges {
		return nil, errForm
	}

	var lines []pms.Line

	for i := range charges {
		w := &charges[i]

		amount, err := w.Amount.Cents(currency)

		switch {
		case err != nil:
			return nil, err
		case amount == nil || *amount == 0:
		default:
			lines = append(lines, pms.Line{Type: w.lineType(*amount), Description: w.name(), Amount: *amount})
		}
	}

	return lines, nil
}

// name returns what a charge is called.
func (w *wireCharge) name() string { return cmp.Or(w.Description.Clean(), w.Surcharge.Name.Clean()) }

// lineType returns the type of the line that a charge is. Discounts come as rent or surcharges below zero.
func (w *wireCharge) lineType(amount money.Cents) pms.LineType {
	kind := word(w.Type)
	isFee := kind == "surcharge"

	switch {
	case (kind == "rent" || isFee) && amount < 0:
		return pms.Discount
	case kind == "rent":
		return pms.Rent
	case isFee && w.isCleaning():
		return pms.CleaningFee
	case isFee:
		return pms.GuestFee
	case kind == "tax" && w.IsChannelManaged:
		return pms.ChannelTax
	case kind == "tax":
		return pms.Tax
	default:
		return pms.Other
	}
}

// isCleaning reports whether the name of a charge says that it is for cleaning.
func (w *wireCharge) isCleaning() bool {
	return strings.Contains(strings.ToLower(string(w.Surcharge.Name+" "+w.Description)), "cleaning")
}

// add returns the sum of lines, and that of the taxes among them that the channel pays. It fails if one is out of range.
func add(lines []pms.Line) (all, channel money.Cents, err error) {
	for _, l := range lines {
		all += l.Amount

		if l.Type == pms.ChannelTax {
			channel += l.Amount
		}
	}

	if !all.Valid() || !channel.Valid() {
		return 0, 0, errForm
	}

	return all, channel, nil
}

// state checks the total of a stay. If it lacks just the taxes that the channel pays, they are added to it: whether they
// are in it is not described, and they are no difference. It fails if an amount is out of range.
func state(out *pms.Reservation) error {
	all, channel, err := add(out.Lines)
	if err != nil {
		return err
	}

	if out.Total != nil && channel != 0 && *out.Total == all-channel {
		out.Total = &all
	}

	return nil
}

// retain fills in what is kept of a stay that was canceled: the total that is left of it, or else the charges that are.
// It fails if an amount is out of range.
func retain(out *pms.Reservation, lines []pms.Line, total *money.Cents) error {
	all, _, err := add(lines)
	if err != nil {
		return err
	}

	if total != nil {
		all = *total
	}

	if all != 0 {
		out.Lines = []pms.Line{{Type: pms.Retained, Description: "Kept of the canceled stay", Amount: all}}
	}

	return nil
}
