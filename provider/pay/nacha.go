package pay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/moov-io/ach"
	"github.com/moov-io/base"
	"golang.org/x/text/unicode/norm"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// NACHASettings say who sends the file to which bank, as the bank's onboarding papers say. A person delivers the file,
// so it needs no credentials.
type NACHASettings struct {
	ImmediateDestination     string `json:"immediateDestination"` // routing number, 9 digits
	ImmediateDestinationName string `json:"immediateDestinationName"`
	ImmediateOrigin          string `json:"immediateOrigin"` // routing number or the number that the bank has given, up to 10 characters
	ImmediateOriginName      string `json:"immediateOriginName"`
	CompanyName              string `json:"companyName"`
	CompanyIdentification    string `json:"companyIdentification"`
	ODFIRouting              string `json:"odfiRouting"` // of the bank that originates, 8 or 9 digits
	EntryDescription         string `json:"entryDescription"`
	// BalancedFile is "true" for a bank that wants each batch to sum to zero: a debit of the sender's own account
	// balances its credits.
	BalancedFile      string `json:"balancedFile"`
	OffsetRouting     string `json:"offsetRouting"`     // of the account that is debited; empty: odfiRouting, when it has nine digits
	OffsetAccountType string `json:"offsetAccountType"` // checking or savings; empty: checking
}

// nachaCredentials are settings that can be written but not read again.
type nachaCredentials struct {
	OffsetAccountNumber string `json:"offsetAccountNumber"` // the account that is debited in balanced files
}

// Why a payment does not fit into a file, as codes of outcomes.
const (
	codeAmount    = "amountNotSupported"
	codeCurrency  = "currencyNotSupported"
	codeAccount   = "accountInvalid"
	codeHolder    = "holderInvalid"
	codeDate      = "dateInvalid"
	codeDuplicate = "keyDuplicate"
)

const (
	// The modifiers distinguish the files of a day.
	modifiers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	// A file can have this many entries: a trace number has five digits for them and two for the file.
	maxEntries = 99_999
)

type nacha struct {
	s NACHASettings
	// offset is the account that is debited in balanced files, nil for files of credits alone.
	offset *Account
}

// NewNACHA returns a provider that makes files of credits for a bank: PPD to individuals, CCD to companies. It
// fails with a SettingsError. The credentials are empty but for balanced files.
//
// The same batch gives the same bytes. A payment is submitted once it is in the file. The file says no more, and
// after it was sent it can be neither asked nor called back: Find fails with ErrUnknown and Cancel with ErrRefused.
// Returns are read with ParseReturns.
func NewNACHA(settings, credentials json.RawMessage) (Provider, error) {
	n := nacha{}
	if err := decodeSettings(settings, &n.s, "settings"); err != nil {
		return nil, err
	}

	if n.s.EntryDescription == "" {
		n.s.EntryDescription = "OWNER PAY"
	}

	if err := n.s.check(); err != nil {
		return nil, err
	}

	// A file of credits alone needs no account of the sender.
	if n.s.BalancedFile != "true" {
		return &n, nil
	}

	// The account to debit: its number is a credential, the rest are settings.
	var c nachaCredentials
	if len(credentials) > 0 {
		if err := decodeSettings(credentials, &c, "credentials"); err != nil {
			return nil, err
		}
	}

	var err error

	n.offset, err = n.s.offset(c.OffsetAccountNumber)

	return &n, err
}

// offset returns the account that a balanced file debits. It fails with a SettingsError if the account cannot be
// used.
func (s *NACHASettings) offset(number string) (*Account, error) {
	a := &Account{
		Holder:  s.CompanyName,
		Routing: s.OffsetRouting,
		Number:  number,
		Type:    AccountType(s.OffsetAccountType),
	}

	// Most senders have their account at the bank that originates, and it is a checking account.
	if a.Routing == "" {
		a.Routing = s.ODFIRouting
	}

	if a.Type == "" {
		a.Type = Checking
	}

	// The settings are checked one by one first, so that the error names the right field.
	switch {
	case !ValidRouting(a.Routing):
		return nil, &SettingsError{Field: "offsetRouting", Problem: "is not a routing number of 9 digits"}
	case a.Type != Checking && a.Type != Savings:
		return nil, &SettingsError{Field: "offsetAccountType", Problem: "is neither checking nor savings"}
	case accountFault(*a) != "":
		return nil, &SettingsError{
			Field:   "offsetAccountNumber",
			Problem: "is not an account number of up to 17 digits or letters",
		}
	}

	return a, nil
}

