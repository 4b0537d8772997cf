package pms_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"testing"
)

// upload uploads a CSV to a path as a file of a kind.
func (s *scene) upload(path, kind, content string) string {
	s.T.Helper()

	var b bytes.Buffer

	w := multipart.NewWriter(&b)

	part, err := w.CreateFormFile("file", "stays.csv")
	if err == nil {
		_, err = io.WriteString(part, content)
	}

	if err == nil {
		err = w.WriteField("kind", kind)
	}

	if err == nil {
		err = w.Close()
	}

	if err != nil {
		s.T.Fatal(err)
	}

	r := s.Post(path, b.String(), "Content-Type", w.FormDataContentType()).Want(202)
	if r.String("type") != "csv-import" {
		s.T.Errorf("acknowledged as %s", r.Body)
	}

	s.Outlast(nil)

	return r.String("operationId")
}

// A file of a system is known by the system's own ids: it changes what a sync has brought, and a sync knows what the
// file has brought.
//
// Proves: INIT-20.
func TestAFileOfASystemAndItsSyncsAreOneSource(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	names := s.fill(3)
	s.connect()
	s.sync("full")

	house := s.Get("/listings").String("data.0.name")
	file := "source id,listing,confirmation code,check-in,check-out,guest,rent\n" +
		names[0] + "," + house + "," + s.code(names[0]) + ",2026-01-01,2026-01-04,Another Guest,450.00\n" +
		"r900," + house + ",NEW900,2026-12-01,2026-12-04,New Guest,600.00\n"

	op := s.upload(s.path("/csv-import"), "reservations", file)
	r := s.Get("/csv-imports/previews/" + op).Want(200)

	if r.String("outcomes.created") != "1" || r.String("outcomes.updated") != "1" || r.String("status") != "imported" {
		t.Errorf("the import: %s: %s", r.Body, s.Get("/csv-imports/previews/"+op+"/rows").Body)
	}

	if n := s.Get("/reservations").String("pagination.total"); n != "4" {
		t.Errorf("%s stays", n)
	}

	if got := s.stay("NEW900").String("connectionId"); got != s.connection.String() {
		t.Errorf("the new stay is of the connection %s", got)
	}

	// The system has the new one, too, and says of the first what it said before.
	s.system.SetReservation(booked("r900", "L1", "2026-12-01", "2026-12-04"))
	s.sync("full")

	if n := s.Get("/reservations").String("pagination.total"); n != "4" {
		t.Errorf("%s stays after the sync", n)
	}

	// The app does not import contacts.
	var b bytes.Buffer

	w := multipart.NewWriter(&b)
	part, _ := w.CreateFormFile("file", "a.csv")
	_, _ = io.WriteString(part, "name\nAnn\n")
	_ = w.WriteField("kind", "contacts")
	_ = w.Close()

	s.Post(s.path("/csv-import"), b.String(), "Content-Type", w.FormDataContentType()).Want(501)
}

// code returns the confirmation code of a stay of the system.
func (s *scene) code(name string) string {
	r, err := s.system.Reservation(name)
	if err != nil {
		s.T.Fatal(err)
	}

	return r.Code
}
