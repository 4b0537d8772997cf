package export

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stayledger/domain/contact"
	"stayledger/domain/statement"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/render"
)

// senderOf is the letterhead of the team.
func senderOf(ctx context.Context, tx *db.Tx) (render.StatementTeam, error) {
	type row struct {
		Name    string
		Email   *string
		Phone   *string
		Address *contact.Address
	}
	r, err := db.Get[row](ctx, tx, `
		select coalesce(nullif(company_name, ''), name) as name, coalesce(nullif(support_email, ''), email) as email, phone,
			coalesce(statement_address, billing_address) as address
		from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return render.StatementTeam{}, fmt.Errorf("read the letterhead: %w", err)
	}
	out := render.StatementTeam{Name: r.Name, Address: addressLines(r.Address)}
	if r.Email != nil {
		out.Email = *r.Email
	}
	if r.Phone != nil {
		out.Phone = *r.Phone
	}
	return out, nil
}

// addressLines are the lines of an address as an envelope has them.
func addressLines(a *contact.Address) []string {
	if a == nil {
		return nil
	}
	region := a.StateCode
	if region == "" {
		region = a.State
	}
	place := strings.TrimSpace(region + " " + a.PostalCode)
	if a.City != "" && place != "" {
		place = a.City + ", " + place
	} else {
		place = a.City + place
	}
	var lines []string
	for _, line := range []string{a.Line1, a.Line2, place} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 && a.Full != "" {
		lines = []string{a.Full}
	}
	return lines
}

// documentOf reads a statement as its document shows it. The document is dated with the day after its month, so that the same statement
// gives the same bytes whenever it is rendered.
func documentOf(ctx context.Context, tx *db.Tx, one id.ID) (render.StatementDoc, error) {
	s, err := statement.ReadAsOwner(ctx, tx, one)
	if err != nil {
		return render.StatementDoc{}, err
	}
	at, err := addressesOf(ctx, tx, s)
	if err != nil {
		return render.StatementDoc{}, err
	}
	doc := render.StatementDoc{
		Title: "Owner statement", Currency: strings.ToUpper(s.Currency), Created: s.EndAt.AddDays(1).In(time.UTC),
		Statement: render.StatementRef{
			ID: s.ShortRef, Status: statusText(s.Status), PeriodStart: s.StartAt.String(), PeriodEnd: s.EndAt.String(),
		},
		Listing:      render.StatementListing{Name: s.Listing.Name, Address: strings.Join(addressLines(at[s.Listing.ID]), ", ")},
		Reservations: reservationTable(s.Reservations),
	}
	for _, share := range s.Shares {
		doc.Owners = append(doc.Owners, render.StatementOwner{
			Name: share.Name, Address: addressLines(at[share.ContactID]), SplitPercent: percent(share.Split), ShareCents: share.Amount,
		})
	}
	for _, line := range s.Summary {
		doc.Summary = append(doc.Summary, render.SummaryLine{Label: line.Text, Cents: line.Value, Emphasis: line.Separated})
	}
	for i := range s.Lines {
		line := &s.Lines[i]
		shown := render.StatementLine{Date: line.Date.String(), Description: line.Description, Cents: line.Total}
		if shown.Description == "" {
			shown.Description = line.Account.Name
		}
		switch line.Section {
		case statement.NetRevenue:
			if line.Reservation == nil {
				doc.Other = append(doc.Other, shown)
			}
		case statement.Expenses:
			doc.Expenses = append(doc.Expenses, shown)
		case statement.Payouts:
			doc.Payouts = append(doc.Payouts, shown)
		}
	}
	return doc, nil
}

func statusText(s statement.Status) string {
	switch s {
	case statement.Draft:
		return "Draft"
	case statement.InReview:
		return "In review"
	case statement.Published:
		return "Published"
	}
	return string(s)
}

// percent writes parts per 100000 with as many places as they need.
func percent(split int64) string {
	whole, rest := split/1000, split%1000
	if rest == 0 {
		return fmt.Sprintf("%d%%", whole)
	}
	return fmt.Sprintf("%d.%s%%", whole, strings.TrimRight(fmt.Sprintf("%03d", rest), "0"))
}

// addressesOf are the addresses of the listing and of the owners, by id.
func addressesOf(ctx context.Context, tx *db.Tx, s *statement.Detail) (map[id.ID]*contact.Address, error) {
	type row struct {
		ID      id.ID
		Address *contact.Address
	}
	owners := make([]id.ID, len(s.Shares))
	for i := range s.Shares {
		owners[i] = s.Shares[i].ContactID
	}
	rows, err := db.Select[row](ctx, tx, `
		select id, address from listing where team_id = @team and id = @listing
		union all
		select id, address from contact where team_id = @team and id = any(@owners)`,
		db.Args{"team": tx.Team, "listing": s.Listing.ID, "owners": owners})
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	out := make(map[id.ID]*contact.Address, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Address
	}
	return out, nil
}

// mostAccounts is how many revenue accounts have a column of their own; what is left becomes one column, beside those of the fees and of
// the net revenue.
const mostAccounts = 8

// reservationTable has a column per revenue account, one for the fees when there are any, and the net revenue last.
func reservationTable(stays []statement.Reservation) render.ReservationTable {
	var t render.ReservationTable
	if len(stays) == 0 {
		return t
	}
	accounts := len(stays[0].Revenue)
	own := accounts
	if accounts > mostAccounts {
		own = mostAccounts - 1
	}
	for _, a := range stays[0].Revenue[:own] {
		t.Columns = append(t.Columns, a.Name)
	}
	if own < accounts {
		t.Columns = append(t.Columns, "Other revenue")
	}
	fees := false
	for i := range stays {
		fees = fees || stays[i].Fees != 0
	}
	if fees {
		t.Columns = append(t.Columns, "Fees")
	}
	t.Columns = append(t.Columns, "Net revenue")
	t.Subtotal = make([]money.Cents, len(t.Columns))
	for i := range stays {
		row := reservationRow(&stays[i], own, fees)
		for n, cents := range row.Amounts {
			t.Subtotal[n] += cents
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func reservationRow(s *statement.Reservation, own int, fees bool) render.ReservationRow {
	row := render.ReservationRow{CheckIn: s.CheckIn.String(), CheckOut: s.CheckOut.String(), Nights: s.Nights}
	for _, text := range []struct {
		from *string
		to   *string
	}{{s.GuestName, &row.GuestName}, {s.ConfirmationCode, &row.ConfirmationCode}, {s.BookingPlatform, &row.Channel}} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	var rest money.Cents
	for i, a := range s.Revenue {
		if i < own {
			row.Amounts = append(row.Amounts, a.Total)
		} else {
			rest += a.Total
		}
	}
	if own < len(s.Revenue) {
		row.Amounts = append(row.Amounts, rest)
	}
	if fees {
		row.Amounts = append(row.Amounts, s.Fees)
	}
	row.Amounts = append(row.Amounts, s.Net)
	return row
}
