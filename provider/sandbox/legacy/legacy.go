// Package legacy writes dumps of invented teams without a general ledger, in the format of POST /legacy/import. A dump
// has years of statements with consecutive balances, and every irregularity that a migration must handle. It is written
// listing by listing, so it needs little memory at any size.
package legacy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"

	"stayledger/platform/day"
)

// Plan says what is generated. The same plan gives the same dump, byte for byte.
type Plan struct {
	Seed     uint64
	Listings int
	Months   int
	// From is the first month; 2023-01 if empty.
	From string
	// AppID is the app of its connections, which have an address and a token; without one there are none.
	AppID string
}

// The limits of a plan.
const (
	maxListings = 100_000
	maxMonths   = 600
)

// kind is the irregularity of a listing. Kinds repeat in a fixed order, so ten listings in a row have all kinds.
type kind int

// The kinds, in the order of listings.
const (
	sole      kind = iota // one owner has all of it
	pair                  // two owners, one of whom is paid by name
	handover              // the owner changes at the beginning of a month
	midMonth              // the owner changes within a month: no single owner has the statement of that month
	half                  // the shares make up a half
	nobody                // nobody owns it
	inactive              // three owners with uneven shares, no longer let
	corrected             // a second final statement has days of another
	stranger              // money went to somebody who does not own it
	foreign               // another currency
	kinds
)

// kindFor returns the kind of a listing.
func kindFor(listing int) kind { return kind(listing % int(kinds)) }

// dump writes a plan.
type dump struct {
	Plan

	first day.Month
	out   *bufio.Writer
	err   error // the first of writing
}

// Write writes a dump. It fails if a number or the month of the plan is out of range, or if w fails.
func Write(w io.Writer, p Plan) error {
	if p.From == "" {
		p.From = "2023-01"
	}

	first, err := day.ParseMonth(p.From)
	if err != nil || p.Listings < 1 || p.Listings > maxListings || p.Months < 1 || p.Months > maxMonths ||
		!monthAfter(first, p.Months).Valid() {
		return fmt.Errorf("legacy sandbox: a plan has 1 to %d listings, 1 to %d months, and a month to begin with",
			maxListings, maxMonths)
	}

	d := &dump{Plan: p, first: first, out: bufio.NewWriterSize(w, 1<<16)}

	// Each list names records of those before it.
	for i, list := range []struct {
		name  string
		write func(put func(any))
	}{
		{"accounts", d.writeAccounts},
		{"owners", d.writeOwners},
		{"listings", d.writeListings},
		{"connections", d.writeConnections},
		{"reservations", d.writeReservations},
		{"templates", d.writeTemplates},
		{"statements", d.writeStatements},
	} {
		opening := ",\n"
		if i == 0 {
			opening = "{"
		}

		d.text(opening + fmt.Sprintf("%q: [", list.name))
		d.writeList(list.write)
		d.text("]")
	}

	d.text("}\n")

	if d.err == nil {
		d.err = d.out.Flush()
	}

	if d.err != nil {
		return fmt.Errorf("write a dump: %w", d.err)
	}

	return nil
}

// writeList writes the records of a list, one per line.
func (d *dump) writeList(write func(put func(any))) {
	separator := "\n"

	write(func(record any) {
		raw, err := json.Marshal(record)
		if d.err == nil {
			d.err = err
		}

		d.text(separator + string(raw))
		separator = ",\n"
	})
}

// text writes a text, unless a write before has failed.
func (d *dump) text(s string) {
	if d.err == nil {
		_, d.err = d.out.WriteString(s)
	}
}

// dice returns the random source for the records of a listing in a list. It depends only on the seed.
func (d *dump) dice(list, listing int) *rand.Rand {
	key := uint64(list)<<32 | uint64(listing) //nolint:gosec // Both are small and not negative.

	return rand.New(rand.NewPCG(d.Seed, key)) //nolint:gosec // It has to be the same for the same seed.
}

// monthAfter returns the month n months later.
func monthAfter(m day.Month, n int) day.Month {
	for range n {
		m = m.Next()
	}

	return m
}
