// Package demo makes sample books to try things on: what a manager of some listings does in some months, through the
// same functions as the endpoints.
package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/tax"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Data says how much sample data to make. The same settings make the same data, but for identifiers.
type Data struct {
	Months   int64   `json:"months"`
	Listings int64   `json:"listings"`
	Seed     int64   `json:"seed"`
	Today    day.Day `json:"today"`
}

// Start returns the first day of the data: the first of the month Months-1 before today's.
func (d Data) Start() day.Day {
	m := d.Today.Month()
	for range d.Months - 1 {
		m = m.Prev()
	}

	return m.First()
}

// demoTask is the work of one listing.
type listingTask struct {
	Data
	Listing int `json:"listing"`
}

// Request is the body of a request for sample data.
type Request struct {
	Months   *int64 `json:"months,omitempty" minimum:"1" maximum:"24" doc:"12 when absent."`
	Listings *int64 `json:"listings,omitempty" minimum:"1" maximum:"500" doc:"8 when absent."`
	Seed     int64  `json:"seed,omitempty" doc:"Same seed, same data."`
}

type requestInput struct {
	Body Request `required:"false"`
}

// endpoint returns the route that fills a team with sample books.
func (f filler) endpoint() api.Endpoint {
	return api.Write(api.Endpoint{
		Method:    "POST",
		Path:      "/team/generate-demo-data",
		ID:        "generateDemoData",
		Tag:       "Teams",
		Summary:   "Fill a team with sample books",
		Errors:    apierr.List{errHasReservations},
		Status:    202,
		Exclusive: true,
		Doc:       "Only in a team without reservations: 400 otherwise.",
		Scopes:    []string{"team:execute"},
	}, f.start)
}

var kindListing = job.NewKind("team-demo-data")

var errHasReservations = apierr.New(apierr.CodeBadRequest, "", "Team has reservations already")

// filler knows the journals that follow what sample books begin with.
type filler struct{ journals ledger.Sources }

// standardParts returns the nouns of the standard that sample books begin with.
func standardParts() []parts.Copy {
	return parts.Copies(account.Part(nil), mapping.Part(), layout.Part())
}

