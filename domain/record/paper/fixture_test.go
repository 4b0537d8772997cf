package paper_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"testing"
	"time"

	"stayledger/domain/record/paper"
	"stayledger/platform/money"
)

// sampleStatement is a statement of one page with every part.
func sampleStatement() paper.StatementDoc {
	return paper.StatementDoc{
		Title: "Owner statement", Locale: "en-US", Currency: "USD",
		Created: time.Date(2026, 6, 2, 9, 30, 0, 0, time.UTC),
		Team: paper.StatementTeam{
			Name: "Harbour & Pine Stays", Address: []string{"214 Commercial Street", "Portland, ME 04101"},
			Email: "owners@harbourpine.example", Phone: "+1 207 555 0143",
		},
		Statement: paper.StatementRef{ID: "OS-2026-05-0117", Status: "Published", PeriodStart: "2026-05-01", PeriodEnd: "2026-05-31"},
		Listing:   paper.StatementListing{Name: "Lighthouse Cottage", Address: "8 Keeper's Lane, Cape Elizabeth, ME 04107"},
		Owners: []paper.StatementOwner{
			{Name: "Margaret Ellison", Address: []string{"71 Spruce Hill Road", "Brunswick, ME 04011"}, SplitPercent: "60%", ShareCents: 251_730},
			{Name: "Ellison Family Trust", Address: []string{"c/o Dunn & Weaver LLP", "Boston, MA 02110"}, SplitPercent: "40%", ShareCents: 167_820},
		},
		Summary: []paper.SummaryLine{
			{Label: "Balance start", Cents: 125_000},
			{Label: "Net revenue", Cents: 623_874},
			{Label: "Expenses", Cents: -79_324},
			{Label: "Net income", Cents: 544_550, Emphasis: true},
			{Label: "Payouts", Cents: -125_000},
			{Label: "Balance end", Cents: 544_550, Emphasis: true},
			{Label: "Reserve", Cents: -125_000},
			{Label: "Available", Cents: 419_550, Emphasis: true},
		},
		Reservations: paper.ReservationTable{
			Columns: []string{"Rent", "Cleaning", "Channel fee", "Management fee", "Net revenue"},
			Rows: []paper.ReservationRow{
				{
					GuestName: "Amelia Thornton", ConfirmationCode: "HMQ8XK2T4B", CheckIn: "2026-04-29", CheckOut: "2026-05-04", Nights: 5, Channel: "Airbnb",
					Amounts: []money.Cents{142_500, 18_000, -4_815, -28_500, 127_185},
				},
				{
					GuestName: "José Ramírez-Ibáñez", ConfirmationCode: "3921047718", CheckIn: "2026-05-07", CheckOut: "2026-05-11", Nights: 4, Channel: "Booking.com",
					Amounts: []money.Cents{118_000, 18_000, -20_400, -23_600, 92_000},
				},
				{
					GuestName: "Wolfgang Grünwald", ConfirmationCode: "HA-88213", CheckIn: "2026-05-14", CheckOut: "2026-05-21", Nights: 7, Channel: "Vrbo",
					Amounts: []money.Cents{203_000, 18_000, -11_050, -40_600, 169_350},
				},
				{
					GuestName: "Priya Natarajan", ConfirmationCode: "DIR-20417", CheckIn: "2026-05-23", CheckOut: "2026-05-31", Nights: 8, Channel: "Direct",
					Amounts: []money.Cents{271_674, 18_000, 0, -54_335, 235_339},
				},
			},
			Subtotal: []money.Cents{735_174, 72_000, -36_265, -147_035, 623_874},
		},
		Expenses: []paper.StatementLine{
			{Date: "2026-05-06", Description: "Plumber: kitchen tap and dishwasher inlet replaced", Cents: -28_450},
			{Date: "2026-05-12", Description: "Spring garden work", Cents: -36_000},
			{Date: "2026-05-27", Description: "Welcome baskets, firewood", Cents: -14_874},
		},
		Payouts: []paper.StatementLine{{Date: "2026-05-10", Description: "April statement, bank transfer to account ending 4471", Cents: -125_000}},
		Notes: "The Memorial Day weekend sold at the highest nightly rate so far. We suggest repainting the porch before the summer season; " +
			"an estimate follows by separate mail.",
	}
}

// longStatement has n reservations that all bring 1,000.00.
func longStatement(n int) paper.StatementDoc {
	doc := sampleStatement()

	doc.Reservations.Rows = nil
	for i := range n {
		doc.Reservations.Rows = append(doc.Reservations.Rows, paper.ReservationRow{
			GuestName: fmt.Sprintf("Guest %03d", i+1), ConfirmationCode: fmt.Sprintf("CODE%03d", i+1), CheckIn: "2026-05-01", CheckOut: "2026-05-02",
			Nights: 1, Channel: "Direct", Amounts: []money.Cents{100_000, 0, 0, 0, 100_000},
		})
	}

	sum := money.Cents(100_000 * n)
	doc.Reservations.Subtotal = []money.Cents{sum, 0, 0, 0, sum}

	return doc
}

func logo(t *testing.T) []byte {
	t.Helper()

	picture := image.NewNRGBA(image.Rect(0, 0, 360, 120))

	for y := range 120 {
		for x := range 360 {
			if dx, dy := x-60, y-60; dx*dx+dy*dy < 3400 {
				picture.Set(x, y, color.NRGBA{R: 15, G: 92, B: 101, A: 255})
			} else if x > 140 && y > 40 && y < 80 {
				picture.Set(x, y, color.NRGBA{R: 28, G: 35, B: 43, A: 255})
			}
		}
	}

	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}

	return b.Bytes()
}

var errFull = errors.New("disk is full")

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
