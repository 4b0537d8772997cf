package pdf

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"io"
	"math/bits"
	"strconv"
	"sync"
	"unicode/utf16"
)

// ref is the number of an object; 0 is none.
type ref int

// place is where an object is: compressed ones are the index-th of an object stream, others at an offset of the file.
type place struct {
	at    int64
	index int16 // -1 for an object by itself
}

// objects writes the objects of a file one after the other. Streams stand by themselves, everything else is packed into
// object streams, so that it costs next to nothing. Only places are kept.
type objects struct {
	w      *bufio.Writer
	at     int64
	err    error
	places []place // by number; the first is of none
	// packed are the objects of the object stream to come, and heads their numbers and offsets.
	packed []byte
	heads  []byte
	count  int
	stream ref // the number of the object stream to come
	zip    *zlib.Writer
	buffer bytes.Buffer
}

// An object stream is full with packObjects or packBytes.
const (
	packObjects = 250
	packBytes   = 1 << 15
)

// compressors are kept because making one costs more than a page.
var compressors = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(io.Discard, compression)
	if err != nil {
		panic(err) // the level is a constant
	}

	return w
}}

// compression is the level at which the content of pages is compressed: the highest that takes less time than drawing
// them.
const compression = 6

func newObjects(w io.Writer) *objects {
	zip, _ := compressors.Get().(*zlib.Writer)
	o := &objects{w: bufio.NewWriterSize(w, 1<<14), places: make([]place, 1, 64), zip: zip}
	o.writeText("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")

	return o
}

func (o *objects) writeText(s string) {
	if o.err == nil {
		_, o.err = o.w.WriteString(s)
		o.at += int64(len(s))
	}
}

// reserve returns the number of an object that is written later.
func (o *objects) reserve() ref {
	o.places = append(o.places, place{})
	return ref(len(o.places) - 1)
}

// writeObject writes an object that is no stream.
func (o *objects) writeObject(n ref, body []byte) {
	if o.stream == 0 {
		o.stream = o.reserve()
	}

	o.places[n] = place{int64(o.stream), int16(o.count)} //nolint:gosec // at most packObjects
	o.heads = strconv.AppendInt(o.heads, int64(n), 10)
	o.heads = append(o.heads, ' ')
	o.heads = strconv.AppendInt(o.heads, int64(len(o.packed)), 10)
	o.heads = append(o.heads, ' ')
	o.packed = append(append(o.packed, body...), '\n')

	o.count++
	if o.count == packObjects || len(o.packed) >= packBytes {
		o.flush()
	}
}

// flush writes the object stream.
func (o *objects) flush() {
	if o.count == 0 {
		return
	}

	first := len(o.heads)
	o.heads = append(o.heads, o.packed...)
	n := o.stream
	dict := "/Type/ObjStm/N " + strconv.Itoa(o.count) + "/First " + strconv.Itoa(first)
	body := o.heads
	o.heads, o.packed, o.count, o.stream = o.heads[:0], o.packed[:0], 0, 0
	o.writeStream(n, dict, body)
}

// writeStream writes a stream, compressed when that makes it shorter.
func (o *objects) writeStream(n ref, dict string, data []byte) {
	if len(data) < 80 {
		o.writeRaw(n, dict, data)
		return
	}

	o.buffer.Reset()
	o.writeRaw(n, dict+"/Filter/FlateDecode", compressWith(o.zip, &o.buffer, data))
}

// writeRaw writes a stream as it is.
func (o *objects) writeRaw(n ref, dict string, data []byte) {
	o.places[n] = place{o.at, -1}
	o.writeText(strconv.Itoa(int(n)) + " 0 obj\n<<" + dict + "/Length " + strconv.Itoa(len(data)) + ">>\nstream\n")

	if o.err == nil {
		_, o.err = o.w.Write(data)
		o.at += int64(len(data))
	}

	o.writeText("\nendstream\nendobj\n")
}

