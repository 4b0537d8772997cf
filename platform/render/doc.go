// Package render turns plain data into the files people take away: CSV for spreadsheets and PDF for owners.
//
// Equal input gives equal bytes. Nothing here reads a clock, the network or a file.
package render
