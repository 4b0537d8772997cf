package upload

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"stayledger/platform/api"
	"stayledger/platform/db"
)

type templateInput struct {
	Kind Kind `path:"kind"`
}

// template returns an example file of a kind: the meaning of each column, the headers, and a row. It can be uploaded
// unchanged.
func (s *service) template(_ context.Context, d *db.DB, _ db.Scope, in *templateInput) (*api.Content, error) {
	text, err := s.kinds[in.Kind].example()
	if err != nil {
		return nil, err
	}

	return &api.Content{
		Reader: nopCloser{bytes.NewReader(text)}, Filename: string(in.Kind) + "-template.csv",
		ContentType: "text/csv; charset=utf-8",
		ETag:        fmt.Sprintf("%s-%d", in.Kind, len(text)), Modified: d.Now(),
	}, nil
}

// nopCloser is a reader in memory, which needs no closing.
type nopCloser struct{ io.ReadSeeker }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// example returns the example file of a kind.
func (k *kind) example() ([]byte, error) {
	var out bytes.Buffer

	w := csv.NewWriter(&out)
	headers, row := make([]string, len(k.fields)), make([]string, len(k.fields))

	// Each explanation is a single cell, so that it does not look like headers.
	for i := range k.fields {
		f := &k.fields[i]
		headers[i], row[i] = f.name, f.example

		if err := w.Write([]string{f.name + ": " + f.doc}); err != nil {
			return nil, fmt.Errorf("write a template: %w", err)
		}
	}

	if err := w.WriteAll([][]string{headers, row}); err != nil {
		return nil, fmt.Errorf("write a template: %w", err)
	}

	return out.Bytes(), nil
}
