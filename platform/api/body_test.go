package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

const marker = "zq-marker-zq"

// Proves: ERR-08, ERR-09, ERR-10, ERR-11, ERR-82, ERR-83, ERR-84, DRY-02, DRY-05.
func TestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	with := func(fields string) string { return `{"name":"n","kind":"owner",` + fields + `}` }
	for body, issue := range map[string]string{
		`{"kind":"owner"}`: "required name", `{}`: "required kind", `{"name":"n"}`: "required kind", ``: "required ", `   `: "required ",
		with(`"dryRun":true`): "unknownField dryRun", with(`"NAME":"` + marker + `"`): "unknownField NAME", with(`"a.b[0]":1`): "unknownField a.b[0]",
		with(`"name":"` + marker + `"`): "duplicateField name", `{"name":"n","NAME":"x","kind":"owner"}`: "unknownField NAME",
		with(`"free":{"a":1,"a":2}`): "duplicateField free.a", with(`"free":{"a":[{"b":1,"b":2}]}`): "duplicateField free.a.0.b",
		with(`"count":null`): "integer count", with(`"flag":null`): "boolean flag", with(`"tags":null`): "array tags", with(`"on":null`): "string on", with(`"places":null`): "array places",
		`{"name":null,"kind":"owner"}`: "string name", `{"name":"n","kind":null}`: "string kind", `null`: "object ", `[]`: "object ", `"` + marker + `"`: "object ", `5`: "object ",
		with(`"code":"a\u0000"`): "nulCharacter code", with(`"free":{"a\u0000":1}`): "nulCharacter free.a\x00",
		`{"name":5,"kind":"owner"}`: "string name", with(`"count":"5"`): "integer count", with(`"count":"` + marker + `"`): "integer count", with(`"flag":"` + marker + `"`): "boolean flag", with(`"flag":1`): "boolean flag", with(`"tags":"` + marker + `"`): "array tags",
		with(`"labels":[]`): "object labels", with(`"labels":{"a":1}`): "string labels.a", with(`"ratio":"` + marker + `"`): "number ratio", with(`"tags":[1]`): "string tags.0",
		with(`"count":9007199254740992`): "unsafeNumber count", with(`"count":-9007199254740992`): "unsafeNumber count", with(`"count":9007199254740993`): "unsafeNumber count",
		with(`"count":1e3`): "unsafeNumber count", with(`"count":-0`): "unsafeNumber count", with(`"count":99999999999999999999999`): "unsafeNumber count", with(`"ratio":1e999`): "unsafeNumber ratio",
		with(`"count":1.5`): "integer count", with(`"count":1.0`): "integer count", with(`"few":6`): "range few", with(`"few":-1`): "range few",
		`{"name":"","kind":"owner"}`: "length name", `{"name":"` + strings.Repeat("x", 21) + `","kind":"owner"}`: "length name", `{"name":"n","kind":"` + marker + `"}`: "enum kind",
		with(`"on":"2026-02-30"`): "date on", with(`"on":"` + marker + `"`): "date on", with(`"at":"2026-02-03"`): "dateTime at", with(`"month":"2026-13"`): "malformed month", with(`"ref":"` + marker + `"`): "uuid ref",
		with(`"email":"` + marker + `"`): "email " + "email", with(`"email":"A <a@example.com>"`): "email " + "email", with(`"code":"` + marker + `"`): "malformed code",
		with(`"tags":[]`): "items tags", with(`"tags":["a","b","c","d"]`): "items tags", with(`"tags":["` + marker + `","` + marker + `"]`): "unique tags",
		with(`"nickname":"` + marker + `"`): "length nickname", with(`"nickname":1`): "string nickname", with(`"other":"guest"`): "enum other",
		with(`"home":{"town":"` + marker + `"}`): "unknownField home.town", with(`"home":{}`): "required home.city", with(`"home":{"city":"","zip":null}`): "length home.city", with(`"home":"` + marker + `"`): "object home",
		with(`"place":{"city":"Rome","zip":"x"}`): "integer place.zip", with(`"place":null`): "object place", with(`"places":[{"city":"Rome","zip":1},{"city":"London","zip":1}]`): "length places.1.city",
		`{"name":"forbidden","kind":"owner"}`: "contradiction name",
	} {
		code, path, _ := strings.Cut(issue, " ")

		r := x.Post("/toys", body).WantError(apierr.CodeBadRequest, "").WantIssue(code, path)
		if r.String("issues.0.schema") != "body" || r.String("message") != "Request validation failed" || r.Has("links") {
			t.Errorf("%s: %s", body, r.Body)
		}

		if strings.Contains(string(r.Body), marker) {
			t.Errorf("%s is echoed: %s", body, r.Body)
		}
	}
}

