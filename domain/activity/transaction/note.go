package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/file"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// view is a transaction as audit events show it: without the fields that are computed from other records.
type view struct {
	*Transaction
	Account    *struct{}  `json:"account,omitempty"`
	Contact    *struct{}  `json:"contact,omitempty"`
	PaidStatus *struct{}  `json:"paidStatus,omitempty"`
	Source     *struct{}  `json:"source,omitempty"`
	Lines      []lineView `json:"lines"`
}

// lineView is a line as audit events show it.
type lineView struct {
	*Line
	ID                *struct{} `json:"id,omitempty"` // given anew when lines are replaced
	Account           *struct{} `json:"account,omitempty"`
	Listing           *struct{} `json:"listing,omitempty"`
	Reservation       *struct{} `json:"reservation,omitempty"`
	Contact           *struct{} `json:"contact,omitempty"`
	Issues            *struct{} `json:"issues,omitempty"`
	RecurringTemplate *struct{} `json:"recurringTemplate,omitempty"`
	MatchStatus       *struct{} `json:"matchStatus,omitempty"`
}

// auditView returns the view of a transaction for its audit event, nil for none.
func auditView(t *Transaction) any {
	if t == nil {
		return nil
	}

	return view{Transaction: t, Lines: auditLines(t.Lines)}
}

// auditLines returns the views of lines for audit events.
func auditLines(lines []Line) []lineView {
	var out []lineView
	for i := range lines {
		out = append(out, lineView{Line: &lines[i]})
	}

	return out
}

// ViewLines returns lines as audit events show them: without the fields that are computed from other records.
func ViewLines(lines []Line) any { return auditLines(lines) }

// after returns the transaction that the draft makes, with the attachments that it will have.
func (d *draft) after() *Transaction {
	t := d.Transaction
	if d.attach != nil {
		t.AttachmentIDs = d.attach
	}

	return &t
}

// note writes the audit events of a transaction and of its attachments. It concerns all records that its lines
// name, before and after.
func note(tx *db.Tx, what audit.Type, before, after *Transaction) {
	var (
		transactionID           id.ID
		refs                    []audit.Reference
		filesBefore, filesAfter []id.ID
	)

	// First collect the records that the event concerns; one that is named twice does no harm.
	for _, t := range []*Transaction{before, after} {
		if t == nil {
			continue
		}

		transactionID = t.ID

		refs = append(
			refs,
			audit.Ref(audit.RoleAccount, audit.Account, t.AccountID),
			audit.Ref(audit.RoleOwner, audit.Contact, t.ContactID),
		)
		for i := range t.Lines {
			l := &t.Lines[i]
			refs = append(
				refs,
				audit.Ref(audit.RoleListing, audit.Listing, l.ListingID),
				audit.Ref(audit.RoleReservation, audit.Reservation, l.ReservationID),
				audit.Ref(audit.RoleOwner, audit.Contact, l.ContactID),
				audit.Ref(audit.RoleStatement, audit.Statement, l.OwnerStatementID),
			)
		}
	}

	audit.Note(tx, what, audit.Transaction, transactionID, auditView(before), auditView(after), refs...)

	// Attachments have events of their own, for those that were linked or let go.
	if before != nil {
		filesBefore = before.AttachmentIDs
	}

	if after != nil {
		filesAfter = after.AttachmentIDs
	}

	file.NoteAttached(tx, transactionID, filesBefore, filesAfter)
}

// moved is a line that the change of another record has moved.
type moved struct {
	TransactionID, LineID       id.ID
	OldListingID, ListingID     *id.ID
	ReservationID, OldStatement *id.ID
}

// noteLine writes the audit event of a line of a stored transaction.
func noteLine(tx *db.Tx, what audit.Type, m *moved, before, after map[string]*id.ID) {
	line := func(fields map[string]*id.ID) any {
		return map[string]any{"lines": map[string]any{m.LineID.String(): fields}}
	}
	audit.Note(
		tx, what, audit.Transaction, m.TransactionID, line(before), line(after),
		audit.Ref(audit.RoleListing, audit.Listing, m.OldListingID),
		audit.Ref(audit.RoleListing, audit.Listing, m.ListingID),
		audit.Ref(audit.RoleReservation, audit.Reservation, m.ReservationID),
		audit.Ref(audit.RoleStatement, audit.Statement, m.OldStatement),
	)
}

// noteTakenBack writes the audit events of payments that archiving a transaction cancels: those that wait for a
// second person. The database cancels them together with the transaction (migration 28).
func noteTakenBack(ctx context.Context, tx *db.Tx, t *Transaction) error {
	waiting, err := db.Select[id.ID](ctx, tx, `select id from payment where team_id = @team and transaction_id = @id and status = 'awaitingApproval'`,
		db.Args{"team": tx.Team, "id": t.ID})
	if err != nil {
		return fmt.Errorf("find the payment of a transaction: %w", err)
	}

	// Each of them goes from awaitingApproval to canceled.
	type view struct {
		Status string `json:"status"`
	}

	for _, payment := range waiting {
		audit.Note(
			tx, audit.Updated, audit.Payment, payment, view{"awaitingApproval"}, view{"canceled"},
			audit.Ref(audit.RoleParent, audit.Transaction, t.ID),
			audit.Ref(audit.RoleOwner, audit.Contact, t.ContactID),
		)
	}

	return nil
}

// noteUnopened writes the audit events of bank accounts that lose their opening transaction because it is deleted.
func noteUnopened(ctx context.Context, tx *db.Tx, transaction id.ID) error {
	opened, err := db.Select[id.ID](ctx, tx, `select id from account where team_id = @team and banking_opening_transaction_id = @id`,
		db.Args{"team": tx.Team, "id": transaction})
	if err != nil {
		return fmt.Errorf("find the bank accounts that a transaction opened: %w", err)
	}

	for _, account := range opened {
		audit.Note(
			tx, audit.Updated, audit.Account, account,
			map[string]id.ID{"banking.balance.openingTransactionId": transaction}, nil,
			audit.Ref(audit.RoleParent, audit.Transaction, transaction),
		)
	}

	return nil
}
