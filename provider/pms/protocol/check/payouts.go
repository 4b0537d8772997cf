package check

import (
	"context"

	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// checkPayouts reads all payouts. A server can have none.
func (c *checker) checkPayouts(ctx context.Context) {
	own := part{list: payoutList, next: payoutPages, pages: payoutPages, id: payoutForm}

	w, _ := c.readAll(ctx, own, func(page string) (string, error) {
		got, err := c.client.Payouts(ctx, &pms.Query{Page: page})
		if err != nil {
			return "", err
		}

		for i := range got.Unreadable {
			c.reportRow(&got.Unreadable[i], nil, payoutForm)
		}

		for i := range got.Payouts {
			c.checkPayout(&got.Payouts[i])
		}

		return got.Next, nil
	})

	if w.rows == 0 {
		c.report.note(NotOffered, "No payout was given.", payoutList, payoutPages, payoutForm, payoutSum)
		return
	}

	c.report.pass(payoutList, payoutForm, payoutSum)
}

// checkPayout checks what a payout says that can be read.
func (c *checker) checkPayout(p *pms.Payout) {
	if p.Gone || len(p.Members) == 0 {
		return
	}

	var sum money.Cents
	for _, m := range p.Members {
		sum += m.Gross - m.Fees
	}

	if off := p.Amount - sum; off != 0 {
		c.wrong(payoutSum, p.ID, "amount", "differs from gross less fees of the members by "+
			""+off.Decimal(money.Currency(p.Currency))+" "+p.Currency)
	}
}
