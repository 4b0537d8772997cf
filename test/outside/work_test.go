package outside_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"stayledger/app"
	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/test/world"
)

// grace is how long what is under way may take to end.
const grace = 10 * time.Second

// work is everything that calls out, under way.
type work struct {
	*scene

	log      *slog.Logger
	began    time.Time
	requests sync.WaitGroup // and periodic tasks
	workers  sync.WaitGroup
	stop     context.CancelFunc
	deleted  *world.World
	large    *world.World
}

// begin stops the world and starts everything that calls out.
func (s *scene) begin() *work {
	s.T.Helper()

	ctx, stop := context.WithCancel(s.T.Context())
	w := &work{
		scene: s, stop: stop, deleted: s.newDeleted(), large: s.newLarge(), log: slog.New(slog.NewTextHandler(s.T.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	state, named := s.authorize(), s.newNamed()

	// The jobs wait for a worker with a place for each of them.
	w.loseReceiver()
	w.queue()
	s.outside.stop()
	s.T.Cleanup(s.outside.release) // also after a failure: servers end after their answers

	w.began = time.Now()
	worker := job.NewWorker(job.Config{DB: s.DB, Log: w.log, Workers: 40, BulkWorkers: 20, Handlers: s.Parts.Handlers})
	w.workers.Go(func() { worker.Run(ctx, grace) })
	w.loop(ctx, &w.workers)

	for _, task := range []string{"payment-ask", "file-sweep", "file-purge", "audit-seal"} {
		w.requests.Go(func() {
			if err := s.RunTask(task); err != nil {
				s.T.Errorf("%s: %v", task, err)
			}
		})
	}

	w.request(s.Team, 201, "POST", "/contacts", vendor) // an event for the receiver
	w.request(s.Team, 202, "POST", "/connections/"+s.systems["again"].String()+"/connect", "{}")
	w.request(s.Team, 202, "POST", "/connections/connect", `{"appId":"ownerrez","authorizationState":"`+state+`"}`)
	w.request(s.Team, 200, "GET", "/contacts/csv", "")
	w.request(w.large.Team, 200, "GET", "/contacts/csv", "")
	w.request(s.Team, 200, "GET", "/transaction-attachments/"+s.files["downloaded"].String()+"/download", "")
	w.request(s.Team, 200, "GET", "/files/"+s.files["exported"].String()+"/download", "")
	w.request(s.Team, 200, "GET", s.link, "")
	w.upload(201, "/transaction-attachments", "receipt.txt", "A receipt")
	w.upload(202, "/csv-imports/previews", "rows.csv", contacts, "kind", "contacts")
	w.upload(202, "/connections/"+s.systems["read"].String()+"/csv-import", "rows.csv", listings, "kind", "listings")
	w.request(named.Team, 200, "PUT", "/connections/"+named.connection.String(), `{"settings":{"baseUrl":"https://changed.example.com"}}`)
	w.request(named.Team, 202, "POST", "/connections",
		`{"appId":"pmsProtocol","name":"New","settings":{"baseUrl":"https://new.example.com"},"credentials":{"token":"x"}}`)
	w.request(named.Team, 201, "POST", "/webhooks", `{"url":"https://hook.example.com","eventTypes":["audit.event.changed"]}`)
	w.request(named.Team, 200, "PUT", "/webhooks/"+named.webhook.String(), `{"url":"https://moved-hook.example.com"}`)

	return w
}

// Files of the kinds that are imported.
const (
	contacts = "Name,E-Mail,Type\nAnn Miller,ann@example.com,owner\n"
	listings = "Id,Name\nL7,House 7\n"
)

// request sends a request that calls out.
func (w *work) request(team *apitest.Team, want int, method, path, body string) {
	w.requests.Go(func() {
		if got := send(team, method, path, body, "application/json"); got.Code != want {
			w.T.Errorf("%s %s answered %d: %s", method, path, got.Code, got.Body)
		}
	})
}

// upload sends a file, and further fields in pairs.
func (w *work) upload(want int, path, name, content string, fields ...string) {
	body, kind := form(w.T, name, content, fields...)

	w.requests.Go(func() {
		if got := send(w.Team, http.MethodPost, path, body, kind); got.Code != want {
			w.T.Errorf("%s answered %d: %s", path, got.Code, got.Body)
		}
	})
}

// send sends a request from any goroutine, and returns the answer.
func send(team *apitest.Team, method, path, body, contentType string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, bytes.NewBufferString(body))
	if body != "" {
		r.Header.Set("Content-Type", contentType)
	}

	w := httptest.NewRecorder()
	team.Server().ServeHTTP(w, r)

	return w
}

// queue queues a job of each kind that calls out.
func (w *work) queue() {
	w.T.Helper()

	connection := func(system string) string { return "/connections/" + w.systems[system].String() }

	w.systems["new"] = w.connect("new")
	w.Delete(connection("archived") + "?outcome=archive").Want(202)
	w.insertJob("connection.read", object{"connectionId": w.systems["moved"]})
	w.Post(connection("read")+"/sync", object{"mode": "full"}).Want(202)
	w.Post("/connections/extract", object{"connectionId": w.systems["extracted"], "extractor": "listings"}).Want(202)
	w.Post("/calendar-blocks", w.nights("blocked")).Want(202)
	w.Call(http.MethodDelete, "/calendar-blocks", w.nights("opened")).Want(202)
	w.Post("/flows/resync-window"+connection("flow")+"/run", object{"params": object{"startAt": "2027-03-01", "endAt": "2027-03-31"}}).Want(202)
	w.Exec(`update connection_token set renew_at = now() - interval '1 second' where team_id = @team`, nil)
	w.Post("/connections/"+w.hostaway.String()+"/sync", object{"mode": "full"}).Want(202)

	w.pay()
	w.cancelPayment()
	w.Exec(`update payment set ask_at = now() - interval '1 second' where team_id = @team and status = 'submitted'`, nil)
	w.addAccount(w.owner, "2")

	w.test("tested")
	w.Publish("2026-01", w.villa)
	w.Post("/statements/"+w.Statement(w.villa, "2026-01").String()+"/emails", object{}).Want(202)

	w.Post("/contacts/csv", object{}).Want(202)
	w.Post("/team/export", nil).Want(202)
	w.Delete("/transaction-attachments/" + w.files["forgone"].String()).Want(204)
	w.Exec(`update file set purge_at = now() where team_id = @team and id = @file`, db.Args{"file": w.files["purged"]})

	body, kind := form(w.T, "rows.csv", contacts, "kind", "contacts")
	w.outside.nameObject(w.fileOf(w.Post("/csv-imports/previews", body, "Content-Type", kind).Want(202)), "staged")
	w.large.Post("/contacts/csv", object{}).Want(202)
	w.large.Post("/team/export", nil).Want(202)
	w.deleted.Call(http.MethodDelete, "/team", object{"confirmName": "Test team"}).Want(202)
}

// fileOf returns the file of an import.
func (s *scene) fileOf(preview *apitest.Response) (file id.ID) {
	s.T.Helper()
	s.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		file, err = db.Get[id.ID](ctx, tx, `select file_id from csv_import where team_id = @team and id = @operation`,
			db.Args{"team": tx.Team, "operation": preview.ID("operationId")})

		return err
	})

	return file
}