func compressWith(zip *zlib.Writer, into *bytes.Buffer, data []byte) []byte {
	zip.Reset(into)

	_, err := zip.Write(data)
	if closing := zip.Close(); err != nil || closing != nil {
		panic("pdf: memory does not fail") // a bytes.Buffer takes everything
	}

	return into.Bytes()
}

// deflate compresses data that many documents use.
func deflate(data []byte) []byte {
	zip, _ := zlib.NewWriterLevel(io.Discard, zlib.BestCompression)

	var b bytes.Buffer

	return compressWith(zip, &b, data)
}

// finish writes the cross references and the end of the file. The trailer has the entries of its dictionary.
func (o *objects) finish(trailer string) error {
	o.flush()
	n := o.reserve()
	o.places[n] = place{o.at, -1}

	// Offsets take as many bytes as the largest needs.
	width := (bits.Len64(uint64(max(o.at, int64(n)))) + 7) / 8 //nolint:gosec // not negative
	// Each row is stored as its difference to the row above, which compresses to nearly nothing.
	above, row := make([]byte, width+2), make([]byte, width+2)

	rows := make([]byte, 0, (width+3)*len(o.places))
	for i, p := range o.places {
		// A row says whether the object is free, at an offset, or inside a pack.
		kind, at, index := byte(1), p.at, 0
		switch {
		case i == 0 || p == place{}:
			kind, index = 0, 0xFF
		case p.index >= 0:
			kind, index = 2, int(p.index)
		}

		row[0], row[width+1] = kind, byte(index)
		for b := width; b > 0; b-- {
			row[b] = byte(at) //nolint:gosec // the lowest eight bits
			at >>= 8
		}

		rows = append(rows, 2)
		for b := range row {
			rows = append(rows, row[b]-above[b])
		}

		above, row = row, above
	}

	// The cross references are a stream, which is an object too.
	start := o.at
	o.writeStream(n, "/Type/XRef/Size "+strconv.Itoa(len(o.places))+"/W[1 "+strconv.Itoa(width)+" 1]"+
		"/DecodeParms<</Predictor 12/Columns "+strconv.Itoa(width+2)+">>"+trailer, rows)
	o.writeText("startxref\n" + strconv.FormatInt(start, 10) + "\n%%EOF\n")

	if o.err == nil {
		o.err = o.w.Flush()
	}

	compressors.Put(o.zip)

	return o.err
}

// appendRef writes a reference.
func appendRef(b []byte, n ref) []byte {
	return append(strconv.AppendInt(b, int64(n), 10), " 0 R"...)
}

// appendNumber writes a length with at most two places.
func appendNumber(b []byte, v float64) []byte {
	hundredths := int64(v*100 + 0.5)
	if v < 0 {
		hundredths = -int64(-v*100 + 0.5)
	}

	if hundredths < 0 {
		b, hundredths = append(b, '-'), -hundredths
	}

	b = strconv.AppendInt(b, hundredths/100, 10)
	if rest := hundredths % 100; rest != 0 {
		b = append(b, '.', byte('0'+rest/10))
		if rest%10 != 0 {
			b = append(b, byte('0'+rest%10))
		}
	}

	return b
}

// appendText appends a text that is not on a page: plain if it is ASCII, else as UTF-16.
func appendText(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] <= '~'
	}

	if plain {
		b = append(b, '(')
		for i := range len(s) {
			b = appendEscaped(b, s[i])
		}

		return append(b, ')')
	}

	const digits = "0123456789ABCDEF"

	b = append(b, "<FEFF"...)
	for _, unit := range utf16.Encode([]rune(s)) {
		b = append(b, digits[unit>>12], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
	}

	return append(b, '>')
}

// appendEscaped writes a byte of a string in parentheses.
func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '(', ')', '\\':
		return append(b, '\\', c)
	case '\r': // would be read as a line feed
		return append(b, '\\', 'r')
	}

	return append(b, c)
}
