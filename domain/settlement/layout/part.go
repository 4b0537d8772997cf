package layout

import "stayledger/platform/parts"

// Part returns the part of the layouts of statements.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(),
		Tables:    parts.Owns("layout", "layout_listing"),
		Copy:      &parts.Copy{Name: "statementLayouts", Standard: InstallStandard, Read: parts.Copying(loadCopyable, copyAll)},
	}
}