// insertJob queues a job that no request of a test can queue.
func (s *scene) insertJob(name string, args any) {
	s.T.Helper()

	for kind := range s.Parts.Handlers {
		if kind.String() == name {
			s.Tx(func(ctx context.Context, tx *db.Tx) error {
				return job.Insert(ctx, tx, job.New{Kind: kind, Args: args})
			})
		}
	}
}

// loop runs what goes on all the time until the context ends: the sender of webhooks.
func (w *work) loop(ctx context.Context, group *sync.WaitGroup) {
	for _, loop := range w.Parts.Loops {
		group.Go(func() { loop(ctx, w.DB, w.log, grace) })
	}
}

// loseReceiver has the receiver of a webhook go, and waits until that is noticed. A letter about it is queued then.
func (w *work) loseReceiver() {
	w.T.Helper()
	w.isGone.Store(true)
	w.Contact("vendor", "The event that shows it")

	ctx, stop := context.WithCancel(w.T.Context())

	var looping sync.WaitGroup

	w.loop(ctx, &looping)

	for deadline := time.Now().Add(grace); w.Get("/webhooks/"+w.hooks["gone"].String()).Want(200).String("status") != "disabled"; {
		if time.Now().After(deadline) {
			w.T.Fatal("the webhook is not disabled")
		}

		time.Sleep(5 * time.Millisecond)
	}

	stop()
	looping.Wait()

	// A sender that is stopped may leave the lease of another receiver.
	w.Exec(`update webhook set leased_until = null where team_id = @team`, nil)
}

