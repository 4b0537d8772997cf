package reconciliation

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/banking/match"
	"stayledger/domain/books/bank"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// How much a page of suggestions looks at: open records of the accounts around those that are shown, since each of them is a rival, and transactions that
// no record has.
const (
	maxRivals     = 5000
	maxCandidates = 20_000
)

// Suggestion is what an open record could be made up of.
type Suggestion struct {
	BankRecord SuggestedRecord `json:"bankRecord" doc:"The open record."`
	Result     match.Result    `json:"result" doc:"unique: there is one explanation, and no other record wants any of it; ambiguous: there are several, or one that is wanted elsewhere; none: there is none within the bounds; unknown: the search was cut before it could tell."`
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

func suggest(ctx context.Context, tx *db.Tx, in *suggestInput) (*page.Page[Suggestion], error) {
	today := day.Of(tx.Now)
	days := bank.Days{Range: day.Range{From: today.AddYears(-100), To: today.AddYears(100)}, Accounts: in.AccountIDs}
	if !in.DateRange.IsZero() {
		days.Range = in.DateRange.Range(in.IsDateRangeEndInclusive)
	}
	shown, total, err := bank.OpenPage(ctx, tx, days, in.Limit, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &page.Page[Suggestion]{Data: []Suggestion{}, Pagination: in.Of(total)}
	if len(shown) == 0 {
		return out, nil
	}
	s, err := around(ctx, tx, shown)
	if err != nil {
		return nil, err
	}
	answers := map[id.ID]*match.Answer{}
	for _, a := range match.Suggest(s.records, s.candidates, match.Usual()) {
		answers[a.RecordID] = &a
	}
	for i := range shown {
		out.Data = append(out.Data, suggestion(&shown[i], answers[shown[i].ID], s.cut))
	}
	return out, nil
}

// suggestion tells an answer. Where candidates or rivals were left out, nothing is told as certain.
func suggestion(r *bank.Open, a *match.Answer, cut bool) Suggestion {
	s := Suggestion{
		BankRecord: SuggestedRecord{r.ID, r.Date, r.Description, r.AccountID, r.Amount, r.Currency}, Result: a.Result, Sets: []SuggestedSet{},
		Contested: a.Contested, Cut: append([]match.Cut{}, a.Cut...),
	}
	if cut && a.Result != match.Ambiguous {
		s.Result = match.Unknown
	}
	if cut && !slices.Contains(s.Cut, match.CutCandidates) {
		s.Cut = append(s.Cut, match.CutCandidates)
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

// search is what suggestions are made of: the open records of the same accounts that can be rivals of those that are shown, these among them, and what can
// explain them. Cut says that some had to be left out.
type search struct {
	records    []match.Record
	candidates []match.Candidate
	cut        bool
}

func around(ctx context.Context, tx *db.Tx, shown []bank.Open) (*search, error) {
	bounds := match.Usual()
	days := bank.Days{Range: day.Range{From: shown[0].Date, To: shown[0].Date}}
	for _, r := range shown {
		if r.Date.Before(days.From) {
			days.From = r.Date
		}
		if r.Date.After(days.To) {
			days.To = r.Date
		}
		if !slices.Contains(days.Accounts, r.AccountID) {
			days.Accounts = append(days.Accounts, r.AccountID)
		}
	}
	near, far := days, days
	near.From, near.To = days.From.AddDays(-bounds.Reach()), days.To.AddDays(bounds.Reach()+1)
	far.From, far.To = near.From.AddDays(-bounds.Reach()), near.To.AddDays(bounds.Reach())
	rivals, err := bank.OpenIn(ctx, tx, far, maxRivals+1)
	if err != nil {
		return nil, err
	}
	movables, err := bank.MovablesIn(ctx, tx, near, maxCandidates+1)
	if err != nil {
		return nil, err
	}
	cut := len(rivals) > maxRivals || len(movables) > maxCandidates
	rivals, movables = rivals[:min(len(rivals), maxRivals)], movables[:min(len(movables), maxCandidates)]
	for _, r := range shown {
		if !slices.ContainsFunc(rivals, func(o bank.Open) bool { return o.ID == r.ID }) {
			rivals = append(rivals, r)
		}
	}
	records := make([]match.Record, len(rivals))
	for i, r := range rivals {
		records[i] = match.Record{ID: r.ID, AccountID: r.AccountID, Currency: r.Currency, Date: r.Date, Amount: r.Amount, Description: r.Description}
		if r.UniqueRef != nil {
			records[i].References = []string{*r.UniqueRef}
		}
	}
	candidates, err := candidatesOf(ctx, tx, movables)
	return &search{records, candidates, cut}, err
}

// candidatesOf are transactions as the search knows them: with what they say of themselves, the stays that they pay and the channel of these.
func candidatesOf(ctx context.Context, tx *db.Tx, movables []bank.Movable) ([]match.Candidate, error) {
	type described struct {
		ID         id.ID
		Text       string
		References []string
		Codes      []string
		Channel    string
	}
	ids := make([]id.ID, len(movables))
	for i := range movables {
		ids[i] = movables[i].TransactionID
	}
	rows, err := db.Select[described](ctx, tx, `
		select t.id, concat_ws(' ', t.description, c.name, s.guests) as text, array_remove(array[t.unique_ref], null) as "references",
			coalesce(s.codes, '{}') as codes, case when s.channels = 1 then s.channel else '' end as channel
		from transaction t left join contact c on c.team_id = t.team_id and c.id = t.contact_id
		cross join lateral (
			select string_agg(r.guest_name, ' ') as guests, array_agg(r.confirmation_code) filter (where r.confirmation_code is not null) as codes,
				count(distinct coalesce(r.booking_platform, '')) as channels, coalesce(min(r.booking_platform), '') as channel
			from transaction_line l join reservation r on r.team_id = l.team_id and r.id = l.reservation_id
			where l.team_id = t.team_id and l.transaction_id = t.id) s
		where t.team_id = @team and t.id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("describe transactions: %w", err)
	}
	by := make(map[id.ID]*described, len(rows))
	for i := range rows {
		by[rows[i].ID] = &rows[i]
	}
	out := make([]match.Candidate, 0, len(movables))
	for _, m := range movables {
		if d := by[m.TransactionID]; d != nil {
			out = append(out, match.Candidate{
				TransactionID: m.TransactionID, AccountID: m.AccountID, Currency: m.Currency, Date: m.Date, Amount: m.Cents,
				Text: d.Text, References: d.References, Codes: d.Codes, Channel: d.Channel,
			})
		}
	}
	return out, nil
}
