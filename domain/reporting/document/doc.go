// Package render turns plain data into the files people take away: CSV for spreadsheets, and PDF for owners and managers.
//
// Equal input gives equal bytes. Nothing here reads a clock or the network; the one file that may be read is the font for characters that the
// embedded ones lack.
package render
