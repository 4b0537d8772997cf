package pay

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/moov-io/ach"
)

// ErrReturns means that a file of returns cannot be read; nothing of it was used.
var ErrReturns = errors.New("file of returns cannot be read")

// maxReturns is the largest file of returns that is read, in bytes: some 100000 returns.
const maxReturns = 20 << 20

// ParseReturns reads the file that a bank sends back for files of NewNACHA. It returns one outcome, in the state
// returned, for each entry that came back. Its key is the KeyRef of the payment's key; its reference is the trace
// number, with which the reference of the payment ends; its code is the bank's, such as R03.
//
// Notifications of change move no money and are left out, and so are the later letters between banks (dishonored
// and contested returns). A file with totals that do not fit its entries is refused as a whole with ErrReturns:
// something of it is missing.
func ParseReturns(file []byte) (outcomes []Outcome, err error) {
	if len(file) > maxReturns {
		return nil, fmt.Errorf("%w: it is too large", ErrReturns)
	}

	defer func() {
		// The file comes from outside and the parser is not ours: a panic in it must not end the process.
		if r := recover(); r != nil {
			outcomes, err = nil, ErrReturns
		}
	}()

	parsed, err := readReturns(file)
	if err != nil {
		return nil, err
	}

	outcomes = []Outcome{}

	for _, batch := range parsed.Batches {
		for _, entry := range batch.GetEntries() {
			// Only entries that carry the reason of a return are returns.
			if entry.Category != ach.CategoryReturn || entry.Addenda99 == nil {
				continue
			}

			outcomes = append(outcomes, Outcome{
				Key: strings.TrimSpace(entry.IdentificationNumber), Ref: entry.Addenda99.OriginalTraceField(),
				State: Returned, Code: tidyCode(entry.Addenda99.ReturnCode),
			})
		}
	}

	return outcomes, nil
}

// readReturns parses and validates a file of returns. It fails with ErrReturns.
func readReturns(file []byte) (*ach.File, error) {
	reader := ach.NewReader(bytes.NewReader(file))
	lenient := &ach.ValidateOpts{
		// Banks number, name and sort in their own ways; what must hold are the counts and the totals.
		BypassOriginValidation:           true,
		BypassDestinationValidation:      true,
		BypassCompanyIdentificationMatch: true,
		CustomTraceNumbers:               true,
		CustomReturnCodes:                true,
		UnequalServiceClassCode:          true,
		AllowUnorderedBatchNumbers:       true,
		AllowZeroBatches:                 true,
		AllowSpecialCharacters:           true,
	}
	reader.SetValidation(lenient)

	// The parser's own errors are not kept: they quote the file.
	parsed, err := reader.Read()
	if err != nil {
		return nil, ErrReturns
	}

	if err := parsed.ValidateWith(lenient); err != nil {
		return nil, ErrReturns
	}

	return &parsed, nil
}
