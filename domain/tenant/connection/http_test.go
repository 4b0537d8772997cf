package connection_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

func TestSettingsAndCredentialsAreStrict(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	ledger, bank := x.account("ledger"), x.account("bank")
	setting := func(name string, v any) object { return nacha(object{name: v}) }

	address := func(url string) object { return x.remote(object{"settings": object{"baseUrl": url}}) }
	for _, test := range []struct {
		body       object
		code, path string
	}{
		{x.remote(object{"appId": "myspace"}), "enum", "appId"},
		{x.remote(object{"name": ""}), "length", "name"},
		{x.remote(object{"status": "active"}), "unknownField", "status"},
		{x.remote(object{"settings": nil}), "object", "settings"},
		{x.remote(object{"settings": object{}}), "required", "settings.baseUrl"},
		{x.remote(object{"settings": object{"baseUrl": 7}}), "string", "settings.baseUrl"},
		{x.remote(object{"settings": object{"baseUrl": x.provider.URL, "apiKey": "k"}}), "unknownField", "settings.apiKey"},
		{x.remote(object{"credentials": object{}}), "required", "credentials.callbackSecret"},
		{x.remote(object{"credentials": object{"apiKey": "a\nb", "callbackSecret": secret}}), "malformed", "credentials.apiKey"},
		{x.remote(object{"credentials": object{"apiKey": "a", "callbackSecret": "short"}}), "length", "credentials.callbackSecret"},
		{x.remote(object{"credentials": object{"apiKey": "a", "callbackSecret": "whsec_" + strings.Repeat("?", 40)}}), "malformed", "credentials.callbackSecret"},
		{x.remote(object{"credentials": object{"apiKey": "a", "callbackSecret": secret, "x": "y"}}), "unknownField", "credentials.x"},
		{address("example.com"), "url", "settings.baseUrl"},
		{address("https://user@example.com"), "url", "settings.baseUrl"},
		{address("https://example.com?x=1"), "url", "settings.baseUrl"},
		{address("https://example.com#x"), "url", "settings.baseUrl"},
		{address("http://example.com"), "addressNotAllowed", "settings.baseUrl"},
		{address("http://10.0.0.1"), "addressNotAllowed", "settings.baseUrl"},
		{address("ftp://127.0.0.1"), "addressNotAllowed", "settings.baseUrl"},
		{setting("immediateDestination", nil), "required", "settings.immediateDestination"},
		{setting("immediateDestination", "021000022"), "routingNumberInvalid", "settings.immediateDestination"},
		{setting("immediateDestination", "000000000"), "routingNumberInvalid", "settings.immediateDestination"},
		{setting("odfiRouting", "021000022"), "routingNumberInvalid", "settings.odfiRouting"},
		{setting("odfiRouting", "0210000"), "length", "settings.odfiRouting"},
		{setting("odfiRouting", "0210000x"), "routingNumberInvalid", "settings.odfiRouting"},
		{setting("companyName", "Seaside Rentals Inc"), "length", "settings.companyName"},
		{setting("companyName", "Strandhäuser"), "malformed", "settings.companyName"},
		{setting("companyName", "A\nB"), "malformed", "settings.companyName"},
		{setting("companyIdentification", "12345678901"), "length", "settings.companyIdentification"},
		{setting("entryDescription", "OWNER PAYOUT"), "length", "settings.entryDescription"},
		{setting("entryDescription", "reversal"), "malformed", "settings.entryDescription"},
		{setting("fundingAccountId", "no uuid"), "length", "settings.fundingAccountId"},
		{setting("fundingAccountId", id.New(x.DB.Now())), "notFound", "settings.fundingAccountId"},
		{setting("surprise", "x"), "unknownField", "settings.surprise"},
	} {
		x.Post("/connections", test.body).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, test.path)
	}

	x.Post("/connections", setting("fundingAccountId", ledger)).WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount).
		WantIssue("notBankAccount", "settings.fundingAccountId")
	r := x.Post("/connections", x.remote(object{"settings": object{}, "credentials": object{"apiKey": "a"}})).WantError(apierr.CodeBadRequest, "")
	r.WantIssue("required", "settings.baseUrl").WantIssue("required", "credentials.callbackSecret")

	withCredentials := nacha(nil)
	withCredentials["credentials"] = object{"apiKey": "x"}
	x.Post("/connections", withCredentials).WantError(apierr.CodeBadRequest, "").WantIssue("unknownField", "credentials.apiKey")
	x.Post("/connections", setting("balancedFile", "nope")).WantError(apierr.CodeBadRequest, "").WantIssue("enum", "settings.balancedFile")

	balanced := nacha(object{"balancedFile": "true", "offsetRouting": "091000019"})
	x.Post("/connections", balanced).WantError(apierr.CodeBadRequest, "").WantIssue("malformed", "credentials.offsetAccountNumber")

	if n := x.Get("/connections").Int("pagination.total"); n != 0 {
		t.Errorf("%d connections were kept", n)
	}

	balanced["credentials"] = object{"offsetAccountNumber": "4242424242"}
	if r := x.get(x.connect(balanced)); r.String("settings.balancedFile") != "true" || strings.Contains(string(r.Body), "4242424242") {
		t.Errorf("the connection is %s", r.Body)
	}

	if got := x.get(x.connect(setting("fundingAccountId", bank))).ID("settings.fundingAccountId"); got != bank {
		t.Errorf("pays from %v", got)
	}

	x.Post("/connections?dryRun=true", nacha(nil)).WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "dryRun")
}

