// Package upload takes in the files that people have: owners, houses, stays, transactions, downloads of a bank.
//
// A file is kept as it came, and its rows are read into a preview. There a person sees the values, the faults and the
// duplicates of each row, and corrects them. Confirmed rows are saved by their nouns, as the records of a sync are,
// page by page. The outcome of a row is saved together with its record, so that a row is booked once even if a worker
// dies. All files of a kind share one memory (package intake), which recognizes the same row in a later file.
//
// The page docs/decisions/upload.md says what the contract leaves open and how it is answered here.
package upload

import (
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status says how far an import is.
type Status string

// The statuses.
const (
	Reading   Status = "reading"
	Ready     Status = "ready"
	Failed    Status = "failed"
	Importing Status = "importing"
	Imported  Status = "imported"
	Undoing   Status = "undoing"
	Undone    Status = "undone"
	Canceled  Status = "canceled"
)

// Enum lists the statuses.
func (Status) Enum() []string {
	return api.Texts(Reading, Ready, Failed, Importing, Imported, Undoing, Undone, Canceled)
}

// RowStatus is the state of a row before it is taken in.
type RowStatus string

// The statuses of rows.
const (
	// Valid rows become records, or change records that are here.
	Valid RowStatus = "valid"
	// Faulty rows cannot be taken in as they are.
	Faulty RowStatus = "faulty"
	// Duplicate rows are here already.
	Duplicate RowStatus = "duplicate"
	// Question rows are perhaps here already, or are to be looked at: a person decides.
	Question RowStatus = "question"
	// Ignored rows are no records, such as totals and pending movements.
	Ignored RowStatus = "ignored"
	// PartRow rows belong to the record of an earlier row.
	PartRow RowStatus = "part"
)

// Enum lists the statuses.
func (RowStatus) Enum() []string {
	return api.Texts(Valid, Faulty, Duplicate, Question, Ignored, PartRow)
}

// Decision is the decision of a person about a row.
type Decision string

// The decisions.
const (
	TakeRow    Decision = "import"
	LeaveRow   Decision = "skip"
	ReplaceRow Decision = "replace"
)

// Enum lists the decisions.
func (Decision) Enum() []string { return api.Texts(TakeRow, LeaveRow, ReplaceRow) }

// Outcome is the result of taking a row in.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Skipped   Outcome = "skipped"
	Refused   Outcome = "failed"
	Reverted  Outcome = "undone"
)

// Enum lists the outcomes.
func (Outcome) Enum() []string {
	return api.Texts(Created, Updated, Unchanged, Skipped, Refused, Reverted)
}

// Override says what to do with the rows of a file if the same file was imported before.
type Override string

// The overrides.
const (
	SkipKnown    Override = "skip"
	ReplaceKnown Override = "replace"
	KeepBoth     Override = "keep"
)

// Enum lists the overrides.
func (Override) Enum() []string { return api.Texts(SkipKnown, ReplaceKnown, KeepBoth) }

// Form says how the file is written.
type Form struct {
	Type      string   `json:"type" doc:"csv or xlsx."`
	Encoding  string   `json:"encoding" doc:"Character set; empty for a workbook."`
	Delimiter string   `json:"delimiter" doc:"What separates the cells; empty for a workbook."`
	Sheet     string   `json:"sheet" doc:"The sheet that is read; empty for a CSV."`
	Sheets    []string `json:"sheets" doc:"All sheets of a workbook."`
	// HeaderLine is 0 for a file without headers.
	HeaderLine    int    `json:"headerLine" doc:"Line of the headers, from 1; 0 for a file without headers."`
	Currency      string `json:"currency" doc:"Currency that the header of an amount names; empty for none."`
	BalancesProve bool   `json:"balancesProve" doc:"The balances prove the amounts: each one is the balance before with the amount."`
	Negated       bool   `json:"negated" doc:"Amounts of money that comes in are below zero in the file."`
}

// Column is a column of the file with its field.
type Column struct {
	Index  int    `json:"index" doc:"Place in the file, from 1."`
	Header string `json:"header" doc:"As the file has it."`
	// Field is empty for a column that is not read.
	Field     string   `json:"field" doc:"What the column holds; empty for one that is not read. lines. and a type stands for amounts of lines of that type."`
	DateOrder string   `json:"dateOrder" enum:"ymd,dmy,mdy," doc:"Order of day, month and year, found from all rows of the column; empty for no dates."`
	Decimal   string   `json:"decimal" doc:"Decimal sign, found from all rows of the column; empty for no amounts."`
	IsUnclear bool     `json:"isUnclear" doc:"The column reads both ways, so that its mapping has to say dateOrder or decimal."`
	Examples  []string `json:"examples" doc:"The first texts."`
}

