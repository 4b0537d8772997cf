package pdf

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
)

// EmbeddedFonts parses the embedded fonts, which have Latin, Greek and Cyrillic, once per process.
var EmbeddedFonts = sync.OnceValues(func() (*Fonts, error) {
	regular, err := ParseFont("LiberationSans", liberationsansregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("pdf: embedded font: %w", err)
	}

	bold, err := ParseFont("LiberationSans-Bold", liberationsansbold.TTF)
	if err != nil {
		return nil, fmt.Errorf("pdf: embedded font: %w", err)
	}

	return &Fonts{Regular: regular, Bold: bold}, nil
})

// usualFallbacks are where systems keep fonts for what the embedded ones lack: Chinese and Japanese, Korean, and
// smaller scripts and signs. Of each line the first that is there is used.
var usualFallbacks = [][]string{
	{
		"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
		"/usr/share/fonts/droid/DroidSansFallbackFull.ttf",
		"/usr/share/fonts/google-droid-sans-fonts/DroidSansFallbackFull.ttf",
		"/usr/share/fonts/TTF/DroidSansFallbackFull.ttf",
		"/Library/Fonts/Arial Unicode.ttf",
		"/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
	},
	{"/usr/share/fonts/truetype/nanum/NanumGothic.ttf", "/usr/share/fonts/nanum/NanumGothic.ttf"},
	{
		"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
		"/usr/share/fonts/dejavu/DejaVuSans.ttf",
		"/usr/share/fonts/TTF/DejaVuSans.ttf",
	},
}

// fallback are the fonts for what the embedded ones lack, read when one is first needed.
var fallback struct {
	sync.Mutex

	path  string
	tried bool
	fonts []*Font
}

// UseFallbackFont names the font file for characters that the embedded fonts lack, such as those of Chinese, Japanese
// and Korean; several are separated as in PATH. They must have TrueType outlines. They are read when they are first
// needed. With an empty path fonts are looked for where systems usually have them. It fails when a file is not there.
// Call it before anything is rendered.
func UseFallbackFont(path string) error {
	for _, one := range filepath.SplitList(path) {
		if _, err := os.Stat(one); err != nil {
			return fmt.Errorf("pdf: fallback font: %w", err)
		}
	}

	fallback.Lock()
	defer fallback.Unlock()

	fallback.path, fallback.tried, fallback.fonts = path, false, nil

	return nil
}

// FallbackFonts returns the fonts for characters that the embedded ones lack. Without any, the characters are shown
// as boxes.
func FallbackFonts() []*Font {
	fallback.Lock()
	defer fallback.Unlock()

	if fallback.tried {
		return fallback.fonts
	}

	fallback.tried = true

	// The operator's setting replaces the usual places.
	candidates := usualFallbacks
	if fallback.path != "" {
		candidates = nil
		for _, path := range filepath.SplitList(fallback.path) {
			candidates = append(candidates, []string{path})
		}
	}

	// Of each list take the first font that can be read.
	for _, paths := range candidates {
		for _, path := range paths {
			ttf, err := os.ReadFile(path) //nolint:gosec // the operator's setting
			if err != nil {
				continue
			}

			if font, err := ParseFont(fmt.Sprintf("Fallback%d", len(fallback.fonts)+1), ttf); err == nil {
				fallback.fonts = append(fallback.fonts, font)
				break
			}
		}
	}

	return fallback.fonts
}
