// Package migrations holds the schema, forward only, embedded in the binary.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// FS holds the numbered migration files.
//
//go:embed *.sql
var FS embed.FS

// Newest is the number of the last migration.
func Newest() (int64, error) {
	names, err := fs.Glob(FS, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}

	number, _, _ := strings.Cut(names[len(names)-1], "_")

	newest, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("number of the last migration: %w", err)
	}

	return newest, nil
}

// Hash names the schema: a test template database made from the same files can be reused.
func Hash() (string, error) {
	names, err := fs.Glob(FS, "*.sql")
	if err != nil {
		return "", fmt.Errorf("list migrations: %w", err)
	}

	sum := sha256.New()

	for _, name := range names {
		content, err := fs.ReadFile(FS, name)
		if err != nil {
			return "", fmt.Errorf("read migration: %w", err)
		}

		sum.Write([]byte(name + "\x00" + strconv.Itoa(len(content)) + "\x00"))
		sum.Write(content)
	}

	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}