// check puts the texts into the form that files have. It fails with a SettingsError if one cannot be used.
func (s *NACHASettings) check() error {
	// First the texts, each with the width of its field in the file.
	for _, f := range []struct {
		name  string
		value *string
		most  int
	}{
		{"immediateOrigin", &s.ImmediateOrigin, 10},
		{"immediateDestinationName", &s.ImmediateDestinationName, 23},
		{"immediateOriginName", &s.ImmediateOriginName, 23},
		{"companyName", &s.CompanyName, 16},
		{"companyIdentification", &s.CompanyIdentification, 10},
		{"entryDescription", &s.EntryDescription, 10},
	} {
		text := bankText(*f.value, f.most)
		if text == "" || len(*f.value) > f.most {
			return &SettingsError{
				Field:   f.name,
				Problem: fmt.Sprintf("is not 1 to %d letters, digits or signs of ASCII", f.most),
			}
		}

		*f.value = text
	}

	// Then the routing numbers. The bank that originates can leave out the check digit.
	if !ValidRouting(s.ImmediateDestination) {
		return &SettingsError{Field: "immediateDestination", Problem: "is not a routing number of 9 digits"}
	}

	if !ValidRouting(s.ODFIRouting) && (len(s.ODFIRouting) != 8 || !allDigits(s.ODFIRouting)) {
		return &SettingsError{Field: "odfiRouting", Problem: "is not a routing number of 8 or 9 digits"}
	}

	// Banks act on these words: a file with one of them would be taken for another kind.
	if slices.Contains([]string{"REVERSAL", "RECLAIM", "NONSETTLED"}, s.EntryDescription) {
		return &SettingsError{Field: "entryDescription", Problem: "is a word that means something else to banks"}
	}

	return nil
}

// ValidRouting reports whether a text is an ABA routing number: nine digits with the right check digit.
func ValidRouting(routing string) bool {
	return len(routing) == 9 && allDigits(routing) && routing != "000000000" && ach.CheckRoutingNumber(routing) == nil
}

// allDigits reports whether a text has at least one character and only digits.
func allDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// KeyRef returns the name of a payment in a file: 15 characters, made of its key by a hash (base32 of SHA-256), so
// that payments with similar keys have different names. Banks give it back in the individual identification number
// of a return.
func KeyRef(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base32.StdEncoding.EncodeToString(sum[:])[:15]
}

// Check returns nil: the settings were checked when the provider was made.
func (n *nacha) Check(context.Context) error { return nil }

// VerifyAccount checks only the form of an account: whether it exists shows when a payment comes back.
func (n *nacha) VerifyAccount(_ context.Context, _ string, a Account) (Verification, error) {
	if accountFault(a) != "" {
		return Rejected, nil
	}

	return Verified, nil
}

// Find always fails with ErrUnknown: a file cannot be asked.
func (n *nacha) Find(context.Context, string) (Outcome, error) {
	return Outcome{}, fmt.Errorf("find payment in a file: %w", ErrUnknown)
}

// Cancel always fails with ErrRefused: a file that was sent cannot be called back.
func (n *nacha) Cancel(context.Context, string) (Outcome, error) {
	return Outcome{}, fmt.Errorf("cancel payment in a file: %w", &RefusedError{Code: "fileSent"})
}