// Without the operator's setting no team reaches the machines next to the service.
func TestPrivateAddressesNeedTheSetting(t *testing.T) {
	t.Parallel()
	x := newWorld(t)

	strict := apitest.New(t, apitest.Config{Endpoints: connection.Part(connection.Config{Box: x.box, Apps: payapp.Apps(nil), Lookup: names}).Endpoints})
	for _, url := range []string{
		"http://127.0.0.1:1", "https://127.0.0.1", "https://localhost", "https://LOCALHOST.", "https://api.localhost", "https://[::1]", "https://10.1.2.3",
		"https://169.254.169.254", "https://[fd00::1]", "https://[::ffff:127.0.0.1]", "https://0.0.0.0", "http://example.com", "https://[fec0::1]",
		"https://[::10.0.0.1]", "https://[::ffff:0:10.0.0.1]", "https://100.64.0.1",
	} {
		strict.Post("/connections", x.remote(object{"settings": object{"baseUrl": url}})).WantError(apierr.CodeBadRequest, "").
			WantIssue("addressNotAllowed", "settings.baseUrl")
	}

	strict.Post("/connections", x.remote(object{"settings": object{"baseUrl": "https://pay.example.com/v2"}})).Want(202)
}

// names has the addresses of the names of the tests. Localhost is asked of the machine, under another name, since its own
// is refused unasked.
func names(ctx context.Context, name string) ([]netip.Addr, error) {
	switch name {
	case "near.example.com":
		return outbound.LookUp(ctx, "localhost")
	case "both.example.com":
		return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("8.8.8.8")}, nil
	case "metadata.example.com":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00::1")}, nil
	case "pay.example.com":
		return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
	case "slow.example.com":
		<-ctx.Done()
		return nil, ctx.Err()
	}

	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// A name that has private addresses only is refused as they are, when it is given and not first when it is called.
func TestNamesOfPrivateAddressesNeedTheSetting(t *testing.T) {
	t.Parallel()
	x := newWorld(t)

	serve := func(private bool) *apitest.Team {
		own := connection.Part(connection.Config{Box: x.box, Apps: payapp.Apps(nil), Lookup: names, Private: private})

		return apitest.New(t, apitest.Config{Endpoints: parts.Join(own).Endpoints})
	}
	at := func(name string) object { return object{"baseUrl": "https://" + name + "/v2"} }

	strict, local := serve(false), serve(true)
	for _, name := range []string{"near.example.com", "metadata.example.com", "near.example.com:8443"} {
		strict.Post("/connections", x.remote(object{"settings": at(name)})).WantError(apierr.CodeBadRequest, "").
			WantIssue("addressNotAllowed", "settings.baseUrl")
		local.Post("/connections", x.remote(object{"settings": at(name)})).Want(202)
	}

	// It is an issue with others.
	strict.Post("/connections", x.remote(object{"settings": at("near.example.com"), "credentials": object{"apiKey": "a"}})).
		WantIssue("addressNotAllowed", "settings.baseUrl").WantIssue("required", "credentials.callbackSecret")

	for _, name := range []string{"pay.example.com", "both.example.com", "unknown.example.com", "slow.example.com"} {
		strict.Post("/connections", x.remote(object{"name": name, "settings": at(name)})).Want(202)
	}

	// A connection from before the check keeps its address, and gets no other such.
	for _, team := range []*apitest.Team{strict, local} {
		team.Exec(`update connection set status = 'disabled', settings = settings || '{"baseUrl": "https://near.example.com/v2"}'
			where team_id = @team`, db.Args{})

		path := "/connections/" + team.Get("/connections?sort=createdAt").ID("data.0.id").String()
		team.Put(path, object{"settings": at("near.example.com"), "name": "Renamed"}).Want(200)

		changed := team.Put(path, object{"settings": at("metadata.example.com")})
		if team == local {
			changed.Want(200)
			continue
		}

		changed.WantError(apierr.CodeBadRequest, "").WantIssue("addressNotAllowed", "settings.baseUrl")
		team.Put(path, object{"settings": at("pay.example.com")}).Want(200)
	}

	strict.Put("/connections/"+id.New(x.DB.Now()).String(), object{"settings": at("pay.example.com")}).WantError(apierr.CodeNotFound, "")
}

