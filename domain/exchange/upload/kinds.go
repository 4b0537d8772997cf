package upload

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"stayledger/domain/record/intake"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

// Nouns say how the records of each kind are taken in.
type Nouns struct {
	Contact, Listing, Reservation, Transaction, BankRecord, Journal, Opening intake.Kind
}

// newKinds returns the kinds of files.
func newKinds(n *Nouns) map[Kind]*kind {
	all := []*kind{
		{
			name: Contacts, noun: n.Contact, fields: contactFields,
			needs: [][]string{{"name", "lastName", "firstName"}}, must: [][]string{{"name"}},
			isOnce: true, keys: [][]string{{"uniqueRef"}, {"email"}, {"name"}},
			finish: finishContact, scope: "contacts:import",
		},
		{
			name: Listings, noun: n.Listing, fields: listingFields,
			needs: [][]string{{"name"}}, must: [][]string{{"name"}},
			keys: [][]string{{"uniqueRef"}, {"name"}}, groups: []string{"uniqueRef", "name"},
			lines: ownersField, finish: finishListing, scope: "listings:write", owns: true,
		},
		{
			name: Reservations, noun: n.Reservation, fields: reservationFields,
			needs:  [][]string{{"listing"}, {"checkIn"}, {"checkOut", "nights"}},
			must:   [][]string{{"listing"}, {"checkIn"}, {"checkOut"}},
			isOnce: true, keys: [][]string{
				{"uniqueRef"},
				{"sourceId"},
				{"confirmationCode", "listing"},
				{"listing", "checkIn", "checkOut", "guestName"},
			},
			groups:   []string{"uniqueRef", "sourceId", "confirmationCode"},
			together: []string{"listing", "checkIn", "checkOut", "guestName"},
			apart:    []string{"listing", "checkIn", "checkOut"},
			lines:    "lines", finish: finishReservation, scope: "reservations:import",
		},
		{
			name: Transactions, noun: n.Transaction, fields: transactionFields,
			needs: [][]string{{"date"}, {"amount", "debit", "credit"}}, must: [][]string{{"date"}},
			isOnce: true, keys: [][]string{{"uniqueRef"}, {"reference", "contact"}},
			groups: []string{"uniqueRef", "reference"}, apart: []string{"date", "contact", "type"},
			lines: "lines", finish: finishTransaction, scope: "transactions:import", needsBooks: true,
		},
		{
			name: BankRecords, noun: n.BankRecord, fields: bankFields,
			needs: [][]string{{"date", "valueDate"}, {"amount", "debit", "credit"}},
			must:  [][]string{{"date"}, {"account"}}, keys: [][]string{{"uniqueRef"}}, finish: finishBankRecord,
			scope: "bank:write", needsBooks: true,
		},
		{
			name: JournalEntries, noun: n.Journal, fields: journalFields,
			needs: [][]string{{"date"}, {"account"}, {"amount", "debit", "credit"}}, must: [][]string{{"date"}},
			keys: [][]string{{"uniqueRef"}}, groups: []string{"uniqueRef", "journal"}, apart: []string{"date"},
			lines: "lines", finish: finishJournal, scope: "journals:post", needsBooks: true,
		},
		{
			name: OpeningBalances, noun: n.Opening, fields: openingFields,
			needs: [][]string{{"listing", "account"}, {"amount"}}, must: [][]string{{"listing", "account"}, {"amount"}},
			isOnce: true, keys: [][]string{{"listing", "currency"}, {"listing"}, {"account"}}, finish: finishOpening,
			scope: "listings:write", needsBooks: true,
			// The opening of a bank account is computed from that of the houses, so it comes after them both ways.
			isLast: func(rec *record) bool { return rec.get("account") != nil },
			undoneLast: `exists (select from account a
				where a.team_id = @team and w.entity_id in (a.id, a.banking_opening_transaction_id))`,
		},
	}

	out := map[Kind]*kind{}
	for _, k := range all {
		out[k.name] = k
		k.fields = slices.Clone(k.fields) // describe changes them
	}

	describe(out)

	return out
}

