package upload_test

import (
	"strings"
	"testing"
)

// The result of an import is the same file at once and in the background, where the path alone names the import.
func TestTheResultOfAnImportIsExported(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.take("contacts", contactsFile)
	o.confirm(o.preview("contacts", contactsFile), object{})

	op := o.Post(path+"/rows/csv", object{"outcome": "created"}).Want(202).String("operationId")
	o.Work()

	done := o.Get("/operations/" + op).Want(200)
	if done.String("status") != "completed" {
		t.Fatalf("the export: %s", done.Body)
	}

	queued := string(o.Get(done.String("resources.0.url")).Want(200).Body)
	if lines := strings.Count(queued, "\n"); lines != 4 || !strings.Contains(queued, ",created,") {
		t.Errorf("%d lines: %s", lines, queued)
	}

	link := o.Get(path + "/rows/csv?outcome=created").Want(200).String("url")
	if now := string(o.Get(link).Want(200).Body); now != queued {
		t.Errorf("at once:\n%s\nin the background:\n%s", now, queued)
	}

	newOffice(t).Post(path+"/rows/csv", object{}).Want(404)
}
