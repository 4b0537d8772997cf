package legacy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/seal"
)

// doors are the intake kinds that save the records of a dump.
type doors struct {
	box                              *seal.Box
	contacts, listings, reservations intake.Kind
}

// reader saves the records of a dump while it is read. The names that later records can refer to stay in memory.
type reader struct {
	doors

	tx       *db.Tx
	dump     *io.LimitedReader // how much the decoder may read until more sets it again
	decoder  *json.Decoder
	currency string // the team's

	accounts         map[string]bool
	owners, listings map[string]id.ID
	counts           Counts
}

// begin removes the rows of an earlier dump, except records with an id in this service, which the new dump changes.
func (r *reader) begin(ctx context.Context) error {
	args := db.Args{"team": r.tx.Team}

	err := r.tx.Pipeline(ctx,
		db.Stmt{SQL: `delete from legacy_statement where team_id = @team`, Args: args},
		db.Stmt{SQL: `delete from legacy_ownership where team_id = @team`, Args: args},
		db.Stmt{SQL: `delete from legacy_template where team_id = @team`, Args: args},
		db.Stmt{SQL: `delete from legacy_account where team_id = @team`, Args: args},
	)
	if err != nil {
		return fmt.Errorf("remove an earlier dump: %w", err)
	}

	return nil
}

// checkNames refuses a record if an earlier record has the same name, and names the field.
func checkNames[T any](seen map[string]T, field, section string, from int, names []string) error {
	here := make(map[string]bool, len(names))

	for i, name := range names {
		if _, twice := seen[name]; twice || here[name] {
			return apierr.BadRequest.At(apierr.IssueUnique.InBody(section, from+i, field))
		}

		here[name] = true
	}

	return nil
}

// saveAccounts saves legacy accounts.
func (r *reader) saveAccounts(ctx context.Context, from int, accounts []Account) error {
	keys := make([]string, len(accounts))
	for i := range accounts {
		keys[i] = accounts[i].Key
	}

	if err := checkNames(r.accounts, "key", "accounts", from, keys); err != nil {
		return err
	}

	for _, key := range keys {
		r.accounts[key] = true
	}

	r.counts.Accounts += int64(len(accounts))

	return r.insert(ctx, `
		insert into legacy_account (team_id, key, ref, name, classification)
		select @team, key, ref, name, classification from jsonb_to_recordset(@rows) as r (key text, ref text, name text, classification text)`, accounts)
}

// insert inserts rows that travel as JSON.
func (r *reader) insert(ctx context.Context, sql string, rows any) error {
	if _, err := r.tx.Exec(ctx, sql, db.Args{"team": r.tx.Team, "rows": rows}); err != nil {
		return fmt.Errorf("save a legacy team: %w", err)
	}

	return nil
}

// saveKind saves records through their intake kind: it creates new records and updates records of an earlier dump. It
// returns their ids in this service, and fails with the first refusal.
func (r *reader) saveKind(
	ctx context.Context, kind *intake.Kind, section string, from int, values []intake.Values,
) ([]id.ID, error) {
	changes := make([]intake.Change, len(values))
	for i := range values {
		changes[i] = intake.Change{Kind: kind.Name, Values: values[i]}
	}

	// A record that an earlier dump created has its name there as unique reference.
	known, err := intake.MatchByRef(kind.Name)(ctx, r.tx, intake.Origin{}, changes)
	if err != nil {
		return nil, fmt.Errorf("find what an earlier dump has made: %w", err)
	}

	writes := make([]intake.Write, len(values))
	for i := range values {
		writes[i] = intake.Write{ID: known[i].ID, Fields: values[i]}
	}

	saved, err := kind.Save(ctx, r.tx, intake.Origin{}, writes)
	if err != nil {
		return nil, fmt.Errorf("save the %s: %w", section, err)
	}

	ids := make([]id.ID, len(saved))

	for i := range saved {
		if saved[i].Refusal != nil {
			return nil, saved[i].Refusal.Under(section, from+i)
		}

		ids[i] = saved[i].ID
	}

	return ids, nil
}

// saveOwners saves owners as contacts.
func (r *reader) saveOwners(ctx context.Context, from int, owners []Owner) error {
	values, refs := make([]intake.Values, len(owners)), make([]string, len(owners))

	for i := range owners {
		o := &owners[i]
		refs[i] = o.ID
		values[i] = encode(map[string]any{
			"type": "owner", "name": o.Name, "firstName": o.FirstName, "email": o.Email, "phone": o.Phone,
			"address": o.Address, "uniqueRef": o.ID,
		})
	}

	if err := checkNames(r.owners, "id", "owners", from, refs); err != nil {
		return err
	}

	ids, err := r.saveKind(ctx, &r.contacts, "owners", from, values)
	if err != nil {
		return err
	}

	for i, name := range refs {
		r.owners[name] = ids[i]
	}

	r.counts.Owners += int64(len(owners))

	return nil
}