func TestListOfConnections(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	file := nacha(nil)
	file["uniqueRef"] = "file"
	a, b := x.connect(file), x.connect(x.remote(object{"name": "100% bank"}))
	x.Put("/connections/"+b.String(), object{"status": "disabled"}).Want(200)

	for query, want := range map[string][]id.ID{
		"": {a, b}, "sort=-createdAt": {b, a}, "sort=name": {b, a}, "status=active": {a}, "status=disabled": {b}, "status=archived": {},
		"appId=nacha": {a}, "appId=payProvider": {b}, "search=0%25": {b}, "search=%25": {b}, "search=ACH": {a}, "search=zzz": {},
		"ids=" + a.String(): {a}, "uniqueRefs=file,none": {a}, "limit=1&page=2": {b},
	} {
		r := x.Get("/connections?" + query).Want(200)

		got := make([]id.ID, r.Len("data"))
		for i := range got {
			got[i] = r.ID(fmt.Sprintf("data.%d.id", i))
		}

		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}

	for query, name := range map[string]string{"appId=x": "appId", "status=x": "status", "sort=status": "sort", "foo=1": "foo", "ids=x": "ids"} {
		if r := x.Get("/connections?"+query).WantError(apierr.CodeBadRequest, ""); r.String("issues.0.path.0") != name {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
}

// Proves: OPEN-05.
func TestConnectionsShowTheirOperations(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	one := x.connect(nacha(nil))

	r := x.Get("/connections?include=operations").Want(200)
	if r.Int("data.0.operations.counts.completed") != 1 || r.ID("data.0.operations.latest.resource.id") != one || r.String("data.0.app.id") != "nacha" {
		t.Errorf("got %s", r.Body)
	}

	if x.Get("/connections").Has("data.0.operations") {
		t.Error("operations are shown unasked")
	}
}

func TestChangesOfAConnection(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	one := x.connect(nacha(nil))
	other := x.remote(object{"uniqueRef": "taken"})
	x.connect(other)
	x.Post("/connections", other).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)

	path := "/connections/" + one.String()

	r := x.Put(path, object{"name": "File", "uniqueRef": "r", "status": "disabled"}).Want(200)
	if r.String("name") != "File" || r.String("uniqueRef") != "r" || r.String("status") != "disabled" || r.String("settings.odfiRouting") != "02100002" {
		t.Errorf("changed %s", r.Body)
	}

	if r := x.Put(path, object{"uniqueRef": nil, "status": "active"}).Want(200); r.String("uniqueRef") != "null" || r.String("status") != "active" {
		t.Errorf("changed %s", r.Body)
	}

	settings := nacha(object{"entryDescription": "Rent"})["settings"]
	if r := x.Put(path, object{"settings": settings}).Want(200); r.String("settings.entryDescription") != "RENT" || r.String("status") != "active" {
		t.Errorf("changed %s", r.Body)
	}

	x.Put(path, object{"uniqueRef": "taken"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)

	for _, test := range []struct {
		body       object
		code, path string
	}{
		{object{"status": "connecting"}, "enum", "status"},
		{object{"appId": "payProvider"}, "unknownField", "appId"},
		{object{"credentials": object{}}, "unknownField", "credentials"},
		{object{"settings": object{"companyName": "X"}}, "required", "settings.odfiRouting"},
	} {
		x.Put(path, test.body).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, test.path)
	}
}

// A connection is deleted only while nothing came over it.
func TestAConnectionThatBroughtRecordsIsArchived(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	fixture.StandardChart(x.Team)

	vendors, bills := x.connect(nacha(nil)), x.connect(nacha(nil))
	vendor := x.Post("/contacts", object{"type": "vendor", "name": "Fix-It", "connectionId": vendors}).Want(201)
	bill := x.Post("/transactions", object{
		"type": "payout", "date": "2026-03-01", "connectionId": bills, "sourceId": "b-1", "lines": []object{{"amount": 100, "party": "manager"}},
	}).Want(201)

	for c, reason := range map[id.ID]string{vendors: "contacts", bills: "transactions"} {
		path := "/connections/" + c.String()
		if r := x.Delete(path+"?outcome=delete").WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons") != `["`+reason+`"]` {
			t.Errorf("refused with %s, want %s", r.Body, reason)
		}
	}

	// What it brought can go, or leave it, and then so can the connection.
	x.Put("/contacts/"+vendor.String("id"), object{"connectionId": nil}).Want(200)
	x.Delete("/transactions/" + bill.String("id")).Want(204)
	x.Delete("/connections/" + vendors.String()).Want(204)

	if r := x.Delete("/connections/" + bills.String() + "?outcome=archive").Want(202); r.String("type") != "connection-archive" {
		t.Errorf("archived with %s", r.Body)
	}
}

