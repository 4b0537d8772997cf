package hostaway

import (
	"cmp"
	"slices"
	"strconv"
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

// fieldKind says how a field of the finances counts.
type fieldKind int

const (
	passed      fieldKind = iota // no amount of ours
	paidByGuest                  // a line
	deposit                      // a line, if the total has it
	resolution                   // a line beyond the total
	channelCut
	processingCut
	// The rest are totals: payouts, payments and refunds of a canceled stay, and penalties of the channel.
	channelTotal
	payoutSum
	cancellationPayout
	paid
	refund
	penalty
)

// names has the kinds of fields with a misleading type, by name in lower case. The types of some have changed over the
// years.
var names = map[string]fieldKind{
	"totalpricefromchannel": channelTotal,
	"totalpaid":             paid,
	"airbnbpayoutsum":       payoutSum,
	"cancellationpayout":    cancellationPayout,

	"refundsum":                  refund,
	"airbnbclosedresolutionssum": resolution,
	"hostcancellationpenalty":    penalty,

	"hostchannelfee":              channelCut,
	"cancellationhostfee":         channelCut,
	"otapaymentprocessingfee":     processingCut,
	"paymentserviceprocessingfee": processingCut,
	// The guest pays these to the channel, apart from the total.
	"guestchannelfee":                passed,
	"bookingcomcancellationguestfee": passed,
}

// channelTax names the tax that the channel pays to the authority. A tax that it pays out to the host, such as
// airbnbPassThroughTax, is owed by the host.
const channelTax = "airbnbtransientoccupancytax"

// finance has the lines and sums of the fields of a reservation.
type finance struct {
	lines []financeLine
	// beyond are lines that are in no total.
	beyond                                    []pms.Line
	channelFee, processingFee                 *money.Cents
	hasTotal                                  bool // the total price is the one that the channel says
	payout, canceled, paid, refund, penalties money.Cents
	hasPaid                                   bool
}

// financeLine is a line with the claim of its field to be in the total price.
type financeLine struct {
	pms.Line

	isIncluded bool
}

// readFinance reads the fields of a reservation by their types. The claim of a field to be in the total does not make
// it a line, because totals claim it, too. It fails with a FormError for a malformed amount.
func readFinance(fields []wireAmount, currency money.Currency) (*finance, error) {
	if len(fields) > maxFields {
		return nil, pms.Wrong("financeField", pms.TooMany)
	}

	var out finance

	for i := range fields {
		w := &fields[i]

		amount, err := w.Total.Cents(currency)

		switch {
		case err != nil:
			return nil, pms.Wrong("financeField."+strconv.Itoa(i)+".total", pms.NotAmount)
		case bool(w.IsDeleted) || amount == nil || *amount == 0:
		default:
			out.add(w, *amount)
		}
	}

	return &out, nil
}

// add adds a field with an amount to the lines or sums.
func (f *finance) add(w *wireAmount, amount money.Cents) {
	switch kind := w.kind(); kind {
	case passed:
	case channelCut:
		f.channelFee = plus(f.channelFee, absolute(amount))
	case processingCut:
		f.processingFee = plus(f.processingFee, absolute(amount))
	case penalty:
		f.penalties += absolute(amount)
	case channelTotal:
		f.hasTotal = f.hasTotal || bool(w.IsIncludedInTotalPrice)
	case payoutSum:
		f.payout += amount
	case cancellationPayout:
		f.canceled += amount
	case paid:
		f.paid, f.hasPaid = f.paid+amount, true
	case refund:
		f.refund += amount
	case deposit:
		// A deposit outside the total is a hold on a card, and no payment.
		if w.IsIncludedInTotalPrice {
			f.lines = append(f.lines, financeLine{w.line(pms.SecurityDeposit, amount), true})
		}
	case resolution:
		f.beyond = append(f.beyond, w.line(pms.Resolution, amount))
	case paidByGuest:
		line := w.line(w.lineType(), amount)
		if line.Type == pms.Discount {
			line.Amount = -absolute(amount)
		}

		// A field of an unknown type that is not in the total is charged on top of it.
		if !w.isDescribed() && !bool(w.IsIncludedInTotalPrice) {
			f.beyond = append(f.beyond, line)
		} else {
			f.lines = append(f.lines, financeLine{line, bool(w.IsIncludedInTotalPrice)})
		}
	}
}

// line returns the line of a field.
func (w *wireAmount) line(kind pms.LineType, amount money.Cents) pms.Line {
	return pms.Line{Type: kind, Description: cmp.Or(w.Alias.Clean(), w.Title.Clean(), w.Name.Clean()), Amount: amount}
}

// kind returns how a field counts: by its name if that is known, else by its type.
func (w *wireAmount) kind() fieldKind {
	if kind, known := names[strings.ToLower(string(w.Name))]; known {
		return kind
	}

	switch kind := strings.ToLower(string(w.Type)); {
	case w.isDeposit():
		return deposit
	case kind == "commissions":
		return channelCut
	case kind == "totals":
		return passed
	default:
		return paidByGuest
	}
}

// isDeposit reports whether one of the names of a field means a deposit to be returned, whatever its type.
func (w *wireAmount) isDeposit() bool {
	for _, t := range []text{w.Name, w.Alias, w.Title} {
		if pms.IsDeposit(string(t)) {
			return true
		}
	}

	return false
}

// isRent reports whether a type means the price of the nights. The system uses three names, one of them misspelt.
func isRent(kind string) bool {
	const misspelt = "accomodation" //nolint:misspell // As the system writes it.

	return kind == "accommodation" || kind == misspelt || kind == "price"
}

// isDescribed reports whether the description of the system has the type of a field.
func (w *wireAmount) isDescribed() bool {
	kind := strings.ToLower(string(w.Type))
	return isRent(kind) || kind == "fee" || kind == "discount" || kind == "tax"
}

// lineType returns the type of the line of a field. Unknown types pass as they are; a field without a type is a
// difference.
func (w *wireAmount) lineType() pms.LineType {
	name := strings.ToLower(string(w.Name))

	switch kind := strings.ToLower(string(w.Type)); {
	case strings.HasPrefix(name, channelTax):
		return pms.ChannelTax
	case strings.HasPrefix(name, "airbnbpassthroughtax"):
		return pms.Tax
	case isRent(kind):
		return pms.Rent
	case kind == "fee" && strings.Contains(name, "cleaningfee"):
		return pms.CleaningFee
	case kind == "fee":
		return pms.GuestFee
	case kind == "discount":
		return pms.Discount
	case kind == "tax":
		return pms.Tax
	case kind == "other" || kind == "":
		return pms.Difference
	default:
		return w.Type.Clean()
	}
}

// settle returns the lines of a stay with a stated total, and the sum that they should have without channel taxes.
// Fields do not say reliably whether they are in the total, so the total itself decides: it has all fields, or the
// fields that claim it. Remits says that the channel remits taxes outside its total.
func (f *finance) settle(total money.Cents, remits bool) ([]pms.Line, money.Cents) {
	// First the sums that the total can have: of all fields, or of the fields that claim to be in it.
	var lines []pms.Line

	var all, included, taxes, includedTaxes money.Cents

	for _, l := range f.lines {
		lines = append(lines, l.Line)

		switch {
		case !l.IsOwed() && l.isIncluded:
			taxes, includedTaxes = taxes+l.Amount, includedTaxes+l.Amount
		case !l.IsOwed():
			taxes += l.Amount
		case l.isIncluded:
			all, included = all+l.Amount, included+l.Amount
		default:
			all += l.Amount
		}
	}

	// Then find the sum that matches. The result leaves channel taxes out.
	switch {
	case total == all:
	case total == all+taxes:
		total = all
	case f.hasTotal && total == included:
		// The guest also pays the lines outside the total of the channel, except taxes that the channel remits.
		for i := range lines {
			switch l := &lines[i]; {
			case f.lines[i].isIncluded || !l.IsOwed():
			case l.Type == pms.Tax && remits:
				l.Type = pms.ChannelTax
			default:
				total += l.Amount
			}
		}
	case f.hasTotal:
		total -= includedTaxes
	default:
		total += all - included - includedTaxes
	}

	// Last the lines that no total has.
	for _, l := range f.beyond {
		lines, total = append(lines, l), total+l.Amount
	}

	return lines, total
}

// fact is an amount of a reservation outside its finance fields.
type fact struct {
	kind   pms.LineType
	label  string
	amount money.Cents
}

// explain returns lines for the difference of a stay: facts of types without a line that add up to exactly the
// difference. For a stay without any line, it takes facts as long as they are within the difference.
func explain(difference money.Cents, lines []pms.Line, facts []fact) []pms.Line {
	has := map[pms.LineType]bool{}
	for _, l := range lines {
		has[l.Type] = true
	}

	facts = slices.DeleteFunc(slices.Clone(facts), func(f fact) bool { return f.amount <= 0 || has[f.kind] })

	// There are at most six facts, so all subsets can be tried.
	for some := 1; some < 1<<len(facts); some++ {
		if chosen, sum := choose(facts, some); sum == difference && chosen != nil {
			return chosen
		}
	}

	if len(lines) > 0 {
		return nil
	}

	var (
		out []pms.Line
		sum money.Cents
	)

	for _, f := range facts {
		if !has[f.kind] && sum+f.amount <= difference {
			has[f.kind], sum, out = true, sum+f.amount, append(out, f.line())
		}
	}

	return out
}

// choose returns the facts of a set of bits as lines, and their sum. It returns nil if two facts have the same type.
func choose(facts []fact, some int) (out []pms.Line, sum money.Cents) {
	for i, f := range facts {
		if some>>i&1 == 0 {
			continue
		}

		if slices.ContainsFunc(out, func(l pms.Line) bool { return l.Type == f.kind }) {
			return nil, 0
		}

		out, sum = append(out, f.line()), sum+f.amount
	}

	return out, sum
}

// line returns the line of a fact.
func (f fact) line() pms.Line { return pms.Line{Type: f.kind, Description: f.label, Amount: f.amount} }

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