// newDeleted returns a team with a file in the store, which is to be deleted.
func (s *scene) newDeleted() *world.World {
	s.T.Helper()

	w := world.New(s.T, func(o *app.External) { o.Store = s.store })
	s.outside.nameObject(attach(s.T, w.Team), "deleted")

	return w
}

// newLarge returns a team with so much that its exports go into the store in parts.
func (s *scene) newLarge() *world.World {
	s.T.Helper()

	w := world.New(s.T, func(o *app.External) { o.Store = s.store })
	w.Exec(`insert into contact (team_id, id, short_ref, type, name, first_name, created_at, updated_at)
		select @team, gen_random_uuid(), 'ref' || n, 'vendor', 'Fix-It', (select string_agg(md5(n || ' ' || i), '') from generate_series(1, 125) i), now(), now()
		from generate_series(1, 4500) n`, nil)

	return w
}

// named is a team of a service that asks the name service about addresses.
type named struct {
	*apitest.Team

	connection, webhook id.ID
}

// newNamed returns such a team with a connection that does not work and a webhook.
func (s *scene) newNamed() *named {
	s.T.Helper()

	all := app.Parts(app.External{Box: s.Box, Store: s.store}, app.Config{PublicURL: "http://127.0.0.1"})
	n := &named{Team: apitest.New(s.T, apitest.Config{Endpoints: all.Endpoints, Handlers: all.Handlers, Scopes: access.Scopes(), Audit: audit.Record})}
	n.connection = n.Post("/connections", object{
		"appId": "pmsProtocol", "name": "Old", "settings": object{"baseUrl": "https://old.example.com"}, "credentials": object{"token": token},
	}).Want(202).ID("resource.id")
	n.Exec(`update connection set status = 'disabled' where team_id = @team`, nil)
	n.Exec(`delete from job where team_id = @team`, nil)
	n.webhook = n.Post("/webhooks", object{"url": "https://old.example.com", "eventTypes": array{"audit.event.changed"}}).Want(201).ID("id")

	return n
}

// end lets the world answer when its time has come, and wants all that is under way to end well.
func (w *work) end() {
	w.T.Helper()

	<-time.After(time.Until(w.began.Add(answerTime)))
	w.outside.release()
	w.requests.Wait()
	w.Outlast(nil)
	w.deleted.Outlast(nil)
	w.large.Outlast(nil)
	w.stop()
	w.workers.Wait()

	var list struct {
		Data []struct{ Type, Status string }
	}

	w.Get("/operations?limit=100").Want(200).Into(&list)

	ended := map[string]int{}
	for _, o := range list.Data {
		ended[o.Type+" "+o.Status]++
	}

	// Receivers of webhooks have less time than the world takes.
	for how, n := range ended {
		if how != "webhook-test failed" && !strings.HasSuffix(how, " completed") {
			w.T.Errorf("%d ended as %s", n, how)
		}
	}
}