// finishContact joins the parts of a name, and sets the type to owner if the row has none.
func finishContact(_ *reader, rec *record) {
	// A file has the full name, its two parts, or one part under the header of the full name.
	first, last, name := rec.word("firstName"), rec.word("lastName"), rec.word("name")

	switch {
	case name == "":
		name = strings.TrimSpace(first + " " + last)
	case first != "" && last == "" && !strings.Contains(fold(name), fold(first)):
		name = first + " " + name
	case last != "" && !strings.Contains(fold(name), fold(last)):
		// The columns are Nombre and Apellidos, or alike: the name is a first name.
		if first == "" {
			rec.set("firstName", quote(name))
		}

		name = name + " " + last
	}

	if rec.set("name", quote(name)); name == "" {
		rec.set("name", nil)
	}

	if rec.get("type") == nil {
		rec.set("type", quote("owner"))
	}

	// A masked number, such as ***-1234, is no identifier.
	if strings.Contains(rec.word("taxIdentifier"), "*") {
		rec.set("taxIdentifier", nil)
	}
}

// finishBankRecord sets the amount, the account and the state of a movement.
func finishBankRecord(r *reader, rec *record) {
	if rec.get("date") == nil {
		rec.set("date", rec.get("valueDate"))
		rec.date[rec.kind.find("date")] = rec.date[rec.kind.find("valueDate")]
	}

	// Rows without an account belong to the account that the upload names.
	if rec.get("account") == nil && r.account != nil {
		rec.set("account", quote(r.account.String()))
	}

	// Debit and credit in columns of their own replace the amount. Some banks write debits below zero.
	amount, has := rec.cents("amount"), rec.get("amount") != nil
	if rec.get("debit") != nil || rec.get("credit") != nil {
		amount, has = rec.cents("credit")-abs(rec.cents("debit")), true
	}

	// No movement goes both ways.
	if rec.cents("debit") != 0 && rec.cents("credit") != 0 {
		r.addFault(rec, "debitAndCredit", asQuestion, "credit").say("The row has a debit and a credit")
	}

	// A word for the direction decides the sign. Otherwise the whole file may have signs the other way round.
	switch rec.word("direction") {
	case "debit":
		amount = -abs(amount)
	case "credit":
		amount = abs(amount)
	default:
		if r.negated {
			amount = -amount
		}
	}

	rec.amount = money.Cents(amount)
	if has {
		rec.set("amount", strconv.AppendInt(nil, amount, 10))
	}

	// Then leave out rows that are no movements, and turn balances into records without an amount.
	switch {
	case rec.word("state") == "pending" || rec.word("state") == "inactive":
		rec.ignored = rec.word("state")
	case rec.word("recordType") == "balance":
		rec.set("amount", nil)
		rec.more = intake.Values{"balance": rec.get("balance")}
	case !has && !rec.isFaulty() && rec.get("balance") != nil:
		rec.ignored = "noAmount"
	case !has && !rec.isFaulty():
		r.addFault(rec, "required", asError, "amount")
	}

	if r.account != nil && rec.currency != r.currency && rec.ignored == "" {
		r.addFault(rec, "currencyMismatch", asError, "currency")
	}
}

// abs returns a number without its sign.
func abs(n int64) int64 { return max(n, -n) }

