package layout

import "stayledger/platform/parts"

// Part is the layouts of statements.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Tables: parts.Owns("layout", "layout_listing")}
}
