package rule_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/plain"
)

func seq(n int) id.ID { return id.ID{14: byte(n >> 8), 15: byte(n)} }

// simple is a rule of one condition that books everything on one line.
func simple(n int, c rule.Condition) rule.Rule {
	return rule.Rule{
		ID: seq(n), Name: fmt.Sprint("Rule ", n), Status: rule.Active, Priority: n, TransactionType: transaction.Expense, Mode: rule.Suggest,
		MatchMode: rule.All, Conditions: []rule.Condition{c}, Lines: []rule.Line{{SplitMode: rule.Remainder, AccountID: new(seq(900))}},
	}
}

func compile(t testing.TB, rules ...rule.Rule) *rule.Engine {
	t.Helper()

	e, err := rule.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}

	return e
}

// spent is a record of money that left account 1 on 15 March 2026.
func spent(description string, amount money.Cents) rule.Record {
	return rule.Record{
		ID: seq(1), AccountID: seq(1), Currency: "usd", TeamCurrency: "usd", Date: day.Month{Year: 2026, Month: 3}.First().AddDays(14), Amount: -amount,
		Description: description, Status: bank.Active, Type: bank.Movement,
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()

	const text = "  ACH Debit\tHOME  Depot 0412 "

	for name, test := range map[string]struct {
		condition rule.Condition
		want      bool
	}{
		"contains":                      {rule.Condition{rule.Description, rule.Contains, "home depot"}, true},
		"contains, whatever the spaces": {rule.Condition{rule.Description, rule.Contains, " Home   Depot "}, true},
		"contains, short":               {rule.Condition{rule.Description, rule.Contains, "04"}, true},
		"contains something else":       {rule.Condition{rule.Description, rule.Contains, "homedepot"}, false},
		"contains not":                  {rule.Condition{rule.Description, rule.NotContains, "lowe's"}, true},
		"contains not what it contains": {rule.Condition{rule.Description, rule.NotContains, "DEPOT"}, false},
		"equals":                        {rule.Condition{rule.Description, rule.Equals, "ach debit home depot 0412"}, true},
		"equals a part":                 {rule.Condition{rule.Description, rule.Equals, "home depot"}, false},
		"equals not":                    {rule.Condition{rule.Description, rule.NotEquals, "home depot"}, true},
		"equals not the same":           {rule.Condition{rule.Description, rule.NotEquals, "ACH DEBIT HOME DEPOT 0412"}, false},
		"starts with":                   {rule.Condition{rule.Description, rule.StartsWith, "ach"}, true},
		"starts with the middle":        {rule.Condition{rule.Description, rule.StartsWith, "home"}, false},
		"ends with":                     {rule.Condition{rule.Description, rule.EndsWith, "0412"}, true},
		"ends with the middle":          {rule.Condition{rule.Description, rule.EndsWith, "depot"}, false},
		"reference":                     {rule.Condition{rule.Reference, rule.Equals, "fit-1"}, true},
		"reference is not description":  {rule.Condition{rule.Reference, rule.Contains, "depot"}, false},
		"description is not reference":  {rule.Condition{rule.Description, rule.Contains, "fit-1"}, false},
		"amount":                        {rule.Condition{rule.Amount, rule.Equals, "5000"}, true},
		"another amount":                {rule.Condition{rule.Amount, rule.Equals, "5001"}, false},
		"not an amount":                 {rule.Condition{rule.Amount, rule.NotEquals, "5001"}, true},
		"not the amount":                {rule.Condition{rule.Amount, rule.NotEquals, "5000"}, false},
		"more":                          {rule.Condition{rule.Amount, rule.GreaterThan, "4999"}, true},
		"not more than itself":          {rule.Condition{rule.Amount, rule.GreaterThan, "5000"}, false},
		"less":                          {rule.Condition{rule.Amount, rule.LessThan, "5001"}, true},
		"not less than itself":          {rule.Condition{rule.Amount, rule.LessThan, "5000"}, false},
		"between, the low end":          {rule.Condition{rule.Amount, rule.Between, "5000...6000"}, true},
		"between, the high end":         {rule.Condition{rule.Amount, rule.Between, "0...5000"}, true},
		"between one and itself":        {rule.Condition{rule.Amount, rule.Between, "5000"}, true},
		"beyond":                        {rule.Condition{rule.Amount, rule.Between, "5001...6000"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := spent(text, 5000)
			r.Reference = "FIT-1"

			d := compile(t, simple(1, test.condition)).Pass().Decide(&r)
			if got := d.Rule != nil; got != test.want {
				t.Errorf("%+v holds: %t", test.condition, got)
			}
		})
	}
}

func TestWhichRuleTakesARecord(t *testing.T) {
	t.Parallel()

	depot := rule.Condition{rule.Description, rule.Contains, "depot"}
	other := rule.Condition{rule.Description, rule.Contains, "garden"}
	large := rule.Condition{rule.Amount, rule.GreaterThan, "100000"}
	with := func(n int, change func(*rule.Rule), conditions ...rule.Condition) rule.Rule {
		r := simple(n, depot)
		if conditions != nil {
			r.Conditions = conditions
		}

		change(&r)

		return r
	}

	none := func(*rule.Rule) {}
	for name, test := range map[string]struct {
		rules []rule.Rule
		want  string // the numbers of all rules that match, the one that takes the record first
	}{
		"the lowest priority":               {[]rule.Rule{with(2, none), with(1, none), with(3, none)}, "1 2 3"},
		"of equal ones the older":           {[]rule.Rule{with(2, func(r *rule.Rule) { r.Priority = 0 }), with(1, func(r *rule.Rule) { r.Priority = 0 })}, "1 2"},
		"a suggestion before what is auto":  {[]rule.Rule{with(2, func(r *rule.Rule) { r.Mode = rule.Auto }), with(1, none)}, "1 2"},
		"an inactive one takes nothing":     {[]rule.Rule{with(1, func(r *rule.Rule) { r.Status = rule.Inactive }), with(2, none)}, "2"},
		"the other direction":               {[]rule.Rule{with(1, func(r *rule.Rule) { r.TransactionType = transaction.Deposit }), with(2, none)}, "2"},
		"another account":                   {[]rule.Rule{with(1, func(r *rule.Rule) { r.AccountIDs = []id.ID{seq(2)} }), with(2, func(r *rule.Rule) { r.AccountIDs = []id.ID{seq(2), seq(1)} })}, "2"},
		"all of two":                        {[]rule.Rule{with(1, none, depot, large), with(2, none, depot, other)}, ""},
		"any of two":                        {[]rule.Rule{with(1, func(r *rule.Rule) { r.MatchMode = rule.Any }, large, depot), with(2, func(r *rule.Rule) { r.MatchMode = rule.Any }, other, depot)}, "1 2"},
		"any of two that do not hold":       {[]rule.Rule{with(1, func(r *rule.Rule) { r.MatchMode = rule.Any }, large, other)}, ""},
		"none":                              {nil, ""},
		"a split that fails is not skipped": {[]rule.Rule{with(1, func(r *rule.Rule) { r.Lines[0].SplitMode, r.Lines[0].FixedCentAmount = rule.Fixed, new(money.Cents(1)) }), with(2, none)}, "1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := spent("HOME DEPOT", 5000)
			pass := compile(t, test.rules...).Pass()

			var got []string
			for _, m := range pass.Matching(&r) {
				got = append(got, strings.TrimPrefix(m.Name, "Rule "))
			}

			if strings.Join(got, " ") != test.want {
				t.Errorf("matching: %s, want %s", got, test.want)
			}

			d := pass.Decide(&r)
			switch {
			case test.want == "" && (d.Rule != nil || d.Transaction != nil || d.Reason != rule.NoRule):
				t.Errorf("got %+v", d)
			case test.want != "" && d.Rule.Name != "Rule "+got[0]:
				t.Errorf("%s takes the record", d.Rule.Name)
			}
		})
	}
}

