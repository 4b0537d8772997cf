package pms

import "stayledger/platform/money"

// IsOwed reports whether the guest pays a line to the host. Taxes that the channel collects and remits are in no total.
func (l *Line) IsOwed() bool { return l.Type != ChannelTax }

// SumOwed returns the sum of the lines that the guest pays to the host.
func (r *Reservation) SumOwed() (sum money.Cents) {
	for i := range r.Lines {
		if r.Lines[i].IsOwed() {
			sum += r.Lines[i].Amount
		}
	}

	return sum
}

// sumChannelTaxes returns the sum of the taxes that the channel collects and remits.
func (r *Reservation) sumChannelTaxes() (sum money.Cents) {
	for i := range r.Lines {
		if !r.Lines[i].IsOwed() {
			sum += r.Lines[i].Amount
		}
	}

	return sum
}

// Difference returns the stated total less the lines, and 0 without a stated total. If it is unknown whether the total
// has the taxes that the channel remits, it returns the smaller difference.
func (r *Reservation) Difference() money.Cents {
	if r.Total == nil {
		return 0
	}

	out := *r.Total - r.SumOwed()
	if less := out - r.sumChannelTaxes(); !r.IsTotalOwed && max(less, -less) < max(out, -out) {
		return less
	}

	return out
}

// Deviation returns the amount that no line explains: the difference to the stated total, and lines of the type
// Difference. Owner stays and blocks have no amounts.
func (r *Reservation) Deviation() money.Cents {
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

// PayoutDeviation returns the stated payout less the lines, plus the fee of the channel, and 0 without a stated payout.
func (r *Reservation) PayoutDeviation() money.Cents {
	if r.Payout == nil {
		return 0
	}

	out := *r.Payout - r.SumOwed()
	if r.ChannelFee != nil {
		out += *r.ChannelFee
	}

	return out
}

// CheckAmounts fails with a FormError without a field if a stated amount, a sum of lines or a difference between the
// two is out of range. Single lines were checked when they were read.
func (r *Reservation) CheckAmounts() error {
	sums := []money.Cents{r.SumOwed(), r.sumChannelTaxes(), r.Difference(), r.PayoutDeviation()}
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

// RetainTotal replaces the lines of a canceled stay by the retained amount, which is its total. If the lines do not add
// up to the total, they show the price of the stay before its cancellation: they become one line, with an unknown share
// of tax.
func (r *Reservation) RetainTotal() {
	if off := r.Difference(); off != 0 {
		r.NotKept = -off
		r.RetainSum(*r.Total)
	} else {
		r.Retain()
	}

	r.Total = nil
}

// RetainSum replaces the lines of a canceled stay by one line with the retained amount, and notes the taxes of the old
// lines, of which an unknown part is retained.
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

// retained maps types of lines to their types on a canceled stay. Lines of all other types are added up in one line
// Retained.
var retained = map[LineType]LineType{
	Tax: RetainedTax, RetainedTax: RetainedTax, SecurityDeposit: RetainedDeposit, RetainedDeposit: RetainedDeposit,
}

// Retain replaces the lines of a stay by the retained lines after its cancellation: taxes stay taxes, deposits stay
// deposits, and the rest is added up in one line. Taxes that the channel remits are left out, because they were never
// ours.
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
