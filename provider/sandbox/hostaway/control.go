package hostaway

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"stayledger/provider/sandbox/stage"
)

// control adds the calls that control the sandbox. All of them ask for the API key as a token.
func (s *Server) control() {
	// First the sandbox as a whole: its faults and settings, and what it has recorded.
	s.handleControl("POST /control/faults", s.controlFault)
	s.handleControl("POST /control/reset", func(w http.ResponseWriter, _ *http.Request) { s.Reset(); stage.Done(w) })
	s.handleControl("POST /control/release",
		func(w http.ResponseWriter, _ *http.Request) { s.Release(); stage.Done(w) })
	s.handleControl("POST /control/revoke",
		func(w http.ResponseWriter, _ *http.Request) { s.revokeTokens(); stage.Done(w) })
	s.handleControl("POST /control/settings", s.controlSettings)
	s.handleControl("GET /control/counts", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, s.Counts())
	})
	s.handleControl("GET /control/events", s.log.ServeEvents)

	// Then the messages.
	s.handleControl("GET /control/messages", func(w http.ResponseWriter, _ *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"messages": s.Messages()})
	})
	s.handleControl("POST /control/messages", s.controlFire)

	// Then what the system holds.
	s.handleControl("POST /control/generate", s.controlGenerate)
	s.handleControl("PUT /control/listings/{id}", s.controlObject(s.SetListing))
	s.handleControl("DELETE /control/listings/{id}", func(w http.ResponseWriter, r *http.Request) {
		outcome(w, s.deleteListing(r.PathValue("id")))
	})
	s.handleControl("GET /control/listings/{id}/blocked", func(w http.ResponseWriter, r *http.Request) {
		stage.Write(w, http.StatusOK, map[string]any{"days": s.Blocked(r.PathValue("id"))})
	})
	s.handleControl("PUT /control/charges/{id}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Charges []Object `json:"charges"`
		}
		if stage.Decode(w, r, &in) {
			s.SetCharges(r.PathValue("id"), in.Charges...)
			stage.Done(w)
		}
	})
	s.handleControl("GET /control/reservations/{id}", s.controlReservation)
	s.handleControl("PUT /control/reservations/{id}", s.controlObject(s.SetReservation))
	s.handleControl("PATCH /control/reservations/{id}", s.controlChange)
	s.handleControl("DELETE /control/reservations/{id}", func(w http.ResponseWriter, r *http.Request) {
		outcome(w, s.deleteReservation(r.PathValue("id")))
	})
}

// handleControl adds a control call that asks for the key.
func (s *Server) handleControl(pattern string, serve http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !isEqual(r.Header.Get("Authorization"), "Bearer "+s.config.APIKey) {
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

// controlFire sends a message, or answers 404 if none goes out.
func (s *Server) controlFire(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Event         string `json:"event"`
		ReservationID string `json:"reservationId"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	if !s.fireMessage(in.Event, in.ReservationID) {
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

// controlObject returns a handler that adds or replaces an object.
func (*Server) controlObject(set func(Object)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in Object
		if !stage.Decode(w, r, &in) {
			return
		}

		// The id is a number, which a control call writes in its address.
		if in == nil {
			in = Object{}
		}

		in["id"] = number(r.PathValue("id"))
		set(in)
		stage.Done(w)
	}
}

// controlReservation answers with a reservation.
func (s *Server) controlReservation(w http.ResponseWriter, r *http.Request) {
	found, err := s.findReservation(r.PathValue("id"))
	if err != nil {
		outcome(w, err)
		return
	}

	stage.Write(w, http.StatusOK, found)
}

// controlChange changes a reservation: fields that are absent stay.
func (s *Server) controlChange(w http.ResponseWriter, r *http.Request) {
	var in Object
	if !stage.Decode(w, r, &in) {
		return
	}

	delete(in, "id")
	outcome(w, s.ChangeReservation(r.PathValue("id"), func(o Object) { maps.Copy(o, in) }))
}
