package paper

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"stayledger/platform/pdf"
)

// ErrLogo is wrapped by rendering if the logo is no PNG or JPEG, is damaged, or has over 8 million pixels.
var ErrLogo = errors.New("paper: logo cannot be read")

// logoWidth and logoHeight are the size of the logo's box.
const logoWidth, logoHeight = 150.0, 48.0 // of its box

// logos keeps the last few images, since all files of a batch have the same.
var logos = struct {
	sync.Mutex

	images map[[sha256.Size]byte]*pdf.Image
	order  [][sha256.Size]byte
}{images: map[[sha256.Size]byte]*pdf.Image{}}

const logosKept = 16

// loadLogo returns the image of a logo, from memory if it was read before. It fails with ErrLogo.
func loadLogo(data []byte) (*pdf.Image, error) {
	key := sha256.Sum256(data)

	logos.Lock()
	known := logos.images[key]
	logos.Unlock()

	if known != nil {
		return known, nil
	}

	// Read without the lock, so that a large logo does not delay other documents.
	read, err := pdf.ReadImage(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLogo, err)
	}

	logos.Lock()
	defer logos.Unlock()

	if logos.images[key] == nil {
		// Forget the image that was read first.
		if len(logos.order) == logosKept {
			delete(logos.images, logos.order[0])
			logos.order = logos.order[1:]
		}

		logos.order = append(logos.order, key)
		logos.images[key] = read
	}

	return read, nil
}