// Proves: RSN-08, RSN-11, RSN-13.
func TestRecordsThatNoRuleTakes(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		change func(*rule.Record)
		want   rule.Reason
	}{
		"a stated balance":         {func(r *rule.Record) { r.Type = bank.Stated }, "bankRecordNotMovement"},
		"a movement of nothing":    {func(r *rule.Record) { r.Amount = 0 }, "bankRecordNotMovement"},
		"excluded":                 {func(r *rule.Record) { r.Status = bank.Inactive }, "bankRecordInactive"},
		"linked to no account":     {func(r *rule.Record) { r.AccountID = id.Zero }, "bankRecordUnassigned"},
		"reconciled":               {func(r *rule.Record) { r.Reconciled = true }, "bankRecordReconciled"},
		"excluded before all else": {func(r *rule.Record) { r.Status, r.Reconciled, r.AccountID = bank.Inactive, true, id.Zero }, "bankRecordInactive"},
		"open":                     {func(*rule.Record) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := spent("HOME DEPOT", 5000)
			test.change(&r)

			automatic := simple(1, rule.Condition{rule.Description, rule.Contains, "depot"})
			automatic.Mode = rule.Auto

			d := compile(t, automatic).Pass().Decide(&r)
			if d.Reason != test.want || (d.Transaction != nil) != (test.want == "") || d.Auto() != (test.want == "") {
				t.Errorf("got %+v", d)
			}
		})
	}
}

