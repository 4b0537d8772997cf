package file

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/image/webp"

	"stayledger/platform/apierr"
)

// The content types of attachments.
const (
	typePDF  = "application/pdf"
	typePNG  = "image/png"
	typeJPEG = "image/jpeg"
	typeWebP = "image/webp"
	typeHEIC = "image/heic"
	typeCSV  = "text/csv"
	typeXLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	typeDOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	typeText = "text/plain"
)

// endings are the file name endings of the types that an attachment can have.
var endings = map[string]string{
	typePDF: ".pdf", typePNG: ".png", typeJPEG: ".jpg", typeWebP: ".webp", typeHEIC: ".heic", typeCSV: ".csv", typeXLSX: ".xlsx",
	typeDOCX: ".docx", typeText: ".txt",
}

// sniffed are the types by what the content is recognised as. Office documents are recognised by their directory
// instead.
var sniffed = map[string]string{
	"application/pdf": typePDF, "image/png": typePNG, "image/vnd.mozilla.apng": typePNG, "image/jpeg": typeJPEG, "image/webp": typeWebP,
	"image/heic": typeHEIC, "image/heic-sequence": typeHEIC, "image/heif": typeHEIC, "image/heif-sequence": typeHEIC,
	"text/csv": typeCSV, "text/tab-separated-values": typeText, "text/plain": typeText,
}

const (
	// SniffedBytes is how much of the beginning tells the type.
	sniffedBytes = 3072
	// MaxPixels bounds an image: beyond, whoever opens it needs gigabytes.
	maxPixels = 100_000_000
)

var (
	errEmpty       = apierr.BadRequest.At(apierr.IssueEmptyFile.InBody("file"))
	errUnsupported = apierr.BadRequest.At(apierr.IssueContentTypeNotSupported.InBody("file"))
	errDamaged     = apierr.BadRequest.At(apierr.IssueContentTypeNotSupported.InBody("file"))
	errImageSize   = apierr.BadRequest.At(apierr.IssueImageTooLarge.InBody("file"))
	errArchiveSize = apierr.BadRequest.At(apierr.IssueArchiveTooLarge.InBody("file"))
)

// inspect copies a file and tells its type by its content. Nothing is decoded or unpacked: images are judged by their
// headers, office documents by their directories, and memory is bounded however large the content says it is.
func inspect(from io.Reader, to io.Writer) (string, error) {
	source := &sticky{from: io.TeeReader(from, to)}
	r := bufio.NewReaderSize(source, 32<<10)

	head, err := r.Peek(sniffedBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}

	if len(head) == 0 {
		return "", errEmpty
	}

	found, err := check(head, r)

	if source.failed != nil {
		return "", source.failed // whatever the check made of it
	}

	if err != nil {
		return "", err
	}

	_, err = io.Copy(io.Discard, r)

	return found, err
}

func check(head []byte, r io.Reader) (string, error) {
	if strings.HasPrefix(string(head), "PK\x03\x04") {
		return office(r)
	}

	name, _, _ := strings.Cut(mimetype.Detect(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))).String(), ";") // any text may begin with that mark
	found := sniffed[name]

	var (
		size image.Config
		err  error
	)

	switch found {
	case "":
		return "", errUnsupported
	case typeText, typeCSV:
		return found, onlyText(head, r)
	case typePNG:
		size.Width, size.Height = pngSize(head)
	case typeJPEG:
		size, err = jpeg.DecodeConfig(r)
	case typeWebP:
		size, err = webp.DecodeConfig(r)
	case typeHEIC:
		size.Width, size.Height, err = heicSize(r)
	default: // a PDF, which has no size that could hurt
		return found, nil
	}

	switch {
	case err != nil || size.Width <= 0 || size.Height <= 0:
		return "", errDamaged
	case int64(size.Width)*int64(size.Height) > maxPixels:
		return "", errImageSize
	}

	return found, nil
}

// pngSize is the size of a PNG, which stands in its first chunk; zero when there is none.
func pngSize(head []byte) (width, height int) {
	if len(head) < 24 || string(head[12:16]) != "IHDR" {
		return 0, 0
	}

	return min(int(binary.BigEndian.Uint32(head[16:])), maxSide), min(int(binary.BigEndian.Uint32(head[20:])), maxSide)
}

// onlyText refuses content that begins as text and goes on as something else. Text of two bytes per character says so
// by its first two.
func onlyText(head []byte, r io.Reader) error {
	var order binary.ByteOrder

	switch string(head[:min(2, len(head))]) {
	case "\xff\xfe":
		order = binary.LittleEndian
	case "\xfe\xff":
		order = binary.BigEndian
	}

	buffer := make([]byte, 32<<10)
	for {
		n, err := io.ReadFull(r, buffer)
		if !textual(buffer[:n], order) {
			return errUnsupported
		}

		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// textual tells whether there are no control characters in a text of single bytes, or of double bytes when it has an
// order of them.
func textual(b []byte, order binary.ByteOrder) bool {
	if order == nil {
		return !slices.ContainsFunc(b, func(c byte) bool { return controls(uint16(c)) })
	}

	for ; len(b) >= 2; b = b[2:] {
		if controls(order.Uint16(b)) {
			return false
		}
	}

	return len(b) == 0
}

func controls(c uint16) bool { return c < ' ' && (c < '\t' || c == '\v' || c > '\r' && c != '\x1b') }

// label is the content type that an attachment is shown and downloaded with. The content has been found to be of an
// allowed type; the sender may call it another allowed one (ATT-04), and knows better whether text is a table.
func label(found, name, sent, override string) (string, error) {
	if override != "" {
		if media := mediaType(override); endings[media] != "" {
			return media, nil
		}

		return "", apierr.BadRequest.At(apierr.IssueContentTypeNotSupported.InBody("contentType"))
	}

	if found == typeText && (mediaType(sent) == typeCSV || strings.EqualFold(path.Ext(name), ".csv")) {
		return typeCSV, nil
	}

	if found == typeCSV && mediaType(sent) == typeText {
		return typeText, nil
	}

	return found, nil
}

func mediaType(text string) string {
	media, _, err := mime.ParseMediaType(text)
	if err != nil {
		return ""
	}

	return media
}

// sticky remembers what its source failed with, which decoders report as a damaged image.
type sticky struct {
	from   io.Reader
	failed error
}

// Read gives the next bytes.
func (s *sticky) Read(p []byte) (int, error) {
	if s.failed != nil {
		return 0, s.failed
	}

	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}

	return n, err
}
