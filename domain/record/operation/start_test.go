package operation_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/id"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

var publicFields = []string{"createdAt", "failure", "finishedAt", "id", "initiator", "resource", "startedAt", "status", "type"}

// Proves: OPS-01, OPS-02, OPS-03, OPS-04, OPS-05, OPS-06, OPS-09, OPS-16, OPEN-01.
func TestAcknowledgementNamesADurableOperation(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	connection, primary := ref(operation.Connection, operation.Target)

	if none := x.Post("/toys", object{"type": "csv-import", "tasks": []object{{}}}).Want(202); none.Value("resource") != nil {
		t.Errorf("acknowledgement without a resource: %s", none.Body)
	}

	x.Work()

	name, _ := newGate(t)

	x.worker()
	ack := x.Post("/toys", object{"type": "connection-sync", "primary": primary, "resources": []object{primary}, "tasks": []object{{"gate": name}}}).Want(202)

	var got any
	ack.Into(&got)

	if fields := keys(t, got); !slices.Equal(fields, []string{"operationId", "resource", "status", "type"}) {
		t.Errorf("acknowledgement has the fields %v", fields)
	}

	operationID := ack.String("operationId")
	if !uuidForm.MatchString(operationID) || ack.String("type") != "connection-sync" || ack.String("status") != "queued" ||
		ack.ID("resource.id") != connection || ack.String("resource.type") != "connection" || ack.String("resource.role") != "target" {
		t.Errorf("acknowledgement: %s", ack.Body)
	}

	if ack.Header.Get("X-Service-Audit-Should-Poll") != "true" {
		t.Error("the answer does not say that work is left")
	}

	for range 2 {
		r := x.read(operationID)
		if r.String("id") != operationID || r.String("type") != "connection-sync" || r.ID("resource.id") != connection {
			t.Errorf("operation: %s", r.Body)
		}

		if r.String("initiator.type") != "user" || r.ID("initiator.userId") != x.User || len(keys(t, r.Value("initiator"))) != 2 {
			t.Errorf("initiator: %s", r.Body)
		}
	}
}

// Proves: OPS-23, OPS-24, OPS-25, OPS-31, OPS-52, OPS-54, OPEN-29.
func TestEveryTypeAndReferenceCanBeStartedAndFiltered(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	types := strings.Fields(`ach-verification bank-rule-run calendar-block calendar-unblock connection-archive connection-connect connection-extract
		connection-sync csv-import csv-import-preview export flow-run historical-gl-import historical-statement-import listing-journal-refresh
		bankfeed-initial-sync pms-cutover pms-cutover-preview provider-payment provider-payment-recovery recurring-transaction-run
		reservation-journal-refresh statement-payout statement-payout-preview team-delete team-demo-data team-duplicate team-initialize
		transaction-journal-refresh vri-statement-import vri-team-migration webhook-test`)
	golden.List(t, "types of operations", operation.Type("").Enum(), types)

	resources := strings.Fields(`bank-rule connection contact file flow listing recurring-fee recurring-transaction-template reservation
		statement team transaction webhook`)
	golden.List(t, "types of resources", operation.ResourceType("").Enum(), resources)

	roles := []operation.Role{operation.Source, operation.Target, operation.Result}
	for i, typ := range types {
		_, r := ref(operation.ResourceType(resources[i%len(resources)]), roles[i%3])

		named := []object{r}
		if strings.HasPrefix(typ, "csv-") {
			named = []object{}
		}
		// Two implementations of one type: inside a transaction and outside.
		ids := []string{
			x.start(object{"type": typ, "resources": named, "tasks": []object{{}}}),
			x.start(object{"type": typ, "resources": named, "tasks": []object{{"outside": true}}}),
		}

		list := x.Get("/operations?type=" + typ).Want(200)
		if list.Int("total") != 2 || list.Int("counts.queued") != 2 {
			t.Errorf("%s: %s", typ, list.Body)
		}

		for _, one := range ids {
			got := x.read(one)
			if got.String("type") != typ || asJSON(t, got.Value("resources")) != asJSON(t, named) {
				t.Errorf("%s: %s", typ, got.Body)
			}

			if !got.Has("startedAt") || !got.Has("finishedAt") || got.Value("startedAt") != nil || got.Value("finishedAt") != nil {
				t.Errorf("queued %s: %s", typ, got.Body)
			}
		}
	}

	for _, r := range resources {
		list := x.Get("/operations?limit=100&resourceType=" + r).Want(200)
		if n := list.Len("items"); n < 2 || int64(n) != list.Int("total") {
			t.Errorf("%s: %s", r, list.Body)
		}
	}

	x.Get("/operations?type=journal").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "type")
	x.Get("/operations?resourceType=journal").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "resourceType")
}

