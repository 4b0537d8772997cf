// Package paper lays out owner statements and reports as PDF.
//
// Equal input gives equal bytes. Nothing here reads a clock, the network or a file.
//
// The page docs/decisions/paper.md says what the contract leaves open and how it is answered here.
package paper
