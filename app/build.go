package app

import (
	"runtime"
	"runtime/debug"

	"stayledger/migrations"
	"stayledger/platform/api"
)

// Build says which program this is.
type Build struct {
	// Version is the tag that it was built from, or a pseudo-version of the commit; Revision is the commit, with + when
	// files had changed.
	Version  string
	Revision string
	Go       string
	// Schema is the newest migration that it knows, API the version of the contract that it speaks.
	Schema int64
	API    string
}

// ReadBuild returns what the Go tool recorded in the program.
func ReadBuild() Build {
	b := Build{Version: "unknown", Revision: "unknown", Go: runtime.Version(), API: api.Version}
	b.Schema, _ = migrations.Newest() // the files are embedded, and a test reads them

	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}

	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}

	changed := ""

	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}

	b.Revision += changed

	return b
}