// Submit makes one file of the payments that fit into it, or none if no payment does. The reference of a payment is
// the day of the file and its trace number. A day has 36 files, and a file has 99999 entries: beyond them Submit
// fails with ErrNotReady and ErrRefused.
func (n *nacha) Submit(ctx context.Context, b Batch) (Receipt, error) {
	if err := ctx.Err(); err != nil {
		return Receipt{}, fmt.Errorf("make payment file: %w", networkError(err)) // decides nothing: the caller tries again
	}

	// The modifier of the file is one character, which bounds the files of a day.
	if b.Sequence < 0 || b.Sequence >= len(modifiers) {
		return Receipt{}, fmt.Errorf("make payment file: %w: no more files on this day", ErrNotReady)
	}

	if len(b.Payments) > maxEntries {
		return Receipt{}, fmt.Errorf("make payment file: %w", &RefusedError{Code: "tooManyPayments"})
	}

	// The time of the batch, and not the clock, dates the file: the same batch gives the same bytes.
	f := &fileMaker{
		s:       n.s,
		offset:  n.offset,
		batch:   b,
		made:    day.Of(b.At.UTC()),
		receipt: Receipt{Outcomes: make([]Outcome, len(b.Payments))},
	}

	content, err := f.file()
	if err != nil {
		return Receipt{}, err
	}

	// No content means that no payment fits; then the outcomes alone are the answer.
	if content != nil {
		f.receipt.File = &File{
			Name:        "ach-" + f.made.String() + "-" + f.modifier() + ".txt",
			ContentType: "text/plain; charset=us-ascii",
			Content:     content,
		}
	}

	return f.receipt, nil
}

// fileMaker makes the file of a batch and fills in its receipt.
type fileMaker struct {
	s       NACHASettings
	offset  *Account
	batch   Batch
	made    day.Day
	receipt Receipt
}

// modifier returns the character that distinguishes the file from the others of its day.
func (f *fileMaker) modifier() string { return modifiers[f.batch.Sequence : f.batch.Sequence+1] }

// file returns the bytes of the file, or nil if no payment fits into one. It fails with a RefusedError if there are
// too many entries or if the library refuses the file.
func (f *fileMaker) file() ([]byte, error) {
	// First, group the payments into batches; those that do not fit get their outcome.
	groups := f.sort()
	if len(groups) == 0 {
		return nil, nil
	}

	file := ach.NewFile()
	file.SetHeader(f.header())

	if len(f.s.ImmediateOrigin) == 10 {
		// Ten characters are a number that the bank has given and no routing number.
		file.SetValidation(&ach.ValidateOpts{BypassOriginValidation: true})
	}

	// Then one batch for each group, in a fixed order. Entries are numbered through the whole file.
	entries := 0

	for i, g := range slices.SortedFunc(maps.Keys(groups), group.compare) {
		batch, err := f.credits(g, i+1)
		if err != nil {
			return nil, fileError(err)
		}

		var total money.Cents

		for _, at := range groups[g] {
			entries++
			batch.AddEntry(f.entry(at, entries))
			total += f.batch.Payments[at].Amount
		}

		// A balanced batch debits what it credits, in several entries if the sum is too large for one.
		for f.offset != nil && total > 0 {
			entries++
			amount := min(total, ach.NachaEntryAmountLimit)
			batch.AddEntry(f.debit(amount, entries))
			total -= amount
		}

		// Checked again, because the debits count as entries too.
		if entries > maxEntries {
			return nil, fmt.Errorf("make payment file: %w", &RefusedError{Code: "tooManyPayments"})
		}

		if err := batch.Create(); err != nil {
			return nil, fileError(err)
		}

		file.AddBatch(batch)
	}

	// Last, compute the totals of the file, and validate it as the bank would.
	if err := file.Create(); err != nil {
		return nil, fileError(err)
	}

	if err := file.Validate(); err != nil {
		return nil, fileError(err)
	}

	var out bytes.Buffer
	if err := ach.NewWriter(&out).Write(file); err != nil {
		return nil, fileError(err)
	}

	return out.Bytes(), nil
}

