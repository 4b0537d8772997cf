// Package id makes and reads identifiers: version 7 uuids in lower case, and typed identifiers (TypeIDs) of the same
// uuid.
//
// An id made at an instant sorts after every id made at an earlier millisecond, so ordering by id is ordering by
// creation.
package id

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// ID is a uuid. The zero ID means "none" inside the service and is never shown.
type ID [16]byte

// Zero is the ID that names nothing.
var Zero ID

// ErrMalformed is returned for text that is not a uuid in its canonical form.
var ErrMalformed = errors.New("malformed identifier")

// New returns a new version 7 uuid for an instant.
func New(at time.Time) ID {
	var v ID

	_, _ = rand.Read(v[6:]) // crypto/rand.Read never fails

	return stamp(v, at)
}

// Derive returns the version 7 uuid that belongs to an instant and some names: the same input gives the same id.
// It names things that are computed rather than stored, such as a draft owner statement.
func Derive(at time.Time, names ...string) ID {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00") + "\x00" + strconv.FormatInt(at.UnixMilli(), 10)))

	var v ID
	copy(v[6:], sum[:10])

	return stamp(v, at)
}

func stamp(v ID, at time.Time) ID {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(v[:6], ms[2:])
	v[6] = v[6]&0x0f | 0x70
	v[8] = v[8]&0x3f | 0x80

	return v
}

// First returns the smallest version 7 id of a millisecond: ids of this instant or later are not less.
func First(at time.Time) ID {
	return stamp(ID{}, at)
}

// Time returns the instant of a version 7 id, to the millisecond.
func (v ID) Time() time.Time {
	var ms [8]byte
	copy(ms[2:], v[:6])

	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC() //nolint:gosec // 48 bits
}

// IsZero reports whether the id names nothing.
func (v ID) IsZero() bool { return v == Zero }

// OrNil returns the id, or nil for the zero id.
func (v ID) OrNil() *ID {
	if v.IsZero() {
		return nil
	}

	return &v
}

// Compare orders ids as Postgres orders uuids.
func (v ID) Compare(o ID) int { return bytes.Compare(v[:], o[:]) }

// String returns the canonical form: 36 characters in lower case.
func (v ID) String() string {
	var b [36]byte
	v.appendTo(b[:])

	return string(b[:])
}

// Append adds the canonical form to b.
func (v ID) Append(b []byte) []byte {
	var text [36]byte
	v.appendTo(text[:])

	return append(b, text[:]...)
}

func (v ID) appendTo(b []byte) {
	hex.Encode(b[0:8], v[0:4])
	hex.Encode(b[9:13], v[4:6])
	hex.Encode(b[14:18], v[6:8])
	hex.Encode(b[19:23], v[8:10])
	hex.Encode(b[24:36], v[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
}

// Parse reads the canonical form of any uuid version; upper case is accepted, other forms (urn:, braces, no dashes) are
// not.
func Parse(s string) (ID, error) {
	var v ID

	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return Zero, ErrMalformed
	}

	joined := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(v[:], []byte(joined)); err != nil {
		return Zero, ErrMalformed
	}

	return v, nil
}

// MarshalText returns the canonical form.
func (v ID) MarshalText() ([]byte, error) {
	b := make([]byte, 36)
	v.appendTo(b)

	return b, nil
}

// UnmarshalText reads the canonical form.
func (v *ID) UnmarshalText(b []byte) error {
	parsed, err := Parse(string(b))
	if err != nil {
		return err
	}

	*v = parsed

	return nil
}

// UUIDValue hands the id to Postgres; the zero id is null.
func (v ID) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: v, Valid: v != Zero}, nil
}

// ScanUUID takes the id from Postgres; null is the zero id.
func (v *ID) ScanUUID(u pgtype.UUID) error {
	*v = Zero
	if u.Valid {
		*v = u.Bytes
	}

	return nil
}

// ShortRef returns a short code of the id for people: eight characters without look-alikes, from its random part.
func (v ID) ShortRef() string {
	return base32(v)[18:]
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// TypeID returns the id as a TypeID: the prefix, an underscore and 26 characters of base 32.
func (v ID) TypeID(prefix string) string {
	return prefix + "_" + base32(v)
}

// base32 returns the 26 characters of base 32.
func base32(v ID) string {
	var out [26]byte

	hi, lo := binary.BigEndian.Uint64(v[:8]), binary.BigEndian.Uint64(v[8:])
	for i := 25; i >= 0; i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}

	return string(out[:])
}

// ParseTyped reads a TypeID with the given prefix. It fails with ErrMalformed.
func ParseTyped(prefix, s string) (ID, error) {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok || len(rest) != 26 || rest[0] > '7' {
		return Zero, ErrMalformed
	}

	// Each character adds five bits.
	var hi, lo uint64

	for i := range len(rest) {
		digit := strings.IndexByte(alphabet, rest[i])
		if digit < 0 {
			return Zero, ErrMalformed
		}

		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(digit)
	}

	var v ID
	binary.BigEndian.PutUint64(v[:8], hi)
	binary.BigEndian.PutUint64(v[8:], lo)

	return v, nil
}

// Distinct returns the ids in their order, each once. It does not change what it is given.
func Distinct(ids []ID) []ID {
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, ID.Compare)

	return slices.Compact(sorted)
}
