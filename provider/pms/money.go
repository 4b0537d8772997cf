package pms

import "stayledger/platform/money"

// IsOwed reports whether the guest pays a line to the host. What the channel collects and remits itself is in no total.
func (l *Line) IsOwed() bool { return l.Type != ChannelTax }

// Owed returns what the lines of a stay have of its total.
func (r *Reservation) Owed() (sum money.Cents) {
	for i := range r.Lines {
		if r.Lines[i].IsOwed() {
			sum += r.Lines[i].Amount
		}
	}

	return sum
}

// channelTaxes returns the sum of the taxes that the channel collects and remits.
func (r *Reservation) channelTaxes() (sum money.Cents) {
	for i := range r.Lines {
		if !r.Lines[i].IsOwed() {
			sum += r.Lines[i].Amount
		}
	}

	return sum
}

// Difference returns what the lines lack of the stated total; 0 without one. Where it is not known whether the total has the taxes that the
// channel pays, the smaller difference counts.
func (r *Reservation) Difference() money.Cents {
	if r.Total == nil {
		return 0
	}

	out := *r.Total - r.Owed()
	if less := out - r.channelTaxes(); !r.IsTotalOwed && max(less, -less) < max(out, -out) {
		return less
	}

	return out
}

// Unexplained returns what the lines do not explain: the difference to the stated total, and lines that say of themselves to be one.
func (r *Reservation) Unexplained() money.Cents {
	out := r.Difference()
	if r.OwnerStay || r.Block {
		return 0
	}

	for i := range r.Lines {
		if r.Lines[i].Type == Difference {
			out += r.Lines[i].Amount
		}
	}

	return out
}

// PayoutDeviation returns what the stated payout has beyond the lines less the channel's fee; 0 without one.
func (r *Reservation) PayoutDeviation() money.Cents {
	if r.Payout == nil {
		return 0
	}

	out := *r.Payout - r.Owed()
	if r.ChannelFee != nil {
		out += *r.ChannelFee
	}

	return out
}

// CheckAmounts fails with a FormError if a sum of the amounts of a stay is out of range: each can be right by itself.
func (r *Reservation) CheckAmounts() error {
	sums := []money.Cents{r.Owed(), r.channelTaxes(), r.Difference(), r.PayoutDeviation()}
	for _, c := range []*money.Cents{r.Total, r.ChannelFee, r.ProcessingFee, r.Payout} {
		if c != nil {
			sums = append(sums, *c)
		}
	}

	for _, c := range sums {
		if !c.Valid() {
			return Wrong("", OutOfRange)
		}
	}

	return nil
}

// RetainTotal makes the lines of a stay what is kept of it by its total. Lines that do not add up to it say what the stay would have cost: one
// line is kept then, and of its tax nothing is known.
func (r *Reservation) RetainTotal() {
	if off := r.Difference(); off != 0 {
		r.NotKept = -off
		r.RetainSum(*r.Total)
	} else {
		r.Retain()
	}

	r.Total = nil
}

// RetainSum makes the lines of a stay one that is kept of it.
func (r *Reservation) RetainSum(kept money.Cents) {
	var taxes money.Cents

	for _, l := range r.Lines {
		if retained[l.Type] == RetainedTax {
			taxes += l.Amount
		}
	}

	if r.Lines = nil; kept != 0 {
		r.Lines, r.UnknownTax = []Line{{Type: Retained, Amount: kept}}, taxes
	}

	r.Retain()
}

// retained are the types that lines have when they are what is kept of a stay that was canceled. All others become one line Retained.
var retained = map[LineType]LineType{
	Tax: RetainedTax, RetainedTax: RetainedTax, SecurityDeposit: RetainedDeposit, RetainedDeposit: RetainedDeposit,
}

// Retain makes the lines of a stay what is kept of it after its cancellation: taxes stay taxes and deposits deposits, and the rest is one
// line. Taxes of the channel go: nothing of them is ours.
func (r *Reservation) Retain() {
	var (
		rest  money.Cents
		lines []Line
	)

	for _, l := range r.Lines {
		switch kept := retained[l.Type]; {
		case l.Type == ChannelTax:
		case kept != "":
			l.Type = kept
			lines = append(lines, l)
		default:
			rest += l.Amount
		}
	}

	if rest != 0 {
		lines = append([]Line{{Type: Retained, Description: "Kept of the canceled stay", Amount: rest}}, lines...)
	}

	r.Lines = lines
}