// fileError returns the refusal for a file that the library does not accept. It drops the library's error, which quotes
// values of the file.
func fileError(error) error {
	return fmt.Errorf("make payment file: %w", &RefusedError{Code: "fileInvalid"})
}

// group identifies a batch: its payments are of one kind and take effect on one day.
type group struct {
	effective day.Day
	code      string // the standard entry class
}

// compare orders batches by day, and on a day those for individuals first.
func (g group) compare(o group) int {
	return cmp.Or(g.effective.Compare(o.effective), -strings.Compare(g.code, o.code)) // individuals first
}

// sort groups the payments that fit, as indexes, and notes the outcome of the others.
func (f *fileMaker) sort() map[group][]int {
	groups, seen := map[group][]int{}, map[string]bool{}

	for i := range f.batch.Payments {
		p := &f.batch.Payments[i]

		// A key that comes twice in a batch would pay twice, so the second one fails.
		code := paymentFault(p)
		if seen[p.Key] {
			code = codeDuplicate
		}

		seen[p.Key] = true
		if code != "" {
			f.receipt.Outcomes[i] = Outcome{Key: p.Key, State: Failed, Code: code}
			continue
		}

		// A file cannot take effect on the day on which it is made, and no batch on a day without settlement.
		g := group{effective: bankingDay(day.Max(p.Date, f.made.AddDays(1))), code: ach.PPD}
		if p.Company {
			g.code = ach.CCD
		}

		groups[g] = append(groups[g], i)
	}

	return groups
}

// header returns the header of the file: sender, bank, and the time of the batch.
func (f *fileMaker) header() ach.FileHeader {
	h := ach.NewFileHeader()
	h.ImmediateDestination, h.ImmediateDestinationName = f.s.ImmediateDestination, f.s.ImmediateDestinationName
	h.ImmediateOrigin, h.ImmediateOriginName = f.s.ImmediateOrigin, f.s.ImmediateOriginName
	at := f.batch.At.UTC()
	h.FileCreationDate, h.FileCreationTime = at.Format("060102"), at.Format("1504")
	h.FileIDModifier = f.modifier()

	return h
}

// credits returns an empty batch for the credits of a group. In a balanced file the batch also takes debits.
func (f *fileMaker) credits(g group, number int) (ach.Batcher, error) {
	h := ach.NewBatchHeader()

	h.ServiceClassCode, h.StandardEntryClassCode = ach.CreditsOnly, g.code
	if f.offset != nil {
		h.ServiceClassCode = ach.MixedDebitsAndCredits
	}

	h.CompanyName, h.CompanyIdentification = f.s.CompanyName, f.s.CompanyIdentification
	h.CompanyEntryDescription = f.s.EntryDescription
	h.EffectiveEntryDate = g.effective.In(time.UTC).Format("060102")
	h.ODFIIdentification = f.s.ODFIRouting[:8]
	h.BatchNumber = number

	return ach.NewBatch(h) //nolint:wrapcheck // replaced by the caller
}

// entry makes the entry of the payment at an index, as number n of the file, and notes its outcome. Trace numbers
// count on through the files of a day.
func (f *fileMaker) entry(at, n int) *ach.EntryDetail {
	p := &f.batch.Payments[at]
	e := ach.NewEntryDetail()

	e.TransactionCode = ach.CheckingCredit
	if p.Recipient.Type == Savings {
		e.TransactionCode = ach.SavingsCredit
	}

	// The bank returns the identification number with the entry, so the key can be found again.
	e.SetRDFI(p.Recipient.Routing)
	e.DFIAccountNumber = p.Recipient.Number
	e.Amount = int(p.Amount)
	e.IdentificationNumber = KeyRef(p.Key)
	e.IndividualName = bankText(p.Recipient.Holder, 22)

	// Each file of a day has its own hundred thousand numbers.
	e.SetTraceNumber(f.s.ODFIRouting[:8], f.batch.Sequence*(maxEntries+1)+n)
	f.receipt.Outcomes[at] = Outcome{
		Key:   p.Key,
		Ref:   f.made.In(time.UTC).Format("20060102") + "-" + e.TraceNumber,
		State: Submitted,
	}

	return e
}

