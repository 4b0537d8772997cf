package blob

import "io"

// FillAfter lets the disk below w be full once n more bytes are written.
func FillAfter(w Writer, n int, full error) {
	local, ok := w.(*localWriter)
	if !ok {
		panic("not a local writer")
	}

	local.out = &fillingDisk{to: local.out, left: n, full: full}
}

type fillingDisk struct {
	to   io.Writer
	left int
	full error
}

func (d *fillingDisk) Write(p []byte) (int, error) {
	if len(p) <= d.left {
		d.left -= len(p)
		return d.to.Write(p)
	}

	n, err := d.to.Write(p[:d.left])
	d.left = 0

	if err != nil {
		return n, err
	}

	return n, d.full
}
