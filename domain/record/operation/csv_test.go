package operation_test

import (
	"context"
	"testing"

	"stayledger/domain/record/operation"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Proves: OPS-21, OPS-22.
func TestCSVImportsHaveNoPublicResource(t *testing.T) {
	t.Parallel()

	for _, typ := range []operation.Type{operation.CSVImportPreview, operation.CSVImport} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			x := newToy(t)
			ack := x.Post("/toys", object{"type": typ, "tasks": []object{{}}}).Want(202)
			check := func(status string) {
				t.Helper()

				r := x.read(ack.String("operationId"))
				if r.String("status") != status || r.Value("resource") != nil || r.Len("resources") != 0 {
					t.Errorf("%s: %s", status, r.Body)
				}
			}

			if ack.Value("resource") != nil {
				t.Errorf("acknowledgement: %s", ack.Body)
			}

			check("queued")
			x.Work()
			check("completed")

			upload := operation.Resource{Type: operation.File, ID: id.New(x.DB.Now()), Role: operation.Source}

			tasks := []operation.Task{{Kind: apitest.Kind("toy"), Args: task{}}}
			for name, n := range map[string]operation.New{
				"primary":  {Type: typ, Primary: &upload, Resources: []operation.Resource{upload}, Tasks: tasks},
				"resource": {Type: typ, Resources: []operation.Resource{upload}, Tasks: tasks},
			} {
				err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
					_, err := operation.Start(ctx, tx, n)
					return err
				})
				if err == nil {
					t.Errorf("starts with a %s", name)
				}
			}
		})
	}
}
