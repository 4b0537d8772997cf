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

// The types of values. The last four name records that are here already.
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

// field is something that a column can hold.
type field struct {
	// name is the field as mappings name it.
	name string
	typ  valueType
	// into is the field of the record that gets the value; a dot leads into an object. Empty for fields that only help
	// to read others.
	into string
	// isLine says that the value belongs to a line of the record.
	isLine bool
	// lineType, for the amount of a line, is the type of the line that the column makes.
	lineType string
	// headers are the headers of such columns, as table.Fold writes them.
	headers []string
	// values are the values of an enum by the words for them, as table.Fold writes these.
	values map[string]string
	// lenient says that other words mean nothing.
	lenient bool
	// several says that the texts of several columns are joined.
	several bool
	// doc and example explain the column in the template.
	doc, example string
}

// kind says how the rows of a kind of file are read and saved.
type kind struct {
	name   Kind
	noun   intake.Kind
	fields []field
	// needs lists groups of fields: of each group a column is needed.
	needs [][]string
	// must lists groups of fields: of each group a record needs a value.
	must [][]string
	// keys lists groups of fields: the first group with values in all of its fields names the record at its source. A
	// record without such a group is named by all of its values, and equal rows are counted.
	keys [][]string
	// groups are fields that bind rows together into one record, the first one with a value; empty for a kind whose
	// records have one row each.
	groups []string
	// together are fields that bind rows of lines together where none of groups has a value.
	together []string
	// lines is the list of lines in a record.
	lines string
	// finish completes a record from all of its rows.
	finish func(r *reader, rec *record)
	// scope is the scope that a caller needs in addition to that of imports.
	scope string
	// needsBooks says that its records are in the books.
	needsBooks bool
	// undo takes back a record that an import has made.
	undo func(ctx context.Context, tx *db.Tx, one id.ID) error
	// isOnce says that a key names one record, so that a file with the key twice has the record twice.
	isOnce bool
	// owns says that its records change who owns listings, which is done alone in a team.
	owns bool
}

// find returns the place of a field, -1 for none.
func (k *kind) find(name string) int {
	return slices.IndexFunc(k.fields, func(f field) bool { return f.name == name })
}

// renderFields returns the fields that columns of the kind can have.
func (k *kind) renderFields() []ColumnField {
	out := make([]ColumnField, len(k.fields))

	for i := range k.fields {
		f := &k.fields[i]
		out[i] = ColumnField{
			Name: f.name, Type: string(f.typ), Doc: f.doc,
			IsRequired: slices.ContainsFunc(k.needs, func(group []string) bool { return len(group) == 1 && group[0] == f.name }),
		}
	}

	return out
}

// recognize returns the place of the field that a header means, -1 for none. A header means a field by its name or by
// one of its words; the longest word counts if a header only begins with words.
func (k *kind) recognize(folded string) int {
	if folded == "" {
		return -1
	}

	bare := strings.ReplaceAll(folded, " ", "")

	for i := range k.fields {
		f := &k.fields[i]
		if bare == strings.ToLower(f.name) || slices.ContainsFunc(f.headers, func(word string) bool {
			return strings.ReplaceAll(word, " ", "") == bare
		}) {
			return i
		}
	}

	// Such as "Amount (EUR)" and "Check-in date".
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
