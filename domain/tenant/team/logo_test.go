package team_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
)

// mark is an image with a clear left half and a blue right one.
func mark(width, height int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := width / 2; x < width; x++ {
			m.SetNRGBA(x, y, color.NRGBA{B: 200, A: 255})
		}
	}

	return m
}

func encoded(t *testing.T, format string, m image.Image) string {
	t.Helper()

	var b bytes.Buffer

	err := png.Encode(&b, m)
	if format == "jpeg" {
		b.Reset()
		err = jpeg.Encode(&b, m, nil)
	}

	if err != nil {
		t.Fatal(err)
	}

	return b.String()
}

func kept(t *testing.T, x *apitest.Team) (image.Image, *apitest.Response) {
	t.Helper()

	r := x.Get("/team/logo").Want(200)

	m, _, err := image.Decode(bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}

	return m, r
}

func TestALogoIsDrawnAnew(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Get("/team/logo").WantError(apierr.CodeNotFound, "")

	if got := x.Get("/team").Want(200).String("logo"); got != "null" {
		t.Errorf("a team without a logo has %s", got)
	}

	for _, c := range []struct {
		format                        string
		width, height, asWide, asTall int
	}{
		{"png", 1600, 400, 800, 200}, {"png", 400, 1600, 80, 320}, {"jpeg", 900, 900, 320, 320}, {"png", 120, 40, 120, 40}, {"png", 4000, 4, 800, 1}, {"jpeg", 2, 3000, 1, 320},
	} {
		sent := encoded(t, c.format, mark(c.width, c.height))
		r := x.Put("/team/logo", sent, "Content-Type", "image/anything").Want(200)

		m, got := kept(t, x)
		if m.Bounds().Dx() != c.asWide || m.Bounds().Dy() != c.asTall || r.Int("width") != int64(c.asWide) || r.Int("height") != int64(c.asTall) {
			t.Errorf("%dx%d became %v: %s", c.width, c.height, m.Bounds(), r.Body)
		}

		if got.Header.Get("Content-Type") != "image/"+c.format || r.String("contentType") != "image/"+c.format || r.Int("byteSize") != int64(len(got.Body)) {
			t.Errorf("%s became %v: %s", c.format, got.Header, r.Body)
		}

		_, _, _, alpha := m.At(0, 0).RGBA()
		if blue := m.At(m.Bounds().Dx()-1, 0); c.format == "png" && c.asWide > 1 && (alpha != 0 || color.NRGBAModel.Convert(blue) != (color.NRGBA{B: 200, A: 255})) {
			t.Errorf("%dx%d: alpha %d, right %v", c.width, c.height, alpha, blue)
		}

		x.Get("/team/logo", "If-None-Match", got.Header.Get("ETag")).Want(304)
	}

	if got := x.Get("/team").Want(200).String("logo"); got != "/team/logo" {
		t.Errorf("the team has %s", got)
	}

	if got := x.Get("/teams").Want(200).String("data.0.logo"); got != "/team/logo" {
		t.Errorf("the team is listed with %s", got)
	}

	newTeam(t).Get("/team/logo").WantError(apierr.CodeNotFound, "")
	x.Delete("/team/logo").Want(204)
	x.Delete("/team/logo").WantError(apierr.CodeNotFound, "")
	x.Get("/team/logo").WantError(apierr.CodeNotFound, "")
}

// What else a file says is not kept: positions in photos, comments, what follows the image.
func TestALogoIsTheImageAlone(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	sent := encoded(t, "png", mark(100, 50))
	comment := []byte("tEXtComment\x00secret")
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(comment)-4))
	chunk = binary.BigEndian.AppendUint32(append(chunk, comment...), crc32.ChecksumIEEE(comment))
	x.Put("/team/logo", sent[:33]+string(chunk)+sent[33:]+"<script>secret</script>").Want(200)

	if _, r := kept(t, x); bytes.Contains(r.Body, []byte("secret")) {
		t.Error("the file is kept as it was sent")
	}
}

func TestHostileLogos(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	good := encoded(t, "png", mark(60, 40))
	x.Put("/team/logo", good).Want(200)
	before := x.Fingerprint()

	claiming := func(width, height uint32) string {
		b := []byte(good)
		binary.BigEndian.PutUint32(b[16:], width)
		binary.BigEndian.PutUint32(b[20:], height)
		binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))

		return string(b)
	}
	for name, c := range map[string]struct{ sent, code string }{
		"bomb": {claiming(30_000, 30_000), "imageTooLarge"}, "just too large": {claiming(4_000, 4_001), "imageTooLarge"}, "cut": {good[:len(good)/2], "contentTypeNotSupported"},
		"lying": {claiming(600, 400), "contentTypeNotSupported"}, "empty": {"", "contentTypeNotSupported"}, "text": {"logo", "contentTypeNotSupported"}, "header alone": {good[:20], "contentTypeNotSupported"},
		"drawing": {`<svg xmlns="http://www.w3.org/2000/svg"/>`, "contentTypeNotSupported"}, "gif": {"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "contentTypeNotSupported"},
	} {
		if got := x.Put("/team/logo", c.sent).WantError(apierr.CodeBadRequest, ""); got.String("issues.0.code") != c.code {
			t.Errorf("%s: %s", name, got.Body)
		}
	}

	x.Put("/team/logo", good+strings.Repeat("x", 2<<20)).WantError(apierr.CodePayloadTooLarge, "")

	if x.Fingerprint() != before {
		t.Error("a refused logo changed something")
	}

	reader := x.As([]string{"team:read"}, nil)
	reader.Get("/team/logo").Want(200)
	reader.Put("/team/logo", good).WantError(apierr.CodeForbidden, "")
	reader.Delete("/team/logo").WantError(apierr.CodeForbidden, "")
}

