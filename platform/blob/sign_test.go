package blob_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"stayledger/platform/blob"
)

func newSigner(t *testing.T, keys ...byte) *blob.Signer {
	t.Helper()

	long := make([][]byte, len(keys))
	for i, key := range keys {
		long[i] = bytes.Repeat([]byte{key}, 32)
	}

	signer, err := blob.NewSigner(long...)
	if err != nil {
		t.Fatal(err)
	}

	return signer
}

func TestSignatureCoversFileAndExpiry(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, 1)
	expires := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)

	sig := signer.Sign("file-1", expires)
	if len(sig) != 43 || strings.ContainsAny(sig, "+/=") {
		t.Errorf("signature %q is not base64url of 32 bytes", sig)
	}

	if !signer.Verify("file-1", expires.Add(999*time.Millisecond).In(time.FixedZone("x", 3600)), sig) {
		t.Error("own signature refused")
	}

	for name, valid := range map[string]bool{
		"other file":   signer.Verify("file-2", expires, sig),
		"later expiry": signer.Verify("file-1", expires.Add(time.Second), sig),
		"moved digits": signer.Verify("file-1\n1", time.Unix(1, 0), signer.Sign("file-1", time.Unix(11, 0))),
		"other key":    newSigner(t, 2).Verify("file-1", expires, sig),
		"empty":        signer.Verify("file-1", expires, ""),
		"short":        signer.Verify("file-1", expires, sig[:42]),
		"padded":       signer.Verify("file-1", expires, sig+"="),
		"not base64":   signer.Verify("file-1", expires, strings.Repeat("!", 43)),
		"newline":      signer.Verify("file-1", expires, sig+"\n\n"),
	} {
		if valid {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()

	expires := time.Unix(1_780_000_000, 0)

	old, rotated := newSigner(t, 1), newSigner(t, 2, 1)
	if !rotated.Verify("f", expires, old.Sign("f", expires)) {
		t.Error("links of the old key fail during rotation")
	}

	if rotated.Sign("f", expires) != newSigner(t, 2).Sign("f", expires) {
		t.Error("the first key does not sign")
	}

	if old.Verify("f", expires, rotated.Sign("f", expires)) {
		t.Error("the old key verifies the new one")
	}
}

func TestWeakKeysAreRefused(t *testing.T) {
	t.Parallel()

	if _, err := blob.NewSigner(); err == nil {
		t.Error("no key accepted")
	}

	if _, err := blob.NewSigner(bytes.Repeat([]byte{1}, 32), []byte("short")); err == nil {
		t.Error("short key accepted")
	}
}
