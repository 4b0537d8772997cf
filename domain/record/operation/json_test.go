package operation_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stayledger/domain/record/operation"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

func TestOwnEncodingIsTheStandardOne(t *testing.T) {
	t.Parallel()

	instant := rapid.Map(rapid.Int64Range(0, 4e12), func(ms int64) *day.Instant { at := day.At(time.UnixMilli(ms)); return &at })
	anyID := rapid.Custom(func(t *rapid.T) id.ID { return id.New(time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "ms"))) })
	resource := rapid.Custom(func(t *rapid.T) operation.Resource {
		return operation.Resource{
			Type: operation.ResourceType(rapid.SampledFrom(operation.File.Enum()).Draw(t, "type")), ID: anyID.Draw(t, "id"),
			Role: operation.Role(rapid.SampledFrom(operation.Result.Enum()).Draw(t, "role")), URL: rapid.SampledFrom([]string{"", "/files/x/download"}).Draw(t, "url"),
		}
	})
	one := rapid.Custom(func(t *rapid.T) operation.Operation {
		o := operation.Operation{
			ID: anyID.Draw(t, "id"), Type: operation.Type(rapid.SampledFrom(operation.Export.Enum()).Draw(t, "type")),
			Status:    operation.Status(rapid.SampledFrom(operation.Queued.Enum()).Draw(t, "status")),
			Initiator: operation.Initiator{Type: "user", UserID: anyID.Draw(t, "user")}, CreatedAt: *instant.Draw(t, "created"),
		}
		if rapid.Bool().Draw(t, "has resource") {
			r := resource.Draw(t, "resource")
			o.Resource, o.StartedAt = &r, instant.Draw(t, "started")
		}

		if rapid.Bool().Draw(t, "has failure") {
			code := rapid.SampledFrom([]operation.FailureCode{operation.OperationFailed, operation.CSVEncoding, "csvElse"}).Draw(t, "code")
			o.Failure, o.FinishedAt = &operation.Failure{Code: code, Message: code.Message()}, instant.Draw(t, "finished")
		}

		return o
	})
	rapid.Check(t, func(t *rapid.T) {
		cursor := "abc_-9"

		l := &operation.List{
			Items:  rapid.SliceOfN(one, 0, 3).Draw(t, "items"),
			Counts: operation.Counts{Total: 10, Queued: 1, Running: 2, Completed: 3, Failed: 4}, Total: rapid.Int64().Draw(t, "total"),
		}
		if l.Items == nil {
			l.Items = []operation.Operation{}
		}

		if rapid.Bool().Draw(t, "has cursor") {
			l.NextCursor = &cursor
		}

		same(t, l, l.AppendJSON(nil))
		d := &operation.Detail{Operation: one.Draw(t, "detail"), Resources: append([]operation.Resource{}, rapid.SliceOfN(resource, 0, 3).Draw(t, "resources")...)}
		same(t, d, d.AppendJSON(nil))
	})
}

func same(t *rapid.T, v any, got []byte) {
	t.Helper()

	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	if string(got) != string(want) {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}
