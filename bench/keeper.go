package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// machine is where figures were measured.
type machine struct {
	Cores      int    `json:"cores"`
	MemoryMiB  int64  `json:"memoryMiB"` // 0 where the system does not say it
	System     string `json:"system"`
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
}

// record is the figures of a section, and how they came about.
type record struct {
	Commit string `json:"commit"`
	// Dirty says that the code was not that of the commit.
	Dirty   bool           `json:"dirty"`
	At      time.Time      `json:"at"`
	Seconds float64        `json:"seconds"`
	Machine machine        `json:"machine"`
	Sizes   map[string]any `json:"sizes"`
	// Only says which requests of a section daily-… were measured; empty for all.
	Only    string   `json:"only,omitempty"`
	Metrics []Metric `json:"metrics"`
}

// keeper keeps figures in a file, by section.
type keeper struct {
	file   string
	only   string
	from   record // what all sections of the run have in common
	record map[string]record
}

// newKeeper reads the figures that are kept, and what code runs on what machine. It fails if the file has something
// else.
func newKeeper(ctx context.Context, c *cluster, o options) (*keeper, error) {
	k := &keeper{file: o.out, only: o.dailyOnly, record: map[string]record{}}
	if k.file == "" && o.large {
		k.file = "results-large.json"
	} else if k.file == "" {
		k.file = "results.json"
	}

	text, err := os.ReadFile(k.file)
	if err == nil {
		err = json.Unmarshal(text, &k.record)
	}

	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the figures that are kept: %w", err)
	}

	k.from.Machine = machine{
		Cores: runtime.NumCPU(), MemoryMiB: memoryMiB(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	k.from.Commit, k.from.Dirty = revision(ctx)

	return k, c.connected(ctx, superuser, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "show server_version").Scan(&k.from.Machine.PostgreSQL)
	})
}

// keep replaces the figures of a section in the file.
func (k *keeper) keep(name string, metrics []Metric, took time.Duration, size sizes) error {
	r := k.from
	r.At, r.Seconds, r.Metrics = time.Now().UTC().Truncate(time.Second), took.Round(100*time.Millisecond).Seconds(), metrics
	r.Sizes = map[string]any{
		"operations": size.operations, "entries": size.entries, "stays": size.stays, "periods": size.periods, "papers": size.papers,
		"taken": size.taken, "synced": size.synced, "moved": size.moved, "daily": size.daily, "landlords": size.landlords,
	}

	if strings.HasPrefix(name, "daily-") {
		r.Only = k.only
	}

	k.record[name] = r

	// Goals contain angle brackets, which must stay readable.
	var text bytes.Buffer

	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")

	if err := encoder.Encode(k.record); err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}

	// An interrupted run must not leave half a file.
	next := k.file + ".new"
	if err := os.WriteFile(next, text.Bytes(), 0o644); err != nil { //nolint:gosec // The figures are for everybody.
		return fmt.Errorf("write the figures: %w", err)
	}

	if err := os.Rename(next, k.file); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}

	return nil
}

// revision returns the commit of the code and whether the tree differs from it. Figures that the bench keeps in the
// tree make no difference. Without git the code counts as different.
func revision(ctx context.Context) (commit string, dirty bool) {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", true
	}

	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/", ":(top,exclude)bench/results*.json").Output()

	return strings.TrimSpace(string(head)), err != nil || len(changed) > 0
}

// memoryMiB returns the memory of the machine.
func memoryMiB() int64 {
	text, err := os.ReadFile(filepath.Clean("/proc/meminfo"))
	if err != nil {
		return 0
	}

	_, rest, _ := strings.Cut(string(text), "MemTotal:")
	line, _, _ := strings.Cut(rest, "kB")
	kib, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)

	return kib / 1024
}
