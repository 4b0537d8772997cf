package paper_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/record/paper"
	"stayledger/platform/money"
)

func sequence(docs ...paper.StatementDoc) iter.Seq2[paper.StatementDoc, error] {
	return func(yield func(paper.StatementDoc, error) bool) {
		for _, doc := range docs {
			if !yield(doc, nil) {
				return
			}
		}
	}
}

func ExampleOwnerStatements() {
	var pdf bytes.Buffer

	err := paper.OwnerStatements(&pdf, sequence(sampleStatement(), sampleStatement()))
	fmt.Println(err, pdf.String()[:5])
	// Output: <nil> %PDF-
}

func TestStatementsOfOneFileStandAsByThemselves(t *testing.T) {
	t.Parallel()

	long := sampleStatement()
	for range 60 {
		long.Expenses = append(long.Expenses, paper.StatementLine{Date: "2026-05-04", Description: "Towels", Cents: -100})
	}

	greek := sampleStatement() // needs the whole font
	greek.Listing.Name = "Σπίτι"
	wide := sampleStatement() // needs landscape, and has other paper
	wide.Locale = "de-DE"

	wide.Reservations.Columns = nil
	for i := range 11 {
		wide.Reservations.Columns = append(wide.Reservations.Columns, fmt.Sprintf("Account %d", i))
	}

	wide.Reservations.Rows[0].Amounts = slices.Repeat([]money.Cents{123_456_789}, 11)
	docs := []paper.StatementDoc{long, greek, wide, sampleStatement()}

	var want [][]shown
	for _, doc := range docs {
		want = append(want, pages(t, doc)...)
	}

	if got := read(t, func(w io.Writer) error { return paper.OwnerStatements(w, sequence(docs...)) }); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d pages together, %d by themselves, or their text differs", len(got), len(want))
	}

	if n := len(pages(t, long)); n < 2 {
		t.Errorf("the long statement has %d pages", n)
	}
}

func TestStatementsAreBytesOfTheirInput(t *testing.T) {
	t.Parallel()

	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := paper.OwnerStatements(w, sequence(sampleStatement(), sampleStatement())); err != nil {
			t.Fatal(err)
		}
	}

	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("equal statements give other bytes")
	}
}

func TestOtherRevenueIsShown(t *testing.T) {
	t.Parallel()

	doc := sampleStatement()
	doc.Other = []paper.StatementLine{{Date: "2026-05-04", Description: "Insurance payment", Cents: 4_321}}

	all := slices.Concat(pages(t, doc)...)
	for text, want := range map[string]int{"Other revenue": 1, "Insurance payment": 1, "43.21": 2} {
		if got := count(all, text); got != want {
			t.Errorf("%q is shown %d times", text, got)
		}
	}
}

func TestStatementsFailWithTheirSource(t *testing.T) {
	t.Parallel()

	lost := errors.New("lost")

	var pdf bytes.Buffer

	err := paper.OwnerStatements(&pdf, func(yield func(paper.StatementDoc, error) bool) {
		if yield(sampleStatement(), nil) {
			yield(paper.StatementDoc{}, lost)
		}
	})
	if !errors.Is(err, lost) || pdf.Len() > 0 {
		t.Errorf("got %v after %d bytes", err, pdf.Len())
	}

	if err := paper.OwnerStatements(&pdf, sequence()); err == nil || !strings.Contains(err.Error(), "no owner statement") {
		t.Errorf("nothing to write: %v", err)
	}
}
