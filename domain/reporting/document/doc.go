// Package document is the look of what people take away on paper: owner statements and reports as PDF.
//
// Equal input gives equal bytes. Nothing here reads a clock, the network or a file.
package document
