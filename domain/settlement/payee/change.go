package payee

import (
	"context"
	"fmt"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/page"
)

// ChangeKind says what was done to a destination.
type ChangeKind string

// The kinds of changes.
const (
	Added       ChangeKind = "added"
	MadeDefault ChangeKind = "madeDefault"
	Released    ChangeKind = "released"
	// Moved methods came to the contact when another one was merged into it.
	Moved ChangeKind = "moved"
)

// Enum lists the kinds.
func (ChangeKind) Enum() []string {
	return []string{string(Added), string(MadeDefault), string(Released), string(Moved)}
}

// LetterStatus says what became of a letter.
type LetterStatus string

// The states of letters.
const (
	LetterQueued LetterStatus = "queued"
	LetterSent   LetterStatus = "sent"
	LetterFailed LetterStatus = "failed"
)

// Enum lists the states.
func (LetterStatus) Enum() []string {
	return []string{string(LetterQueued), string(LetterSent), string(LetterFailed)}
}

// Change is something that a person did to where money goes.
type Change struct {
	ID                     id.ID       `json:"id"`
	ContactID              id.ID       `json:"contactId"`
	ContactPaymentMethodID id.ID       `json:"contactPaymentMethodId"`
	Kind                   ChangeKind  `json:"kind"`
	Last4                  string      `json:"last4" doc:"Of the account number."`
	UserID                 *id.ID      `json:"userId" doc:"Who did it, with whatever key."`
	Letters                []Letter    `json:"letters" doc:"To the contact's address, and to those that it had until shortly before."`
	CreatedAt              day.Instant `json:"createdAt"`
}

// Letter is a message about a change.
type Letter struct {
	Address  string       `json:"address"`
	IsFormer bool         `json:"isFormer" doc:"Whether it is an address that the contact had before."`
	Status   LetterStatus `json:"status" doc:"failed: not taken, or the server not reached for a day."`
}

const changeColumns = `c.id, c.contact_id, c.method_id as contact_payment_method_id, c.kind, m.last4, c.user_id, c.created_at, coalesce((
	select jsonb_agg(jsonb_build_object('address', l.address, 'isFormer', l.is_former, 'status', l.status) order by l.is_former, l.address)
	from payee_letter l where l.team_id = c.team_id and l.change_id = c.id), '[]') as letters`

var changeSorts = page.Sorts{{Name: "createdAt", Expr: "c.created_at"}}

// changeSort is an order of changes.
type changeSort string

// Enum lists the orders.
func (changeSort) Enum() []string { return changeSorts.Enum() }

type changesInput struct {
	page.Params
	Sort                    changeSort   `query:"sort" doc:"Default -createdAt."`
	Kind                    []ChangeKind `query:"kind"`
	ContactIDs              page.IDs     `query:"contactIds"`
	ContactPaymentMethodIDs page.IDs     `query:"contactPaymentMethodIds"`
	UserID                  *id.ID       `query:"userId" doc:"Who did it."`
}

// listChanges returns a page of the changes of where money goes.
func listChanges(ctx context.Context, tx *db.Tx, in *changesInput) (*page.Page[Change], error) {
	q := page.Query{
		Columns: changeColumns,
		From:    "payee_change c join payee_method m on m.team_id = c.team_id and m.id = c.method_id",
		Rows:    "payee_change c", Joined: "m", Sorts: changeSorts, Default: "-createdAt", ID: "c.id",
	}
	q.And("c.team_id = @team", db.Args{"team": tx.Team})
	q.CountedAs("payee_change")
	q.Narrow("c.kind = any(?)", in.Kind)
	q.IDs("c.contact_id = any(?)", in.ContactIDs)
	q.IDs("c.method_id = any(?)", in.ContactPaymentMethodIDs)
	q.Narrow("c.user_id = ?", in.UserID)

	return page.List[Change](ctx, tx, q, in.Params, in.Sort)
}

// insertChange keeps what was done to a method, and queues the letters about it. A release needs none: it is the second
// person's part of a change that was written about.
func insertChange(ctx context.Context, tx *db.Tx, m *Method, kind ChangeKind) error {
	change := tx.NewID()

	_, err := tx.Exec(ctx, `
		insert into payee_change (team_id, id, method_id, contact_id, kind, user_id, created_at)
		values (@team, @id, @method, @contact, @kind, @user, @now)`, db.Args{
		"team": tx.Team, "id": change, "method": m.ID, "contact": m.ContactID, "kind": string(kind), "user": tx.Actor.User, "now": tx.Now,
	})
	if err != nil {
		return fmt.Errorf("keep a change of a payment method: %w", err)
	}

	if kind == Released {
		return nil
	}

	return queueLetters(ctx, tx, change, m.ContactID)
}

// queueLetters queues the letters about a change: to the address of the contact, and to each that it has had within the
// hold.
func queueLetters(ctx context.Context, tx *db.Tx, change, contact id.ID) error {
	g, err := LoadGuard(ctx, tx)
	if err != nil {
		return err
	}

	type recipient struct {
		Address  string
		IsFormer bool
	}

	to, err := db.Select[recipient](ctx, tx, `
		select address, bool_and(is_former) as is_former from (
			select email as address, false as is_former from contact where team_id = @team and id = @contact and email is not null
			union all
			select email, true from contact_former_email where team_id = @team and contact_id = @contact and replaced_at > @since) a
		group by 1 order by 2, 1`, db.Args{"team": tx.Team, "contact": contact, "since": tx.Now.Add(-max(g.hold(), minFormer))})
	if err != nil {
		return fmt.Errorf("read the addresses of a contact: %w", err)
	}

	for _, r := range to {
		letter := tx.NewID()

		_, err := tx.Exec(ctx, `
			insert into payee_letter (team_id, id, change_id, address, is_former, status) values (@team, @id, @change, @address, @former, 'queued')`,
			db.Args{"team": tx.Team, "id": letter, "change": change, "address": r.Address, "former": r.IsFormer})
		if err != nil {
			return fmt.Errorf("queue a letter: %w", err)
		}

		if err := job.Insert(ctx, tx, job.New{Kind: letterKind, Args: letterArgs{letter}}); err != nil {
			return err
		}
	}

	return nil
}

// minFormer is for how long at least a former address is written to, however short the hold is.
const minFormer = 3 * 24 * time.Hour
