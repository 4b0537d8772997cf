package daily

// For tests of what a page reads.
var ReadSummaries = readSummaries

// Input is the input of ReadSummaries.
type Input = input
