package ownerrez

import (
	"cmp"
	"strconv"
	"strings"

	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// wireCharge is something that the guest pays for. Its split between owner and manager is not read: our own fees decide
// it.
type wireCharge struct {
	Type             text   `json:"type"`
	Category         text   `json:"category"`
	Amount           number `json:"amount"`
	Description      text   `json:"description"`
	IsChannelManaged bool   `json:"is_channel_managed"`
	Surcharge        struct {
		Name text `json:"name"`
	} `json:"surcharge"`
}

// maxCharges is how many charges a booking has at most.
const maxCharges = 500

// readCharges returns the charges of a booking as lines. It fails with a FormError.
func readCharges(charges []wireCharge, currency money.Currency) ([]pms.Line, error) {
	if len(charges) > maxCharges {
		return nil, pms.Wrong("charges", pms.TooMany)
	}

	var lines []pms.Line

	for i := range charges {
		w := &charges[i]

		amount, err := w.Amount.Cents(currency)

		switch {
		case err != nil:
			return nil, pms.Wrong("charges."+strconv.Itoa(i)+".amount", pms.NotAmount)
		case amount == nil || *amount == 0:
		default:
			lines = append(lines, pms.Line{Type: w.lineType(*amount), Description: w.name(), Amount: *amount})
		}
	}

	return lines, nil
}

// name returns what a charge is called.
func (w *wireCharge) name() string { return cmp.Or(w.Description.Clean(), w.Surcharge.Name.Clean()) }

// lineType returns the type of the line that a charge is. The system has a second type of taxes and of surcharges, for
// those that are typed in. Discounts come as rent or surcharges below zero. A charge of a type that is not described is
// a difference.
func (w *wireCharge) lineType(amount money.Cents) pms.LineType {
	switch kind := word(w.Type); {
	case (kind == "tax" || kind == "taxother") && w.IsChannelManaged:
		return pms.ChannelTax
	case kind == "tax" || kind == "taxother":
		return pms.Tax
	case kind == "rent" && amount < 0:
		return pms.Discount
	case kind == "rent":
		return pms.Rent
	case kind == "surcharge" || kind == "surchargeother":
		return w.surchargeType(amount)
	default:
		return pms.Difference
	}
}

// surchargeType returns the type of the line that a surcharge is. Its category says more than its name, which counts
// without one. One below zero gives a fee back if it names one, and is a discount otherwise.
func (w *wireCharge) surchargeType(amount money.Cents) pms.LineType {
	category := word(w.Category)
	name := string(w.Surcharge.Name + " " + w.Description)

	switch {
	case strings.Contains(category, "deposit"), pms.IsDeposit(name):
		return pms.SecurityDeposit
	case category == "tax" && w.IsChannelManaged:
		return pms.ChannelTax
	case category == "tax":
		return pms.Tax
	case category == "rent" && amount >= 0:
		return pms.Rent
	case category == "cleaning", category == "" && strings.Contains(strings.ToLower(name), "cleaning"):
		return pms.CleaningFee
	case amount < 0 && (category == "rent" || category == "" && !strings.Contains(strings.ToLower(name), "refund")):
		return pms.Discount
	default:
		return pms.GuestFee
	}
}
