// Package recurring owns the templates of transactions that repeat: their patterns of dates, and the instances that are
// made of them, at most one for each date.
package recurring

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/property/contact"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Template is a transaction that repeats. Its instances are transactions of their own, at most one for each of its
// dates.
type Template struct {
	ID            id.ID                  `json:"id"`
	UniqueRef     *string                `json:"uniqueRef" doc:"The caller's own reference, unique among the templates of the team."`
	Status        transaction.Status     `json:"status" enum:"active,inactive" doc:"An inactive template makes nothing."`
	Type          transaction.Type       `json:"type" doc:"Of the instances."`
	Description   *string                `json:"description"`
	Date          day.Day                `json:"date" doc:"The first day on which the pattern can have a date."`
	Currency      string                 `json:"currency" doc:"ISO 4217 in lower case."`
	Amount        money.Cents            `json:"amount" doc:"Total of an instance, in cents."`
	AccountID     id.ID                  `json:"accountId"`
	Account       account.Ref            `json:"account"`
	ContactID     *id.ID                 `json:"contactId"`
	Contact       *contact.Ref           `json:"contact"`
	PaymentStatus transaction.PaidStatus `json:"paymentStatus" enum:"paid,unpaid" doc:"Whether an instance is paid on its own date or stays an open bill."`
	Pattern       Pattern                `json:"pattern"`
	Lines         []transaction.Line     `json:"lines"`
	SkippedDates  []day.Day              `json:"skippedDates" doc:"Dates for which nothing is made."`
	HeldBack      []HeldBack             `json:"heldBack" doc:"Due dates that were refused, by a lock for example, in order. They are made when the lock goes, and tried again daily; put a date into skippedDates to do without it."`
	CreatedAt     day.Instant            `json:"createdAt"`
	UpdatedAt     day.Instant            `json:"updatedAt"`

	PatternFormatted          string            `json:"patternFormatted" db:"-" doc:"The pattern in words."`
	NextTransactionInstanceAt *day.Day          `json:"nextTransactionInstanceAt" db:"-" doc:"The first date that is still to come; null when there is none."`
	Issues                    []finding.Finding `json:"issues" doc:"inactiveReference: an archived record is named at context.path."`

	InstancesCount int64 `json:"instancesCount" doc:"Transactions that the template has made and that were not deleted."`

	// DoneThrough is the last day up to which due dates were made. Made has the dates after it that have an instance
	// already.
	DoneThrough *day.Day  `json:"-"`
	Made        []day.Day `json:"-"`
}

const from = `transaction_template t left join account a on a.team_id = t.team_id and a.id = t.account_id
	left join contact c on c.team_id = t.team_id and c.id = t.contact_id`

// columns returns the columns of a template.
func columns() string {
	return `t.id, t.unique_ref, t.status, t.type, t.description, t.date, t.currency, t.total as amount, t.account_id,
		` + account.RefSQL("t.account_id", "a") + ` as account, t.contact_id,
		` + contact.RefSQL("c") + ` as contact, t.payment_status, t.pattern, ` +
		transaction.LinesFromSQL("t.lines", "t.id") + `, t.skipped_dates,
		coalesce((select jsonb_agg(h.item order by h.date) from transaction_held_back h where h.team_id = t.team_id and h.template_id = t.id), '[]') as held_back,
		t.created_at, t.updated_at, t.done_through, ` + inactiveSQL + ` as issues,
		(select count(*) from transaction x where x.team_id = t.team_id and x.recurring_template_id = t.id) as instances_count,
		array(select x.recurring_at from transaction x where x.team_id = t.team_id and x.recurring_template_id = t.id
			and (t.done_through is null or x.recurring_at > t.done_through)) as made`
}

// describe fills in the fields that follow from the pattern.
func (t *Template) describe() {
	t.PatternFormatted = t.Pattern.Format(t.Date)
	t.NextTransactionInstanceAt = t.nextOpen()
	t.Pattern = t.Pattern.complete(t.Date)
}

// yieldOpen yields the dates of the pattern without those that have passed, that have an instance or that are skipped,
// up to and including a day, or all for nil.
func (t *Template) yieldOpen(through *day.Day, yield func(day.Day) bool) {
	// Made has the dates that were made ahead of their day.
	made := make(map[day.Day]bool, len(t.Made))
	for _, d := range t.Made {
		made[d] = true
	}

	// The pattern may have no end, so the caller or the day ends the loop.
	for d := range t.Pattern.Dates(t.Date) {
		switch {
		case through != nil && d.After(*through):
			return
		case slices.Contains(t.SkippedDates, d):
		case made[d] || t.DoneThrough != nil && !d.After(*t.DoneThrough):
		case !yield(d):
			return
		}
	}
}

