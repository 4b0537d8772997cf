package reservation_test

import (
	"testing"

	"stayledger/test/fixture"
)

// A reservation that came over a connection shows what it is there, in every answer.
func TestAReservationShowsWhereItCameFrom(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	connection := fixture.Connection(b.Team, "hostaway")
	got := b.Post("/reservations/batch", object{"connectionId": connection, "data": []any{b.rent("one", 100, "appId", "hostaway", "sourceId", "r-1")}}).Want(200)
	one := got.String("data.0.id")

	source := func(key string) object {
		return object{"source.id": key, "source.type": "integration", "source.status": "active", "source.appId": "hostaway", "source.appIcon": nil}
	}
	path := "/reservations/" + one
	b.Get(path).Want(200).WantFields("", source("r-1"))
	b.Get("/reservations?ids="+one).Want(200).WantFields("data.0", source("r-1"))
	b.Put(path, object{"sourceId": "r-2"}).Want(200).WantFields("", source("r-2"))

	// It needs a connection and a key of its own there.
	b.Put(path, object{"sourceId": nil}).Want(200).WantFields("", object{"source": nil, "connectionId": connection})
	b.Post("/reservations", b.rent("two", 100, "appId", "hostaway", "sourceId", "r-1")).Want(201).WantFields("", object{"source": nil, "sourceId": "r-1"})
}
