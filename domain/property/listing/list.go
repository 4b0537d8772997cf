package listing

import (
	"context"
	"maps"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects listings: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs                       page.IDs   `query:"ids" json:"ids,omitempty" doc:"Only these; an id with a leading ! is left out."`
	ShortRefs                 []string   `query:"shortRefs" json:"shortRefs,omitempty"`
	Status                    Status     `query:"status" json:"status,omitempty"`
	Search                    string     `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the name, reference or short reference."`
	ContactIDs                page.IDs   `query:"contactIds" json:"contactIds,omitempty" doc:"Listings that one of the contacts owns, owned or is going to own."`
	ContactID                 *page.Pick `query:"contactId" json:"contactId,omitempty" deprecated:"true" doc:"Former name of contactIds."`
	ActiveOwnership           *bool      `query:"activeOwnership" json:"activeOwnership,omitempty" doc:"Whether an ownership period covers today."`
	ActiveRecurringFeePeriods string     `query:"activeRecurringFeePeriods" json:"activeRecurringFeePeriods,omitempty" pattern:"^(active|inactive|!?(managementFee|additionalFee|bookingChannelFee|cleaningFee|merchantFee)|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$" doc:"What is charged today: active for any fee, inactive for none, a type of fee, with a leading ! for listings without it, or the id of a fee."`
	OpeningBalance            *bool      `query:"openingBalance" json:"openingBalance,omitempty" doc:"Whether the listing has an opening balance."`
	Issue                     Issue      `query:"issue" json:"issue,omitempty" doc:"Active listings whose setup lacks something: an owner today (or being inactive), a fee that is charged today, or an opening balance."`
	ConnectionIDs             page.Refs  `query:"connectionIds" json:"connectionIds,omitempty" doc:"Listings that systems have; null for those that none has."`
	Parent                    *page.Ref  `query:"parent" json:"parent,omitempty" doc:"Listings of a group; null for those in none."`
}

// listQuery returns the query of listings l with their groups g that a valid filter selects. The caller sets the
// columns, and adds the tables that they need besides.
func listQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{
		Columns: "l.id", From: groupFrom, Rows: "listing l", Joined: "g",
		Where: []string{"l.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: sorts, Default: "createdAt", ID: "l.id",
	}

	// Filters that the caller left out add nothing to the text.
	q.CountedAs("listing")
	q.IDs("l.id = any(?)", f.IDs)
	q.Narrow("l.short_ref = any(?)", f.ShortRefs)
	q.Narrow("l.status = ?", f.Status)
	q.Search(f.Search, "l.name", "l.unique_ref", "l.short_ref")
	q.IDs(ownedBy, f.ContactIDs)
	q.IDs(ownedBy, f.ContactID.List())

	// Whether a listing has an owner depends on today.
	if f.ActiveOwnership != nil {
		q.And(ownedToday+" = @owned", db.Args{"today": tx.Today(), "owned": *f.ActiveOwnership})
	}

	narrowByFees(&q, tx, f.ActiveRecurringFeePeriods)
	q.Whether(opened, f.OpeningBalance)
	narrowByIssue(&q, tx, f.Issue)
	q.Refs(ofConnection, f.ConnectionIDs)
	q.Refs("l.parent_id", f.Parent.List())

	return q
}

// opened says that a deposit is the opening balance of listing l.
var opened = `exists (select from transaction t join transaction_line o on o.team_id = t.team_id and o.transaction_id = t.id
	where t.team_id = @team and o.team_id = @team and o.listing_id = l.id and t.is_opening_balance and t.status = 'active' and t.type = 'deposit'
		and ` + account.ActingSQL("o", account.OpeningBalance) + `
		and not exists (select from transaction_line m where m.team_id = @team and m.transaction_id = t.id and m.listing_id is distinct from o.listing_id))`

// narrowByFees narrows the list by the recurring fees that are charged today: "active" for any, "inactive" for none,
// the id of a fee, a type of fees, or "!" and a type for listings without one.
func narrowByFees(q *page.Query, tx *db.Tx, wanted string) {
	if wanted == "" {
		return
	}

	// A value that is neither a word nor an id is a type of fees.
	kind, without := strings.CutPrefix(wanted, "!")
	args := db.Args{"today": tx.Today(), "fee": kind}

	fee, err := id.Parse(wanted)
	switch {
	case wanted == "active":
		q.And(chargeTodaySQL(""), db.Args{"today": args["today"]})
	case wanted == "inactive":
		q.And("not "+chargeTodaySQL(""), db.Args{"today": args["today"]})
	case err == nil:
		args["fee"] = fee
		q.And(chargeTodaySQL(" and f.id = @fee"), args)
	case without:
		q.And("not "+chargeTodaySQL(" and f.type = @fee"), args)
	default:
		q.And(chargeTodaySQL(" and f.type = @fee"), args)
	}
}

// Issue is something that the setup of an active listing lacks, or a word for several of them.
type Issue string

// The issues.
const (
	MissingOwnership      Issue = "missingOwnershipOrDeactivation"
	MissingFees           Issue = "missingFeesAndCommission"
	MissingOpeningBalance Issue = "missingOpeningBalance"
	// AnyIssue selects listings that lack something, AllIssues those that lack all of it.
	AnyIssue  Issue = "any"
	AllIssues Issue = "all"
)

// Enum lists the issues.
func (Issue) Enum() []string {
	return []string{
		string(AllIssues), string(AnyIssue), string(MissingOwnership), string(MissingFees),
		string(MissingOpeningBalance),
	}
}

// narrowByIssue narrows the list to active listings with an issue; empty does not narrow it.
func narrowByIssue(q *page.Query, tx *db.Tx, wanted Issue) {
	lacks := map[Issue]string{
		MissingOwnership: "not " + ownedToday, MissingFees: "not " + chargeTodaySQL(""),
		MissingOpeningBalance: "not " + opened,
	}
	all := []string{lacks[MissingOwnership], lacks[MissingFees], lacks[MissingOpeningBalance]}
	args := db.Args{"today": tx.Today()}

	var condition string

	switch wanted {
	case "":
		return
	case AnyIssue:
		condition = strings.Join(all, " or ")
	case AllIssues:
		condition = strings.Join(all, " and ")
	case MissingOwnership, MissingFees:
		condition = lacks[wanted]
	case MissingOpeningBalance:
		condition, args = lacks[wanted], nil
	}

	q.And("l.status = 'active' and ("+condition+")", args)
}

var sorts = page.Sorts{{Name: "name", Expr: "l.name", Text: true}, {Name: "createdAt", Expr: "l.created_at"}}

// Sort is an order of listings.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort Sort `query:"sort" default:"createdAt"`
	Filter
	operation.Include
}

// list returns a page of listings with their owners and fees, and their operations if the caller asked for them.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Listing], error) {
	q := listQuery(tx, &in.Filter)
	q.Columns, q.From = wholeColumns, wholeFrom
	maps.Copy(q.Args, wholeArgs(tx))

	rows, err := page.List[wholeListing](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	found := &page.Page[Listing]{Data: make([]Listing, len(rows.Data)), Pagination: rows.Pagination}
	for i := range rows.Data {
		found.Data[i] = rows.Data[i].listing()
	}

	if !in.Operations() {
		return found, nil
	}

	return found, operation.Embed(
		ctx, tx, operation.Listing, found.Data,
		func(l *Listing) (id.ID, **operation.Summary) { return l.ID, &l.Operations },
	)
}