// The slow way: every condition of every rule is read anew for every record.
func naive(rules []rule.Rule, r *rule.Record) (names []string) {
	var met []rule.Rule

	for _, c := range rules {
		incoming := c.TransactionType == transaction.Deposit
		if c.Status != rule.Active || r.Amount == 0 || incoming != (r.Amount > 0) || len(c.AccountIDs) > 0 && !slices.Contains(c.AccountIDs, r.AccountID) {
			continue
		}

		held := 0

		for _, condition := range c.Conditions {
			if naivelyHolds(condition, r) {
				held++
			}
		}

		if held == len(c.Conditions) || c.MatchMode == rule.Any && held > 0 {
			met = append(met, c)
		}
	}

	slices.SortFunc(met, func(a, b rule.Rule) int { return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.ID.Compare(b.ID)) })

	for _, m := range met {
		names = append(names, m.Name)
	}

	return names
}

func naivelyHolds(c rule.Condition, r *rule.Record) bool {
	if c.Type == rule.Amount {
		cents, limits := max(r.Amount, -r.Amount), money.Range{}
		if err := limits.UnmarshalText([]byte(c.Value)); err != nil {
			panic(err)
		}

		return map[rule.Operator]bool{
			rule.Equals: cents == limits.Low, rule.NotEquals: cents != limits.Low, rule.GreaterThan: cents > limits.Low,
			rule.LessThan: cents < limits.Low, rule.Between: limits.Low <= cents && cents <= limits.High,
		}[c.Operator]
	}

	// What a field is of a record is said again here: the engine is held to it. A new field is a line.
	texts := map[rule.Field]string{rule.Description: r.Description, rule.Reference: r.Reference}

	text, known := texts[c.Type]
	if !known {
		panic("the test does not know the field " + c.Type)
	}

	text, value := plain.Text(text), plain.Text(c.Value)

	return map[rule.Operator]bool{
		rule.Equals: text == value, rule.NotEquals: text != value, rule.Contains: strings.Contains(text, value), rule.NotContains: !strings.Contains(text, value),
		rule.StartsWith: strings.Index(text, value) == 0, rule.EndsWith: strings.HasSuffix(text, value),
	}[c.Operator]
}

var genText = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "B", "ab", "abc", "Depot", "home", "é", "42", "x-1"}), 1, 3).Draw(t, "words"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
})

func genCondition(t *rapid.T) rule.Condition {
	c := rule.Condition{Type: rule.Field(rapid.SampledFrom(rule.Field("").Enum()).Draw(t, "field"))}
	c.Operator = rapid.SampledFrom(c.Type.Operators()).Draw(t, "operator")

	if c.Type != rule.Amount {
		c.Value = genText.Draw(t, "value")

		return c
	}

	low := rapid.IntRange(0, 6).Draw(t, "low")

	c.Value = strconv.Itoa(low)
	if c.Operator == rule.Between {
		c.Value = fmt.Sprintf("%d...%d", low, low+rapid.IntRange(0, 3).Draw(t, "more"))
	}

	return c
}

func genRule(t *rapid.T, n int) rule.Rule {
	r := simple(n, genCondition(t))
	for range rapid.IntRange(0, 2).Draw(t, "more conditions") {
		r.Conditions = append(r.Conditions, genCondition(t))
	}

	r.Priority = rapid.IntRange(0, 9).Draw(t, "priority")
	r.MatchMode = rapid.SampledFrom([]rule.MatchMode{rule.All, rule.Any}).Draw(t, "match")
	r.Status = rapid.SampledFrom([]rule.Status{rule.Active, rule.Active, rule.Active, rule.Inactive}).Draw(t, "status")
	r.TransactionType = rapid.SampledFrom([]transaction.Type{transaction.Deposit, transaction.Expense}).Draw(t, "type")
	r.AccountIDs = rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(1, 3), seq), 0, 2, rapid.ID[id.ID]).Draw(t, "accounts")

	return r
}

