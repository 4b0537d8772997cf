package pdf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"testing"

	"stayledger/platform/pdf"
)

func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()

	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}

	return b.Bytes()
}

func jpegOf(t testing.TB, width, height int) []byte {
	t.Helper()

	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}

	return b.Bytes()
}

func TestReadImage(t *testing.T) {
	t.Parallel()
	bomb := pngOf(t, 1, 1)
	binary.BigEndian.PutUint32(bomb[16:], 1_000_000)
	binary.BigEndian.PutUint32(bomb[20:], 1_000_000)

	negative := pngOf(t, 1, 1)
	binary.BigEndian.PutUint32(negative[16:], 0xFFFFFFFF)

	var large bytes.Buffer
	if err := png.Encode(&large, image.NewGray(image.Rect(0, 0, 4000, 2001))); err != nil {
		t.Fatal(err)
	}

	wide := jpegOf(t, 8, 8)
	at := bytes.Index(wide, []byte{0xFF, 0xC0})
	binary.BigEndian.PutUint16(wide[at+5:], 60_000)
	binary.BigEndian.PutUint16(wide[at+7:], 60_000)

	for name, c := range map[string]struct {
		data  []byte
		sound bool
	}{
		"png": {pngOf(t, 30, 20), true}, "jpeg": {jpegOf(t, 30, 20), true}, "bomb": {bomb, false}, "large": {large.Bytes(), false}, "negative": {negative, false},
		"jpeg bomb": {wide, false}, "cut": {pngOf(t, 30, 20)[:60], false}, "cut jpeg": {jpegOf(t, 30, 20)[:200], false}, "gif": {[]byte("GIF89a......"), false}, "nothing": {nil, false},
	} {
		got, err := pdf.ReadImage(c.data)
		if c.sound && (err != nil || got.Width != 30 || got.Height != 20) || !c.sound && !errors.Is(err, pdf.ErrImage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadImage(f *testing.F) {
	f.Add(pngOf(f, 3, 3))
	f.Add(jpegOf(f, 3, 3))
	f.Add([]byte("\xFF\xD8\xFF\xFF\xFF\xE0\x00\x00\xFF\xC0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := pdf.ReadImage(data)
		if err == nil && (got.Width <= 0 || got.Height <= 0 || got.Width*got.Height > pdf.MaxPixels) {
			t.Errorf("%d by %d", got.Width, got.Height)
		}
	})
}
