// Package match finds the transactions that explain a bank record.
//
// It only computes: open bank records and unmatched transactions go in, an answer for each record comes out. Amounts
// agree to the cent or not at all. Keys that the bank printed come before sums, and a single transaction comes before
// several; transactions that one of these steps gives to a record for certain are not offered to the next. Only a
// Unique answer may be applied without a person, because no other record wants any of its transactions. An answer is
// None only if nothing was left out of the search. Answers do not depend on the order of the input. They do depend on
// its records: pass every open record of an account in the days around, because a record that is missing is no rival.
//
// The page docs/decisions/match.md says what the contract leaves open and how it is answered here.
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
	// Amount is the open amount of the record: positive into the account, negative out of it.
	Amount      money.Cents
	Description string
	// References holds the references that the bank gave apart from the description: of a payout, a statement
	// descriptor, an end-to-end reference.
	References []string
	// Channel is the booking platform, or whoever else the money came from, as candidates name it; empty when it is not
	// known.
	Channel string
}

// Candidate is the amount that a transaction moves on a bank account, as long as no record of that account is
// reconciled with it. A transfer between two bank accounts is two candidates. A transaction has one candidate per
// account and currency.
type Candidate struct {
	TransactionID id.ID
	AccountID     id.ID
	Currency      string
	Date          day.Day
	// Amount is signed as that of a record is.
	Amount money.Cents
	// Text has the description, contact and guests of the transaction. It orders answers and never decides them.
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

// Reason says how an explanation was found.
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
	// CutSets: there are more sets than the answer has.
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

// Answer is the result of the search for one record.
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

// Certain returns the set that may be applied without a person, or nil if there is none.
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
	// part of the rest.
	Nodes, AllNodes int
	// Shown is how many sets an ambiguous answer has at most.
	Shown int
}

// Usual returns the bounds that suggestions are made with.
func Usual() Bounds {
	return Bounds{
		Days:       7,
		Before:     7,
		After:      2,
		KeyDays:    45,
		Candidates: 40,
		Nodes:      200_000,
		AllNodes:   1_000_000,
		Shown:      5,
	}
}

// Reach returns how many days lie at most between a record and its transactions. Candidates further away change no
// answer. Records as far from these can be rivals.
func (b Bounds) Reach() int { return max(b.Days, b.Before, b.After, b.KeyDays) }

// Suggest returns an answer for each record, in the order of the records.
func Suggest(records []Record, candidates []Candidate, bounds Bounds) []Answer {
	answers := make([]Answer, len(records))
	books := indexCandidates(candidates)

	// Records without any candidate in their place have their answer already.
	asks := make([]*ask, 0, len(records))
	for i := range records {
		r := &records[i]

		answers[i] = Answer{RecordID: r.ID, Result: None}
		if b := books[place{r.AccountID, r.Currency}]; b != nil && r.Amount != 0 {
			asks = append(asks, &ask{Record: r, answer: &answers[i], book: b, at: ordinal(r.Date), bounds: &bounds})
		}
	}
	// Sort the records, so that the order of the input changes nothing, not even which records use up the steps.
	slices.SortFunc(asks, func(a, b *ask) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.ID.Compare(b.ID))
	})

	// The most certain kind of evidence comes first; what it explains is not offered to the next.
	asks = answerByKeys(asks)
	asks = answerByPairs(asks, &bounds)
	answerBySets(asks, &bounds)

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

// noteCut notes once that something was left out.
func (a *ask) noteCut(c Cut) {
	if !slices.Contains(a.answer.Cut, c) {
		a.answer.Cut = append(a.answer.Cut, c)
	}
}

// settle answers with the sets that were found. There are as many as ways says, though not all may have been
// collected. The record gets a single set that no other record wants.
func (a *ask) settle(reason Reason, ways int, contested bool) {
	a.answer.Reason, a.answer.Contested, a.answer.Result = reason, contested, Ambiguous
	if ways == 1 && !contested {
		a.answer.Result = Unique
		for _, i := range a.sets[0] {
			a.book.items[i].taken = true
		}
	}

	a.answer.Sets = a.rankSets()
	if ways > len(a.answer.Sets) {
		a.noteCut(CutSets)
	}
}
