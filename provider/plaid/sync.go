package plaid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/outbound"
)

// UpdateStatus is how much of an item's history the vendor has fetched.
type UpdateStatus string

// The statuses: nothing yet, the last thirty days, all.
const (
	NotReady           UpdateStatus = "NOT_READY"
	InitialComplete    UpdateStatus = "INITIAL_UPDATE_COMPLETE"
	HistoricalComplete UpdateStatus = "HISTORICAL_UPDATE_COMPLETE"
)

const (
	// How many rows a page can have.
	maxCount = 500
	// How many times a sync begins again because the rows moved.
	maxRestarts = 5
	// How long a sync waits at most each time that calls are limited, and how many times it waits for one page.
	maxRest  = 2 * time.Minute
	maxRests = 10
	// How many pages a sync has at most: a million rows in pages of 500, which no login at a bank has.
	maxPages = 2000
)

// SyncRequest asks for what has changed since a cursor.
type SyncRequest struct {
	AccessToken string
	// Cursor is where the last sync ended; empty for everything.
	Cursor string
	// Count is how many rows a page has at most: 500, which 0 means, or fewer.
	Count int
}

// Page is a part of the changes since a cursor. Each row is in it once: the last change counts, and a removal counts
// more than any other.
type Page struct {
	// First says that a sync begins here: everything that earlier pages of the same call said is void. That happens
	// once, and again whenever rows moved while they were being paged through.
	First bool
	// Added rows are new since the cursor; Modified ones have the ID of one that was there. Either can be a row that
	// the caller has.
	Added    []Transaction
	Modified []Transaction
	// Removed rows are not there any more. They can be rows that the caller has never seen, such as pending ones.
	Removed    []Removed
	Unreadable []Unreadable
	// Accounts are those that the rows belong to, with their balances.
	Accounts []Account
	// Next is the cursor behind the page; empty when nothing is ready yet.
	Next   string
	More   bool
	Status UpdateStatus
	// RequestID is the identifier that the vendor's support asks for.
	RequestID string
}

// Synced is how a sync ended.
type Synced struct {
	// Cursor is where the next sync starts: it belongs to all pages together, and is stored with them or not at all.
	Cursor   string
	Status   UpdateStatus
	Pages    int // of the run that counts
	Restarts int
}

// SyncTransactions reads all changes since a cursor, a page at a time, and calls each with every page. Only if
// SyncTransactions returns without an error do the pages since the last First belong together. If rows move while
// they are read it begins again, at most five times; then it fails with ErrMoved. If calls are limited it waits and
// goes on as long as ctx lasts. It fails with the error of each, or with an Error.
func (c *Client) SyncTransactions(ctx context.Context, r SyncRequest, each func(Page) error) (Synced, error) {
	out := Synced{Cursor: r.Cursor}
	for ; ; out.Restarts++ {
		err := c.syncOnce(ctx, r, &out, each)
		if err == nil {
			return out, nil
		}

		if !errors.Is(err, ErrMoved) || out.Restarts == maxRestarts {
			return Synced{}, err
		}
	}
}

// syncOnce reads all pages from the cursor of the request to the end, and calls each with them. It fails with
// ErrMoved if the rows changed meanwhile.
func (c *Client) syncOnce(ctx context.Context, r SyncRequest, out *Synced, each func(Page) error) error {
	out.Cursor, out.Pages = r.Cursor, 0
	for more := true; more; {
		page, err := c.loadPage(ctx, r.AccessToken, out.Cursor, r.Count)
		if err != nil {
			return err
		}

		// A cursor that does not move would make this loop endless, and so would new ones for ever.
		if page.More && (page.Next == "" || page.Next == out.Cursor || out.Pages == maxPages-1) {
			return fmt.Errorf("sync transactions: %w", badAnswer("never ends"))
		}

		// The caller forgets earlier pages when it sees First, so a restart needs no other sign.
		page.First = out.Pages == 0
		if err := each(page); err != nil {
			return err
		}

		// While nothing is ready there is no cursor; then the old one stays.
		if page.Next != "" {
			out.Cursor = page.Next
		}

		out.Pages++
		out.Status, more = page.Status, page.More
	}

	return nil
}

// loadPage reads a page. If calls are limited it waits and tries again, at most maxRests times.
func (c *Client) loadPage(ctx context.Context, accessToken, cursor string, count int) (Page, error) {
	for rests := 0; ; rests++ {
		page, err := c.TransactionsPage(ctx, accessToken, cursor, count)

		// Success and every other failure are the caller's.
		limited, is := errors.AsType[*Error](err)
		if !is || !errors.Is(err, ErrLimited) || rests == maxRests {
			return page, err
		}

		// If ctx ends before the rest does, waiting is no use.
		rest := min(time.Until(limited.Until), maxRest)
		if deadline, has := ctx.Deadline(); has && time.Until(deadline) < rest {
			return Page{}, err
		}

		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return Page{}, err
		}
	}
}

