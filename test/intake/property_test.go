package intake_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/record/intake"
)

// lies are what a source does to a page, by name.
var lies = map[string]func(l *liar, dice *rand.Rand, ask intake.Request, p *intake.Page) error{
	// The same records twice in a page.
	"twice": func(_ *liar, _ *rand.Rand, _ intake.Request, p *intake.Page) error {
		p.Changes = append(p.Changes, p.Changes...)
		return nil
	},
	// The records of a page in any order.
	"out of order": func(_ *liar, dice *rand.Rand, _ intake.Request, p *intake.Page) error {
		dice.Shuffle(len(p.Changes), func(i, j int) { p.Changes[i], p.Changes[j] = p.Changes[j], p.Changes[i] })
		return nil
	},
	// An earlier state of a record after the present one.
	"late": func(l *liar, dice *rand.Rand, _ intake.Request, p *intake.Page) error {
		for _, name := range slices.Sorted(maps.Keys(l.records)) {
			if old := l.records[name].previous; old != nil && dice.IntN(2) == 0 {
				p.Changes = append(p.Changes, l.change(name, old))
			}
		}

		return nil
	},
	// Records come and go while they are read, so that others move to another page.
	"changed while read": func(l *liar, dice *rand.Rand, _ intake.Request, _ *intake.Page) error {
		l.move(dice)
		return nil
	},
	"page shift": func(_ *liar, dice *rand.Rand, _ intake.Request, p *intake.Page) error {
		if len(p.Changes) > 1 {
			p.Changes = p.Changes[dice.IntN(len(p.Changes)):]
		}

		return nil
	},
	"cursor lost": func(_ *liar, _ *rand.Rand, ask intake.Request, _ *intake.Page) error {
		if ask.Page != "" || ask.Since != "" {
			return intake.ErrCursorLost
		}

		return nil
	},
	"down": func(*liar, *rand.Rand, intake.Request, *intake.Page) error { return errDown },
	"malformed": func(_ *liar, _ *rand.Rand, _ intake.Request, p *intake.Page) error {
		for i := range p.Changes {
			p.Changes[i].Values = intake.Values{"lines": []byte(`{"no": "list"}`)}
			p.Changes[i].ChangedAt = time.Time{}
		}

		return nil
	},
}

// move changes the truth in some way, without the lock of the source, which its page holds.
func (l *liar) move(dice *rand.Rand) {
	name := fmt.Sprintf("HM%02d", dice.IntN(20))
	l.clock++

	r := record{guest: "Guest " + name, checkIn: "2026-02-10", nights: 3, status: "booked", lines: []line{{"rent", 30_000}}}
	if old := l.records[name]; old != nil {
		r = *old
		r.lines = slices.Clone(old.lines)
		r.previous = old
	}

	r.version, r.gone = l.clock, false

	switch dice.IntN(6) {
	case 0:
		r.gone = true
	case 1:
		r.guest = fmt.Sprintf("Guest %d", dice.IntN(1000))
	case 2:
		r.nights = 1 + dice.IntN(20)
	case 3:
		r.status = []string{"booked", "canceled"}[dice.IntN(2)]
	case 4:
		r.lines = append(r.lines, line{[]string{"rent", "cleaningFee", "petFee"}[dice.IntN(3)], int64(dice.IntN(90_000))})
	default:
		r.lines = slices.Delete(r.lines, 0, min(1, len(r.lines)))
	}

	l.records[name] = &r
}

// Whatever a source did before, after an honest reading everything is here as it is there, once, and the books are those
// of a team that was given the same stays by its people.
func TestAnyLiesEndInTheSameBooks(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 1))

	t.Logf("seed %d", seed)

	names := slices.Sorted(maps.Keys(lies))
	told := map[string]int{}
	s := newScene(t)

	for range 25 {
		for range dice.IntN(12) {
			s.source.mu.Lock()
			s.source.move(dice)
			s.source.mu.Unlock()
		}

		lie := names[dice.IntN(len(names))]
		left := 1 + dice.IntN(4) // a source is down for a while only
		s.source.silent = dice.IntN(2) == 0
		s.source.pageSize = 2 + dice.IntN(6)
		s.source.lie = func(_ int, ask intake.Request, p *intake.Page) error {
			if left == 0 || dice.IntN(2) == 0 {
				return nil
			}

			left--
			told[lie]++

			return lies[lie](s.source, dice, ask, p)
		}

		s.sync([]intake.Mode{intake.Incremental, intake.Full}[dice.IntN(2)])
	}

	s.source.lie, s.source.silent = nil, false
	last := s.sync(intake.Full)

	t.Logf("lies: %v; the honest reading: %s", told, last.Value("counts"))

	if last.String("status") != "completed" || last.Has("counts.reservation.failed") {
		t.Errorf("the honest reading is %s", last.Body)
	}

	s.same()

	// The same stays by hand, in another team.
	other := newScene(t)

	batch := array{}

	for name, r := range s.source.records {
		lines := array{}
		for _, l := range r.lines {
			lines = append(lines, object{"type": l.Type, "amount": l.Amount})
		}

		status := r.status
		if r.gone {
			status = "inactive"
		}

		batch = append(batch, object{
			"listingId": other.villa.ID, "confirmationCode": name, "guestName": r.guest, "checkIn": r.checkIn, "checkOut": other.source.checkOut(r),
			"status": status, "lines": lines,
		})
	}

	other.Post("/reservations/batch?atomic=true", object{"data": batch}).Want(200)
	other.Outlast(nil)

	if got, want := s.balances(), other.balances(); got != want {
		t.Errorf("the books are\n%s\nwant\n%s", got, want)
	}
}

// balances returns the sums of all accounts, as text.
func (s *scene) balances() string {
	s.T.Helper()

	var report struct {
		Data []struct {
			Code                  string
			DebitTotal, CentTotal int64
		}
	}

	r := s.Get("/reports/trial-balance?startDate=2026-01&endDate=2026-12").Want(200)
	r.Into(&report)

	var out strings.Builder
	for _, a := range report.Data {
		fmt.Fprintln(&out, a.Code, a.DebitTotal, a.CentTotal)
	}

	if len(report.Data) == 0 {
		s.T.Fatalf("no trial balance: %s", r.Body)
	}

	return out.String()
}
