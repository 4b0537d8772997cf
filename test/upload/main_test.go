// Package upload_test imports files as a back office has them, through the whole service.
package upload_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/platform/apitest"
	"stayledger/test/world"
)

func TestMain(m *testing.M) {
	// The kill test runs this program as a worker.
	if url := os.Getenv(workerDatabase); url != "" {
		work(url)
	}

	apitest.Main(m)
}

type (
	object = world.Object
	array  = world.Array
)

// office is a world that imports files.
type office struct{ *world.World }

func newOffice(t testing.TB, changes ...func(*app.External)) *office {
	t.Helper()

	return &office{world.New(t, changes...)}
}

// send uploads a file to a path, with fields of the form in pairs.
func (o *office) send(path, content string, fields ...string) *apitest.Response {
	o.T.Helper()

	var b bytes.Buffer

	w := multipart.NewWriter(&b)

	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			o.T.Fatal(err)
		}
	}

	part, err := w.CreateFormFile("file", "rows.csv")
	if err == nil {
		_, err = io.WriteString(part, content)
	}

	if err != nil {
		o.T.Fatal(err)
	}

	if err := w.Close(); err != nil {
		o.T.Fatal(err)
	}

	return o.Post(path, b.String(), "Content-Type", w.FormDataContentType())
}

// preview uploads a file and waits until it is read. It returns the path of the preview.
func (o *office) preview(kind, content string, fields ...string) string {
	o.T.Helper()

	r := o.send("/csv-imports/previews", content, append([]string{"kind", kind}, fields...)...).Want(202)
	o.Work()

	return "/csv-imports/previews/" + r.String("operationId")
}

// confirm imports the rows of a preview and returns the operation.
func (o *office) confirm(path string, body any) *apitest.Response {
	o.T.Helper()

	r := o.Post(path+"/confirm", body).Want(202)
	o.Work()

	return o.Get("/operations/" + r.String("operationId")).Want(200)
}

// take previews and imports a file whose rows are all good.
func (o *office) take(kind, content string, fields ...string) string {
	o.T.Helper()

	path := o.preview(kind, content, fields...)

	if got := o.confirm(path, object{}).String("status"); got != "completed" {
		o.T.Fatalf("%s: the import %s: %s", kind, got, o.Get(path+"/rows").Body)
	}

	return path
}

// counts returns numbers of an import as one text.
func (o *office) counts(path string) string {
	o.T.Helper()

	r := o.Get(path).Want(200)

	var text strings.Builder

	for _, of := range []string{"rows", "valid", "faulty", "duplicates", "questions", "ignored", "parts"} {
		if n := r.String("counts." + of); n != "0" {
			fmt.Fprintf(&text, "%s %s ", n, of)
		}
	}

	text.WriteString("->")

	for _, of := range []string{"created", "updated", "unchanged", "skipped", "failed", "undone"} {
		if n := r.String("outcomes." + of); n != "0" {
			fmt.Fprintf(&text, " %s %s", n, of)
		}
	}

	return text.String()
}
