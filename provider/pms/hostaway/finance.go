package hostaway

import (
	"cmp"
	"strings"

	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// wireAmount is a field of the finances of a reservation.
type wireAmount struct {
	Type  text `json:"type"`
	Name  text `json:"name"`
	Title text `json:"title"`
	Alias text `json:"alias"`
	// Total is the amount; another field called value is not.
	Total                  number `json:"total"`
	IsIncludedInTotalPrice flag   `json:"isIncludedInTotalPrice"`
	IsDeleted              flag   `json:"isDeleted"`
}

// maxFields is how many fields the finances of a reservation have at most.
const maxFields = 500

// sort is what a field of the finances is for us.
type sort int

const (
	passed      sort = iota // nothing of ours
	paidByGuest             // a line
	channelCut
	processingCut
	// The rest are totals that say what became of a stay that was canceled, and what the channel charges.
	channelTotal
	payout
	paid
	refund
)

// names say what fields are whose type alone does not, in lower case. Types of some have changed over the years.
var names = map[string]sort{
	"totalpricefromchannel": channelTotal,
	"totalpaid":             paid,
	"airbnbpayoutsum":       passed,
	"cancellationpayout":    payout,

	"refundsum":                  refund,
	"airbnbclosedresolutionssum": passed,
	// A deposit is given back, so it is no revenue.
	"damagedeposit": passed,

	"hostchannelfee":              channelCut,
	"cancellationhostfee":         channelCut,
	"hostcancellationpenalty":     channelCut,
	"otapaymentprocessingfee":     processingCut,
	"paymentserviceprocessingfee": processingCut,
	// The guest pays these to the channel, beside the total.
	"guestchannelfee":                passed,
	"bookingcomcancellationguestfee": passed,
}

// channelTaxes are the taxes that the channel pays to the authority, in lower case.
var channelTaxes = map[string]bool{"airbnbtransientoccupancytax": true, "airbnbpassthroughtax": true}

// finance is what the fields of a reservation add up to.
type finance struct {
	lines                     []pms.Line
	channelFee, processingFee *money.Cents
	// apart are the lines that the total price does not have, and taxes those of them that the channel pays.
	apart, taxes money.Cents
	// hasTotal says that the total price is the one that the channel says.
	hasTotal             bool
	payout, paid, refund money.Cents
}

// readFinance reads the fields of a reservation: each by its type, never by whether it is said to be in the total, which
// totals are, too. It fails if an amount is none.
func readFinance(fields []wireAmount, currency money.Currency) (*finance, error) {
	if len(fields) > maxFields {
		return nil, errForm
	}

	var out finance

	for i := range fields {
		w := &fields[i]

		amount, err := w.Total.Cents(currency)

		switch {
		case err != nil:
			return nil, err
		case bool(w.IsDeleted) || amount == nil || *amount == 0:
		default:
			out.add(w, *amount)
		}
	}

	return &out, nil
}

// add adds a field that has an amount.
func (f *finance) add(w *wireAmount, amount money.Cents) {
	switch kind := w.kind(); kind {
	case passed:
	case channelCut:
		f.channelFee = plus(f.channelFee, absolute(amount))
	case processingCut:
		f.processingFee = plus(f.processingFee, absolute(amount))
	case channelTotal:
		f.hasTotal = f.hasTotal || bool(w.IsIncludedInTotalPrice)
	case payout:
		f.payout += amount
	case paid:
		f.paid += amount
	case refund:
		f.refund += amount
	case paidByGuest:
		line := pms.Line{Type: w.lineType(), Description: cmp.Or(w.Alias.Clean(), w.Title.Clean(), w.Name.Clean()), Amount: amount}
		if line.Type == pms.Discount {
			line.Amount = -absolute(amount)
		}

		f.lines = append(f.lines, line)

		if !w.IsIncludedInTotalPrice {
			f.apart += line.Amount

			if line.Type == pms.ChannelTax {
				f.taxes += line.Amount
			}
		}
	}
}

// kind returns what a field is: by its name if that says it, or else by its type.
func (w *wireAmount) kind() sort {
	if kind, known := names[strings.ToLower(string(w.Name))]; known {
		return kind
	}

	switch kind := strings.ToLower(string(w.Type)); {
	case isRent(kind), kind == "fee", kind == "discount", kind == "tax":
		return paidByGuest
	case kind == "commissions":
		return channelCut
	case kind == "totals":
		return passed
	default:
		// What is not known is of the guest's if the total has it.
		if w.IsIncludedInTotalPrice {
			return paidByGuest
		}

		return passed
	}
}

// isRent reports whether a type is that of the nights: each of its names occurs, one of them misspelt.
func isRent(kind string) bool {
	return kind == "accommodation" || kind == "accomodation" || kind == "price" //nolint:misspell // As the system writes it.
}

// lineType returns the type of the line that a field is.
func (w *wireAmount) lineType() pms.LineType {
	name := strings.ToLower(string(w.Name))

	switch kind := strings.ToLower(string(w.Type)); {
	case channelTaxes[name]:
		return pms.ChannelTax
	case isRent(kind):
		return pms.Rent
	case kind == "fee" && strings.HasPrefix(name, "cleaningfee"):
		return pms.CleaningFee
	case kind == "fee":
		return pms.GuestFee
	case kind == "discount":
		return pms.Discount
	case kind == "tax":
		return pms.Tax
	default:
		return cmp.Or(w.Type.Clean(), pms.Other)
	}
}

// beyond returns what the guest pays beyond the total price. A total that the channel says is without the taxes that it
// pays itself, and other fields are parts of it, whatever they say.
func (f *finance) beyond() money.Cents {
	if f.hasTotal {
		return f.taxes
	}

	return f.apart
}

// plus adds to an amount that can be absent.
func plus(sum *money.Cents, more money.Cents) *money.Cents {
	if sum != nil {
		more += *sum
	}

	return &more
}

// absolute returns an amount without its sign.
func absolute(c money.Cents) money.Cents {
	if c < 0 {
		return -c
	}

	return c
}