// saveListings saves listings with the shares of their owners.
func (r *reader) saveListings(ctx context.Context, from int, listings []Listing) error {
	type share struct {
		ListingID id.ID    `json:"listing_id"`
		Position  int      `json:"position"`
		ContactID id.ID    `json:"contact_id"`
		Split     int64    `json:"split"`
		StartAt   *day.Day `json:"start_at"`
		EndAt     *day.Day `json:"end_at"`
	}

	values, refs := make([]intake.Values, len(listings)), make([]string, len(listings))

	for i := range listings {
		l := &listings[i]

		status := "active"
		if l.Inactive {
			status = "inactive"
		}

		refs[i] = l.ID
		values[i] = encode(map[string]any{"name": l.Name, "address": l.Address, "uniqueRef": l.ID, "status": status})

		if l.Currency != "" {
			values[i]["defaultCurrency"] = encodeValue(l.Currency)
		}
	}

	if err := checkNames(r.listings, "id", "listings", from, refs); err != nil {
		return err
	}

	ids, err := r.saveKind(ctx, &r.doors.listings, "listings", from, values)
	if err != nil {
		return err
	}

	for i, name := range refs {
		r.listings[name] = ids[i]
	}

	r.counts.Listings += int64(len(listings))

	// Shares come last: they need the ids of the listings, and owners were saved before.
	shares := []share{}

	for i := range listings {
		for j, s := range listings[i].Owners {
			owner, known := r.owners[s.OwnerID]

			switch {
			case !known:
				return apierr.BadRequest.At(apierr.IssueNotFound.InBody("listings", from+i, "owners", j, "ownerId"))
			case s.StartAt != nil && s.EndAt != nil && !s.StartAt.Before(*s.EndAt):
				return apierr.BadRequest.At(apierr.IssueDateOrder.InBody("listings", from+i, "owners", j, "endAt"))
			}

			shares = append(shares, share{ids[i], j, owner, s.Split, s.StartAt, s.EndAt})
		}
	}

	return r.insert(ctx, `
		insert into legacy_ownership (team_id, listing_id, position, contact_id, split, start_at, end_at)
		select @team, listing_id, position, contact_id, split, start_at, end_at
		from jsonb_to_recordset(@rows) as r (listing_id uuid, position integer, contact_id uuid, split integer, start_at date, end_at date)`, shares)
}

// saveConnections saves connections unchanged.
func (r *reader) saveConnections(ctx context.Context, from int, connections []Connection) error {
	for i := range connections {
		c := &connections[i]

		// Package connection stores both values unchecked, so their form is checked here.
		for _, part := range []struct {
			name  string
			value json.RawMessage
		}{{"settings", c.Settings}, {"credentials", c.Credentials}} {
			var object map[string]any
			if len(part.value) > 0 && json.Unmarshal(part.value, &object) != nil {
				return apierr.BadRequest.At(apierr.IssueMalformed.InBody("connections", from+i, part.name))
			}
		}

		if err := connection.AddShell(ctx, r.tx, r.box, &connection.Shell{
			UniqueRef: c.ID, AppID: connection.AppID(c.AppID), Name: c.Name, Settings: c.Settings,
			Credentials: c.Credentials,
		}); err != nil {
			return under(err, "connections", from+i)
		}
	}

	r.counts.Connections += int64(len(connections))

	return nil
}

// saveReservations saves stays.
func (r *reader) saveReservations(ctx context.Context, from int, reservations []Reservation) error {
	values := make([]intake.Values, len(reservations))

	for i := range reservations {
		s := &reservations[i]

		listing, known := r.listings[s.ListingID]
		if !known {
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody("reservations", from+i, "listingId"))
		}

		values[i] = encode(map[string]any{
			"listingId": listing, "guestName": s.GuestName, "confirmationCode": s.ConfirmationCode,
			"checkIn": s.CheckIn, "checkOut": s.CheckOut,
			"uniqueRef": s.ID, "lines": []any{},
		})

		if s.Status != "" {
			values[i]["status"] = encodeValue(s.Status)
		}

		if s.Currency != "" {
			values[i]["currency"] = encodeValue(s.Currency)
		}
	}

	r.counts.Reservations += int64(len(reservations))

	if _, err := r.saveKind(ctx, &r.reservations, "reservations", from, values); err != nil {
		return err
	}

	// No later record of a dump changes a stay, so its event is complete.
	return audit.Spill(ctx, r.tx)
}