// nextOpen returns the first open date of an active template, nil for none.
func (t *Template) nextOpen() (next *day.Day) {
	if t.Status != transaction.Active {
		return nil
	}

	t.yieldOpen(nil, func(d day.Day) bool { next = &d; return false })

	return next
}

// dueDates returns the dates that the next task of a run tries, in order: the open dates up to today, at most
// maxInstances of them, then, as far as there is room, the held-back dates, beginning with the dates not tried for the
// longest time. It also returns the last day up to which no open date is left out.
func (t *Template) dueDates(today day.Day) (dates []day.Day, through day.Day) {
	through = today

	// If there are more open dates than fit, through ends at the last one that does.
	t.yieldOpen(&today, func(d day.Day) bool {
		if len(dates) == t.maxInstances() {
			through = dates[len(dates)-1]
			return false
		}

		dates = append(dates, d)

		return true
	})

	// Then fill up with dates that are held back.
	held := slices.Clone(t.HeldBack)
	slices.SortStableFunc(held, func(a, b HeldBack) int { return a.TriedAt.Compare(b.TriedAt.Time) })

	for _, h := range held[:min(len(held), t.maxInstances()-len(dates))] {
		dates = append(dates, h.Date)
	}

	slices.SortFunc(dates, day.Day.Compare)

	return slices.Compact(dates), through
}

// maxInstances returns how many instances a run makes in one transaction: a thousand, or fewer if they would have too
// many lines.
func (t *Template) maxInstances() int {
	return max(1, min(maxDates, page.MaxLines/max(1, len(t.Lines))))
}

// countRuns returns how many transactions it takes to try all dates that are due or held back.
func (t *Template) countRuns(today day.Day) int {
	n := len(t.HeldBack)
	t.yieldOpen(&today, func(day.Day) bool { n++; return true })

	return max(1, (n+t.maxInstances()-1)/t.maxInstances())
}

// instance returns the transaction of a date as a caller would create it. Assignments are resolved when it is made.
func (t *Template) instance(at day.Day) transaction.Create {
	c := transaction.Create{
		Type:                t.Type,
		Date:                at,
		Currency:            api.Set(t.Currency),
		AccountID:           api.Set(t.AccountID),
		RecurringTemplateID: api.Set(t.ID),
		Description:         api.SetIf(t.Description),
		ContactID:           api.SetIf(t.ContactID),
		Lines:               make([]transaction.LineInput, len(t.Lines)),
	}

	// Lines are described as a caller would, so that assignments are resolved when the instance is made.
	for i := range t.Lines {
		c.Lines[i] = t.Lines[i].Input()
	}

	return c
}

// Put is a template as the caller describes it.
type Put struct {
	Type          transaction.Type        `json:"type,omitempty" doc:"Absent: expense."`
	UniqueRef     api.Opt[string]         `json:"uniqueRef,omitzero" maxLength:"255"`
	Description   api.Opt[string]         `json:"description,omitzero" maxLength:"1000"`
	Date          day.Day                 `json:"date" doc:"The first day on which the pattern can have a date."`
	Currency      api.Opt[string]         `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$" doc:"ISO 4217; the team's default currency when absent."`
	AccountID     api.Opt[id.ID]          `json:"accountId,omitzero" doc:"As of createTransaction."`
	ContactID     api.Opt[id.ID]          `json:"contactId,omitzero"`
	PaymentStatus transaction.PaidStatus  `json:"paymentStatus,omitempty" enum:"paid,unpaid" doc:"Absent: unpaid for an expense that is owed on a payable, else paid."`
	Pattern       PatternInput            `json:"pattern"`
	Lines         []transaction.LineInput `json:"lines" minItems:"1" maxItems:"1000"`
	SkippedDates  api.Opt[[]day.Day]      `json:"skippedDates,omitzero" maxItems:"1000" doc:"Dates for which nothing is made, whether they are still to come or held back; a run that names one makes it all the same. A date that is taken off the list is due as long as it has not passed."`
}

// Update holds the fields that change. Null clears a field, an absent field stays as it is. Instances that were
// made stay as they are.
type Update struct {
	Status        transaction.Status      `json:"status,omitempty" enum:"active,inactive"`
	UniqueRef     api.Opt[string]         `json:"uniqueRef,omitzero" maxLength:"255"`
	Description   api.Opt[string]         `json:"description,omitzero" maxLength:"1000"`
	Date          *day.Day                `json:"date,omitempty"`
	Currency      api.Opt[string]         `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$"`
	AccountID     api.Opt[id.ID]          `json:"accountId,omitzero"`
	ContactID     api.Opt[id.ID]          `json:"contactId,omitzero"`
	PaymentStatus transaction.PaidStatus  `json:"paymentStatus,omitempty" enum:"paid,unpaid"`
	Pattern       api.Opt[PatternInput]   `json:"pattern,omitzero"`
	Lines         []transaction.LineInput `json:"lines,omitempty" minItems:"1" maxItems:"1000" doc:"Replaces all lines."`
	SkippedDates  api.Opt[[]day.Day]      `json:"skippedDates,omitzero" maxItems:"1000" doc:"Dates for which nothing is made, whether they are still to come or held back; a run that names one makes it all the same. A date that is taken off the list is due as long as it has not passed."`
}