// finishReservation sets the days, and compares the lines with the total.
func finishReservation(r *reader, rec *record) {
	// Some files state the nights instead of the day of departure.
	in, nights := rec.date[rec.kind.find("checkIn")], rec.cents("nights")
	if rec.get("checkOut") == nil && rec.get("checkIn") != nil && nights > 0 && nights < longestStay {
		rec.set("checkOut", quote(in.AddDays(int(nights)).String()))
	}

	out := rec.date[rec.kind.find("checkOut")]
	if rec.get("checkIn") != nil && out != (day.Day{}) && !in.Before(out) {
		r.addFault(rec, "daysOutOfOrder", asError, "checkOut")
	}

	// A stay before the first day of the books is out by its days alone, and gets in when that day moves.
	if rec.word("generalLedgerStatus") == "inactive" {
		if r.startAt != nil && in.Before(*r.startAt) {
			rec.set("generalLedgerStatus", nil)
		} else {
			r.addFault(rec, "keptOutOfBooks", asWarning, "generalLedgerStatus")
		}
	}

	// Money names a stay without a name by its short reference, which it has in one team alone.
	if rec.get("confirmationCode") == nil && rec.get("sourceId") == nil && rec.get("uniqueRef") == nil {
		rec.set("uniqueRef", rec.get("shortRef"))
	}

	if rec.word("status") == "inquiry" {
		rec.ignored = "inquiry"
	}

	// Lines without an amount are dropped.
	var lines []map[string]json.RawMessage

	for _, line := range rec.lines {
		rec.amount += lineCents(line, "amount")

		if line["type"] == nil {
			line["type"] = quote("other")
		}

		if line["amount"] != nil {
			lines = append(lines, line)
		}
	}

	rec.lines = lines

	// A stay that brings nothing is perhaps a file without its amounts.
	isFree := rec.word("type") == "ownerStay" || rec.word("status") == "canceled"
	if len(lines) == 0 && rec.get("total") == nil && !isFree {
		r.addFault(rec, "noLines", asQuestion, "rent")
	}

	// The difference gets a line of its own, and a person looks at it.
	total := money.Cents(rec.cents("total"))
	if rec.get("total") == nil || total == rec.amount {
		return
	}

	issue := r.addFault(rec, "totalDeviation", asQuestion, "total")
	issue.Context = map[string]any{"centTotal": total, "centLines": rec.amount}

	rec.lines = append(rec.lines, map[string]json.RawMessage{
		"type": quote("difference"), "description": quote("Difference to the stated total"),
		"amount": strconv.AppendInt(nil, int64(total-rec.amount), 10),
	})
	rec.amount = total
}

// longestStay bounds the nights that a row can state, so that a year in the column is not read as nights.
const longestStay = 1000

// lineCents returns the amount in a field of a line, 0 for none.
func lineCents(line map[string]json.RawMessage, field string) money.Cents {
	cents, _ := strconv.ParseInt(string(line[field]), 10, 64)
	return money.Cents(cents)
}

// negate gives a transaction and its lines the opposite sign.
func (rec *record) negate() {
	rec.amount = -rec.amount
	for _, line := range rec.lines {
		line["amount"] = strconv.AppendInt(nil, int64(-lineCents(line, "amount")), 10)
	}
}

// settleSides sets the amounts of lines with debit and credit in columns of their own: costs are below zero. In an expense
// costs are above zero, as in a column of amounts.
func settleSides(rec *record, rows []*record) {
	for i, line := range rec.lines {
		row := rows[min(i, len(rows)-1)]
		if line["amount"] != nil || row.get("debit") == nil && row.get("credit") == nil {
			continue
		}

		cents := row.cents("credit") - abs(row.cents("debit"))
		if rec.word("type") == "expense" {
			cents = -cents
		}

		line["amount"] = strconv.AppendInt(nil, cents, 10)
	}
}

