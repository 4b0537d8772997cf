package table

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// encodings are those that a person can name. UTF-8 is read as it is.
var encodings = map[string]encoding.Encoding{
	"utf-8":        nil,
	"utf-16":       unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	"windows-1252": charmap.Windows1252,
	"iso-8859-1":   charmap.ISO8859_1,
	"iso-8859-2":   charmap.ISO8859_2,
	"cp850":        charmap.CodePage850,
	"cp852":        charmap.CodePage852,
}

// byteOrderMark returns the encoding that the first bytes of a file name, and their length.
func byteOrderMark(head []byte) (name string, length int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return "utf-8", 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "utf-16", 2
	default:
		return "", 0
	}
}

// text is a file with the encoding that it is read in.
type text struct {
	from  io.ReaderAt
	size  int64
	name  string // Of the encoding.
	start int64  // Length of the mark of UTF-8, which is no part of the text.
}

// detectText finds out the encoding of a file. A byte order mark is the file's own word, so it counts more than what
// was asked for.
func detectText(from io.ReaderAt, size int64, head []byte, wanted string) (text, error) {
	found := text{from: from, size: size, name: wanted}

	marked, length := byteOrderMark(head)
	switch {
	case marked == "utf-8":
		found.name, found.start = marked, int64(length)
	case marked != "":
		found.name = marked
	case wanted == "":
		found.name = "utf-8"
	}

	if _, known := encodings[found.name]; !known {
		return text{}, &Error{Err: ErrEncoding}
	}

	return found, nil
}

// reader returns the text as UTF-8. What cannot be decoded comes as U+FFFD.
func (t text) reader() io.Reader {
	raw := io.NewSectionReader(t.from, t.start, t.size-t.start)
	if coding := encodings[t.name]; coding != nil {
		return coding.NewDecoder().Reader(raw)
	}

	return raw
}

// isDecoded reports whether U+FFFD in the text is a fault of decoding, and not a character of the file.
func (t text) isDecoded() bool { return encodings[t.name] != nil }
