package legacy_test

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"testing"

	"stayledger/provider/sandbox/legacy"
)

// write returns a dump.
func write(t *testing.T, p legacy.Plan) []byte {
	t.Helper()

	var out bytes.Buffer
	if err := legacy.Write(&out, p); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

func TestTheSamePlanGivesTheSameDump(t *testing.T) {
	t.Parallel()

	p := legacy.Plan{Seed: 7, Listings: 12, Months: 9}

	first := write(t, p)
	if !bytes.Equal(first, write(t, p)) {
		t.Error("two dumps of a plan differ")
	}

	p.Seed = 8
	if bytes.Equal(first, write(t, p)) {
		t.Error("another seed gives the same dump")
	}
}

func TestPlansOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()

	for name, p := range map[string]legacy.Plan{
		"no listing":        {Months: 1},
		"no month":          {Listings: 1},
		"too many listings": {Listings: 100_001, Months: 1},
		"too many months":   {Listings: 1, Months: 601},
		"no such month":     {Listings: 1, Months: 1, From: "2025-13"},
		"past the calendar": {Listings: 1, Months: 12, From: "9999-12"},
	} {
		if err := legacy.Write(io.Discard, p); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// content is a dump as the test reads it.
type content struct {
	Statements []struct {
		ID, ListingID, Status, StartAt, EndAt string
		BalanceStart, BalanceEnd              int64
		Lines                                 []struct {
			Type, AccountKey, OwnerID string
			Amount                    int64
		}
	}
	Listings []struct {
		Currency string
		Inactive bool
		Owners   []struct {
			Split          int64
			StartAt, EndAt string
		}
	}
	Owners, Accounts, Connections, Reservations, Templates []json.RawMessage
}

// TestADumpHasEveryIrregularity counts what migrations have to deal with, and follows the balances.
func TestADumpHasEveryIrregularity(t *testing.T) {
	t.Parallel()

	var c content
	if err := json.Unmarshal(write(t, legacy.Plan{Seed: 1, Listings: 10, Months: 12, AppID: "anApp"}), &c); err != nil {
		t.Fatal(err)
	}

	found := map[string]int{}
	balance := map[string]int64{}

	for _, s := range c.Statements {
		found[s.Status]++

		sum := s.BalanceStart

		for _, l := range s.Lines {
			if l.Amount == 0 {
				found["zero "+l.Type]++
			}

			if l.Type == "payout" {
				sum -= l.Amount
				found["payout to "+l.OwnerID]++
			} else {
				sum += l.Amount
				found["line of "+l.AccountKey]++
			}
		}

		if sum != s.BalanceEnd {
			t.Errorf("%s ends with %d, its lines with %d", s.ID, s.BalanceEnd, sum)
		}

		if len(s.Lines) == 0 {
			found["empty"]++
		}

		// Those of the months, without void ones and corrections, follow one another.
		if len(s.ID) != len("sta-000001-001") {
			found["further"]++
			continue
		}

		if before, known := balance[s.ListingID]; known && before != s.BalanceStart {
			t.Errorf("%s starts with %d, the one before ends with %d", s.ID, s.BalanceStart, before)
		}

		balance[s.ListingID] = s.BalanceEnd
	}

	for _, l := range c.Listings {
		var sum int64

		for _, o := range l.Owners {
			if sum += o.Split; o.EndAt != "" {
				found["sold "+o.EndAt[8:]]++
				sum -= o.Split
			}
		}

		switch {
		case l.Inactive:
			found["inactive"]++
		case l.Currency != "":
			found["foreign"]++
		case l.Owners == nil:
			found["nobody"]++
		case sum != 100_000:
			found["half"]++
		}
	}

	for _, want := range []string{
		"draft", "posted", "published", "void", "zero line", "zero payout", "empty", "further", "payout to ", "payout to own-stranger",
		"payout to own-00002", "line of acc-goodwill", "line of acc-pet", "line of acc-repairs", "sold 01", "sold 15", "inactive", "foreign", "nobody", "half",
	} {
		if found[want] == 0 {
			t.Errorf("there is no %q in %v", want, found)
		}
	}

	if len(c.Connections) != 2 || len(c.Owners) != 4 || len(c.Reservations) != 120 || len(c.Templates) != 2 {
		t.Errorf("there are %d connections, %d owners, %d reservations, %d templates", len(c.Connections), len(c.Owners), len(c.Reservations), len(c.Templates))
	}

	if found["line of acc-template"] != 0 {
		t.Error("the account of templates is on a line")
	}
}

// peak is a writer that watches the memory in use.
type peak struct {
	writes int
	most   uint64
}

func (p *peak) Write(b []byte) (int, error) {
	if p.writes++; p.writes%16 == 0 {
		runtime.GC()

		var m runtime.MemStats

		runtime.ReadMemStats(&m)
		p.most = max(p.most, m.HeapAlloc)
	}

	return len(b), nil
}

//nolint:paralleltest // It measures the memory of the process.
func TestMemoryDoesNotGrowWithADump(t *testing.T) {
	var most [2]uint64

	for i, listings := range []int{100, 1_000} {
		var p peak
		if err := legacy.Write(&p, legacy.Plan{Listings: listings, Months: 24}); err != nil {
			t.Fatal(err)
		}

		most[i] = p.most
	}

	if most[1] > most[0]+1<<20 {
		t.Errorf("a dump takes %d bytes of memory, ten times of it %d", most[0], most[1])
	}
}
