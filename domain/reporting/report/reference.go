package report

// nullText stands for none where a text is asked for.
const nullText = "null"
