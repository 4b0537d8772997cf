package payment_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/pay"
)

// fault is a failure of a call. The zero fault is none.
type fault string

const (
	away        fault = "away"        // the provider is not there
	lostBefore  fault = "lostBefore"  // the provider never hears of it, and we get no answer
	lostAfter   fault = "lostAfter"   // the provider has it, and we get no answer
	diesBefore  fault = "diesBefore"  // our process dies before the call
	diesAfter   fault = "diesAfter"   // our process dies between the provider's answer and our note of it
	half        fault = "half"        // the provider takes one payment of the batch, then the line is lost
	forgets     fault = "forgets"     // the provider takes all and gives outcomes of none
	refuses     fault = "refuses"     // the provider refuses the batch
	notReady    fault = "notReady"    // the provider is not ready
	credentials fault = "credentials" // the provider refuses the credentials
	fails       fault = "fails"       // the provider takes the payment and fails it at once
	failsOne    fault = "failsOne"    // it does so with the first of the batch alone
)

// slip is a payment that the bank holds.
type slip struct {
	ref    string
	state  pay.State
	amount money.Cents
}

// bank is a provider that a test scripts. It keeps one payment per key, as its protocol promises, unless it is set to
// pay twice.
type bank struct {
	mu      sync.Mutex
	held    map[string][]*slip
	batches []pay.Batch
	submits []fault
	finds   []fault
	cancels []fault
	twice   bool
	// isAway makes it answer nothing at all.
	isAway bool
	// files makes it work by files: it keeps nothing and knows nothing.
	files bool
	// entered is called on each submission, before anything else.
	entered func(ctx context.Context)
	asked   int
}

func (b *bank) next(faults *[]fault) fault {
	if len(*faults) == 0 {
		return ""
	}

	f := (*faults)[0]
	*faults = (*faults)[1:]

	return f
}

func (b *bank) Check(context.Context) error { return nil }

func (b *bank) VerifyAccount(context.Context, string, pay.Account) (pay.Verification, error) {
	return pay.Verified, nil
}

func (b *bank) Submit(ctx context.Context, batch pay.Batch) (pay.Receipt, error) {
	if b.entered != nil {
		b.entered(ctx)
	}

	b.mu.Lock()
	defer b.mu.Unlock()

	f := b.next(&b.submits)
	if b.isAway {
		f = away
	}

	switch f { //nolint:exhaustive // the others come later or elsewhere
	case away:
		return pay.Receipt{}, pay.ErrUnavailable
	case lostBefore:
		return pay.Receipt{}, pay.ErrTimeout
	case diesBefore:
		panic("the process dies before it submits")
	case refuses:
		return pay.Receipt{}, pay.ErrRefused
	case notReady:
		return pay.Receipt{}, pay.ErrNotReady
	case credentials:
		return pay.Receipt{}, pay.ErrCredentials
	}

	b.batches = append(b.batches, batch)
	if b.files {
		return b.file(batch, f)
	}

	var r pay.Receipt

	for i, y := range batch.Payments {
		if f == failsOne {
			r.Outcomes = append(r.Outcomes, b.take(y, map[bool]fault{true: fails}[i == 0]))
			continue
		}

		r.Outcomes = append(r.Outcomes, b.take(y, f))
		if f == half {
			return r, pay.ErrUnavailable
		}
	}

	switch f { //nolint:exhaustive // the others come later or elsewhere
	case lostAfter:
		return pay.Receipt{}, pay.ErrTimeout
	case diesAfter:
		panic("the process dies after it submitted")
	case forgets:
		r.Outcomes = nil
	}

	return r, nil
}

func (b *bank) file(batch pay.Batch, f fault) (pay.Receipt, error) {
	r := pay.Receipt{File: &pay.File{
		Name: fmt.Sprintf("ach-%s-%d.txt", batch.At.Format("2006-01-02"), batch.Sequence), ContentType: "text/plain; charset=us-ascii",
		Content: fmt.Appendf(nil, "%v", batch),
	}}
	for i, y := range batch.Payments {
		ref := batch.At.Format("20060102") + "-" + trace(batch, i)
		r.Outcomes = append(r.Outcomes, pay.Outcome{Key: y.Key, Ref: ref, State: pay.Submitted})
	}

	if f == diesAfter {
		panic("the process dies after it made the file")
	}

	return r, nil
}

// trace is the trace number of a payment in a file.
func trace(batch pay.Batch, i int) string {
	return fmt.Sprintf("02100002%07d", batch.Sequence*100+i+1)
}

func (b *bank) take(y pay.Payment, f fault) pay.Outcome {
	state := pay.Submitted
	if f == fails {
		state = pay.Failed
	}

	if len(b.held[y.Key]) == 0 || b.twice {
		s := &slip{ref: fmt.Sprintf("ref-%s-%d", y.Key, len(b.held[y.Key])), state: state, amount: y.Amount}
		b.held[y.Key] = append(b.held[y.Key], s)
	}

	return b.outcome(y.Key)
}

func (b *bank) outcome(key string) pay.Outcome {
	s := b.held[key]
	return pay.Outcome{Key: key, Ref: s[0].ref, State: s[0].state, Code: "R01-private", Duplicate: len(s) > 1}
}

func (b *bank) Find(_ context.Context, key string) (pay.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.asked++
	if f := b.next(&b.finds); f != "" || b.isAway {
		return pay.Outcome{}, errors.Join(pay.ErrUnavailable, errors.New(string(f)))
	}

	if len(b.held[key]) == 0 {
		return pay.Outcome{}, pay.ErrUnknown
	}

	return b.outcome(key), nil
}

func (b *bank) Cancel(_ context.Context, key string) (pay.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	f := b.next(&b.cancels)
	switch {
	case f == lostBefore:
		return pay.Outcome{}, pay.ErrTimeout
	case f == diesBefore:
		panic("the process dies before it cancels")
	case f == refuses || b.files:
		return pay.Outcome{}, pay.ErrRefused
	case len(b.held[key]) == 0:
		return pay.Outcome{}, pay.ErrUnknown
	}

	for _, s := range b.held[key] {
		if s.state == pay.Submitted {
			s.state = pay.Canceled
		}
	}

	switch f { //nolint:exhaustive // the others come later or elsewhere
	case lostAfter:
		return pay.Outcome{}, pay.ErrTimeout
	case diesAfter:
		panic("the process dies after it canceled")
	}

	return b.outcome(key), nil
}

// leaves lets the bank go away, or come back.
func (b *bank) leaves(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.isAway = away
}

// becomes moves what the bank holds under a key.
func (b *bank) becomes(key id.ID, state pay.State) {
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, s := range b.held[key.String()] {
		s.state = state
	}
}

// count is how many payments the bank holds under a key.
func (b *bank) count(key id.ID) int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return len(b.held[key.String()])
}

// banks are those of all tests, by connection: tests share a database, and asking for news goes across teams.
var banks sync.Map

func open(c *connection.Connection) (pay.Provider, error) {
	b, ok := banks.Load(c.ID)
	if !ok {
		return nil, fmt.Errorf("no bank behind connection %v", c.ID)
	}

	return b.(*bank), nil //nolint:forcetypeassert // nothing else is stored
}