// ColumnField describes a field that a column can hold.
type ColumnField struct {
	Name       string `json:"name" doc:"As mappings name it."`
	Type       string `json:"type" enum:"text,amount,date,integer,share,enum,currency,account,listing,contact,reservation" doc:"How its cells are read. The last four name records that are here already."`
	Doc        string `json:"doc" doc:"What the cells say."`
	IsRequired bool   `json:"isRequired" doc:"A file needs a column with it. Where one of several fields is enough, none of them is required."`
}

// Mapping has what a person has set about the columns of a file. What is absent is found from the rows.
type Mapping struct {
	HasHeader *bool           `json:"hasHeader,omitempty" doc:"Whether the file has a line of headers."`
	Columns   []ColumnMapping `json:"columns,omitempty" maxItems:"500"`
	DateOrder string          `json:"dateOrder,omitempty" enum:"ymd,dmy,mdy" doc:"Of all dates that are not plain ones of a workbook."`
	Decimal   string          `json:"decimal,omitempty" enum:".,\\," doc:"Decimal sign of all amounts."`
	Currency  string          `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Of amounts without a currency of their own."`
	Negated   *bool           `json:"negated,omitempty" doc:"Whether amounts of money that comes in are below zero, as some banks of cards write them, and lists of bills: their positive amounts are expenses where no column says the type."`
	Sheet     string          `json:"sheet,omitempty" maxLength:"200" doc:"Sheet of a workbook."`
	Encoding  string          `json:"encoding,omitempty" enum:"utf-8,utf-16,windows-1252,iso-8859-1,iso-8859-2,cp850,cp852" doc:"Character set of a CSV."`
}

// ColumnMapping sets the field of one column, by its header or by its place.
type ColumnMapping struct {
	Header    string `json:"header,omitempty" maxLength:"500" doc:"Header of the column."`
	Index     int    `json:"index,omitempty" minimum:"1" maximum:"500" doc:"Place from 1, instead of the header."`
	Field     string `json:"field" maxLength:"120" doc:"Empty leaves the column out."`
	DateOrder string `json:"dateOrder,omitempty" enum:"ymd,dmy,mdy" doc:"Order of day, month and year."`
	Decimal   string `json:"decimal,omitempty" enum:".,\\," doc:"Decimal sign."`
}

// Issue is something about a file or a row that a person should know.
type Issue struct {
	Code     string `json:"code"`
	Severity string `json:"severity" enum:"error,question,warning"`
	Line     int    `json:"line,omitempty" doc:"Line of the file, from 1; absent for the whole file."`
	Column   int    `json:"column,omitempty" doc:"Column of the file, from 1; absent for the whole row."`
	Header   string `json:"header,omitempty" doc:"Header of the column."`
	Field    string `json:"field,omitempty" doc:"What the column holds, or the field of the record that is wrong."`
	Text     string `json:"text,omitempty" doc:"What the cell has, shortened to 100 characters."`

	Context map[string]any `json:"context,omitempty"`
}

// The severities.
const (
	asError    = "error"
	asQuestion = "question"
	asWarning  = "warning"
)

// Counts are the rows of a preview by status. A row with a decision counts by the decision: as valid if it is to be
// imported, else as ignored.
type Counts struct {
	Rows       int64 `json:"rows" doc:"All rows after the headers."`
	Valid      int64 `json:"valid" doc:"Rows to import."`
	Faulty     int64 `json:"faulty" doc:"Rows that cannot be imported as they are."`
	Duplicates int64 `json:"duplicates" doc:"Rows of records that are here."`
	Questions  int64 `json:"questions" doc:"Rows that a person has to decide about."`
	Ignored    int64 `json:"ignored" doc:"Rows that are no records, such as totals."`
	Parts      int64 `json:"parts" doc:"Rows that belong to the record of an earlier row."`
}

// Outcomes are the records of an import by outcome.
type Outcomes struct {
	Created   int64 `json:"created" doc:"Records that were made."`
	Updated   int64 `json:"updated" doc:"Records that were changed."`
	Unchanged int64 `json:"unchanged" doc:"Records that are here as the file has them."`
	Skipped   int64 `json:"skipped" doc:"Rows that were left out."`
	Failed    int64 `json:"failed"`
	Undone    int64 `json:"undone" doc:"Records that were taken back."`
}

// Total is the sum of all amounts with the same status, outcome and currency.
type Total struct {
	Status   RowStatus   `json:"status"`
	Outcome  *Outcome    `json:"outcome" doc:"Null before the rows are imported."`
	Currency string      `json:"currency"`
	Rows     int64       `json:"rows"`
	Amount   money.Cents `json:"amount"`
}