// Proves: OPS-10, OPS-11, OPS-12, OPS-13, OPS-46, OPS-62.
func TestSingleReadShowsAllResourcesAndTheListNone(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	_, from := ref(operation.Connection, operation.Source)
	_, to := ref(operation.Connection, operation.Target)
	made := id.New(x.DB.Now())
	rich := x.start(object{"type": "pms-cutover", "primary": to, "resources": []object{from, to}, "tasks": []object{{"file": made}}})
	poor := x.start(object{"type": "csv-import-preview", "tasks": []object{{}}})
	x.Work()

	r := x.read(rich)
	if r.Len("resources") != 3 || asJSON(t, r.Value("resources.0")) != asJSON(t, from) || asJSON(t, r.Value("resources.1")) != asJSON(t, to) ||
		r.ID("resources.2.id") != made || r.String("resources.2.role") != "result" {
		t.Errorf("resources: %s", r.Body)
	}

	if p := x.read(poor); p.Value("resource") != nil || p.Len("resources") != 0 {
		t.Errorf("without resources: %s", p.Body)
	}

	for _, one := range []string{rich, poor} {
		var got any
		x.read(one).Into(&got)

		if want := slices.Sorted(slices.Values(append([]string{"resources"}, publicFields...))); !slices.Equal(keys(t, got), want) {
			t.Errorf("single read has the fields %v", keys(t, got))
		}
	}

	list := x.Get("/operations").Want(200)

	items, _ := list.Value("items").([]any)
	if len(items) != 2 {
		t.Fatalf("list: %s", list.Body)
	}

	for _, item := range items {
		if !slices.Equal(keys(t, item), publicFields) {
			t.Errorf("an item has the fields %v", keys(t, item))
		}
	}
}

// Proves: OPS-63, OPS-64, OPS-65, AUTH-42, AUTH-45, AUTH-46, AUTH-48, OPS-32, PAG-31, OPEN-27.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	x, stranger := newToy(t), newToy(t)
	ack := x.Post("/toys", object{"type": "export", "tasks": []object{{}}}).Want(202)
	own := ack.ID("operationId")

	action := ack.Header.Get("X-Service-Audit-Action-Id")
	if !strings.HasPrefix(action, "act_") {
		t.Fatalf("action %q", action)
	}

	for _, text := range []string{own.String(), strings.ToUpper(own.String()), own.TypeID("op"), action} {
		if got := x.read(text).ID("id"); got != own {
			t.Errorf("%s reads %s", text, got)
		}

		stranger.Get("/operations/"+text).WantError(apierr.CodeNotFound, "")
	}

	internal := x.Post("/toys", object{"tasks": []object{{}}}).Want(202)

	idle := x.Post("/toys/none", nil).Want(204)
	for _, text := range []string{
		id.New(x.DB.Now()).String(), id.Zero.String(), id.New(x.DB.Now()).TypeID("op"), id.New(x.DB.Now()).TypeID("act"), "act_unknown", "op_unknown", "op_",
		"abc", "opx", own.TypeID("acc"), own.String() + "0", own.TypeID("act"), internal.String("operationId"), internal.ID("operationId").TypeID("op"),
		internal.Header.Get("X-Service-Audit-Action-Id"), idle.Header.Get("X-Service-Audit-Action-Id"),
	} {
		x.Get("/operations/"+text).WantError(apierr.CodeNotFound, "")
	}

	twice := x.Post("/toys", object{"type": "export", "twice": true, "tasks": []object{{}}}).Want(202)

	first := x.read(twice.Header.Get("X-Service-Audit-Action-Id")).String("id")
	if again := x.read(twice.Header.Get("X-Service-Audit-Action-Id")).String("id"); again != first {
		t.Errorf("an action with two operations reads %s, then %s", first, again)
	}
}

