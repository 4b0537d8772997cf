package team

import (
	"bytes"
	"encoding/binary"
	"image"
)

// Orientations say how cameras turn what they took: from 1, as it is, to 8. From turned on, width and height change
// places.
const (
	asItIs = 1
	turned = 5
)

// orientation returns the orientation that a JPEG states in its Exif segment, or asItIs if it states none that is
// valid.
func orientation(sent []byte) int {
	for at := 2; at+4 <= len(sent) && sent[at] == 0xff && sent[at+1] != 0xda; { // up to the picture
		size := int(binary.BigEndian.Uint16(sent[at+2:]))

		end := at + 2 + size
		if size < 2 || end > len(sent) {
			break
		}

		if tiff, found := bytes.CutPrefix(sent[at+4:end], []byte("Exif\x00\x00")); found && sent[at+1] == 0xe1 {
			return readOrientation(tiff)
		}

		at = end
	}

	return asItIs
}

// readOrientation returns the orientation from the first directory of a TIFF structure, or asItIs.
func readOrientation(tiff []byte) int {
	const orientationTag, short, entrySize = 0x0112, 3, 12

	var order binary.ByteOrder = binary.BigEndian
	if bytes.HasPrefix(tiff, []byte("II")) {
		order = binary.LittleEndian
	}

	if len(tiff) < 8 {
		return asItIs
	}

	// The header says where the directory is; its first number counts the entries.
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return asItIs
	}

	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entrySize {
			break
		}

		// An entry has a tag, a type, a count and a value.
		value := int(order.Uint16(entries[8:]))
		if order.Uint16(entries) == orientationTag && order.Uint16(entries[2:]) == short && value >= asItIs &&
			value <= 8 {
			return value
		}

		entries = entries[entrySize:]
	}

	return asItIs
}

// upright turns an image so that its orientation is asItIs.
func upright(m *image.RGBA, orientation int) *image.RGBA {
	if orientation == asItIs {
		return m
	}

	width, height := m.Rect.Dx(), m.Rect.Dy()

	out := image.NewRGBA(m.Rect)
	if orientation >= turned {
		out = image.NewRGBA(image.Rect(0, 0, height, width))
	}

	// Each pixel moves to the place that its orientation, from 1 to 8, gives it.
	for y := range height {
		for x := range width {
			to := [...]image.Point{
				{x, y},
				{width - 1 - x, y},
				{width - 1 - x, height - 1 - y},
				{x, height - 1 - y},
				{y, x},
				{height - 1 - y, x},
				{height - 1 - y, width - 1 - x},
				{y, width - 1 - x},
			}[orientation-asItIs]
			out.SetRGBA(to.X, to.Y, m.RGBAAt(x, y))
		}
	}

	return out
}
