package file_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"mime/multipart"
	"net/textproto"
	"path/filepath"
	"strings"
	"testing"

	"stayledger/domain/record/file"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
)

const text = "text/plain"

// part is a part of a form.
type part struct{ name, filename, contentType, content string }

func paper(filename, contentType, content string) part {
	return part{"file", filename, contentType, content}
}

func value(name, content string) part { return part{name: name, content: content} }

// form encodes parts.
func form(t testing.TB, parts ...part) (body, contentType string) {
	t.Helper()

	var b bytes.Buffer

	w := multipart.NewWriter(&b)

	for _, p := range parts {
		header := textproto.MIMEHeader{}

		disposition := `form-data; name="` + p.name + `"`
		if p.filename != "" {
			disposition += `; filename="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.filename) + `"`
		}

		header.Set("Content-Disposition", disposition)

		if p.contentType != "" {
			header.Set("Content-Type", p.contentType)
		}

		one, err := w.CreatePart(header)
		if err == nil {
			_, err = io.WriteString(one, p.content)
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String(), w.FormDataContentType()
}

// newUploads is a world with a store of its own, so that what is left behind can be counted.
func newUploads(t testing.TB, wrap ...func(blob.Store) blob.Store) (w *world, store string) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "store")

	local, err := blob.Local(store)
	if err != nil {
		t.Fatal(err)
	}

	signer, err := blob.NewSigner([]byte("a test key of more than 32 bytes in all"))
	if err != nil {
		t.Fatal(err)
	}

	var used blob.Store = local
	for _, f := range wrap {
		used = f(used)
	}

	return &world{Team: apitest.New(t, apitest.Config{Endpoints: file.Part(used, signer).Endpoints}), t: t, store: local, signer: signer}, store
}

func (w *world) upload(parts ...part) *apitest.Response {
	w.t.Helper()
	body, contentType := form(w.t, parts...)

	return w.Post("/transaction-attachments", body, "Content-Type", contentType)
}

// bytesIn counts the regular files in a store, those that are being written included.
func bytesIn(t testing.TB, store string) (n int) {
	t.Helper()

	err := filepath.WalkDir(store, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			n++
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// wantNothing fails the test when anything was left behind.
func (w *world) wantNothing(store string) {
	w.t.Helper()

	for _, table := range []string{"file", "file_draft", "transaction_attachment"} {
		if n := w.rows(table); n != "0" {
			w.t.Errorf("%s rows of %s are left", n, table)
		}
	}

	if n := bytesIn(w.t, store); n != 0 {
		w.t.Errorf("%d files are left in the store", n)
	}
}

func picture(width, height int) image.Image {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		p.Set(x, x%height, color.NRGBA{uint8(x), 80, 160, 255})
	}

	return p
}

func pngOf(t testing.TB, width, height int) string {
	t.Helper()

	var b bytes.Buffer
	if err := png.Encode(&b, picture(width, height)); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

func jpegOf(t testing.TB, width, height int) string {
	t.Helper()

	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture(width, height), nil); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

// pngClaiming is a PNG that says it is larger than it is.
func pngClaiming(t testing.TB, width, height uint32) string {
	t.Helper()
	content := []byte(pngOf(t, 2, 2))
	binary.BigEndian.PutUint32(content[16:], width)
	binary.BigEndian.PutUint32(content[20:], height)
	binary.BigEndian.PutUint32(content[29:], crc32.ChecksumIEEE(content[12:29]))

	return string(content)
}

// jpegClaiming is a JPEG that says it is larger than it is.
func jpegClaiming(t testing.TB, width, height uint16) string {
	t.Helper()
	content := []byte(jpegOf(t, 2, 2))
	at := bytes.Index(content, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(content[at+5:], height)
	binary.BigEndian.PutUint16(content[at+7:], width)

	return string(content)
}

// webpOf is an extended WebP of a size, without the picture.
func webpOf(width, height uint32) string {
	chunk := make([]byte, 18)
	copy(chunk, "VP8X")
	binary.LittleEndian.PutUint32(chunk[4:], 10)

	for i, side := range []uint32{width - 1, height - 1} {
		for b := range 3 {
			chunk[12+3*i+b] = byte(side >> (8 * b))
		}
	}

	chunk = append(chunk, "VP8 \x00\x00\x00\x00"...)
	head := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(chunk)))

	return string(head) + "WEBP" + string(chunk)
}

func box(kind string, content ...string) string {
	all := strings.Join(content, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(all)))) + kind + all
}

func ispe(width, height uint32) string {
	return box("ispe", "\x00\x00\x00\x00", string(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)))
}

// heicOf is a HEIC image of a size with a small thumbnail, without the pictures.
func heicOf(width, height uint32) string {
	return box("ftyp", "heic", "\x00\x00\x00\x00", "mif1heic") + box("free", "xx") +
		box("meta", "\x00\x00\x00\x00", box("hdlr", strings.Repeat("\x00", 20)), box("iprp", box("ipco", ispe(320, 240), ispe(width, height)), box("ipma"))) +
		box("mdat", "picture")
}

// archive is a zip of entries with a content each.
func archive(t testing.TB, entries map[string]string) string {
	t.Helper()

	var b bytes.Buffer

	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })

	for name, content := range entries {
		one, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(one, content)
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

func docx(t testing.TB) string {
	t.Helper()
	return archive(t, map[string]string{"[Content_Types].xml": "<Types/>", "word/document.xml": "<document/>"})
}

func xlsx(t testing.TB) string {
	t.Helper()
	return archive(t, map[string]string{"[Content_Types].xml": "<Types/>", "_rels/.rels": "<r/>", "xl/workbook.xml": strings.Repeat("<row/>", 1000)})
}

// bomb is an office document of a size that says it unpacks to another.
func bomb(t testing.TB, size int, unpacked uint64) string {
	t.Helper()

	var b bytes.Buffer

	w := zip.NewWriter(&b)
	for _, name := range []string{"[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"} {
		one, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CompressedSize64: uint64(size) / 3, UncompressedSize64: unpacked / 3})
		if err == nil {
			_, err = io.WriteString(one, strings.Repeat("x", size/3))
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

// densely is a sound office document that is much larger once it is unpacked.
func densely(t testing.TB) string {
	t.Helper()
	return archive(t, map[string]string{"[Content_Types].xml": "<Types/>", "word/document.xml": strings.Repeat("\x00", 20<<20)})
}