// Proves: OPS-33.
//
//nolint:paralleltest // Maintenance knows no teams: it would change rows under the parallel tests.
func TestInternalWorkIsNeitherListedNorCounted(t *testing.T) {
	x := newToy(t)
	_, r := ref(operation.Listing, operation.Target)
	x.start(object{"resources": []object{r}, "tasks": []object{{"note": "internal"}}})
	one := x.start(object{"type": "export", "tasks": []object{{}}})
	check := func(when string) {
		t.Helper()

		for _, query := range []string{"", "?status=queued", "?status=completed", "?resourceType=listing", "?createdAtFrom=2020-01-01T00:00:00Z"} {
			list := x.Get("/operations" + query).Want(200)
			if list.Int("counts.total") > 1 || list.Len("items") > 1 || list.Len("items") == 1 && list.String("items.0.id") != one {
				t.Errorf("%s %s: %s", when, query, list.Body)
			}
		}
	}
	check("queued")
	x.Work()

	if x.notes("internal") != 1 {
		t.Error("the internal task did not run")
	}

	check("settled")
	x.foldAll()
	check("folded")
}

// Proves: OPS-90.
func TestThereIsNoControl(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	one := x.start(object{"type": "export", "tasks": []object{{}}})

	for _, path := range []string{"", "/retry", "/cancel"} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			if r := x.Call(method, "/operations/"+one+path, object{}); r.Status != 404 && r.Status != 405 {
				t.Errorf("%s %s answers %d", method, path, r.Status)
			}
		}
	}

	if got := x.read(one).String("status"); got != "queued" {
		t.Errorf("status %s", got)
	}

	for _, e := range operation.Part(time.Hour).Endpoints {
		if e.Method != "GET" {
			t.Errorf("%s %s is a control", e.Method, e.Path)
		}
	}
}

func TestStartRefusesWhatContradictsTheContract(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	listing := operation.Resource{Type: operation.Listing, ID: id.New(x.DB.Now()), Role: operation.Target}

	tasks := []operation.Task{{Kind: apitest.Kind("toy"), Args: task{}}}
	for name, n := range map[string]operation.New{
		"no task":              {Type: operation.Export},
		"unknown type":         {Type: "toy", Tasks: tasks},
		"resource of a CSV":    {Type: operation.CSVImport, Resources: []operation.Resource{listing}, Tasks: tasks},
		"hidden primary":       {Type: operation.Export, Primary: &listing, Tasks: tasks},
		"arguments of no form": {Type: operation.Export, Tasks: []operation.Task{{Kind: apitest.Kind("toy"), Args: make(chan int)}}},
	} {
		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := operation.Start(ctx, tx, n)
			return err
		})
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}

	if got := x.Get("/operations").Want(200).Int("total"); got != 0 {
		t.Errorf("%d operations were kept", got)
	}
}

// A dry run does the work of the operation at once, so that it refuses what the task would, and keeps nothing.
func TestQueueRunsDry(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	before := x.Fingerprint()
	x.Post("/toys/queued?dryRun=true", object{"note": "n", "refuse": true}).WantError(apierr.CodeConflict, "")
	x.Post("/toys/queued", object{"code": "checked"}).WantError(apierr.CodeConflict, "")

	if dry := x.Post("/toys/queued?dryRun=true", object{"note": "n"}).Want(202); dry.String("status") != "queued" {
		t.Errorf("dry: %s", dry.Body)
	}

	if after := x.Fingerprint(); after != before {
		t.Errorf("dry runs kept rows: %s", after)
	}

	one := x.Post("/toys/queued", object{"note": "n"}).Want(202).String("operationId")
	if x.notes("n") != 0 {
		t.Error("the request did the work")
	}

	x.Work()

	if r := x.read(one); r.String("status") != "completed" || x.notes("n") != 1 {
		t.Errorf("%d notes: %s", x.notes("n"), r.Body)
	}
}
