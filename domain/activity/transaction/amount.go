package transaction

import (
	"stayledger/domain/books/tax"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// Payable returns the amount that the vendor gets for a line, with the tax if the vendor remits it, or the amount
// that a deposit brings.
func (l *Line) Payable() money.Cents {
	if l.AppliedAmount != nil && l.AppliedAmount.TaxPayee == TaxToVendor {
		return l.Base() + l.AppliedAmount.TaxAmount
	}

	return l.Base()
}

// Base returns the amount without the tax it contains: the cost itself.
func (l *Line) Base() money.Cents {
	if l.AppliedAmount != nil && l.AppliedAmount.TaxBehavior == TaxIncluded {
		return l.Amount - l.AppliedAmount.TaxAmount
	}

	return l.Amount
}

// markupRevenue returns the markup without the tax it contains.
func (l *Line) markupRevenue() money.Cents {
	switch {
	case l.Markup == nil:
		return 0
	case ptr.Value(l.Markup.TaxBehavior) == TaxIncluded:
		return l.Markup.Amount - l.Markup.TaxAmount
	default:
		return l.Markup.Amount
	}
}

// taxes returns the taxes on amount and markup together.
func (l *Line) taxes() money.Cents {
	var taxes money.Cents
	if l.AppliedAmount != nil {
		taxes += l.AppliedAmount.TaxAmount
	}

	if l.Markup != nil {
		taxes += l.Markup.TaxAmount
	}

	return taxes
}

// managerTaxes returns the taxes that the manager has to remit: those on the markup, and those on the amount that the
// vendor does not get.
func (l *Line) managerTaxes() money.Cents {
	return l.Base() + l.taxes() - l.Payable()
}

// settle computes the taxes and the total of a line. A tax on the same amount under the same rate and behaviour as
// before stays as it was, even if the rate has changed since: it is the one on the bill.
func (l *Line) settle(rates map[id.ID]tax.Rate, old *Line) {
	if a := l.AppliedAmount; a != nil {
		was := old.AppliedAmount
		if was != nil && old.Amount == l.Amount && was.TaxRateID == a.TaxRateID && was.TaxBehavior == a.TaxBehavior {
			a.TaxAmount = was.TaxAmount
		} else {
			a.TaxAmount = computeTax(l.Amount, rates[a.TaxRateID].BasisPoints, a.TaxBehavior)
		}
	}

	// A markup may come without a tax rate.
	if m := l.Markup; m != nil {
		was := old.Markup
		switch {
		case m.TaxRateID == nil:
			m.TaxAmount = 0
		case was != nil && was.Amount == m.Amount && ptr.Value(was.TaxRateID) == *m.TaxRateID &&
			ptr.Value(was.TaxBehavior) == ptr.Value(m.TaxBehavior):
			m.TaxAmount = was.TaxAmount
		default:
			m.TaxAmount = computeTax(m.Amount, rates[*m.TaxRateID].BasisPoints, ptr.Value(m.TaxBehavior))
		}
	}

	l.Total = l.Base() + l.markupRevenue() + l.taxes()
}

// computeTax returns the tax that an amount contains, or the tax on top of it.
func computeTax(amount money.Cents, rate money.Rate, behavior TaxBehavior) money.Cents {
	if behavior == TaxIncluded {
		return rate.TaxIn(amount)
	}

	return rate.Of(amount)
}

// settle computes the amounts of all lines and the total. It refuses sums of magnitudes beyond the safe range, so
// that no sum that the journal takes of some of them can leave it either.
func (d *draft) settle(rates map[id.ID]tax.Rate) []apierr.Issue {
	var all money.Reach

	d.Total = 0

	stored := d.linesByID()
	for i := range d.Lines {
		l := &d.Lines[i]

		old := stored[l.ID]
		if old == nil {
			old = &Line{}
		}

		l.settle(rates, old)

		// Magnitudes count, whatever their signs: a refund does not make room for a larger amount.
		for _, part := range []money.Cents{l.Base(), l.markupRevenue(), l.taxes()} {
			if !all.Add(part) {
				return []apierr.Issue{apierr.IssueRange.InBody(d.paths[i], "amount")}
			}
		}

		d.Total += l.Payable()
	}

	return nil
}
