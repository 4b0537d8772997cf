package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"stayledger/platform/seal"
)

func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func box(t *testing.T, keys ...[]byte) *seal.Box {
	t.Helper()

	b, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

func TestValuesOpenUnderTheirLabelAndKeyOnly(t *testing.T) {
	t.Parallel()
	old := box(t, key(1))

	sealed := old.Seal([]byte("123456789"), "payee_method:1")
	if bytes.Contains(sealed, []byte("123456789")) {
		t.Error("the value can be read")
	}

	if again := old.Seal([]byte("123456789"), "payee_method:1"); bytes.Equal(again, sealed) {
		t.Error("equal values look equal")
	}

	rotated := box(t, key(2), key(1))
	if plain, err := rotated.Open(sealed, "payee_method:1"); err != nil || string(plain) != "123456789" {
		t.Errorf("after the key was rotated: %q, %v", plain, err)
	}

	for name, open := range map[string]func() ([]byte, error){
		"another label": func() ([]byte, error) { return old.Open(sealed, "payee_method:2") },
		"another key":   func() ([]byte, error) { return box(t, key(2)).Open(sealed, "payee_method:1") },
		"a changed bit": func() ([]byte, error) { sealed[len(sealed)-1] ^= 1; return old.Open(sealed, "payee_method:1") },
		"no bytes":      func() ([]byte, error) { return old.Open(nil, "payee_method:1") },
	} {
		if _, err := open(); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValuesMoveToTheFirstKey(t *testing.T) {
	t.Parallel()
	old, rotated, next := box(t, key(1)), box(t, key(2), key(1)), box(t, key(2))
	sealed := old.Seal([]byte("123456789"), "a")

	fresh, isNew, err := rotated.Reseal(sealed, "a")
	if err != nil || !isNew {
		t.Fatalf("new %t, %v", isNew, err)
	}

	if plain, err := next.Open(fresh, "a"); err != nil || string(plain) != "123456789" {
		t.Errorf("without the old key: %q, %v", plain, err)
	}

	if again, isNew, err := rotated.Reseal(fresh, "a"); err != nil || isNew || !bytes.Equal(again, fresh) {
		t.Errorf("again: new %t, %v", isNew, err)
	}

	for name, reseal := range map[string]func() ([]byte, bool, error){
		"another label": func() ([]byte, bool, error) { return rotated.Reseal(sealed, "b") },
		"a dropped key": func() ([]byte, bool, error) { return next.Reseal(sealed, "a") },
	} {
		if _, _, err := reseal(); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWeakKeysAreRefused(t *testing.T) {
	t.Parallel()

	if _, err := seal.New(); err == nil {
		t.Error("no key was accepted")
	}

	if _, err := seal.New([]byte("short")); err == nil {
		t.Error("a short key was accepted")
	}
}

func Example() {
	b, _ := seal.New(bytes.Repeat([]byte{7}, 32))
	plain, _ := b.Open(b.Seal([]byte("021000021"), "payee_method:1"), "payee_method:1")
	fmt.Println(string(plain))
	// Output: 021000021
}