// debit makes the entry, as number n of the file, that takes the money for credits from the sender's own account.
func (f *fileMaker) debit(amount money.Cents, n int) *ach.EntryDetail {
	e := ach.NewEntryDetail()

	e.TransactionCode = ach.CheckingDebit
	if f.offset.Type == Savings {
		e.TransactionCode = ach.SavingsDebit
	}

	// It is no payment, so its identification number is fixed and it has no outcome.
	e.SetRDFI(f.offset.Routing)
	e.DFIAccountNumber = f.offset.Number
	e.Amount = int(amount)
	e.IdentificationNumber = "OFFSET"
	e.IndividualName = bankText(f.offset.Holder, 22)
	e.SetTraceNumber(f.s.ODFIRouting[:8], f.batch.Sequence*(maxEntries+1)+n)

	return e
}

// bankingDay returns the day itself if banks settle on it, or else the next day on which they do.
func bankingDay(d day.Day) day.Day {
	for !base.NewTime(d.In(time.UTC)).IsBankingDay() {
		d = d.AddDays(1)
	}

	return d
}

// paymentFault returns the code that says why a payment does not fit into a file, or "".
func paymentFault(p *Payment) string {
	if code := FileFault(p); code != "" {
		return code
	}

	return accountFault(p.Recipient)
}

// FileFault returns the code that says why a payment can never be in a file, whoever sends it and when, or "". It
// does not look at the numbers of the recipient's account, so that it can be asked without them.
func FileFault(p *Payment) string {
	switch {
	case p.Amount <= 0 || p.Amount > ach.NachaEntryAmountLimit:
		return codeAmount
	case !strings.EqualFold(p.Currency, "usd"):
		return codeCurrency
	case !p.Date.Valid() || p.Date.Month().Year > 2068: // two digits of a year are all that the file has
		return codeDate
	case bankText(p.Recipient.Holder, 22) == "":
		return codeHolder
	default:
		return ""
	}
}

// accountFault returns the code that says why an account cannot be paid by file, or "".
func accountFault(a Account) string {
	number := a.Number

	inNumber := func(r rune) bool {
		return r == '-' || ('0' <= r && r <= '9') || ('A' <= r && r <= 'Z') || ('a' <= r && r <= 'z')
	}

	// The field of a file has 17 characters for the account number.
	switch {
	case !ValidRouting(a.Routing) || number == "" || len(number) > 17 || (a.Type != Checking && a.Type != Savings):
		return codeAccount
	case strings.ContainsFunc(number, func(r rune) bool { return !inNumber(r) }):
		return codeAccount
	case bankText(a.Holder, 22) == "":
		return codeHolder
	default:
		return ""
	}
}

// spelled replaces letters that do not decompose into a plain letter and an accent.
var spelled = strings.NewReplacer(
	"ß", "SS", "æ", "AE", "Æ", "AE", "œ", "OE", "Œ", "OE", "ø", "O", "Ø", "O",
	"ł", "L", "Ł", "L", "đ", "D", "Đ", "D", "’", "'",
)

// bankText returns a text in the form that files have: capital letters, digits and signs of ASCII, cut to most
// bytes. Letters of other scripts are left out.
func bankText(s string, most int) string {
	var out strings.Builder

	blank := false

	// Decomposed letters leave their accents behind: those are not ASCII.
	for _, r := range norm.NFKD.String(spelled.Replace(s)) {
		switch {
		// A run of blanks becomes one, and none is at the start or the end.
		case unicode.IsSpace(r):
			blank = out.Len() > 0
		case r > ' ' && r <= '~':
			if blank {
				_ = out.WriteByte(' ')
				blank = false
			}

			_, _ = out.WriteRune(unicode.ToUpper(r))
		}
	}

	text := out.String()
	if len(text) > most {
		text = strings.TrimSpace(text[:most])
	}

	return text
}
