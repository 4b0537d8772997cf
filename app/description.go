package app

import (
	"bytes"
	_ "embed" // the words for fields, and the examples
	"encoding/json"
	"strings"
	"sync"

	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
)

// fieldWords has a line for each name of a field that means the same in every object, or Object.field for one that does
// not: what follows the colon is its description where the field has none of its own.
//
//go:embed fields.txt
var fieldWords string

// examplesFile has the examples of bodies by operation. They are in the description, from which the reference takes
// them; tests send all of them and hold the answers against what is sent back.
//
//go:embed examples.json
var examplesFile []byte

const about = "Accounting for vacation-rental property managers: a general ledger, owner statements, payouts and " +
	"exports over one API. Every failure has one form; branch on the HTTP status and code, never on the " +
	"message. Amounts are in cents, rates in parts per 100000 (15000 is 15 %), dates are days of the calendar, " +
	"instants are in UTC. Every answer names its request in the header X-Request-Id."

// withDescription adds everything that the published description says in addition to the endpoints.
func withDescription(c api.Config) api.Config {
	c.Title, c.Description, c.Refusals = "stayledger", about, access.Refusals
	c.Tags = []api.Tag{
		{Name: "Access", Doc: "Who calls."},
		{Name: "Teams", Doc: "The team, its settings, its setup and its closed books."},
		{Name: "Connections", Doc: "What the team is connected to outside: payment providers and their credentials."},
		{Name: "Syncs", Doc: "Readings of what is connected: what came of it, and what became of each record."},
		{Name: "Flows", Doc: "What can be done again for a connection, by hand."},
		{Name: "Channel payouts", Doc: "What booking channels have paid out, as property-management systems say it."},
		{Name: "Calendar blocks", Doc: "Days on which a listing is not let, at its property-management system."},
		{Name: "Audit", Doc: "Who did what: the actions of the team and the records that they changed."},
		{Name: "Webhooks", Doc: "Messages to receivers of the team about what has happened."},
		{Name: "Accounts", Doc: "The chart of accounts, its categories, and what is particular to bank accounts."},
		{Name: "Bank records", Doc: "What banks say of the team's accounts."},
		{Name: "Account connections", Doc: "The accounts that a team has at its banks, and what of the chart they " +
			"are attached to."},
		{Name: "Bank rules", Doc: "How bank records that meet some conditions are to be booked."},
		{Name: "Tax rates", Doc: "Rates of taxes on stays and bills."},
		{Name: "Contacts", Doc: "Owners, vendors and guests, and how they are paid."},
		{Name: "Listings", Doc: "Properties and who owns them when."},
		{Name: "Recurring fees", Doc: "Fees that are charged on stays by themselves."},
		{Name: "Reservations", Doc: "Stays, their amounts and their journals."},
		{Name: "Reservation line mappings", Doc: "Which account a type of line is booked on."},
		{Name: "Transactions", Doc: "Money in and out: deposits, expenses, payouts and transfers."},
		{Name: "Transaction line mappings", Doc: "Where a type of imported money is booked."},
		{Name: "Transaction attachments", Doc: "Files that belong to expenses."},
		{Name: "Recurring transactions", Doc: "Templates that make transactions on days of a pattern."},
		{Name: "Opening balances", Doc: "What the books begin with."},
		{Name: "General ledger", Doc: "Journals by hand and the history of earlier systems."},
		{Name: "Statements", Doc: "Owner statements: computed, saved, published and imported."},
		{Name: "Statement layouts", Doc: "What statements show, and in which columns."},
		{Name: "Imports of files", Doc: "Spreadsheets and downloads, previewed row by row and booked once."},
		{Name: "Owner access", Doc: "Links with which owners read their statements."},
		{Name: "Embedded sessions", Doc: "Reports and statements of a team, in frames of its partner's product."},
		{Name: "Payouts", Doc: "What owners and the manager are paid."},
		{Name: "Payments", Doc: "Payments through providers, their approval and their limits."},
		{Name: "Reports", Doc: "Figures of the books, each with the entries that it adds up."},
		{Name: "Metrics", Doc: "How syncs, occupancy and revenue went over time."},
		{Name: "Migrations", Doc: "How teams without a general ledger move into one, with their history."},
		{Name: "Operations", Doc: "Work that goes on after the answer."},
		{Name: "Files", Doc: "Stored files and links to them."},
	}
	c.Examples = examples()
	c.Fields = map[string]string{}

	for line := range strings.Lines(fieldWords) {
		name, doc, _ := strings.Cut(strings.TrimSpace(line), ": ")
		c.Fields[name] = doc
	}

	return c
}

// examples reads the file of the examples; a test reads it too.
var examples = sync.OnceValue(func() map[string]api.Example {
	decoder := json.NewDecoder(bytes.NewReader(examplesFile))
	decoder.UseNumber()

	var out map[string]api.Example
	if err := decoder.Decode(&out); err != nil {
		panic(err)
	}

	return out
})
