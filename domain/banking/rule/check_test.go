package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// one changes the first line of a rule.
func one(change func(*rule.Line)) func(*rule.Rule) {
	return func(r *rule.Rule) { change(&r.Lines[0]) }
}

func condition(field rule.Field, operator rule.Operator, value string) func(*rule.Rule) {
	return func(r *rule.Rule) {
		r.Conditions = append(r.Conditions, rule.Condition{Type: field, Operator: operator, Value: value})
	}
}

func split(lines ...rule.Line) func(*rule.Rule) {
	return func(r *rule.Rule) { r.Lines = lines }
}

func TestCheck(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("é", 256)
	behavior, wrong := transaction.TaxIncluded, transaction.TaxBehavior("some")

	for name, test := range map[string]struct {
		change func(*rule.Rule)
		want   string // code and path of each issue
	}{
		"nothing wrong":           {func(*rule.Rule) {}, ""},
		"no name":                 {func(r *rule.Rule) { r.Name = " " }, "length [name]"},
		"a long name":             {func(r *rule.Rule) { r.Name = long }, "length [name]"},
		"a name that just fits":   {func(r *rule.Rule) { r.Name = long[2:] }, ""},
		"status":                  {func(r *rule.Rule) { r.Status = "asleep" }, "enum [status]"},
		"priority below":          {func(r *rule.Rule) { r.Priority = -1 }, "range [priority]"},
		"priority above":          {func(r *rule.Rule) { r.Priority = rule.MaxPriority + 1 }, "range [priority]"},
		"type":                    {func(r *rule.Rule) { r.TransactionType = transaction.Transfer }, "enum [transactionType]"},
		"mode":                    {func(r *rule.Rule) { r.Mode = "" }, "enum [mode]"},
		"match mode":              {func(r *rule.Rule) { r.MatchMode = "some" }, "enum [matchMode]"},
		"an empty description":    {func(r *rule.Rule) { r.DescriptionOverride = new(" ") }, "length [descriptionOverride]"},
		"a long description":      {func(r *rule.Rule) { r.DescriptionOverride = new(strings.Repeat("x", 1001)) }, "length [descriptionOverride]"},
		"prior month of money in": {func(r *rule.Rule) { r.TransactionType, r.UsePriorMonthEnd = transaction.Deposit, true }, "contradiction [usePriorMonthEnd]"},
		"an account twice":        {func(r *rule.Rule) { r.AccountIDs = []id.ID{seq(1), seq(2), seq(1)} }, "unique [accountIds 2]"},
		"many accounts": {func(r *rule.Rule) {
			for n := range rule.MaxAccounts + 1 {
				r.AccountIDs = append(r.AccountIDs, seq(n+1))
			}
		}, "items [accountIds]"},

		"no conditions":            {func(r *rule.Rule) { r.Conditions = nil }, "items [conditions]"},
		"many conditions":          {func(r *rule.Rule) { r.Conditions = slices.Repeat(r.Conditions, rule.MaxConditions+1) }, "items [conditions]"},
		"a field":                  {condition("payee", rule.Contains, "x"), "enum [conditions 1 type]"},
		"an operator":              {condition(rule.Description, "like", "x"), "enum [conditions 1 operator]"},
		"an operator for amounts":  {condition(rule.Description, rule.LessThan, "100"), "contradiction [conditions 1 operator]"},
		"an operator for texts":    {condition(rule.Amount, rule.Contains, "100"), "contradiction [conditions 1 operator]"},
		"an empty value":           {condition(rule.Reference, rule.Equals, " \t"), "length [conditions 1 value]"},
		"a long value":             {condition(rule.Description, rule.Equals, long), "length [conditions 1 value]"},
		"no amount":                {condition(rule.Amount, rule.Equals, "1.00"), "malformed [conditions 1 value]"},
		"a negative amount":        {condition(rule.Amount, rule.GreaterThan, "-1"), "malformed [conditions 1 value]"},
		"a range where it is none": {condition(rule.Amount, rule.LessThan, "1...2"), "malformed [conditions 1 value]"},
		"a range that ends first":  {condition(rule.Amount, rule.Between, "2...1"), "malformed [conditions 1 value]"},

		"no lines":                      {split(), "items [lines]"},
		"many lines":                    {func(r *rule.Rule) { r.Lines = slices.Repeat([]rule.Line{part(rule.Percentage, 990)}, rule.MaxLines+1) }, "items [lines] splitSum [lines]"},
		"a split mode":                  {one(func(l *rule.Line) { l.SplitMode = "half" }), "enum [lines 0 splitMode]"},
		"fixed without an amount":       {one(func(l *rule.Line) { l.SplitMode = rule.Fixed }), "required [lines 0 fixedCentAmount]"},
		"fixed nothing":                 {split(part(rule.Fixed, 0), part(rule.Remainder, 0)), "zeroAmount [lines 0 fixedCentAmount]"},
		"a remainder with an amount":    {one(func(l *rule.Line) { l.FixedCentAmount = new(money.Cents(1)) }), "contradiction [lines 0 fixedCentAmount]"},
		"fixed beyond the range":        {split(part(rule.Fixed, money.MaxCents), part(rule.Fixed, 1), part(rule.Remainder, 0)), "range [lines 1 fixedCentAmount]"},
		"percentage without one":        {one(func(l *rule.Line) { l.SplitMode = rule.Percentage }), "required [lines 0 percentageBps] splitSum [lines]"},
		"a remainder with a percentage": {one(func(l *rule.Line) { l.PercentageBps = new(money.Rate(1)) }), "contradiction [lines 0 percentageBps]"},
		"no percent":                    {split(part(rule.Percentage, 0), part(rule.Remainder, 0)), "range [lines 0 percentageBps]"},
		"more than all":                 {split(part(rule.Percentage, 100001)), "range [lines 0 percentageBps]"},
		"less than all":                 {split(part(rule.Percentage, 60000), part(rule.Percentage, 39999)), "splitSum [lines]"},
		"all together":                  {split(part(rule.Percentage, 60000), part(rule.Percentage, 40000)), ""},
		"nothing for the remainder":     {split(part(rule.Percentage, 60000), part(rule.Percentage, 40000), part(rule.Remainder, 0)), "splitSum [lines]"},
		"two remainders":                {split(part(rule.Remainder, 0), part(rule.Fixed, 1), part(rule.Remainder, 0)), "contradiction [lines 2 splitMode]"},
		"fixed alone":                   {split(part(rule.Fixed, 5), part(rule.Fixed, -1)), ""},

		"no account":                {one(func(l *rule.Line) { l.AccountID = nil }), "required [lines 0 accountId]"},
		"an assignment instead":     {one(func(l *rule.Line) { l.AccountID, l.Assignment = nil, new(account.AccountsPayable) }), ""},
		"an unknown assignment":     {one(func(l *rule.Line) { l.Assignment = new(account.Assignment("petty")) }), "enum [lines 0 assignment]"},
		"an unknown party":          {one(func(l *rule.Line) { l.Party = new(ledger.Party("guests")) }), "enum [lines 0 party]"},
		"owners without a listing":  {one(func(l *rule.Line) { l.Party = new(ledger.Owners) }), "required [lines 0 listingId]"},
		"a line without words":      {one(func(l *rule.Line) { l.DescriptionOverride = new("") }), "length [lines 0 descriptionOverride]"},
		"tax on money in":           {func(r *rule.Rule) { r.TransactionType, r.Lines[0].TaxRateID = transaction.Deposit, new(seq(3)) }, "taxNotSupported [lines 0 taxRateId]"},
		"tax":                       {one(func(l *rule.Line) { l.TaxRateID, l.TaxBehavior = new(seq(3)), &behavior }), ""},
		"a behavior without a rate": {one(func(l *rule.Line) { l.TaxBehavior = &behavior }), "required [lines 0 taxRateId]"},
		"an unknown behavior":       {one(func(l *rule.Line) { l.TaxRateID, l.TaxBehavior = new(seq(3)), &wrong }), "enum [lines 0 taxBehavior]"},
		"markup":                    {one(func(l *rule.Line) { l.ListingID, l.Markup = new(seq(9)), &rule.Markup{Amount: 100} }), ""},
		"markup of the manager": {one(func(l *rule.Line) {
			l.Party, l.ListingID, l.Markup = new(ledger.Manager), new(seq(9)), &rule.Markup{Amount: 100}
		}), "markupNotSupported [lines 0 markup]"},
		"markup without a listing": {one(func(l *rule.Line) { l.Markup = &rule.Markup{Amount: 100} }), "markupNotSupported [lines 0 markup]"},
		"markup on money in": {func(r *rule.Rule) {
			r.TransactionType, r.Lines[0].ListingID, r.Lines[0].Markup = transaction.Deposit, new(seq(9)), &rule.Markup{}
		}, "markupNotSupported [lines 0 markup]"},
		"markup beyond the range": {one(func(l *rule.Line) { l.ListingID, l.Markup = new(seq(9)), &rule.Markup{Amount: money.MaxCents + 1} }), "range [lines 0 markup amount]"},
		"markup with a behavior only": {one(func(l *rule.Line) {
			l.ListingID, l.Markup = new(seq(9)), &rule.Markup{Amount: 100, TaxBehavior: &wrong}
		}), "required [lines 0 markup taxRateId] enum [lines 0 markup taxBehavior]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := simple(1, rule.Condition{rule.Description, rule.Contains, "x"})
			test.change(&r)

			var got []string
			for _, issue := range rule.Check(&r) {
				got = append(got, fmt.Sprint(issue.Code, " ", issue.Path))
				if issue.Schema != "body" {
					t.Errorf("%s is about the %s", issue.Code, issue.Schema)
				}
			}

			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("got %s, want %s", text, test.want)
			}

			if _, err := rule.Compile([]rule.Rule{r}); (err == nil) != (test.want == "") {
				t.Errorf("compiled: %v", err)
			}
		})
	}
}
