package report

// NullText means none in a list of ids or texts.
const NullText = "null"
