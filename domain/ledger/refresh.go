package ledger

import (
	"net/http"
	"reflect"

	"stayledger/domain/operation"
	"stayledger/platform/id"
)

// LockPolicy says what a refresh does with a journal that a lock holds.
type LockPolicy string

// The lock policies.
const (
	BestEffort LockPolicy = "bestEffort"
	Strict     LockPolicy = "strict"
)

// Enum lists the lock policies.
func (LockPolicy) Enum() []string { return []string{string(BestEffort), string(Strict)} }

// Refreshed is a reservation or transaction whose journal was derived.
type Refreshed struct {
	ID            id.ID         `json:"id"`
	JournalStatus JournalStatus `json:"journalStatus"`
}

// RefreshDone is the answer of a refresh that was done in the request.
type RefreshDone struct {
	Data  []Refreshed `json:"data"`
	Total int64       `json:"total"`
}

// RefreshAnswer is the outcome of a refresh that was done in the request, or the acknowledgement of one that was queued (OPEN-74).
type RefreshAnswer struct {
	*operation.Acknowledgement
	Data  []Refreshed `json:"data,omitzero"`
	Total *int64      `json:"total,omitempty"`
}

// RefreshedOne answers that one journal was derived in the request.
func RefreshedOne(source id.ID, status JournalStatus) *RefreshAnswer {
	total := int64(1)
	return &RefreshAnswer{Data: []Refreshed{{ID: source, JournalStatus: status}}, Total: &total}
}

// HTTPStatus is 202 when the work was queued.
func (a *RefreshAnswer) HTTPStatus() int {
	if a.Acknowledgement != nil {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// RefreshAnswers are the two forms that a RefreshAnswer takes, by status.
func RefreshAnswers() map[int]reflect.Type {
	return map[int]reflect.Type{
		http.StatusOK: reflect.TypeFor[RefreshDone](), http.StatusAccepted: reflect.TypeFor[operation.Acknowledgement](),
	}
}