// A camera notes how it was held instead of turning the picture.
func TestALogoIsKeptUpright(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	m := image.NewRGBA(image.Rect(0, 0, 1600, 800)) // black, blue in the upper left quarter

	for y := range 800 {
		for i := range 1600 {
			m.SetRGBA(i, y, color.RGBA{A: 255})

			if i < 800 && y < 400 {
				m.SetRGBA(i, y, color.RGBA{B: 250, A: 255})
			}
		}
	}

	photo := encoded(t, "jpeg", m)

	for i, blue := range [...]image.Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {1, 1}, {0, 1}} {
		width, height := 640, 320
		if i >= 4 {
			width, height = 160, 320
		}

		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			tiff := []byte("MM")
			if order == binary.LittleEndian {
				tiff = []byte("II")
			}

			tiff = order.AppendUint32(order.AppendUint16(tiff, 42), 8)
			for _, v := range []uint16{2, 0x010f, 2, 0, 0, 0, 0, 0x0112, 3} {
				tiff = order.AppendUint16(tiff, v)
			}

			tiff = append(order.AppendUint16(order.AppendUint32(tiff, 1), uint16(i+1)), 0, 0)
			exif := "Exif\x00\x00" + string(tiff)
			sent := photo[:2] + "\xff\xe1" + string(binary.BigEndian.AppendUint16(nil, uint16(len(exif)+2))) + exif + photo[2:]
			x.Put("/team/logo", sent).Want(200)
			got, _ := kept(t, x)
			_, _, b, _ := got.At(blue.X*(width-1), blue.Y*(height-1)).RGBA()

			_, _, other, _ := got.At((1-blue.X)*(width-1), (1-blue.Y)*(height-1)).RGBA()
			if got.Bounds().Dx() != width || got.Bounds().Dy() != height || b < 0xe000 || other > 0x1000 {
				t.Errorf("%v %d: %v, %x and %x", order, i+1, got.Bounds(), b, other)
			}
		}
	}

	photo = encoded(t, "jpeg", mark(40, 20))
	for _, exif := range []string{"", "Exif", "Exif\x00\x00", "Exif\x00\x00MM\x00\x2a", "Exif\x00\x00MM\x00\x2a\xff\xff\xff\xff", "Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\xff\xff\x01\x12\x00\x03"} {
		r := x.Put("/team/logo", photo[:2]+"\xff\xe1"+string(binary.BigEndian.AppendUint16(nil, uint16(len(exif)+2)))+exif+photo[2:]).Want(200)
		if r.Int("width") != 40 || r.Int("height") != 20 {
			t.Errorf("%q: %s", exif, r.Body)
		}
	}
}

// passes is a JPEG of 16 megapixels that goes over its picture again and again, in 41 bytes each time.
func passes(n int) string {
	var b bytes.Buffer

	segment := func(marker byte, content ...byte) {
		b.Write([]byte{0xff, marker})
		b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(content)+2)))
		b.Write(content)
	}

	b.WriteString("\xff\xd8")
	segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	segment(0xc2, 8, 0x0f, 0xa0, 0x0f, 0xa0, 1, 1, 0x11, 0)
	segment(0xc4, append(append([]byte{0x10, 1}, make([]byte, 15)...), 0xe0)...) // one code, of one bit: many blocks are empty

	for range n {
		segment(0xda, 1, 1, 0, 1, 63, 0)
		b.WriteString(strings.Repeat("\x7e\xfc\xfd\xf9\xfb\xf3\xf7\xe7\xef\xcf\xdf\x9f\xbf\x3f\x7e", 2)) // so many: 15 bits of them
	}

	b.WriteString("\xff\xd9")

	return b.String()
}

func TestALogoThatTakesForeverIsGivenUp(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	start := time.Now()

	x.Put("/team/logo", passes(10)).Want(200)

	if got := x.Put("/team/logo", passes(40_000)).WantError(apierr.CodeBadRequest, ""); got.String("issues.0.code") != "contentTypeNotSupported" {
		t.Errorf("%s", got.Body)
	}

	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}
