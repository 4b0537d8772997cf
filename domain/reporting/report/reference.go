package report

import (
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// nullText stands for none where a text is asked for.
const nullText = "null"

// refsOf are references to the ids; the zero id is none.
func refsOf(ids ...id.ID) page.Refs {
	refs := make(page.Refs, len(ids))
	for i, v := range ids {
		refs[i].ID = v
	}
	return refs
}
