package reconciliation

import (
	"context"

	"stayledger/domain/banking/match"
	"stayledger/domain/books/bank"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Suggestion is an open record with sets of transactions that add up to it.
type Suggestion struct {
	BankRecord SuggestedRecord `json:"bankRecord" doc:"The open record."`
	Result     match.Result    `json:"result" doc:"unique: one explanation, wanted nowhere else; ambiguous: several, or one that is wanted elsewhere; none within the bounds; unknown: the search was cut."`
	Reason     *match.Reason   `json:"reason" doc:"What the sets rest on: key: the bank printed references or confirmation codes; oneToOne: a transaction of the amount; set: several of one channel. Null without sets."`
	Sets       []SuggestedSet  `json:"sets" doc:"The one of a unique result, else the first five: the nearest in time first."`
	Contested  bool            `json:"contested" doc:"Whether another open record wants a transaction of the sets, too."`
	Cut        []match.Cut     `json:"cut" doc:"What the search left out."`
}

// SuggestedRecord is the open record.
type SuggestedRecord struct {
	ID          id.ID       `json:"id"`
	Date        day.Day     `json:"date"`
	Description string      `json:"description"`
	AccountID   id.ID       `json:"accountId"`
	Amount      money.Cents `json:"amount" doc:"Cents: positive into the account, negative out of it."`
	Currency    string      `json:"currency" doc:"ISO 4217 in lower case."`
}

// SuggestedSet are transactions that add up to the record.
type SuggestedSet struct {
	Transactions []SuggestedPart `json:"transactions" doc:"By date."`
	Days         int             `json:"days" doc:"Between the record and the transaction that is furthest from it."`
}

// SuggestedPart is a transaction of a set.
type SuggestedPart struct {
	ID        id.ID       `json:"id"`
	CentTotal money.Cents `json:"centTotal" doc:"What of the record it would make, positive into the account."`
}

type suggestInput struct {
	page.Params
	AccountIDs []id.ID `query:"accountIds" doc:"Only records of these bank accounts."`
	page.Dates
}

// listSuggestions returns a page of open records with their suggestions. It reconciles nothing.
func listSuggestions(ctx context.Context, tx *db.Tx, in *suggestInput) (*page.Page[Suggestion], error) {
	// Without a range all records count: a hundred years on either side.
	today := tx.Today()

	days := bank.Days{Range: day.Range{From: today.AddYears(-100), To: today.AddYears(100)}, Accounts: in.AccountIDs}
	if !in.DateRange.IsZero() {
		days.Range = in.DateRange.Range(in.IsDateRangeEndInclusive)
	}

	shown, total, err := bank.ListOpenPage(ctx, tx, days, in.Limit, in.Rows())
	if err != nil {
		return nil, err
	}

	out := &page.Page[Suggestion]{Data: []Suggestion{}, Pagination: in.Of(total)}
	if len(shown) == 0 {
		return out, nil
	}

	// Only the records of the page are searched.
	answers, err := match.Find(ctx, tx, shown)
	if err != nil {
		return nil, err
	}

	for i := range shown {
		out.Data = append(out.Data, renderSuggestion(&shown[i], answers[shown[i].ID]))
	}

	return out, nil
}

// renderSuggestion renders an answer as the API shows it.
func renderSuggestion(r *bank.Open, a *match.Answer) Suggestion {
	s := Suggestion{
		BankRecord: SuggestedRecord{r.ID, r.Date, r.Description, r.AccountID, r.Amount, r.Currency}, Result: a.Result,
		Sets:      []SuggestedSet{},
		Contested: a.Contested, Cut: append([]match.Cut{}, a.Cut...),
	}
	if a.Reason != "" {
		s.Reason = &a.Reason
	}

	for _, found := range a.Sets {
		set := SuggestedSet{Days: found.Days, Transactions: make([]SuggestedPart, len(found.Members))}
		for i, m := range found.Members {
			set.Transactions[i] = SuggestedPart{m.TransactionID, m.Amount}
		}

		s.Sets = append(s.Sets, set)
	}

	return s
}
