package audit

import (
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Move says that records naming From name Into from now on.
type Move struct {
	// Role and Type apply to both records.
	Role Role
	Type Entity
	From id.ID
	Into id.ID
}

// NoteMoved adds an event for each record, by id, that named From in a field and names Into now.
func NoteMoved(tx *db.Tx, entity Entity, ids []id.ID, field string, m Move) {
	for _, one := range ids {
		Note(tx, Updated, entity, one, map[string]id.ID{field: m.From}, map[string]id.ID{field: m.Into},
			Ref(m.Role, m.Type, m.From), Ref(m.Role, m.Type, m.Into))
	}
}

// NoteMerged adds an event to both records of a merge.
func NoteMerged(tx *db.Tx, m Move) {
	Note(
		tx, Merged, m.Type, m.From, map[string]*id.ID{"mergedIntoId": nil},
		map[string]*id.ID{"mergedIntoId": &m.Into}, Ref(m.Role, m.Type, m.Into),
	)
	Note(
		tx, Merged, m.Type, m.Into, map[string]*id.ID{"mergedFromId": nil},
		map[string]*id.ID{"mergedFromId": &m.From}, Ref(m.Role, m.Type, m.From),
	)
}

// ContactMove returns the move for records that name a contact.
func ContactMove(from, into id.ID) Move { return Move{RoleOwner, Contact, from, into} }

// ListingMove returns the move for records that name a listing.
func ListingMove(from, into id.ID) Move { return Move{RoleListing, Listing, from, into} }
