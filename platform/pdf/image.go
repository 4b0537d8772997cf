package pdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strconv"
)

// ErrImage is wrapped by ReadImage for data that is no sound PNG or JPEG, or has too many pixels.
var ErrImage = errors.New("pdf: image cannot be read")

// MaxPixels bounds images, before anything of them is unpacked.
const MaxPixels = 8_000_000

// Image is an image as documents embed it. It may be used by many documents.
type Image struct {
	Width, Height int // in pixels

	filter string
	space  string
	decode string // of inverted colours
	data   []byte
	mask   []byte // compressed opacity, a byte for each pixel; nil when all is opaque
}

// ReadImage reads a PNG or a JPEG. A JPEG is embedded unchanged. It fails with ErrImage.
func ReadImage(data []byte) (*Image, error) {
	width, height, kind := imageSize(data)
	if kind == "" {
		return nil, fmt.Errorf("%w: neither PNG nor JPEG", ErrImage)
	}

	if width <= 0 || height <= 0 || width > MaxPixels/height {
		return nil, fmt.Errorf("%w: %d by %d pixels", ErrImage, width, height)
	}

	if kind == "png" {
		decoded, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrImage, err)
		}

		return PackImage(decoded), nil
	}
	// Decode it to know that it is sound: a reader may refuse a page with a broken image.
	decoded, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImage, err)
	}

	if decoded.Bounds().Dx() != width || decoded.Bounds().Dy() != height {
		return nil, fmt.Errorf("%w: the header states another size", ErrImage)
	}

	out := &Image{Width: width, Height: height, filter: "/DCTDecode", space: "/DeviceRGB", data: data}

	switch decoded.(type) {
	case *image.Gray:
		out.space = "/DeviceGray"
	case *image.CMYK:
		// Those programs that write such files store them inverted, and say so in a segment of theirs.
		out.space = "/DeviceCMYK"
		if bytes.Contains(data[:min(len(data), 1<<16)], []byte("\xFF\xEE\x00\x0EAdobe")) {
			out.decode = "/Decode[1 0 1 0 1 0 1 0]"
		}
	}

	return out, nil
}

// imageSize reads the size from the header alone, without trusting the lengths in it. The kind is png, jpeg, or
// empty.
func imageSize(data []byte) (width, height int, kind string) {
	if len(data) >= 24 && string(data[:8]) == "\x89PNG\r\n\x1a\n" && string(data[12:16]) == "IHDR" {
		return int(int32(binary.BigEndian.Uint32(data[16:]))), int(int32(binary.BigEndian.Uint32(data[20:]))), "png" //nolint:gosec // negative is refused
	}

	if len(data) < 4 || data[0] != 0xFF || data[1] != 0xD8 {
		return 0, 0, ""
	}

	// A JPEG is a list of segments; the one with the size can be anywhere before the pixels.
	for at := 2; at+9 <= len(data); {
		if data[at] != 0xFF {
			return 0, 0, ""
		}

		marker := data[at+1]
		switch {
		case marker == 0xFF: // a fill byte
			at++
			continue
		case marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC:
			return int(binary.BigEndian.Uint16(data[at+7:])), int(binary.BigEndian.Uint16(data[at+5:])), "jpeg"
		case marker == 0x01 || marker >= 0xD0 && marker <= 0xD9:
			at += 2
			continue
		}

		at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
	}

	return 0, 0, ""
}

// PackImage returns an image with the pixels, without opacity if all are opaque, and in grey if none has a colour.
func PackImage(from image.Image) *Image {
	bounds := from.Bounds()
	width, height := bounds.Dx(), bounds.Dy()
	colours, mask := make([]byte, 0, 3*width*height), make([]byte, 0, width*height)
	opaque, grey := true, true

	// Collect colours and opacity, and find out whether either is needed.
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c, _ := color.NRGBAModel.Convert(from.At(x, y)).(color.NRGBA)
			colours, mask = append(colours, c.R, c.G, c.B), append(mask, c.A)
			opaque, grey = opaque && c.A == 0xFF, grey && c.R == c.G && c.G == c.B
		}
	}

	// Grey needs one byte for each pixel instead of three.
	out := &Image{Width: width, Height: height, filter: "/FlateDecode", space: "/DeviceRGB"}
	if grey {
		out.space = "/DeviceGray"

		for i := range mask {
			colours[i] = colours[3*i]
		}

		colours = colours[:len(mask)]
	}

	out.data = deflate(colours)
	if !opaque {
		out.mask = deflate(mask)
	}

	return out
}

// writeImage embeds an image and returns its object.
func (d *Doc) writeImage(i *Image) ref {
	size := "/Type/XObject/Subtype/Image/BitsPerComponent 8/Width " + strconv.Itoa(i.Width) + "/Height " + strconv.Itoa(i.Height)

	dict := size + "/ColorSpace" + i.space + "/Filter" + i.filter + i.decode
	if i.mask != nil {
		mask := d.out.reserve()
		d.out.writeRaw(mask, size+"/ColorSpace/DeviceGray/Filter/FlateDecode", i.mask)
		dict += "/SMask " + strconv.Itoa(int(mask)) + " 0 R"
	}

	image := d.out.reserve()
	d.out.writeRaw(image, dict, i.data)

	return image
}