type wirePage[Row any] struct {
	Added     []Row         `json:"added"`
	Modified  []Row         `json:"modified"`
	Removed   []wireRemoved `json:"removed"`
	Accounts  []wireAccount `json:"accounts"`
	Next      string        `json:"next_cursor"`
	More      bool          `json:"has_more"`
	Status    UpdateStatus  `json:"transactions_update_status"`
	RequestID string        `json:"request_id"`
}

type wireRemoved struct {
	ID        string `json:"transaction_id"`
	AccountID string `json:"account_id"`
}

// TransactionsPage reads one page after a cursor, of at most count rows. It fails with ErrMoved if the cursor is in
// the middle of a sync and its rows have changed since it began.
func (c *Client) TransactionsPage(ctx context.Context, accessToken, cursor string, count int) (Page, error) {
	if count <= 0 || count > maxCount {
		count = maxCount
	}

	// The bank's own text comes only if it is asked for.
	content, err := c.ask(ctx, "/transactions/sync", struct {
		wireAccess

		Cursor  string          `json:"cursor,omitempty"`
		Count   int             `json:"count"`
		Options map[string]bool `json:"options"`
	}{wireAccess{accessToken}, cursor, count, map[string]bool{"include_original_description": true}})
	if err != nil {
		return Page{}, fmt.Errorf("page of transactions: %w", err)
	}

	page, err := readPage(content)
	if err != nil {
		return Page{}, fmt.Errorf("page of transactions: %w", err)
	}

	return page, nil
}

// readPage reads a page as a whole, or row by row if one of its rows is not of the protocol: then only that row is
// lost.
func readPage(content []byte) (Page, error) {
	// Nearly all pages can be decoded in one pass.
	var whole wirePage[wireTransaction]
	if err := json.Unmarshal(content, &whole); err == nil {
		return assemble(&whole, func(w *wireTransaction) (Transaction, string) { return w.transaction() })
	}

	// Otherwise the rows are left as they are and decoded one by one. If even that fails, the page itself is wrong.
	var rows wirePage[json.RawMessage]
	if err := json.Unmarshal(content, &rows); err != nil {
		return Page{}, badAnswer("is not of the protocol")
	}

	return assemble(&rows, func(raw *json.RawMessage) (Transaction, string) {
		var w wireTransaction

		// The identifiers may have been decoded before the wrong field.
		if err := json.Unmarshal(*raw, &w); err != nil {
			return Transaction{ID: tidyID(w.ID), AccountID: tidyID(w.AccountID)}, "row"
		}

		return w.transaction()
	})
}

// assemble makes a page of its decoded parts, with read for each row. It fails if the cursor or an account cannot
// be used.
func assemble[Row any](w *wirePage[Row], read func(*Row) (Transaction, string)) (Page, error) {
	if len(w.Next) > 256 || (w.Next != "" && !outbound.Printable(w.Next, 256)) {
		return Page{}, badAnswer("has a cursor that is none")
	}

	switch w.Status {
	case NotReady, InitialComplete, HistoricalComplete, "":
	default:
		w.Status = "" // unknown, as TRANSACTIONS_UPDATE_STATUS_UNKNOWN says
	}

	// Balances come with each page; a wrong one makes the whole page unusable.
	accounts, err := readAccounts(w.Accounts)
	if err != nil {
		return Page{}, err
	}

	page := Page{Accounts: accounts, Next: w.Next, More: w.More, Status: w.Status, RequestID: tidyID(w.RequestID)}
	// A row can be in the page several times, and its last change counts. So read from the end: removals first, then
	// changes, then additions, and skip rows that were seen.
	seen := make(map[string]bool, len(w.Added)+len(w.Modified)+len(w.Removed))
	page.Removed = newest(w.Removed, seen, func(w *wireRemoved) (Removed, string) {
		r := Removed{ID: tidyID(w.ID), AccountID: tidyID(w.AccountID)}
		if r.ID == "" {
			page.Unreadable = append(page.Unreadable, Unreadable{AccountID: r.AccountID, Field: "id"})
		}

		return r, r.ID
	})

	// A row that cannot be used is reported, and not counted as seen.
	row := func(w *Row) (Transaction, string) {
		t, fault := read(w)
		if fault != "" {
			page.Unreadable = append(page.Unreadable, Unreadable{ID: t.ID, AccountID: t.AccountID, Field: fault})
			return t, ""
		}

		return t, t.ID
	}
	page.Modified = newest(w.Modified, seen, row)
	page.Added = newest(w.Added, seen, row)

	return page, nil
}

// newest reads the rows that were not seen yet, and returns them in their order, each in its last state. Rows without
// an identifier are left out.
func newest[Wire, Row any](list []Wire, seen map[string]bool, read func(*Wire) (Row, string)) []Row {
	out := make([]Row, len(list))

	// The list is read from its end and out filled from its end, so the rows keep their order.
	first := len(list)
	for i := len(list) - 1; i >= 0; i-- {
		row, id := read(&list[i])
		if id == "" || seen[id] {
			continue
		}

		seen[id] = true
		first--
		out[first] = row
	}

	return out[first:]
}
