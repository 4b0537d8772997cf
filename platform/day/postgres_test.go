package day_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"stayledger/platform/day"
)

func TestDateColumn(t *testing.T) {
	t.Parallel()

	types := pgtype.NewMap()

	end := mustParse(t, "9999-12-31").AddDays(1)
	for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
		for _, want := range []day.Day{mustParse(t, "0001-01-01"), mustParse(t, "1999-12-31"), mustParse(t, "2024-02-29"), end} {
			stored, err := types.Encode(pgtype.DateOID, format, want, nil)
			if err != nil {
				t.Fatal(err)
			}

			var got day.Day
			if err := types.Scan(pgtype.DateOID, format, stored, &got); err != nil || got != want {
				t.Errorf("format %d: got %v, %v, want %v", format, got, err, want)
			}

			viaPointer, err := types.Encode(pgtype.DateOID, format, &want, nil)
			if err != nil || string(viaPointer) != string(stored) {
				t.Errorf("format %d: a pointer is stored as %q, %v", format, viaPointer, err)
			}

			var nullable *day.Day
			if err := types.Scan(pgtype.DateOID, format, stored, &nullable); err != nil || nullable == nil || *nullable != want {
				t.Errorf("format %d: got %v, %v, want %v", format, nullable, err, want)
			}
		}
	}
}

func TestDateColumnNull(t *testing.T) {
	t.Parallel()

	types := pgtype.NewMap()

	stored, err := types.Encode(pgtype.DateOID, pgtype.BinaryFormatCode, (*day.Day)(nil), nil)
	if err != nil || stored != nil {
		t.Errorf("a nil pointer is stored as %q, %v", stored, err)
	}

	set := mustParse(t, "2024-01-01")

	nullable := &set
	if err := types.Scan(pgtype.DateOID, pgtype.BinaryFormatCode, nil, &nullable); err != nil || nullable != nil {
		t.Errorf("got %v, %v", nullable, err)
	}

	if err := types.Scan(pgtype.DateOID, pgtype.BinaryFormatCode, nil, &set); !errors.Is(err, day.ErrOutside) {
		t.Errorf("NULL into a day: got %v, %v", set, err)
	}
}

func TestDateColumnRefuses(t *testing.T) {
	t.Parallel()

	types := pgtype.NewMap()
	if stored, err := types.Encode(pgtype.DateOID, pgtype.BinaryFormatCode, day.Day{}, nil); !errors.Is(err, day.ErrOutside) {
		t.Errorf("the zero day is stored as %q, %v", stored, err)
	}

	for _, text := range []string{"infinity", "-infinity", "0001-12-31 BC", "10000-01-02"} {
		var got day.Day
		if err := types.Scan(pgtype.DateOID, pgtype.TextFormatCode, []byte(text), &got); !errors.Is(err, day.ErrOutside) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}
