package mail_test

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/provider/mail"
)

func folder(t *testing.T) (string, *mail.Folder) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "mail [dev]")

	f, err := mail.NewFolder(dir, "stayledger@localhost")
	if err != nil {
		t.Fatal(err)
	}

	return dir, f
}

func names(t *testing.T, dir string) []string {
	t.Helper()

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}

	return out
}

func TestMessagesBecomeFilesInTheirOrder(t *testing.T) {
	t.Parallel()
	dir, f := folder(t)

	for i, key := range []string{"b", "a", "c"} {
		m := message()

		m.Key, m.Date = key, written.Add(-time.Duration(i)*time.Millisecond)
		if err := f.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}

	want := "[20260203T040505.998Z_c.eml 20260203T040505.999Z_a.eml 20260203T040506.000Z_b.eml]"
	if got := fmt.Sprint(names(t, dir)); got != want {
		t.Errorf("the folder holds %s", got)
	}

	content, err := os.ReadFile(filepath.Join(dir, "20260203T040506.000Z_b.eml"))
	if err != nil {
		t.Fatal(err)
	}

	m, err := netmail.ReadMessage(strings.NewReader(string(content)))
	if err != nil || m.Header.Get("Message-Id") != "<b@localhost>" || parts(t, m)["text/html"] != "<p>Hello Ada,</p>" {
		t.Errorf("%v: %s", err, content)
	}
}

func TestTheSameKeyIsTheSameFile(t *testing.T) {
	t.Parallel()
	dir, f := folder(t)

	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			m := message()

			m.Date = written.Add(time.Duration(i) * time.Hour)
			if err := f.Send(context.Background(), m); err != nil {
				t.Error(err)
			}
		})
	}

	group.Wait()

	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the folder holds %q", got)
	}
}

func TestAFolderKeepsNothingOfABadMessage(t *testing.T) {
	t.Parallel()
	dir, f := folder(t)
	m := message()

	m.To = "ada@example.com\r\nBcc: eve@example.com"
	if err := f.Send(t.Context(), m); !errors.Is(err, mail.ErrRefused) {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if err := f.Send(ctx, message()); err == nil {
		t.Error("a stopped worker goes on")
	}

	if got := names(t, dir); len(got) != 0 {
		t.Errorf("the folder holds %q", got)
	}

	if _, err := mail.NewFolder(dir, "nobody"); err == nil {
		t.Error("a folder without a sender")
	}
}
