package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/exchange/legacy"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/plain"
)

var previewErrors = apierr.List{account.ErrRequiredMissing}

// MappingPreview says which accounts the lines of a legacy team would get.
type MappingPreview struct {
	EffectiveGLStartAt day.Day            `json:"effectiveGlStartAt" doc:"The cutover: the later of the requested day and the first day of the month after the last final statement."`
	OldAccounts        []OldAccount       `json:"oldAccounts" doc:"The legacy accounts of lines that are imported."`
	NewAccounts        []NewAccount       `json:"newAccounts" doc:"The accounts of the new team, archived ones too."`
	SkippedStatements  []SkippedStatement `json:"skippedStatements" doc:"Final statements that are left out, and why."`
}

// OldAccount is a legacy account with the account for its lines.
type OldAccount struct {
	LegacyAccount          LegacyAccount `json:"legacyAccount" doc:"The account in the legacy team."`
	Sources                []string      `json:"sources" enum:"line,template" doc:"What names it."`
	SuggestedTargetAccount *Titled       `json:"suggestedTargetAccount" doc:"null means that a choice is needed."`
	CurrentTargetAccount   *Titled       `json:"currentTargetAccount" doc:"That of the last import; null before."`
}

// LegacyAccount names an account of a legacy team.
type LegacyAccount struct {
	Key            string  `json:"key" doc:"What lines name it by."`
	Ref            *string `json:"ref" doc:"Its number in the legacy product."`
	Name           string  `json:"name"`
	Classification *string `json:"classification"`
}

// Titled names an account of the new team.
type Titled struct {
	ID    id.ID  `json:"id"`
	Title string `json:"title"`
}

// NewAccount is an account of the new team.
type NewAccount struct {
	ID       id.ID       `json:"id"`
	Title    string      `json:"title"`
	Category NewCategory `json:"category"`
	Type     string      `json:"type"`
	Status   string      `json:"status"`

	code, ref string
}

// NewCategory is the category of an account of the new team.
type NewCategory struct {
	ID             id.ID  `json:"id"`
	Name           string `json:"name"`
	Classification string `json:"classification"`
}

// SkippedStatement is a final statement of the legacy team that is left out.
type SkippedStatement struct {
	SourceID   string     `json:"sourceId"`
	StartAt    day.Day    `json:"startAt"`
	EndAt      day.Day    `json:"endAt"`
	BalanceEnd int64      `json:"balanceEnd" doc:"Cents."`
	Currency   string     `json:"currency"`
	Reason     SkipReason `json:"reason" doc:"noOwnershipPeriod: none has all of its days; noMembers: it has payouts and no owner; payeeNotMember: a payout went to no owner of then; overlap: another statement has days of it."`
}

// SkipReason says why a statement is left out.
type SkipReason string

// The reasons.
const (
	noPeriod   SkipReason = "noOwnershipPeriod"
	noMembers  SkipReason = "noMembers"
	notMember  SkipReason = "payeeNotMember"
	overlapped SkipReason = "overlap"
)

// Enum lists the reasons.
func (SkipReason) Enum() []string {
	return []string{string(noPeriod), string(noMembers), string(notMember), string(overlapped)}
}

type previewInput struct {
	SourceTenantID id.ID `query:"sourceTenantId" required:"true"`
	TargetTenantID id.ID `query:"targetTenantId" required:"true"`
}

// previewMappings returns the accounts that legacy lines would get.
func previewMappings(ctx context.Context, tx *db.Tx, in *previewInput) (out *MappingPreview, err error) {
	if err := checkTeams(ctx, tx, in.SourceTenantID, in.TargetTenantID, apierr.IssueCode.InQuery); err != nil {
		return nil, err
	}

	err = within(ctx, tx, in.TargetTenantID, func(ctx context.Context, tx *db.Tx) error {
		h, err := loadHistory(ctx, tx, in.SourceTenantID)
		if err == nil {
			out = h.renderPreview()
		}

		return err
	})

	return out, err
}

// within runs work with a reachable team as the selected one.
func within(ctx context.Context, tx *db.Tx, in id.ID, work db.Work) error {
	return tx.Visit(ctx, in, func(ctx context.Context, tx *db.Tx) error {
		selected := tx.Team
		tx.Team = in

		defer func() { tx.Team = selected }()

		return work(ctx, tx)
	})
}

// chart has the accounts of the new team.
type chart struct {
	accounts []NewAccount
	byID     map[id.ID]*NewAccount
	standard map[string]id.ID // by code in the standard chart
}

// loadChart loads the accounts of the team.
func loadChart(ctx context.Context, tx *db.Tx) (*chart, error) {
	type row struct {
		ID             id.ID
		Name           string
		Code, Ref      string
		Type, Status   string
		CategoryID     id.ID
		Category       string
		Classification string
	}

	rows, err := db.Select[row](ctx, tx, `
		select a.id, a.name, coalesce(a.code, '') as code, coalesce(a.unique_ref, '') as ref, a.type, a.status, c.id as category_id, c.name as category, c.classification
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where a.team_id = @team and a.type <> 'nonPosting' order by a.code nulls last, a.name, a.id`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the accounts of a new team: %w", err)
	}

	out := &chart{accounts: make([]NewAccount, len(rows)), byID: map[id.ID]*NewAccount{}}

	for i, r := range rows {
		category := NewCategory{r.CategoryID, r.Category, r.Classification}
		out.accounts[i] = NewAccount{r.ID, r.Name, category, r.Type, r.Status, r.Code, r.Ref}
		out.byID[r.ID] = &out.accounts[i]
	}

	if out.standard, err = account.ListStandard(ctx, tx); err != nil {
		return nil, fmt.Errorf("read the accounts of a new team: %w", err)
	}

	return out, nil
}