// checkedTemplate is a template on its way to be stored. The field instance is its transaction on the first date, which
// must be one that could be made.
type checkedTemplate struct {
	Template
	instance *transaction.Checked
}

// checkTemplate checks a template against the rules of the transactions that it will make. It fails with
// patternInvalid, as transaction.Check does, and with paymentStatusMismatch for a bill that cannot be unpaid.
func checkTemplate(ctx context.Context, tx *db.Tx, t *Template, c *transaction.Create) (*checkedTemplate, error) {
	if issues := t.Pattern.check(t.Date); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	d, err := transaction.Check(ctx, tx, c)
	if err != nil {
		return nil, err
	}

	// Only an expense that is owed on a payable can stay unpaid.
	switch {
	case t.PaymentStatus == "" && d.Type == transaction.Expense && !d.OnBank:
		t.PaymentStatus = transaction.Unpaid
	case t.PaymentStatus == "":
		t.PaymentStatus = transaction.Paid
	case t.PaymentStatus == transaction.Unpaid && (d.OnBank || d.Type != transaction.Expense):
		return nil, apierr.BadRequest.At(apierr.IssuePaymentStatusMismatch.InBody("paymentStatus"))
	}

	// A bill that is paid at once needs the account that pays it.
	if t.PaymentStatus == transaction.Paid && d.Type == transaction.Expense && !d.OnBank {
		if err := account.Require(d.Assigned, account.PayoutBankAccount); err != nil {
			return nil, err
		}
	}

	return &checkedTemplate{Template: *t, instance: d}, nil
}

// templateTable has the columns of a template. A change clears failed_at, so that dates which are held back are tried
// at the next round.
var templateTable = db.NewTable[templateRow]("transaction_template", `
	id uuid key, unique_ref text, status text, type text, description text, date date, currency text, account_id uuid, contact_id uuid,
	payment_status text, total bigint, pattern jsonb, lines jsonb, skipped_dates date[], held_back jsonb, next_at date, failed_at timestamptz computed,
	created_at now fixed, updated_at now`).
	Compute("failed_at", "null::timestamptz")

// templateRow is a template as it is saved: its fields are those of an instance.
type templateRow struct {
	Template
	Total  money.Cents
	Lines  any
	NextAt *day.Day
}

// saveSQL returns the statement that inserts or updates the template.
func (d *checkedTemplate) saveSQL(tx *db.Tx, isNew bool) db.Stmt {
	i := d.instance

	row := &templateRow{Template: d.Template, Total: i.Total, Lines: i.LinesDocument(), NextAt: d.nextOpen()}
	row.Type, row.Description, row.Currency = i.Type, i.Description, i.Currency
	row.AccountID, row.ContactID = i.AccountID, i.ContactID

	if isNew {
		return templateTable.Insert(tx, row)
	}

	return templateTable.Update(tx, row)
}

// save saves the template. It fails with duplicateUniqueRef.
func (d *checkedTemplate) save(ctx context.Context, tx *db.Tx, isNew bool) error {
	err := tx.Pipeline(ctx, d.saveSQL(tx, isNew))
	if db.Constraint(err) == "transaction_template_unique_ref" {
		return errDuplicateRef.Because(err)
	}

	if err != nil {
		return fmt.Errorf("store a recurring template: %w", err)
	}

	return nil
}

// loadTemplate loads a template, locked if it is going to be changed. It fails with apierr.NotFound.
func loadTemplate(ctx context.Context, tx *db.Tx, one id.ID, toChange bool) (*Template, error) {
	args := db.Args{"team": tx.Team, "id": one}
	if toChange {
		// Locked in a statement of its own, so that the next one sees the instances that were made until then.
		if _, err := tx.Exec(ctx, `select from transaction_template where team_id = @team and id = @id for update`, args); err != nil {
			return nil, fmt.Errorf("lock a recurring template: %w", err)
		}
	}

	// The query selects the instances and the dates that are held back as well.
	found, err := db.One[Template](
		ctx, tx, apierr.NotFound, "select "+columns()+" from "+from+" where t.team_id = @team and t.id = @id", args,
	)
	if err != nil {
		return nil, fmt.Errorf("read a recurring template: %w", err)
	}

	return &found, nil
}
