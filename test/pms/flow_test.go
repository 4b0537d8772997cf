package pms_test

import (
	"encoding/json"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/platform/db"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
)

// flow runs a flow for the connection, and returns its operation.
func (s *scene) flow(name string, body any) *operationView {
	s.T.Helper()

	ack := s.Post("/flows/"+name+s.path("/run"), body).Want(202)
	if ack.String("type") != "flow-run" || ack.String("resource.type") != "flow" {
		s.T.Errorf("the acknowledgement is %s", ack.Body)
	}

	s.Outlast(nil)

	got := s.Get("/operations/" + ack.String("operationId")).Want(200)
	if got.Len("resources") != 2 || got.ID("resources.1.id") != s.connection {
		s.T.Errorf("the operation is %s", got.Body)
	}

	return &operationView{got.String("status"), got.ID("resource.id")}
}

// operationView is how an operation has ended, and what it was about.
type operationView struct {
	status string
	flow   id.ID
}

// Proves: INIT-53.
func TestAWindowIsReadAgain(t *testing.T) {
	t.Parallel()
	s, _ := newHouse(t)

	// Rows that were changed long ago, by the clock of the system: what has changed since does not have them.
	for _, name := range []string{"2027-03-02", "2027-05-02"} {
		late := booked(name, "L1", name, name[:8]+"04")
		late.ChangedAt = s.DB.Now().AddDate(-1, 0, 0)
		s.system.SetReservation(late)
	}

	s.sync("incremental")

	if got := s.Get("/reservations").Want(200); got.Len("data") != 0 {
		t.Fatalf("rows that are late were read: %s", got.Body)
	}

	if got := s.flow("resync-window", object{"params": object{"startAt": "2027-03-01", "endAt": "2027-03-31"}}); got.status != "completed" {
		t.Errorf("the run is %s", got.status)
	}

	if got := s.Get("/reservations").Want(200); got.Len("data") != 1 || got.String("data.0.checkIn") != "2027-03-02" {
		t.Errorf("the reservations are %s", got.Body)
	}

	// It ends as the reading does.
	s.system.Break(sandbox.Fault{Mode: sandbox.Refused, On: sandbox.OnReservations, Times: 1})

	if got := s.flow("resync-window", object{"params": object{"startAt": "2027-03-01", "endAt": "2027-03-31"}}); got.status != "failed" {
		t.Errorf("the run is %s", got.status)
	}

	s.Post("/flows/resync-window"+s.path("/run"), object{"params": object{"startAt": "2027-03-01", "endAt": "2027-03-31"}}).
		WantError("CONNECTION_RECONNECT_REQUIRED", "")
}

// Proves: INIT-53.
func TestWhatIsBehindIsDoneAgain(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)

	s.system.Break(sandbox.Fault{Mode: sandbox.Page500, On: sandbox.OnBlocks})

	if got := s.send("POST", nights(house, "2027-03-01", "2027-03-04")); got != "failed" {
		t.Fatalf("the operation is %s", got)
	}

	s.system.Reset()

	if got := s.flow("rebuild-occupancy", nil); got.status != "completed" {
		t.Errorf("the run is %s", got.status)
	}

	s.wantBlocks("told again", "2027-03-01 blocked", "2027-03-01 2027-03-04")

	// A rule that was made after the bank record came has never looked at it; one that takes no deposits leaves it.
	record := s.Post("/bank-records/batch", object{"data": array{
		object{"accountId": s.Account("1000"), "date": "2026-03-05", "description": "Airbnb payout", "amount": 124_500},
	}}).Want(201).ID("data.0.id")
	s.Post("/bank-rules", object{
		"name": "Payouts", "mode": "auto", "transactionType": "deposit", "conditions": array{object{"type": "description", "operator": "contains", "value": "airbnb"}},
		"lines": array{object{"splitMode": "remainder", "assignment": "accountsReceivable"}},
	}).Want(201)
	s.Outlast(nil)

	before := s.Get("/bank-records?ids=" + record.String()).Want(200)

	if got := s.flow("rematch-deposits", nil); got.status != "completed" {
		t.Errorf("the run is %s", got.status)
	}

	after := s.Get("/bank-records?ids=" + record.String()).Want(200)
	if runs := s.Get("/operations?type=bank-rule-run").Want(200); runs.Int("total") != 1 {
		t.Errorf("runs of rules: %s; the record was %s and is %s", runs.Body, before.Body, after.Body)
	}
}

func TestFlowsAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := newHouse(t)
	list := s.Get("/flows").Want(200)

	if list.Len("data") != 3 || list.String("data.0.id") != "resync-window" || list.String("data.1.id") != "rematch-deposits" ||
		list.String("data.2.id") != "rebuild-occupancy" || list.Len("data.0.parameters") != 2 {
		t.Errorf("the flows are %s", list.Body)
	}

	// A flow is known by its name and by its identifier.
	if got := s.flow(list.String("data.2.resourceId"), nil); got.status != "completed" || got.flow != list.ID("data.2.resourceId") {
		t.Errorf("the run is %s of %s", got.status, got.flow)
	}

	s.Post("/flows/unheard-of"+s.path("/run"), nil).WantError("NOT_FOUND", "")
	s.Post("/flows/rebuild-occupancy/connections/"+s.ID.String()+"/run", nil).WantError("NOT_FOUND", "")

	resync := "/flows/resync-window" + s.path("/run")
	s.Post(resync, nil).WantError("BAD_REQUEST", "").WantIssue("required", "params.startAt")
	s.Post(resync, object{"params": object{"startAt": "2027-03-02", "endAt": "2027-03-01"}}).WantError("BAD_REQUEST", "").WantIssue("dateOrder", "params.endAt")
	s.Post("/flows/rebuild-occupancy"+s.path("/run"), object{"params": object{"endAt": "2027-03-01"}}).WantError("BAD_REQUEST", "").
		WantIssue("contradiction", "params.endAt")

	s.Exec(`update connection set app_id = 'nacha' where team_id = @team`, db.Args{})

	for _, name := range []string{"resync-window", "rematch-deposits", "rebuild-occupancy"} {
		s.Post("/flows/"+name+s.path("/run"), nil).WantError("NOT_IMPLEMENTED", "")
	}
}

// Proves: INIT-54.
func TestTheRunOfAFlowIsNotPublished(t *testing.T) {
	t.Parallel()

	published, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	var description struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(published.JSON, &description); err != nil {
		t.Fatal(err)
	}

	if description.Paths["/flows"] == nil || description.Paths["/calendar-blocks"] == nil {
		t.Error("the description lacks a route that is published")
	}

	for path := range description.Paths {
		if strings.HasPrefix(path, "/flows/") {
			t.Errorf("%s is published", path)
		}
	}

	if strings.Contains(string(published.JSON), "runFlow") {
		t.Error("the description names the run of a flow")
	}
}
