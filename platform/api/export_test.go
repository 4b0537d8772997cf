package api

// For the fuzz tests.
var (
	ParseQuery = parseQuery
	StrictJSON = strictJSON
)
