package upload

import (
	"context"
	"slices"
	"strings"

	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Kind is the type of the rows of a file.
type Kind string

// The kinds.
const (
	Contacts        Kind = "contacts"
	Listings        Kind = "listings"
	Reservations    Kind = "reservations"
	Transactions    Kind = "transactions"
	BankRecords     Kind = "bank-records"
	JournalEntries  Kind = "journal-entries"
	OpeningBalances Kind = "opening-balances"
)

// Enum lists the kinds.
func (Kind) Enum() []string {
	return api.Texts(Contacts, Listings, Reservations, Transactions, BankRecords, JournalEntries, OpeningBalances)
}

// valueType says how the cells of a column are read.
type valueType string

// The types of values. The last four name records that the team has already.
const (
	typeText     valueType = "text"
	typeAmount   valueType = "amount"
	typeDate     valueType = "date"
	typeInteger  valueType = "integer"
	typeShare    valueType = "share"
	typeEnum     valueType = "enum"
	typeCurrency valueType = "currency"

	typeAccount     valueType = "account"
	typeListing     valueType = "listing"
	typeContact     valueType = "contact"
	typeReservation valueType = "reservation"
)

// isName reports whether values of the type name records.
func (t valueType) isName() bool {
	return slices.Contains([]valueType{typeAccount, typeListing, typeContact, typeReservation}, t)
}

// field describes what a column can hold.
type field struct {
	// name is the field as mappings name it.
	name string
	typ  valueType
	// into is the field of the record that gets the value; a dot leads into an object. It is empty if the value only
	// helps to read other fields.
	into string
	// isLine says that the value belongs to a line.
	isLine bool
	// lineType is the type of the line that an amount in the column makes, empty for other fields.
	lineType string
	// headers are known headers, as table.Fold writes them.
	headers []string
	// values maps words, as table.Fold writes them, to the values of an enum.
	values map[string]string
	// lenient says that other words mean nothing.
	lenient bool
	// isSecret says that callers see only the end of its texts.
	isSecret bool
	// several says that the texts from several columns are joined.
	several bool
	// doc and example explain the column in the template.
	doc, example string
}

// kind says how the rows of a kind of file are read and saved.
type kind struct {
	name   Kind
	noun   intake.Kind
	fields []field
	// needs lists groups of fields: the file needs a column for one field of each group.
	needs [][]string
	// must lists groups of fields: a record needs a value for one field of each group.
	must [][]string
	// keys lists groups of fields: the first group without an empty field names the record at its source. If there is
	// no such group, a hash of all values does, and equal rows are numbered.
	keys [][]string
	// groups are fields that bind rows into one record if they are equal; the first with a value counts. Empty for a
	// kind where each row is a record.
	groups []string
	// together are fields that, all equal, bind rows into one record where groups has no value.
	together []string
	// apart are fields in which rows of one record agree, where they have a value.
	apart []string
	// lines is the list of lines in a record.
	lines string
	// finish completes a record from all of its rows.
	finish func(r *reader, rec *record)
	// scope is what a caller needs in addition to the scope for imports.
	scope string
	// needsBooks says that its records are in the books.
	needsBooks bool
	// undo takes back a record that an import has made.
	undo func(ctx context.Context, tx *db.Tx, one id.ID) error
	// isOnce says that a key names one record: a second row with the key repeats it.
	isOnce bool
	// isLast reports whether a record is imported after all others, nil for none. All rows of such a kind are one page.
	isLast func(rec *record) bool
	// undoneLast is an SQL condition on rows w: their records are taken back after all others. Empty for none.
	undoneLast string
	// owns says that its records change who owns listings, which is done alone in a team.
	owns bool
}

// find returns the place of a field, -1 for none.
func (k *kind) find(name string) int {
	return slices.IndexFunc(k.fields, func(f field) bool { return f.name == name })
}

// renderFields returns all fields of the kind as the API shows them.
func (k *kind) renderFields() []ColumnField {
	out := make([]ColumnField, len(k.fields))

	for i := range k.fields {
		f := &k.fields[i]
		isAlone := func(group []string) bool { return len(group) == 1 && group[0] == f.name }
		isRequired := slices.ContainsFunc(k.needs, isAlone)
		out[i] = ColumnField{Name: f.name, Type: string(f.typ), Doc: f.doc, IsRequired: isRequired}
	}

	return out
}

// recognize returns the place of the field that a header means, -1 for none. A header is the name of a field or a known
// word for it. If it only begins with such words, the longest word counts.
func (k *kind) recognize(folded string) int {
	if folded == "" {
		return -1
	}

	// First exact matches, whatever the spaces.
	bare := strings.ReplaceAll(folded, " ", "")

	for i := range k.fields {
		f := &k.fields[i]
		if bare == strings.ToLower(f.name) || slices.ContainsFunc(f.headers, func(word string) bool {
			return strings.ReplaceAll(word, " ", "") == bare
		}) {
			return i
		}
	}

	// Headers with an addition, such as "Amount (EUR)" and "Check-in date".
	at, longest := -1, 0

	for i := range k.fields {
		for _, word := range append([]string{strings.ToLower(k.fields[i].name)}, k.fields[i].headers...) {
			rest, begins := strings.CutPrefix(folded, word+" ")
			if begins && len(word) > longest && isAddition(rest) {
				at, longest = i, len(word)
			}
		}
	}

	return at
}

// additions are words after a header that leave its meaning as it is.
var additions = strings.Fields("date day usd eur gbp cad aud chf nzd jpy kwd mxn brl sek nok dkk pln in currency")

// isAddition reports whether the words after a header leave its meaning as it is.
func isAddition(rest string) bool {
	for word := range strings.FieldsSeq(rest) {
		if !slices.Contains(additions, word) {
			return false
		}
	}

	return true
}
