package operation

// Failure says why an operation failed, in a fixed text of its code. It never carries a cause (OPS-34 … OPS-41).
type Failure struct {
	Code    FailureCode `json:"code"`
	Message string      `json:"message"`
}

// FailureCode is a failure code fixed by the API. Treat unknown codes as a generic terminal failure.
type FailureCode string

// The failure codes.
const (
	OperationFailed       FailureCode = "operationFailed"
	AlreadyConnected      FailureCode = "alreadyConnected"
	CSVPreviewFailed      FailureCode = "csvPreviewFailed"
	CSVImportFailed       FailureCode = "csvImportFailed"
	CSVImportRecordFailed FailureCode = "csvImportRecordFailed"
	CSVBlankHeader        FailureCode = "csvBlankHeader"
	CSVDuplicateHeader    FailureCode = "csvDuplicateHeader"
	CSVMissingColumn      FailureCode = "csvMissingColumn"
	CSVEmpty              FailureCode = "csvEmpty"
	CSVTooLarge           FailureCode = "csvTooLarge"
	CSVEncoding           FailureCode = "csvEncoding"
	CSVMalformed          FailureCode = "csvMalformed"
	CSVDelimiter          FailureCode = "csvDelimiter"
	CSVTooManyColumns     FailureCode = "csvTooManyColumns"
	FileNotStatement      FailureCode = "fileNotStatement"
	// DataChanged: what the request was checked against has changed before the work was done.
	DataChanged FailureCode = "dataChanged"
)

// Message returns the fixed text of the code. A CSV source code without a text of its own says that the preview
// failed (OPEN-02, OPEN-32).
func (c FailureCode) Message() string {
	switch c {
	case OperationFailed:
		return "Operation failed"
	case AlreadyConnected:
		return "Another active connection has the account"
	case CSVPreviewFailed:
		return "CSV preview failed"
	case CSVImportFailed:
		return "CSV import failed"
	case CSVImportRecordFailed:
		return "CSV import has record failures"
	case CSVBlankHeader:
		return "CSV has a blank column header"
	case CSVDuplicateHeader:
		return "CSV has a duplicate column header"
	case CSVMissingColumn:
		return "CSV lacks a required column"
	case CSVEmpty:
		return "CSV has no rows"
	case CSVTooLarge:
		return "CSV is too large"
	case CSVEncoding:
		return "CSV is not valid UTF-8"
	case CSVMalformed:
		return "CSV is malformed"
	case CSVDelimiter:
		return "CSV delimiter was not recognized"
	case CSVTooManyColumns:
		return "CSV has too many columns"
	case FileNotStatement:
		return "File is not a bank statement"
	case DataChanged:
		return "Data have changed since the request; send it again"
	}

	// A code of a CSV source that has no text of its own.
	if len(c) > 3 && c[:3] == "csv" {
		return "CSV preview failed"
	}

	return "Operation failed"
}

// publicFailure returns the public failure of a stored code, or nil when no code was stored because nothing safe can be
// said.
func publicFailure(code *FailureCode) *Failure {
	if code == nil {
		return nil
	}

	return &Failure{Code: *code, Message: code.Message()}
}