// suggest returns the account for a legacy account, nil if none is certain: by key or reference, else by name, else
// by the usual meaning of its name. If the legacy account has a classification, the account has the same (MIG-35).
func (c *chart) suggest(a *legacy.Account) *id.ID {
	fits := func(n *NewAccount) bool {
		return n != nil && n.Status == "active" &&
			(a.Classification == nil || *a.Classification == n.Category.Classification)
	}

	for _, same := range []func(*NewAccount) bool{
		func(n *NewAccount) bool {
			return n.ref == a.Key || n.code != "" && (n.code == a.Key || a.Ref != nil && n.code == *a.Ref)
		},
		func(n *NewAccount) bool { return plain.Text(n.Title) == plain.Text(a.Name) },
	} {
		// Several equal accounts are no certain suggestion.
		var found []id.ID

		for i := range c.accounts {
			if n := &c.accounts[i]; same(n) && fits(n) {
				found = append(found, n.ID)
			}
		}

		if len(found) == 1 {
			return &found[0]
		}
	}

	// Last, what the name usually means in the trade.
	for _, m := range meanings {
		if !slices.Contains(m.words, words(a.Name)) {
			continue
		}

		if v, known := c.standard[m.code]; known && fits(c.byID[v]) {
			return &v
		}
	}

	return nil
}

// words returns a name without capitals and punctuation, its words in the singular.
func words(name string) string {
	fields := strings.FieldsFunc(plain.Text(name), func(r rune) bool { return r < 'a' || r > 'z' })
	for i, f := range fields {
		if len(f) > 3 {
			fields[i] = strings.TrimSuffix(f, "s")
		}
	}

	return strings.Join(fields, " ")
}

// meanings has the usual names of accounts, by code in the standard chart. A name can belong to several codes; then
// the classification decides.
var meanings = []struct {
	code  string
	words []string
}{
	{"4000", []string{
		"rent", "rental", "rental income", "rental revenue", "rent income", "accommodation", "accommodation fare",
		"nightly rate", "nightly rent", "room revenue", "base rent", "base rate", "booking revenue",
		"reservation revenue", "gross rent",
	}},
	{"4010", []string{
		"cleaning", "cleaning fee", "cleaning income", "cleaning revenue", "housekeeping", "housekeeping fee",
		"departure cleaning",
	}},
	{"4020", []string{
		"guest fee", "resort fee", "pet fee", "booking fee", "service fee", "extra guest fee", "extra person fee",
		"amenity fee", "late checkout fee", "early checkin fee", "other guest fee", "parking fee", "linen fee",
		"pool heat", "pool heating",
	}},
	{"4030", []string{"damage", "damage waiver", "damage protection", "damage fee", "damage claim"}},
	{"4090", []string{"cancellation", "cancellation fee", "cancellation revenue", "cancellation income"}},
	{"5000", []string{
		"channel fee", "channel commission", "ota fee", "ota commission", "host fee", "airbnb fee",
		"airbnb host fee", "booking com commission", "vrbo fee",
	}},
	{"5010", []string{
		"merchant fee", "credit card fee", "card processing fee", "processing fee", "payment processing",
		"payment processing fee", "bank fee", "stripe fee",
	}},
	{"5100", []string{
		"management commission", "management fee", "commission", "property management fee", "pm commission",
		"pm fee", "owner commission",
	}},
	{"5110", []string{"cleaning", "cleaning fee", "cleaning cost", "cleaning expense", "housekeeping"}},
	{"5120", []string{
		"other fee", "owner fee", "technology fee", "linen fee", "subscription", "listing fee", "hoa fee",
		"software fee",
	}},
	{"5200", []string{
		"repair", "repair and maintenance", "maintenance", "maintenance and repair", "supplie", "supply",
		"utilitie", "utility", "electricity", "water", "internet", "landscaping", "gardening", "pool service",
		"pest control", "inspection", "restocking", "furnishing", "expense", "owner expense",
	}},
	{"5290", []string{"reimbursement", "expense reimbursement", "owner reimbursement"}},
	{"2100", []string{
		"lodging tax", "occupancy tax", "hotel tax", "tourist tax", "transient occupancy tax", "bed tax",
		"city tax",
	}},
	{"2110", []string{"sale tax", "vat", "value added tax", "tax", "gst"}},
}

// renderPreview returns the accounts of a history as the API shows them.
func (h *history) renderPreview() *MappingPreview {
	out := &MappingPreview{
		EffectiveGLStartAt: h.cutover, OldAccounts: []OldAccount{},
		NewAccounts:       append([]NewAccount{}, h.chart.accounts...),
		SkippedStatements: append([]SkippedStatement{}, h.skipped...),
	}

	for _, key := range h.keys {
		a := h.accounts[key]
		old := OldAccount{
			LegacyAccount: LegacyAccount{a.Key, a.Ref, a.Name, a.Classification}, Sources: []string{"line"},
		}

		if h.inTemplate[key] {
			old.Sources = append(old.Sources, "template")
		}

		old.SuggestedTargetAccount = h.chart.renderTitle(h.chart.suggest(&a))
		if stored, known := h.stored[key]; known {
			old.CurrentTargetAccount = h.chart.renderTitle(&stored)
		}

		out.OldAccounts = append(out.OldAccounts, old)
	}

	return out
}

// renderTitle returns the id and title of an account, nil for an unknown one.
func (c *chart) renderTitle(v *id.ID) *Titled {
	if v == nil || c.byID[*v] == nil {
		return nil
	}

	return &Titled{*v, c.byID[*v].Title}
}
