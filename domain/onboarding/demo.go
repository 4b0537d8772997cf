package onboarding

import (
	"context"
	"fmt"
	"math/rand/v2"

	"stayledger/domain/contact"
	"stayledger/domain/fee"
	"stayledger/domain/operation"
	"stayledger/domain/reservation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// DemoData says how much sample data to make. The same settings make the same data, but for identifiers.
type DemoData struct {
	Months   int64   `json:"months"`
	Listings int64   `json:"listings"`
	Seed     int64   `json:"seed"`
	Today    day.Day `json:"today"`
}

// Start is the first day of the data: the first of the month Months-1 before today's.
func (d DemoData) Start() day.Day {
	m := d.Today.Month()
	for range d.Months - 1 {
		m = m.Prev()
	}
	return m.First()
}

// demoTask is the work of one listing.
type demoTask struct {
	DemoData
	Listing int `json:"listing"`
}

// DemoRequest is the body of a request for sample data.
type DemoRequest struct {
	Months   *int64 `json:"months,omitempty" minimum:"1" maximum:"24" doc:"12 when absent."`
	Listings *int64 `json:"listings,omitempty" minimum:"1" maximum:"500" doc:"8 when absent."`
	Seed     int64  `json:"seed,omitempty" doc:"Same seed, same data."`
}

type demoInput struct {
	Body DemoRequest `required:"false"`
}

func demoEndpoint(tag string) api.Endpoint {
	return api.Write(api.Endpoint{
		Method: "POST", Path: "/team/generate-demo-data", ID: "generateDemoData", Tag: tag, Summary: "Fill a team with sample books", Status: 202,
		Doc: "Only in a team without reservations: 400 otherwise.", Scopes: []string{"team:execute"},
	}, startDemo)
}

var errHasReservations = apierr.New(apierr.CodeBadRequest, "", "Team has reservations already")

// startDemo prepares the team at once and leaves one task per listing to the workers.
func startDemo(ctx context.Context, tx *db.Tx, in *demoInput) (*operation.Acknowledgement, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from (select from reservation where team_id = @team limit 1) r`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, err
	}
	if n > 0 {
		return nil, errHasReservations
	}
	d := DemoData{Months: 12, Listings: 8, Seed: in.Body.Seed, Today: day.Of(tx.Now)}
	if in.Body.Months != nil {
		d.Months = *in.Body.Months
	}
	if in.Body.Listings != nil {
		d.Listings = *in.Body.Listings
	}
	if err := prepare(ctx, tx, d); err != nil {
		return nil, err
	}
	tasks := make([]operation.Task, d.Listings)
	for i := range tasks {
		tasks[i] = operation.Task{Kind: kindDemo, Args: demoTask{DemoData: d, Listing: i}, Priority: 5}
	}
	self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}
	return operation.Start(ctx, tx, operation.New{Type: operation.TeamDemoData, Primary: &self, Resources: []operation.Resource{self}, Tasks: tasks})
}

// FillDemo makes the sample books of a team without an operation, a listing at a time, and reports the share that is done.
func FillDemo(ctx context.Context, d *db.DB, scope db.Scope, data DemoData, done func(share float64)) error {
	if err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return prepare(ctx, tx, data) }); err != nil {
		return err
	}
	for i := range int(data.Listings) {
		if err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return fillListing(ctx, tx, data, i) }); err != nil {
			return err
		}
		done(float64(i+1) / float64(data.Listings))
	}
	return nil
}

// prepare installs the chart, the fees every listing is charged, and a vendor.
func prepare(ctx context.Context, tx *db.Tx, d DemoData) error {
	grant(tx)
	if err := install(ctx, tx, &Init{}); err != nil {
		return err
	}
	start := d.Start()
	if _, err := tx.Exec(ctx, `update team set statement_start_at = coalesce(statement_start_at, @start) where team_id = @team`,
		db.Args{"start": start, "team": tx.Team}); err != nil {
		return fmt.Errorf("set the statement start: %w", err)
	}
	codes, err := accountCodes(ctx, tx)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		kind    fee.Type
		formula string
		rate    int64
		debit   string
		credit  string
	}{
		{"Management commission", "managementFee", "rent", 20_000, "5100", "4100"},
		{"Cleaning", "cleaningFee", "cleaningFee", 100_000, "5110", "4110"},
		{"Merchant fee", "merchantFee", "merchantFee", 100_000, "5120", "4120"},
		{"Channel fee", "bookingChannelFee", "channelFee", 100_000, "5120", "4120"},
	} {
		_, err := fee.Add(ctx, tx, &fee.Create{
			Name: f.name, Type: f.kind, Formula: f.formula, RateType: "percentage", DefaultRate: f.rate, DebitParty: "owners", CreditParty: "manager",
			DebitAccountID: codes[f.debit], CreditAccountID: codes[f.credit],
		}, reservation.RefreshListings)
		if err != nil {
			return fmt.Errorf("fee: %w", err)
		}
	}
	_, err = contact.Add(ctx, tx, &contact.Create{Type: "vendor", Name: "Plumb & Sons", Optional: contact.Optional{
		Email: api.Set("office@plumb.example.com"), UniqueRef: api.Set(vendorRef),
	}})
	return err
}

const vendorRef = "demo-vendor"

// grant lets the service's own work use the functions behind the endpoints; the request that asked for it was authorized.
func grant(tx *db.Tx) {
	tx.Actor.Scopes = append(tx.Actor.Scopes, "contacts:write", "statements:publish")
}

func accountCodes(ctx context.Context, tx *db.Tx) (map[string]id.ID, error) {
	type coded struct {
		Code string
		ID   id.ID
	}
	rows, err := db.Select[coded](ctx, tx, `select code, id from account where team_id = @team and code is not null`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	out := map[string]id.ID{}
	for _, r := range rows {
		out[r.Code] = r.ID
	}
	return out, nil
}

// dice are the random choices of one listing: the same seed and listing give the same ones.
func dice(seed int64, listing int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(listing))) //nolint:gosec // sample data, not secrets
}
