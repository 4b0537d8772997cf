// Package match finds the transactions that a bank record stands for.
//
// It decides and stores nothing: open bank records and transactions that no record explains yet go in, an answer for
// each record comes out. Amounts agree to the cent or not at all. Keys that the bank printed come before sums, a single
// transaction comes before several, and what was taken as certain by one of them is out of reach for the next. Only an
// answer that is Unique may be applied without a person, and it may because no other record that was given wants any of
// its transactions. None is said only when nothing was left out of the search. The answers depend on what is given, not
// on its order, so whoever asks gives every open record of an account in the days around those that are shown: a record
// that is not given is no rival.
package match

import (
	"cmp"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Record is a movement that a bank reported and that is open.
type Record struct {
	ID        id.ID
	AccountID id.ID
	Currency  string
	Date      day.Day
	// Amount is what is open of the record: positive into the account, negative out of it.
	Amount      money.Cents
	Description string
	// References are what the bank gave apart from the description: a payout reference, a statement descriptor, an
	// end-to-end reference.
	References []string
	// Channel is the booking platform, or whoever else the money came from, as candidates name it; empty when it is not
	// known.
	Channel string
}

// Candidate is what a transaction moves on a bank account, as long as no record of that account is reconciled with it.
// A transfer between two bank accounts is two candidates. The same transaction on the same account and in the same
// currency is given once.
type Candidate struct {
	TransactionID id.ID
	AccountID     id.ID
	Currency      string
	Date          day.Day
	// Amount is signed as that of a record is.
	Amount money.Cents
	// Text is what the transaction says of itself: description, contact, guests. Answers are ordered by it, never
	// decided.
	Text string
	// References name the payout that the money came with: its reference, or the descriptor that the bank prints.
	References []string
	// Codes are the confirmation codes of the reservations that are paid.
	Codes []string
	// Channel is the booking platform, or whoever else moves many transactions in one sum; empty when it is not known.
	// A set is of one channel.
	Channel string
}

// Result is how far an answer can be relied on.
type Result string

// The results.
const (
	// Unique: there is one explanation within the bounds, and no other record wants any of it.
	Unique Result = "unique"
	// Ambiguous: there are several explanations, or one that another record wants a part of.
	Ambiguous Result = "ambiguous"
	// None: there is no explanation within the bounds.
	None Result = "none"
	// Unknown: the search was cut before it could tell.
	Unknown Result = "unknown"
)

// Enum lists the results.
func (Result) Enum() []string {
	return []string{string(Unique), string(Ambiguous), string(None), string(Unknown)}
}

// Reason is what an explanation rests on.
type Reason string

// The reasons, the strongest first.
const (
	// Key: the bank printed a reference or confirmation codes, and all that is known by them sums to the amount.
	Key Reason = "key"
	// OneToOne: a transaction of the same amount within some days.
	OneToOne Reason = "oneToOne"
	// OfSet: transactions of one channel within some days that sum to the amount.
	OfSet Reason = "set"
)

// Enum lists the reasons.
func (Reason) Enum() []string { return []string{string(Key), string(OneToOne), string(OfSet)} }

// Cut is something that a search left out.
type Cut string

// The cuts.
const (
	// CutKeys: a key names more transactions than are summed.
	CutKeys Cut = "keys"
	// CutCandidates: only the nearest of the candidates of a set were searched.
	CutCandidates Cut = "candidates"
	// CutSearch: the steps of the search were used up.
	CutSearch Cut = "search"
	// CutSets: there are more sets than the answer tells.
	CutSets Cut = "sets"
)

// Enum lists the cuts.
func (Cut) Enum() []string {
	return []string{string(CutKeys), string(CutCandidates), string(CutSearch), string(CutSets)}
}

// Member is a transaction of a set with the amount that it was found with: whoever applies the set compares it with
// what is stored then.
type Member struct {
	TransactionID id.ID
	Amount        money.Cents
}

// Set is an explanation: transactions whose amounts sum to that of the record.
type Set struct {
	// Members are in the order of their dates.
	Members []Member
	// Days lie between the record and the member that is furthest from it.
	Days int
	// Similarity of the texts of record and members, from 0 to 1000.
	Similarity int
}

// Answer is what is known of a record.
type Answer struct {
	RecordID id.ID
	Result   Result
	// Reason is that of the sets; empty without any.
	Reason Reason
	// Sets holds the one of a unique answer, else the first few: the nearest in time first, then the most similar.
	Sets []Set
	// Contested says that another record wants a transaction of the sets, too.
	Contested bool
	// Cut lists what was left out.
	Cut []Cut
	// Nodes are the steps that the search for sets took.
	Nodes int
}

// Certain is the set that may be applied without a person; nil when there is none.
func (a *Answer) Certain() *Set {
	if a.Result != Unique {
		return nil
	}

	return &a.Sets[0]
}

// Bounds are how far a search goes.
type Bounds struct {
	// Days lie at most between a record and a single transaction of the same amount, before or after.
	Days int
	// Before and After are how many days earlier or later than the record the members of a set are at most.
	Before, After int
	// KeyDays lie at most between a record and what a key names: a guest who stays for months pays several times under
	// one code.
	KeyDays int
	// Candidates of a set, per channel; only the nearest in time are searched.
	Candidates int
	// Nodes are the steps in search of sets for one record, AllNodes those for all records of a call. Where these do
	// not suffice, they are shared: the records with the fewest candidates come first, and none gets more than an even
	// part of what is left.
	Nodes, AllNodes int
	// Shown is how many sets of an ambiguous answer are told.
	Shown int
}

// Usual are the bounds that suggestions are made with.
func Usual() Bounds {
	return Bounds{Days: 7, Before: 7, After: 2, KeyDays: 45, Candidates: 40, Nodes: 200_000, AllNodes: 1_000_000, Shown: 5}
}

// Reach is how many days lie at most between a record and what it is answered with: candidates further away change no
// answer. Records as far from these can be rivals.
func (b Bounds) Reach() int { return max(b.Days, b.Before, b.After, b.KeyDays) }

// Suggest answers for each record, in the order of the records.
func Suggest(records []Record, candidates []Candidate, bounds Bounds) []Answer {
	answers := make([]Answer, len(records))
	books := indexed(candidates)

	asks := make([]*ask, 0, len(records))
	for i := range records {
		r := &records[i]

		answers[i] = Answer{RecordID: r.ID, Result: None}
		if b := books[place{r.AccountID, r.Currency}]; b != nil && r.Amount != 0 {
			asks = append(asks, &ask{Record: r, answer: &answers[i], book: b, at: ordinal(r.Date), bounds: &bounds})
		}
	}
	// The order of the input must not show, not even in who uses up the steps.
	slices.SortFunc(asks, func(a, b *ask) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.ID.Compare(b.ID))
	})
	asks = byKeys(asks)
	asks = oneToOne(asks, &bounds)
	bySets(asks, &bounds)

	return answers
}

// ask is a record on its way to an answer.
type ask struct {
	*Record
	answer *Answer
	book   *book
	at     int
	bounds *Bounds
	// sets are explanations that were found, as places in the book; wants are the places of all that the record could
	// stand for.
	sets  [][]int
	wants []int
	// pools are where the record looks for sets.
	pools [][]int
}

// cut notes once that something was left out.
func (a *ask) cut(c Cut) {
	if !slices.Contains(a.answer.Cut, c) {
		a.answer.Cut = append(a.answer.Cut, c)
	}
}

// settle answers with the sets that were found. There are as many as ways says, of which not all may have been
// collected; a single one that nobody else wants is the record's.
func (a *ask) settle(reason Reason, ways int, contested bool) {
	a.answer.Reason, a.answer.Contested, a.answer.Result = reason, contested, Ambiguous
	if ways == 1 && !contested {
		a.answer.Result = Unique
		for _, i := range a.sets[0] {
			a.book.items[i].taken = true
		}
	}

	a.answer.Sets = a.ranked()
	if ways > len(a.answer.Sets) {
		a.cut(CutSets)
	}
}