// Import is an uploaded file with its preview and what became of it.
type Import struct {
	ID            id.ID         `json:"id" doc:"The id of the operation that reads the file."`
	Kind          Kind          `json:"kind"`
	Status        Status        `json:"status"`
	Filename      string        `json:"filename"`
	ByteSize      int64         `json:"byteSize"`
	ConnectionID  *id.ID        `json:"connectionId" doc:"The connection whose importer has the file; null for none."`
	BankAccountID *id.ID        `json:"bankAccountId" doc:"Bank account of all rows; null for none."`
	Form          *Form         `json:"form" doc:"How the file is written; null before it is read."`
	Columns       []Column      `json:"columns"`
	Fields        []ColumnField `json:"fields,omitempty" db:"-" doc:"What columns of the kind can hold; in the single read only."`
	Mapping       *Mapping      `json:"mapping" doc:"What a person has said about the columns; null for nothing."`
	Counts        Counts        `json:"counts"`
	Outcomes      Outcomes      `json:"outcomes" doc:"Records by outcome, once rows were imported."`
	// Issues are about the whole file, those of rows are with the rows.
	Issues      []Issue          `json:"issues" doc:"About the whole file; those of rows are with the rows."`
	IssueCounts map[string]int64 `json:"issueCounts" doc:"Rows by code of an issue."`
	Totals      []Total          `json:"totals" doc:"Sums of the amounts, once all rows are read."`
	PriorID     *id.ID           `json:"priorImportId" doc:"The last import of exactly this file; null for none."`
	ImportOpID  *id.ID           `json:"importOperationId" db:"import_operation_id" doc:"The operation that imports the rows; null before they are confirmed."`
	UndoOpID    *id.ID           `json:"undoOperationId" db:"undo_operation_id" doc:"The last operation that takes the import back; null for none."`
	Override    *Override        `json:"duplicateOverride" doc:"How rows of a file that was imported before are handled; null for nothing said."`
	AllOrNone   bool             `json:"allOrNothing" db:"all_or_none" doc:"Nothing stays if a row is refused."`
	Dependents  []Dependent      `json:"dependents" doc:"What kept the import from being undone: at most 1000."`
	CreatedAt   day.Instant      `json:"createdAt"`
	ImportedAt  *day.Instant     `json:"importedAt" doc:"When the last import of its rows has ended; null before."`
	UndoneAt    *day.Instant     `json:"undoneAt" doc:"When it was taken back; null if it was not."`
	IsAutomatic bool             `json:"isAutomatic" doc:"The rows are imported as soon as they are read: a file of a connection."`
}

// Dependent is a record that keeps its import from being undone.
type Dependent struct {
	Row      int     `json:"row" doc:"Position of the row."`
	Line     int     `json:"line" doc:"Line of the file."`
	EntityID id.ID   `json:"entityId"`
	Reason   string  `json:"reason" doc:"Why: reason or code of the refusal, changedSince for an edit here, or laterImport."`
	Context  any     `json:"context,omitempty"`
	Outcome  Outcome `json:"outcome"`
}

// Row is a row of a preview.
type Row struct {
	Position int            `json:"position" doc:"Place among the rows, from 1."`
	Line     int            `json:"line" doc:"Line of the file, from 1."`
	Status   RowStatus      `json:"status"`
	Cells    []string       `json:"cells" doc:"Texts of the cells, corrected ones as they are now."`
	Values   map[string]any `json:"values" db:"-" doc:"What the row says, as fields of the record; of a part, its line."`
	Issues   []Issue        `json:"issues"`
	// Head is the first row of the record that the row belongs to.
	Head      *int      `json:"head" doc:"For a part, the position of the row that it belongs to."`
	Decision  *Decision `json:"decision" doc:"What a person has decided; null for nothing."`
	MatchID   *id.ID    `json:"matchId" doc:"The record here that the row duplicates or changes; null for none."`
	IsCertain bool      `json:"isCertain" doc:"The match is certain."`
	Outcome   *Outcome  `json:"outcome" doc:"Null before the row is imported."`
	Reason    *string   `json:"reason" doc:"Why it was skipped or failed."`
	EntityID  *id.ID    `json:"entityId" doc:"The record that it made or changed."`
}

// The refusals of requests about imports.
var (
	errNotReady = apierr.New(apierr.CodeConflict, "", "The preview is not ready")
	errOverride = apierr.New(apierr.CodeConflict, "", "The file was not imported before").
			With(reason{"duplicateOverrideNotApplicable"})
	errFaulty  = apierr.New(apierr.CodeConflict, "", "The preview has rows that are faulty or to be decided")
	errUnclear = apierr.New(apierr.CodeConflict, "", "The preview has columns that read both ways or lacks some")
	errTooMany = apierr.New(apierr.CodeConflict, "", "So many rows cannot be imported all or none")
)

// reason is the context of a refusal for which the contract has a reason (ERR-105).
type reason struct {
	Reason string `json:"reason"`
}