// Proves: INIT-12, INIT-13.
func TestConnectionsAreDeletedOrArchived(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	operations := func() int64 { return x.Get("/operations").Int("total") }
	path := func(c id.ID) string { return "/connections/" + c.String() }
	unused, used, busy, read := x.connect(nacha(nil)), x.connect(nacha(nil)), x.connect(x.remote(nil)), x.connect(nacha(nil))
	x.Exec(`insert into account_connection (team_id, id, connection_id, provider_account_id, name, currency, status, created_at, updated_at)
		values (@team, gen_random_uuid(), @connection, 'account-1', 'Checking', 'usd', 'detached', now(), now())`, db.Args{"connection": read})
	x.pay(used, "paid")
	x.pay(busy, "submitted")

	before := operations()

	x.Delete(path(unused)).Want(204)
	x.Get(path(unused)).WantError(apierr.CodeNotFound, "")

	if operations() != before {
		t.Error("a deletion left an operation")
	}

	if r := x.Delete(path(used)+"?outcome=delete").WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons.0") != "payments" ||
		r.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("refused with %s", r.Body)
	}

	if r := x.Delete(path(read)+"?outcome=delete").WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons") != `["accountConnections"]` ||
		r.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("refused with %s", r.Body)
	}

	// Records that came over a connection keep it, also when the account connection is gone.
	fed := x.connect(nacha(nil))
	x.Exec(`insert into bank_record (team_id, id, connection_id, currency, date, amount, created_at, updated_at)
		values (@team, gen_random_uuid(), @connection, 'usd', '2026-03-01', 1, now(), now())`, db.Args{"connection": fed})

	if r := x.Delete(path(fed)+"?outcome=delete").WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons") != `["bankRecords"]` {
		t.Errorf("refused with %s", r.Body)
	}

	if r := x.Delete(path(read)).Want(202); r.String("type") != "connection-archive" {
		t.Errorf("the outcome by default is %s", r.Body)
	}

	for _, query := range []string{"", "?outcome=archive"} {
		if r := x.Delete(path(busy)+query).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons.0") != "paymentsUnderWay" {
			t.Errorf("refused with %s", r.Body)
		}
	}

	x.Delete(path(busy)+"?outcome=forget").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "outcome")

	ack := x.Delete(path(used)).Want(202)
	if ack.String("type") != "connection-archive" || ack.ID("resource.id") != used {
		t.Errorf("acknowledgement: %s", ack.Body)
	}

	x.Work()
	x.wantStatus(used, "archived")
	x.Put(path(used), object{"name": "N"}).WantError(apierr.CodeBadRequest, "")
	x.Post(path(used)+"/connect", object{}).WantError(apierr.CodeBadRequest, "")
	another := x.connect(x.remote(nil))
	x.Delete(path(another) + "?outcome=archive").Want(202)
	x.pay(another, "requested") // in between
	x.Work()
	x.wantStatus(another, "active")

	if x.settled() != "failed" {
		t.Errorf("operation %s", x.settled())
	}
}

// Proves: AUTH-18.
func TestScopesOfConnections(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	one := x.connect(nacha(nil))
	path := "/connections/" + one.String()
	writer, reader := x.As([]string{"connections:write"}, nil), x.As([]string{"connections:read"}, nil)
	writer.Delete(path).WantError(apierr.CodeForbidden, "")
	writer.Get(path).WantError(apierr.CodeForbidden, "")
	reader.Post("/connections", nacha(nil)).WantError(apierr.CodeForbidden, "")
	reader.Put(path, object{"name": "N"}).WantError(apierr.CodeForbidden, "")
	reader.Post(path+"/connect", object{}).WantError(apierr.CodeForbidden, "")
}
