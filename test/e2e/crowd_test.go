package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// TestACrowdOfConnectionsLeavesCallsToOthers connects one team to Hostaway three hundred times with a wrong key, while
// another one reads its small account there. All calls go to one host, which takes 15 in ten seconds. The other team
// waits for its own calls and not for those of the crowd, whose work goes on.
func TestACrowdOfConnectionsLeavesCallsToOthers(t *testing.T) {
	t.Parallel()

	r := newRental(t, &hostawaySystem, rentalSize{listings: 2, stays: 4, owned: 2})
	r.connect()

	sync := func() time.Duration {
		began := time.Now()

		r.done(r.post(r.connection+"/sync", object{"mode": "full"}))

		took := time.Since(began)
		t.Logf("%v: %s", took, r.control.get(r.system.path+"/control/counts").want(http.StatusOK).body)

		return took
	}

	sync() // the first one takes records in

	// The system takes 15 calls in ten seconds, and those of the beginning count until then. A call more would only make the
	// sync alone slower.
	time.Sleep(12 * time.Second)

	alone := sync()

	crowd := &client{t: t, base: r.base, key: command(t, r.database, "key", "issue", "--team", command(t, r.database, "team", "create", "Crowd", "--start", "2025-01-01"))}

	for n := range 300 {
		crowd.post("/connections", object{
			"appId": "hostaway", "name": fmt.Sprint("Wrong ", n), "settings": object{"baseUrl": r.control.base + r.system.base},
			"credentials": object{"accountId": strconv.Itoa(20_000 + n), "apiKey": "wrong"},
		}).want(http.StatusAccepted)
	}

	// The crowd has had its burst, and goes on call by call.
	asked := func() int {
		n, _ := strconv.Atoi(r.control.get(r.system.path + "/control/counts").want(http.StatusOK).text("calls.token"))
		return n
	}
	began := asked()

	eventually(t, "crowded", func() bool { return asked() >= began+10 })

	crowded := sync()
	left := crowd.get("/operations?status=running").want(http.StatusOK).text("total") + " running, " +
		crowd.get("/operations?status=queued").want(http.StatusOK).text("total") + " queued"

	t.Logf("a sync alone %v, in the crowd %v (%.1f times), %s of 300 left", alone, crowded, float64(crowded)/float64(alone), left)

	// The crowd has calls for minutes.
	if crowded > 3*alone+10*time.Second || crowd.get("/operations?status=queued").want(http.StatusOK).text("total") == "0" {
		t.Errorf("the sync waited for the crowd: %v, and %s", crowded, left)
	}
}
