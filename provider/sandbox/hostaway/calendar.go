package hostaway

import (
	"slices"

	"stayledger/platform/day"
)

// Day is a day of a calendar that was changed.
type Day struct {
	Date        string `json:"date"`
	IsAvailable int    `json:"isAvailable"`
	Status      string `json:"status"`
	Note        string `json:"note"`
}

// maxDays is how many days a call can ask for or change.
const maxDays = 1000

// getCalendar answers with the days of a listing.
func (s *Server) getCalendar(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	q := x.r.URL.Query()

	out, failure := s.days(x.r.PathValue("id"), q.Get("startDate"), q.Get("endDate"))
	if failure != nil {
		return nil, failure
	}

	return success(out), nil
}

// putCalendar changes days, both ends included, and answers with those that it has changed.
func (s *Server) putCalendar(x *exchange) (Object, *Failure) {
	var in struct {
		StartDate   string `json:"startDate"`
		EndDate     string `json:"endDate"`
		IsAvailable *int   `json:"isAvailable"`
		Note        string `json:"note"`
	}
	if !x.read(&in) || in.IsAvailable == nil {
		return nil, badRequest
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if end, err := day.Parse(in.EndDate); err == nil && x.fault.Mode == SurplusDay {
		in.EndDate = end.AddDays(1).String()
	}

	listing := x.r.PathValue("id")

	out, failure := s.days(listing, in.StartDate, in.EndDate)
	if failure != nil {
		return nil, failure
	}

	for i := range out {
		d := &out[i]
		d.IsAvailable, d.Note, d.Status = *in.IsAvailable, in.Note, "available"

		if d.IsAvailable == 0 {
			d.Status = "blocked"
		}

		s.calendar[listing][d.Date] = *d
	}

	return success(out), nil
}

// days returns the days of a listing from a first to a last one. The caller has the lock.
func (s *Server) days(listing, from, to string) ([]Day, *Failure) {
	at := slices.IndexFunc(s.listings, func(o Object) bool { return o.id() == listing })
	if at < 0 {
		return nil, unknown
	}

	if s.listings[at].text("specialStatus") == "archived" {
		return nil, archived
	}

	first, err := day.Parse(from)
	last, wrong := day.Parse(to)

	if err != nil || wrong != nil || last.Before(first) || first.DaysUntil(last) >= maxDays {
		return nil, badRequest
	}

	if s.calendar[listing] == nil {
		s.calendar[listing] = map[string]Day{}
	}

	var out []Day

	for d := first; !d.After(last); d = d.AddDays(1) {
		one, changed := s.calendar[listing][d.String()]
		if !changed {
			one = Day{Date: d.String(), IsAvailable: 1, Status: "available"}
		}

		out = append(out, one)
	}

	return out, nil
}

// Blocked returns the days of a listing that cannot be sold, in order.
func (s *Server) Blocked(listing string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := []string{}

	for date, d := range s.calendar[listing] {
		if d.IsAvailable == 0 {
			out = append(out, date)
		}
	}

	slices.Sort(out)

	return out
}
