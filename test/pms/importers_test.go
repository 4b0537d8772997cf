package pms_test

import (
	"fmt"
	"maps"
	"testing"
)

// Property-management systems take files of what they have; apps that pay take none.
func TestAppsSayWhichFilesTheyTake(t *testing.T) {
	t.Parallel()
	s, _ := newHouse(t)
	apps := s.Get("/apps").Want(200)

	got := map[string]string{}
	for i := range apps.Len("data") {
		got[apps.String(fmt.Sprintf("data.%d.id", i))] = apps.String(fmt.Sprintf("data.%d.importers", i))
	}

	const files = `["reservations","listings","transactions"]`

	want := map[string]string{"nacha": "[]", "payProvider": "[]", "pmsProtocol": files, "hostaway": files, "ownerrez": files}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
