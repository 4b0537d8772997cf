package db

import (
	"maps"
	"regexp"
	"strings"
	"sync"
)

// Both returns one statement that does the work of two, in no order: neither sees what the other writes, and keys between
// their rows are checked after both. It saves the database the work of a statement. The first must return no rows.
func Both(first, then Stmt) Stmt {
	texts := [2]string{first.SQL, then.SQL}

	sql, known := joined.Load(texts)
	if !known {
		sql = joinSQL(first.SQL, then.SQL)
		joined.Store(texts, sql)
	}

	args := maps.Clone(then.Args)
	for name, value := range first.Args {
		args["first_"+name] = value
	}

	return Stmt{SQL: sql.(string), Args: args} //nolint:errcheck,forcetypeassert // only this function stores
}

var (
	joined   sync.Map // two texts → the text of both
	argument = regexp.MustCompile(`@(\w)`)
)

// joinSQL returns a statement with the first one in a common table expression, and its arguments with a prefix.
func joinSQL(first, then string) string {
	head := "with first as (" + argument.ReplaceAllString(first, "@first_$1") + ")"

	if rest, is := strings.CutPrefix(strings.TrimSpace(then), "with "); is {
		return head + ", " + rest
	}

	return head + " " + then
}
