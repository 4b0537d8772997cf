package mail

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"stayledger/platform/inside"
)

// Folder keeps messages as files instead of sending them, for development: one .eml per key, which any mail program
// opens. Names sort by date and then key.
type Folder struct {
	dir  string
	from string
	mu   sync.Mutex
}

// NewFolder returns a sender that writes to the folder, and makes the folder if there is none. From is the address
// that messages come from.
func NewFolder(dir, from string) (*Folder, error) {
	if _, err := parseAddress(from); err != nil {
		return nil, fmt.Errorf("mail folder: %w", err)
	}

	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail folder: %w", err)
	}

	return &Folder{dir: dir, from: from}, nil
}

// Send writes the message to its file, as a whole or not at all. It replaces a message with the same key.
func (f *Folder) Send(ctx context.Context, m Message) error {
	if err := inside.Check(ctx); err != nil {
		return fmt.Errorf("send mail: %w", err)
	}

	msg, err := m.compose(f.from)
	if err != nil {
		return err
	}

	if err := ctx.Err(); err != nil {
		return err
	}

	var content bytes.Buffer
	if _, err := msg.WriteTo(&content); err != nil {
		return fmt.Errorf("write mail: %w", err)
	}

	// The lock keeps two messages with one key from both finding no earlier file.
	f.mu.Lock()
	defer f.mu.Unlock()

	name := filepath.Join(f.dir, m.Date.UTC().Format("20060102T150405.000Z")+"_"+m.Key+".eml")

	// The name has the date, which may differ from that of the earlier message, so look for the key alone.
	if earlier, err := filepath.Glob(filepath.Join(escape(f.dir), "*_"+m.Key+".eml")); err == nil && len(earlier) > 0 {
		name = earlier[0]
	}

	return replaceFile(name, content.Bytes())
}

// escape quotes the characters of a path that have a meaning in patterns.
func escape(path string) string {
	var b bytes.Buffer

	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			b.WriteByte('\\')
		}

		b.WriteRune(r)
	}

	return b.String()
}

// replaceFile writes a file next to its place and renames it, so that no reader ever sees half of it.
func replaceFile(name string, content []byte) error {
	half, err := os.CreateTemp(filepath.Dir(name), ".half-*")
	if err != nil {
		return fmt.Errorf("write mail: %w", err)
	}
	defer func() { _ = os.Remove(half.Name()) }()

	// The content must be on disk before the name points to it. The first error of the steps is kept, and later
	// steps are left out.
	if _, err = half.Write(content); err == nil {
		err = half.Sync()
	}

	if closed := half.Close(); err == nil {
		err = closed
	}

	if err == nil {
		err = os.Rename(half.Name(), name)
	}

	if err != nil {
		return fmt.Errorf("write mail: %w", err)
	}

	return nil
}
