package pms

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"stayledger/provider/sandbox/stage"
)

// control adds the calls that control the sandbox. All of them ask for the token.
func (s *Server) control() {
	// First the sandbox as a whole: its faults and settings, and what it has recorded.
	s.handleControl("POST /control/faults", s.controlFault)
	s.handleControl("POST /control/reset", func(w http.ResponseWriter, _ *http.Request) { s.Reset(); stage.Done(w) })
	s.handleControl("POST /control/release",
		func(w http.ResponseWriter, _ *http.Request) { s.Release(); stage.Done(w) })
	s.handleControl("POST /control/forget", func(w http.ResponseWriter, _ *http.Request) { s.Forget(); stage.Done(w) })
	s.handleControl("POST /control/settings", s.controlSettings)
	s.handleControl("POST /control/clock", s.controlClock)
	s.handleControl("GET /control/counts", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, s.Counts())
	})
	s.handleControl("GET /control/events", s.log.ServeEvents)

	// Then the messages.
	s.handleControl("GET /control/webhook", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, s.Subscription())
	})
	s.handleControl("GET /control/messages", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"messages": s.Messages()})
	})
	s.handleControl("POST /control/messages", s.controlFire)

	// Then what the system holds.
	s.handleControl("POST /control/generate", s.controlGenerate)
	s.handleControl("PUT /control/listings/{id}", s.controlListing)
	s.handleControl("DELETE /control/listings/{id}", func(w http.ResponseWriter, r *http.Request) {
		outcome(w, s.deleteListing(r.PathValue("id")))
	})
	s.handleControl("GET /control/reservations/{id}", s.controlReservation)
	s.handleControl("PUT /control/payouts/{id}", func(w http.ResponseWriter, r *http.Request) {
		var p Payout
		if stage.Decode(w, r, &p) {
			p.ID = r.PathValue("id")
			s.SetPayout(p)
			stage.Done(w)
		}
	})
	s.handleControl("DELETE /control/payouts/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.DeletePayout(r.PathValue("id"))
		stage.Done(w)
	})
	s.handleControl("PUT /control/reservations/{id}", s.controlSet)
	s.handleControl("PATCH /control/reservations/{id}", s.controlChange)
	s.handleControl("DELETE /control/reservations/{id}", func(w http.ResponseWriter, r *http.Request) {
		outcome(w, s.DeleteReservation(r.PathValue("id")))
	})
	s.handleControl("GET /control/blocks", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"blocks": s.Blocks()})
	})
}

// handleControl adds a control call that asks for the token.
func (s *Server) handleControl(pattern string, serve http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !s.admits(r) {
			stage.Refuse(w, http.StatusUnauthorized, "credentials")
			return
		}

		serve(w, r)
	})
}

// outcome answers a control request that changes something: 204, or the refusal that belongs to the error.
func outcome(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		stage.Done(w)
	case errors.Is(err, ErrUnknown):
		stage.Refuse(w, http.StatusNotFound, "unknown")
	default:
		stage.Refuse(w, http.StatusBadRequest, "refused")
	}
}

// controlFault adds a fault. It refuses unknown modes.
func (s *Server) controlFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if !stage.Decode(w, r, &f) {
		return
	}

	if !slices.Contains(f.Mode.Enum(), string(f.Mode)) {
		stage.Refuse(w, http.StatusBadRequest, "unknownMode")
		return
	}

	s.Break(f)
	stage.Done(w)
}

// controlSettings changes the settings. It refuses a page size out of range.
func (s *Server) controlSettings(w http.ResponseWriter, r *http.Request) {
	var in Settings
	if !stage.Decode(w, r, &in) {
		return
	}

	if in.PageSize != nil && (*in.PageSize < 1 || *in.PageSize > maxPageSize) {
		stage.Refuse(w, http.StatusBadRequest, "outOfRange")
		return
	}

	s.Set(in)
	stage.Done(w)
}

// controlClock moves the clock ahead.
func (s *Server) controlClock(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Seconds int `json:"seconds"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	s.Advance(time.Duration(in.Seconds) * time.Second)
	stage.Done(w)
}

// controlFire sends a message, or answers 404 if nothing is subscribed.
func (s *Server) controlFire(w http.ResponseWriter, r *http.Request) {
	var in Hint
	if !stage.Decode(w, r, &in) {
		return
	}

	if !s.Fire(in) {
		stage.Refuse(w, http.StatusNotFound, "unknown")
		return
	}

	stage.Done(w)
}

// controlGenerate adds generated rows.
func (s *Server) controlGenerate(w http.ResponseWriter, r *http.Request) {
	var in Plan
	if stage.Decode(w, r, &in) {
		outcome(w, s.Generate(in))
	}
}

// controlListing adds or replaces a listing.
func (s *Server) controlListing(w http.ResponseWriter, r *http.Request) {
	var in Listing
	if !stage.Decode(w, r, &in) {
		return
	}

	in.ID = r.PathValue("id")
	s.SetListing(in)
	stage.Done(w)
}

// controlReservation answers with a reservation.
func (s *Server) controlReservation(w http.ResponseWriter, r *http.Request) {
	found, err := s.Reservation(r.PathValue("id"))
	if err != nil {
		outcome(w, err)
		return
	}

	stage.Write(w, http.StatusOK, found)
}

// controlSet adds or replaces a reservation.
func (s *Server) controlSet(w http.ResponseWriter, r *http.Request) {
	var in Reservation
	if !stage.Decode(w, r, &in) {
		return
	}

	in.ID = r.PathValue("id")
	s.SetReservation(in)
	stage.Done(w)
}

// controlChange changes a reservation: fields that are absent stay.
func (s *Server) controlChange(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	if !stage.Decode(w, r, &raw) {
		return
	}

	// The reservation to change is not known here, so the change is tried on an empty one.
	if err := json.Unmarshal(raw, &Reservation{}); err != nil {
		stage.Refuse(w, http.StatusBadRequest, "malformed")
		return
	}

	outcome(w, s.ChangeReservation(r.PathValue("id"), func(r *Reservation) {
		_ = json.Unmarshal(raw, r) // It has been read before.
	}))
}
