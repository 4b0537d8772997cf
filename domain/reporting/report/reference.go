package report

// NullText stands for none where a text is asked for.
const NullText = "null"