// start prepares the team at once and leaves one task per listing to the workers.
func (f filler) start(ctx context.Context, tx *db.Tx, in *requestInput) (*operation.Acknowledgement, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from (select from reservation where team_id = @team limit 1) r`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, err
	}

	if n > 0 {
		return nil, errHasReservations
	}

	// Absent fields get a year of eight listings.
	d := Data{Months: 12, Listings: 8, Seed: in.Body.Seed, Today: tx.Today()}
	if in.Body.Months != nil {
		d.Months = *in.Body.Months
	}

	if in.Body.Listings != nil {
		d.Listings = *in.Body.Listings
	}

	if err := f.prepare(ctx, tx, d); err != nil {
		return nil, err
	}

	// One listing is one transaction, so a killed worker repeats at most one.
	tasks := make([]operation.Task, d.Listings)
	for i := range tasks {
		tasks[i] = operation.Task{Kind: kindListing, Args: listingTask{Data: d, Listing: i}, Priority: 5}
	}

	self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}

	return operation.Start(ctx, tx, operation.New{
		Type:      operation.TeamDemoData,
		Primary:   &self,
		Resources: []operation.Resource{self},
		Tasks:     tasks,
	})
}

// Fill makes the sample books of a new team without an operation. It works listing by listing and reports the share
// that is done.
func Fill(ctx context.Context, d *db.DB, scope db.Scope, data Data, done func(share float64)) error {
	alone := scope

	alone.Exclusive = true // many journals are derived from the records that prepare installs
	if err := d.Write(ctx, alone, func(ctx context.Context, tx *db.Tx) error {
		return filler{}.prepare(ctx, tx, data)
	}); err != nil {
		return err
	}

	for i := range int(data.Listings) {
		if err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			return fillListing(ctx, tx, data, i)
		}); err != nil {
			return err
		}

		done(float64(i+1) / float64(data.Listings))
	}

	return nil
}

// prepare installs the chart, the settings, the fees of every listing, bank rules, and a vendor.
func (f filler) prepare(ctx context.Context, tx *db.Tx, d Data) error {
	grantAccess(tx)

	if err := team.Install(ctx, tx, f.journals, standardParts(), &team.Init{}); err != nil {
		return err
	}

	if err := f.applySettings(ctx, tx, d); err != nil {
		return err
	}

	if err := tax.Copy(ctx, tx, []tax.Rate{{Name: demoTax, BasisPoints: 15_000}}); err != nil {
		return err
	}

	if err := addFees(ctx, tx); err != nil {
		return err
	}

	if err := addRules(ctx, tx); err != nil {
		return err
	}

	_, err := contact.Add(ctx, tx, &contact.Create{Type: "vendor", Name: "Plumb & Sons", Optional: contact.Optional{
		Email: api.Set("office@plumb.example.com"), UniqueRef: api.Set(vendorRef),
	}})

	return err
}

// applySettings lets the team's statements begin with the data. Cleaning is earned at check-out; stays of more than
// twenty nights are recognised night by night. Settings that the team has chosen itself stay.
func (f filler) applySettings(ctx context.Context, tx *db.Tx, d Data) error {
	t, err := team.Read(ctx, tx)
	if err != nil {
		return err
	}

	var c team.Change
	if t.StatementStartAt == nil || d.Start().Before(*t.StatementStartAt) {
		c.StatementStartAt = api.Set(d.Start())
	}

	if t.LongTermStayNights == nil {
		c.LongTermStayNights = api.Set[int64](20)
	}

	if _, err := team.Update(ctx, tx, f.journals, &c); err != nil {
		return err
	}

	// Cleaning fees are deferred until check-out, unless a mapping of the team says otherwise.
	mappings, err := mapping.List(ctx, tx, tx.Team)
	if err != nil {
		return err
	}

	for i := range mappings {
		m := &mappings[i]
		if m.LineType != "cleaningFee" || m.AppID != nil || m.Channel != nil || m.RevenueRecognition != nil {
			continue
		}

		if _, err := mapping.Change(ctx, tx,
			m.ID,
			&mapping.Update{Terms: mapping.Terms{RevenueRecognition: api.Set(fee.CheckOut)}},
		); err != nil {
			return err
		}
	}

	return nil
}

// addFees adds the fees that the manager charges owners: on stays, canceled stays and owners' own stays, per night,
// with tax, and a share of another fee.
func addFees(ctx context.Context, tx *db.Tx) error {
	codes, err := accountCodes(ctx, tx)
	if err != nil {
		return err
	}

	rate, err := demoTaxRate(ctx, tx)
	if err != nil {
		return err
	}

	// Each kind of fee once, so that the sample books show how it is computed.
	included := tax.Included
	for _, f := range []struct {
		fee.Create
		debit, credit string
	}{
		{fee.Create{
			Name:        "Management commission",
			Type:        "managementFee",
			Formula:     "rent",
			RateType:    "percentage",
			DefaultRate: 20_000,
		}, "5100", "4100"},
		{fee.Create{
			Name:        "Cleaning",
			Type:        "cleaningFee",
			Formula:     "cleaningFee",
			RateType:    "percentage",
			DefaultRate: 100_000,
		}, "5110", "4110"},
		{fee.Create{
			Name:        "Merchant fee",
			Type:        "merchantFee",
			Formula:     "merchantFee",
			RateType:    "percentage",
			DefaultRate: 100_000,
		}, "5120", "4120"},
		{fee.Create{
			Name:        "Channel fee",
			Type:        "bookingChannelFee",
			Formula:     "channelFee",
			RateType:    "percentage",
			DefaultRate: 100_000,
		}, "5120", "4120"},
		{fee.Create{
			Name: "Marketing fund", Type: "additionalFee", Formula: `fee("Management commission")`, RateType: "percentage", DefaultRate: 5_000,
		}, "5120", "4120"},
		{fee.Create{
			Name:        "Linen",
			Type:        "additionalFee",
			RateType:    "flat",
			DefaultRate: 350,
			ChargeBasis: fee.PerNight,
			TaxRateID:   &rate,
			TaxBehavior: &included,
		}, "5120", "4120"},
		{fee.Create{
			Name:         "Cancellation commission",
			Type:         "managementFee",
			Formula:      "cancellation",
			RateType:     "percentage",
			DefaultRate:  20_000,
			StatusFilter: fee.CanceledOnly,
		}, "5100", "4100"},
		{fee.Create{
			Name:            "Owner stay cleaning",
			Type:            "cleaningFee",
			RateType:        "flat",
			DefaultRate:     8_000,
			OwnerStayFilter: fee.OnlyOwnerStays,
		}, "5110", "4110"},
	} {
		// All of them move money from owners to the manager.
		f.DebitParty = "owners"
		f.CreditParty = "manager"
		f.DebitAccountID = codes[f.debit]

		f.CreditAccountID = codes[f.credit]
		if _, err := fee.Add(ctx, tx, &f.Create); err != nil {
			return fmt.Errorf("fee: %w", err)
		}
	}

	return nil
}

const demoTax = "Sales tax"

func demoTaxRate(ctx context.Context, tx *db.Tx) (id.ID, error) {
	rate, err := db.Get[id.ID](ctx, tx, `select id from tax_rate where team_id = @team and name = @name`, db.Args{"team": tx.Team, "name": demoTax})
	if err != nil {
		return id.Zero, fmt.Errorf("read the demo's tax rate: %w", err)
	}

	return rate, nil
}

const vendorRef = "demo-vendor"

// grantAccess lets the service's own work use the functions behind the endpoints; the request that asked for it was
// authorized.
func grantAccess(tx *db.Tx) {
	tx.Actor.Scopes = append(tx.Actor.Scopes, "contacts:write", "statements:publish", "transactions:write")
}

// accountCodes returns the accounts of the chart by code.
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

// dice returns the random choices of one listing: the same seed and listing give the same choices.
func dice(seed int64, listing int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(listing))) //nolint:gosec // sample data, not secrets
}

// handlers returns the tasks of the package's operations.
func handlers() map[job.Kind]job.Handler {
	return map[job.Kind]job.Handler{
		kindListing: operation.Work(
			2*time.Minute,
			func(ctx context.Context, tx *db.Tx, _ operation.Run, task listingTask) error {
				return fillListing(ctx, tx, task.Data, task.Listing)
			},
		),
	}
}