// finishTransaction sets the type, and for each line its amount, its account, its markup and the stay that it names.
func finishTransaction(r *reader, rec *record) {
	// Each row has one line, in the same order.
	rows := append([]*record{rec}, rec.parts...)
	settleSides(rec, rows)

	for _, line := range rec.lines {
		rec.amount += lineCents(line, "amount")
	}

	// Without a type the sign decides, or its opposite where money that comes in is below zero. An expense has its
	// amounts without the sign.
	if rec.get("type") == nil && rec.text[rec.kind.find("type")] == "" {
		if r.negated {
			rec.negate()
		}

		kind := "deposit"
		if rec.amount < 0 {
			kind = "expense"

			rec.negate()
		}

		rec.set("type", quote(kind))
	}

	for i, line := range rec.lines {
		r.settleLine(rec, line)
		setMarkup(line)

		// A stay that is not here yet is waited for by its code.
		if i < len(rows) && line["reservationId"] == nil {
			if code := rows[i].text[rec.kind.find("reservation")]; code != "" {
				line["matchReservationConfirmationCode"] = quote(code)
			}
		}
	}

	// The same line twice in one record may be a line that the file repeats.
	if hasRepeated(rec) {
		r.addFault(rec, "repeatedLine", asQuestion, "amount").say("The record has the same line more than once")
	}

	// Tax has neither a rate nor a recipient, so it is not booked. A person decides about the record.
	if slices.ContainsFunc(rows, func(row *record) bool { return row.cents("taxAmount") != 0 }) {
		r.addFault(rec, "taxNotRead", asQuestion, "taxAmount")
	}

	// A record that another system keeps out of its books is not booked here.
	if rec.word("status") == "inactive" {
		rec.ignored = "inactive"
	}

	if rec.get("paymentDate") == nil {
		rec.set("paymentAccount", nil)
	}

	total := money.Cents(rec.cents("transactionTotal"))
	if rec.get("transactionTotal") != nil && total != rec.amount {
		r.addFault(rec, "totalDeviation", asQuestion, "transactionTotal")
	}

	// A file from a connected system names the system, as its syncs do.
	if source := rec.word("sourceId"); r.connection != nil && source != "" {
		rec.setMore("connectionId", quote(r.connection.String()))
		rec.setMore("sourceId", quote(source))
	}

	// A plain transaction does not have the field.
	if string(rec.get("isOpeningBalance")) == "false" {
		rec.set("isOpeningBalance", nil)
	}
}

// hasRepeated reports whether a row after the head has exactly the cells of an earlier row.
func hasRepeated(rec *record) bool {
	if len(rec.parts) == 0 {
		return false
	}

	known := map[string]bool{strings.Join(rec.texts, "\x00"): true}

	for _, part := range rec.parts {
		cells := strings.Join(part.texts, "\x00")
		if known[cells] {
			return true
		}

		known[cells] = true
	}

	return false
}

// setMarkup turns the markup's amount into an object, or removes a markup of zero.
func setMarkup(line map[string]json.RawMessage) {
	switch amount := line["markup"]; string(amount) {
	case "":
	case "0":
		delete(line, "markup")
	default:
		line["markup"] = mustEncode(map[string]json.RawMessage{"amount": amount})
	}
}

// settleLine sets the account of a line by its type if the line has no account. It adds a fault for an unmapped type.
func (r *reader) settleLine(rec *record, line map[string]json.RawMessage) {
	lineType := text(line["matchLineTypeClassification"])
	if line["accountId"] != nil || lineType == "" || r.lineTypes == nil {
		return
	}

	fields, known, left := r.lineTypes.account(lineType)

	switch {
	case !known:
		r.addFault(rec, "lineTypeUnmapped", asError, "lineType").Context = map[string]any{"lineType": lineType}
	case left:
		rec.ignored = "lineTypeExcluded"
	default:
		for name, value := range fields {
			if line[name] == nil {
				line[name] = value
			}
		}
	}
}

// finishJournal computes the amounts of lines from debit and credit, and checks that they sum to zero.
func finishJournal(r *reader, rec *record) {
	rows := append([]*record{rec}, rec.parts...)

	var sum money.Cents

	for i, line := range rec.lines {
		// Each row has one line, in the same order.
		row := rows[min(i, len(rows)-1)]
		if line["centTotal"] == nil {
			line["centTotal"] = strconv.AppendInt(nil, row.cents("debit")-row.cents("credit"), 10)
		}

		// The amount of a journal is the sum of its debits.
		cents := lineCents(line, "centTotal")
		if sum += cents; cents > 0 {
			rec.amount += cents
		}
	}

	if sum != 0 && !rec.isFaulty() {
		r.addFault(rec, "unbalanced", asError, "amount").Context = map[string]any{"centDifference": sum}
	}
}

// finishOpening sets the amount. It adds a fault for a balance that names both a house and an account.
func finishOpening(r *reader, rec *record) {
	if rec.amount = money.Cents(rec.cents("amount")); rec.get("listing") != nil && rec.get("account") != nil {
		r.addFault(rec, "contradiction", asError, "account")
	}

	// Only a bank account has a day of its own: houses begin with the team's statements. It also has its currency.
	if rec.get("account") == nil {
		rec.set("date", nil)
	} else {
		rec.set("currency", nil)
	}
}