// The oldest day is 1990-01-01 and the last is ten years from today, in bodies and in queries, in every form of a date.
func TestDatesHaveBounds(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	last := day.Of(x.DB.Now().AddDate(10, 0, 0))
	for text, fine := range map[string]bool{
		"1990-01-01": true, "1989-12-31": false, "0001-01-01": false, "9999-12-31": false, last.String(): true, last.AddDays(1).String(): false,
	} {
		status := 400
		if fine {
			status = 201
		}

		for field, value := range map[string]string{"on": text, "at": text + "T00:00:00Z"} {
			r := x.Post("/toys", `{"name":"n","kind":"owner","`+field+`":"`+value+`"}`).Want(status)
			if !fine {
				r.WantIssue("dateOutOfRange", field)
			}
		}
	}

	x.Post("/toys", `{"name":"n","kind":"owner","month":"1989-12"}`).Want(400).WantIssue("dateOutOfRange", "month")
	x.Post("/toys", `{"name":"n","kind":"owner","at":"1990-01-01T00:30:00+01:00"}`).Want(400).WantIssue("dateOutOfRange", "at")
	x.Post("/toys", `{"name":"n","kind":"owner","at":"0000-01-01T00:00:00Z"}`).Want(400)
	x.Post("/toys", `{"name":"n","kind":"owner","month":"1990-01"}`).Want(201)
}

func TestGoodBodiesArrive(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	r := x.Post("/toys", `{"name":"Kite","kind":"vendor","count":-9007199254740991,"few":5,"on":"2024-02-29","at":"2026-01-02T03:04:05+01:00","month":"2026-12",
		"ref":"01890000-0000-7000-8000-000000000001","ratio":0.25,"email":"a@example.com","code":"ab","flag":true,"tags":["a","b"],"nickname":null,"other":null,
		"place":{"city":"Rome","zip":null},"home":null,"places":[],"labels":{"any.key":"v"},"free":{"x":[1,1.5,null,{"y":"z"}]}}`).Want(201)
	if r.String("name") != "Kite" || r.Value("nickname") != nil || r.String("place.city") != "Rome" || r.Value("place.zip") != nil {
		t.Errorf("%s", r.Body)
	}

	if r := x.Post("/toys", `{"name":"Kite","kind":"owner","nickname":"<&>","home":{"city":"Rome","zip":12}}`).Want(201); !strings.Contains(string(r.Body), `"<&>"`) {
		t.Errorf("%s", r.Body)
	}

	x.Post("/toys", `{"name":"Kite","kind":"owner"}`, "Content-Type", "").Want(201)
	x.Post("/toys", `{"name":"Kite","kind":"owner"}`, "Content-Type", "application/json; charset=utf-8").Want(201)
}

// Proves: ERR-23, ERR-84, ERR-85, ERR-86, OPEN-69.
func TestMalformedJSONHasItsOwnMessage(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, body := range []string{
		`{`, `}`, `{"name":"` + marker + `"`, `{"name":"n",}`, `{name:"n"}`, `{"name":"n"} {}`, `{"name":"n"}x`, `[1,]`, `{"name":'` + marker + `'}`, `nul`, `{"name":"` + "\x01" + `"}`, `{"name":"` + "\xff" + `"}`, `{"few":01}`, `{"few":+1}`,
		"\ufeff{}", `{"a" 1}`, `{"a":1]`, `{"free":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, strings.Repeat("[", 1900), `// ` + marker,
	} {
		r := x.Post("/toys", body).WantError(apierr.CodeBadRequest, "")
		if r.String("message") != "Malformed JSON in request body" || !strings.Contains(string(r.Body), `"issues":[]`) {
			t.Errorf("%s: %s", body, r.Body)
		}

		if strings.Contains(string(r.Body), marker) {
			t.Errorf("%s is echoed: %s", body, r.Body)
		}
	}

	x.Post("/toys", `{"name":"n","kind":"owner","free":{"a":`+strings.Repeat("[", 62)+strings.Repeat("]", 62)+`}}`).Want(201)
}

// Proves: ERR-42.
func TestBodiesHaveALimit(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	body := `{"name":"n","kind":"owner"}`
	exact := body + strings.Repeat(" ", 2000-len(body))
	x.Post("/toys", exact).Want(201)
	x.Post("/toys", exact+" ").WantError(apierr.CodePayloadTooLarge, "")
	x.Post("/toys", exact+" ", "Content-Length", "1").WantError(apierr.CodePayloadTooLarge, "")

	for body, status := range map[string]int{exact: http.StatusCreated, exact + " ": http.StatusRequestEntityTooLarge} {
		// The length of a body that comes in chunks is not announced.
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/toys", io.MultiReader(strings.NewReader(body)))
		r.Header.Set("Content-Type", "application/json")

		w := httptest.NewRecorder()
		x.Server().ServeHTTP(w, r)

		if r.ContentLength != -1 || w.Code != status || strings.Contains(w.Body.String(), "PAYLOAD_TOO_LARGE") != (status != http.StatusCreated) {
			t.Errorf("%d bytes in chunks: %d %s", len(body), w.Code, w.Body)
		}
	}

	large := `{"name":"n","kind":"owner","labels":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`
	x.Post("/call", large[:1<<20]).WantError(apierr.CodeBadRequest, "")
	x.Post("/call", large).WantError(apierr.CodePayloadTooLarge, "")
}

func TestOtherContentTypesAreRefused(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", "json", "application/json; charset"} {
		r := x.Post("/toys", `{"name":"n","kind":"owner"}`, "Content-Type", contentType).WantError(apierr.CodeBadRequest, "")
		if r.String("message") != "Content type is not supported" {
			t.Errorf("%s: %s", contentType, r.Body)
		}
	}
}
