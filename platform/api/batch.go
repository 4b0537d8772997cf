package api

import (
	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// Written is an item of a batch that landed.
type Written struct {
	ID        id.ID   `json:"id"`
	UniqueRef *string `json:"uniqueRef"`
	Index     int     `json:"index" doc:"Place in the request, from 0."`
}

// Refused is an item of a batch that did not land. Rules ERR-18, ERR-19.
type Refused struct {
	Index     int           `json:"index" doc:"Place in the request, from 0."`
	UniqueRef *string       `json:"uniqueRef"`
	Code      apierr.Code   `json:"code"`
	Reason    apierr.Reason `json:"reason,omitempty"`
	Message   string        `json:"message"`
	Context   any           `json:"context,omitempty"`
}

// Outcome lists the written and the refused items of a batch.
type Outcome struct {
	Data   []Written `json:"data"`
	Issues []Refused `json:"issues"`
}

// Refusal returns the error of an item. The findings of a validation are in the context, since an item has no
// issues of its own.
func Refusal(index int, ref *string, e *apierr.Error) Refused {
	out := Refused{
		Index:     index,
		UniqueRef: ref,
		Code:      e.Code(),
		Reason:    e.Reason(),
		Message:   e.Message(),
		Context:   e.Context(),
	}
	if issues := e.Issues(); out.Context == nil && len(issues) > 0 {
		out.Context = map[string]any{"issues": issues}
	}

	return out
}