// saveTemplates saves layouts of statements.
func (r *reader) saveTemplates(ctx context.Context, _ int, templates []Template) error {
	type row struct {
		Template

		NetRevenue []Section `json:"net_revenue"`
		Other      []Section `json:"other"`
	}

	rows := make([]row, len(templates))
	for i, t := range templates {
		rows[i] = row{t, append([]Section{}, t.NetRevenue...), append([]Section{}, t.Other...)}
	}

	r.counts.Templates += int64(len(templates))

	return r.insert(ctx, `
		insert into legacy_template (team_id, source_id, name, is_default, net_revenue, other)
		select @team, id, name, coalesce("isDefault", false), net_revenue, other
		from jsonb_to_recordset(@rows) as r (id text, name text, "isDefault" boolean, net_revenue jsonb, other jsonb)`, rows)
}

// saveStatements saves statements with their lines.
func (r *reader) saveStatements(ctx context.Context, from int, statements []Statement) error {
	type row struct {
		SourceID     string      `json:"source_id"`
		ListingID    id.ID       `json:"listing_id"`
		StartAt      day.Day     `json:"start_at"`
		EndAt        day.Day     `json:"end_at"`
		Currency     string      `json:"currency"`
		Status       Status      `json:"status"`
		BalanceStart money.Cents `json:"balance_start"`
		BalanceEnd   money.Cents `json:"balance_end"`
		Lines        []Line      `json:"lines"`
	}

	rows := make([]row, len(statements))

	for i := range statements {
		s := &statements[i]
		if err := r.checkStatement(s); err != nil {
			return under(err, "statements", from+i)
		}

		rows[i] = row{
			s.ID, r.listings[s.ListingID], s.StartAt, s.EndAt, s.Currency, s.Status, s.BalanceStart, s.BalanceEnd,
			s.Lines,
		}
		r.counts.Lines += int64(len(s.Lines))
	}

	r.counts.Statements += int64(len(statements))

	err := r.insert(ctx, `
		insert into legacy_statement (team_id, source_id, listing_id, start_at, end_at, currency, status, balance_start, balance_end, lines)
		select @team, source_id, listing_id, start_at, end_at, currency, status, balance_start, balance_end, lines
		from jsonb_to_recordset(@rows) as r (source_id text, listing_id uuid, start_at date, end_at date, currency text, status text,
			balance_start bigint, balance_end bigint, lines jsonb)`, rows)
	// Names of statements are not kept in memory, because nothing refers to them: the table refuses a second use.
	if db.Constraint(err) == "legacy_statement_pkey" {
		return apierr.BadRequest.At(apierr.IssueUnique.InBody("statements")).Because(err)
	}

	return err
}

// checkStatement refuses a statement if it names records missing in the dump, and fills in its currency, in lower case.
func (r *reader) checkStatement(s *Statement) error {
	if _, known := r.listings[s.ListingID]; !known {
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody("listingId"))
	}

	if s.EndAt.Before(s.StartAt) {
		return apierr.BadRequest.At(apierr.IssueDateOrder.InBody("endAt"))
	}

	if s.Currency == "" {
		s.Currency = r.currency
	}

	currency, err := money.ParseCurrency(s.Currency)
	if err != nil {
		return apierr.BadRequest.At(apierr.IssueCurrency.InBody("currency"))
	}

	s.Currency = string(currency)

	lines := make(map[string]bool, len(s.Lines))

	for i := range s.Lines {
		l := &s.Lines[i]

		switch payout := l.Type == Payout; {
		case lines[l.ID]:
			return apierr.BadRequest.At(apierr.IssueUnique.InBody("lines", i, "id"))
		case !payout && l.AccountKey == nil:
			return apierr.BadRequest.At(apierr.IssueRequired.InBody("lines", i, "accountKey"))
		case !payout && !r.accounts[*l.AccountKey]:
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody("lines", i, "accountKey"))
		case l.OwnerID != nil && r.owners[*l.OwnerID].IsZero():
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody("lines", i, "ownerId"))
		}

		lines[l.ID] = true

		// Lines are stored with the owner's id in this service.
		if l.OwnerID != nil {
			owner := r.owners[*l.OwnerID].String()
			l.OwnerID = &owner
		}
	}

	return nil
}

// encode returns values as JSON, without nulls. Texts, numbers and days can always be encoded.
func encode(fields map[string]any) intake.Values {
	out := make(intake.Values, len(fields))

	for name, v := range fields {
		if raw := encodeValue(v); string(raw) != "null" {
			out[name] = raw
		}
	}

	return out
}

// encodeValue returns a value as JSON.
func encodeValue(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("legacy: encode a value: %v", err))
	}

	return raw
}
