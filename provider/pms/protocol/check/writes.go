package check

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/provider/pms"
)

// The nights that are blocked for the check: far ahead, where no guest stays.
const (
	blockAhead = 700 // days
	blockTries = 3   // listings, and days of each
)

// checkWrites tries what changes something, if that was asked for.
func (c *checker) checkWrites(ctx context.Context) {
	webhook, blocks := []string{webhookPut, webhookDelete}, []string{
		blockPut, blockAgain, blockListing, blockDelete,
		blockDeleteTwo,
	}

	if !c.Write {
		c.report.note(NotChecked, "Only tried with --write.", append(webhook, blocks...)...)
		return
	}

	c.checkWebhook(ctx, webhook)
	c.checkBlocks(ctx, blocks)
}

// step makes a call of which a rule says that it is taken, and reports whether it is.
func (c *checker) step(ctx context.Context, rule string, do func() error) bool {
	err := c.call(ctx, do)
	if err != nil {
		c.reportCall(ctx, only(rule), err)
		return false
	}

	return true
}

// checkWebhook has messages sent to an address, and ends that.
func (c *checker) checkWebhook(ctx context.Context, rules []string) {
	to := cmp.Or(c.WebhookURL, "https://example.com/stayledger-check")
	put := func() error {
		return c.client.Subscribe(ctx, to, "whsec_c3RheWxlZGdlci1jaGVjay1zZWNyZXQ=")
	}

	// The first request says whether there are messages at all.
	if err := c.call(ctx, put); isAbsent(err) {
		c.report.note(NotOffered, "stayledger reads what has changed at times of its own.", rules...)
		return
	} else if err != nil {
		c.reportCall(ctx, only(webhookPut), err)
		return
	}

	if c.step(ctx, webhookPut, put) {
		c.report.pass(webhookPut)
	}

	// The second time there is nothing to delete.
	for range 2 {
		if !c.step(ctx, webhookDelete, func() error { return c.client.Unsubscribe(ctx) }) {
			return
		}
	}

	c.report.pass(webhookDelete)
}

// checkBlocks blocks a night, and lets it be sold again.
func (c *checker) checkBlocks(ctx context.Context, rules []string) {
	if len(c.free) == 0 {
		c.report.note(NotChecked, "No listing was given that is not archived.", rules...)
		return
	}

	b, err := c.block(ctx)

	switch {
	case isAbsent(err):
		c.report.note(NotOffered, "stayledger blocks no calendars.", rules...)
		return
	case err != nil:
		c.reportCall(ctx, only(blockPut), err)
		return
	}

	c.report.pass(blockPut)

	if c.step(ctx, blockAgain, func() error { return c.put(ctx, b) }) {
		c.report.pass(blockAgain)
	}

	c.checkBlockListing(ctx, b)

	end := func() error { return c.client.Unblock(ctx, b) }
	if c.step(ctx, blockDelete, end) {
		c.report.pass(blockDelete)

		if c.step(ctx, blockDeleteTwo, end) {
			c.report.pass(blockDeleteTwo)
		}
	}
}

// put sends a block.
func (c *checker) put(ctx context.Context, b *pms.Block) error {
	_, err := c.client.Block(ctx, b)
	return err //nolint:wrapcheck // It is a pms.Error.
}

// block blocks a night that is free: other listings and days are tried as long as nights are taken. It fails with a
// pms.Error.
func (c *checker) block(ctx context.Context) (b *pms.Block, err error) {
	now := time.Now()

	for i := range blockTries * len(c.free) {
		begin := day.Of(now).AddDays(blockAhead + i)
		b = &pms.Block{
			ID: id.New(now).String(), ListingID: c.free[i%len(c.free)], StartAt: begin, EndAt: begin.AddDays(1),
			Note: "stayledger check", MadeAt: now,
		}

		err = c.call(ctx, func() error { return c.put(ctx, b) })

		if e, is := errors.AsType[*pms.Error](err); !is || e.Status != http.StatusUnprocessableEntity {
			return b, err
		}
	}

	return b, err
}

// checkBlockListing tries to block a night of a listing that there is not.
func (c *checker) checkBlockListing(ctx context.Context, like *pms.Block) {
	b := *like
	b.ID, b.ListingID = id.New(time.Now()).String(), "stayledger-check-no-such-listing"

	err := c.call(ctx, func() error { return c.put(ctx, &b) })

	switch {
	case errors.Is(err, pms.ErrRefused):
		c.report.pass(blockListing)
	case err != nil:
		c.reportCall(ctx, only(blockListing), err)
	default:
		c.wrong(blockListing, "", "listingId", "is taken, and there is no such listing")

		// What was taken by mistake must not stay.
		_ = c.client.Unblock(ctx, &b)
	}
}