func genRecord(t *rapid.T) rule.Record {
	r := spent(genText.Draw(t, "description"), money.Cents(rapid.IntRange(-6, 6).Draw(t, "amount")))
	r.Reference = rapid.OneOf(rapid.Just(""), genText).Draw(t, "reference")
	r.AccountID = seq(rapid.IntRange(1, 4).Draw(t, "account"))

	return r
}

func TestPropertyTheEngineIsTheSlowWay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rules []rule.Rule
		for n := range rapid.IntRange(0, 80).Draw(t, "rules") {
			rules = append(rules, genRule(t, n+1))
		}

		shuffled := rapid.Permutation(rules).Draw(t, "order")

		engine, err := rule.Compile(shuffled)
		if err != nil {
			t.Fatal(err)
		}

		pass := engine.Pass()

		for range 5 {
			r := genRecord(t)
			want := naive(rules, &r)

			var got []string
			for _, m := range pass.Matching(&r) {
				got = append(got, m.Name)
			}

			if !slices.Equal(got, want) {
				t.Fatalf("%+v meets %v, want %v", r, got, want)
			}

			d := pass.Decide(&r)
			if (d.Rule != nil) != (len(want) > 0) || d.Rule != nil && d.Rule.Name != want[0] {
				t.Fatalf("%+v is taken by %+v, want %v", r, d.Rule, want)
			}
		}
	})
}

// Each field finds the records that have its text, also one that was added after this test: a record has another text in
// each of its fields.
func TestEveryFieldFindsItsRecords(t *testing.T) {
	t.Parallel()

	r := spent("", 5000)

	texts := reflect.ValueOf(&r).Elem()
	for i := range texts.NumField() {
		if f := texts.Field(i); f.Kind() == reflect.String && f.CanSet() && f.String() == "" {
			f.SetString("text of " + texts.Type().Field(i).Name)
		}
	}

	seen := map[string]rule.Field{}

	for _, name := range rule.Field("").Enum() {
		field := rule.Field(name)
		if field == rule.Amount {
			continue
		}

		text := field.Text(&r)
		if other := seen[text]; text == "" || other != "" {
			t.Errorf("%s compares %q, as %q does", field, text, other)
		}

		seen[text] = field

		for _, operator := range []rule.Operator{rule.Equals, rule.Contains, rule.StartsWith, rule.EndsWith} {
			e := compile(t, simple(1, rule.Condition{Type: field, Operator: operator, Value: text}), simple(2, rule.Condition{Type: field, Operator: operator, Value: "another"}))
			if got := e.Pass().Matching(&r); len(got) != 1 || got[0].Name != "Rule 1" {
				t.Errorf("%s %s %q finds %d rules", field, operator, text, len(got))
			}
		}
	}
}

func TestCompileRefusesWhatCheckDoes(t *testing.T) {
	t.Parallel()

	r := simple(1, rule.Condition{rule.Description, rule.Contains, " "})
	if _, err := rule.Compile([]rule.Rule{r}); err == nil {
		t.Error("compiled")
	}
}

func TestAssignedLinesKeepTheirOrder(t *testing.T) {
	t.Parallel()

	r := simple(1, rule.Condition{rule.Description, rule.Contains, "depot"})
	r.Lines = []rule.Line{
		{SortOrder: 2, SplitMode: rule.Remainder, Assignment: new(account.ExpenseReimbursement)},
		{SortOrder: 1, SplitMode: rule.Fixed, FixedCentAmount: new(money.Cents(700)), AccountID: new(seq(901))},
		{SortOrder: 1, SplitMode: rule.Percentage, PercentageBps: new(money.Rate(50000)), AccountID: new(seq(902))},
	}
	record := spent("depot", 1000)

	lines := compile(t, r).Pass().Decide(&record).Transaction.Lines
	if len(lines) != 3 || *lines[0].AccountID.Value != seq(901) || *lines[1].AccountID.Value != seq(902) || *lines[2].Assignment.Value != account.ExpenseReimbursement {
		t.Errorf("got %+v", lines)
	}
}
