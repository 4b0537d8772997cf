package day

import (
	"errors"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // The zones are the same wherever the service runs.
)

// Zone is the IANA name of a time zone, such as America/Chicago. The empty name is UTC.
type Zone string

// UTC is the zone of instants.
const UTC Zone = "UTC"

// ErrZone is returned for a name of no time zone.
var ErrZone = errors.New("day: not the name of a time zone")

// locations has a *time.Location for each Zone that was used: reading the rules of one takes longer than using them.
var locations sync.Map

// ParseZone reads the name of a time zone: UTC, or one with a region. Anything else is ErrZone, such as the zone of the
// machine, the short names of old and the folders in which some machines keep copies of all zones.
func ParseZone(name string) (Zone, error) {
	region, _, regional := strings.Cut(name, "/")
	// Names without a region are short names of old, such as EST, or Local, the zone of the machine.
	if name != string(UTC) && !regional || region == "posix" || region == "right" {
		return "", ErrZone
	}

	// Only a name with capitals as they are is known on every machine.
	location, err := time.LoadLocation(name)
	if err != nil {
		return "", ErrZone
	}

	locations.Store(Zone(name), location)

	return Zone(name), nil
}

// Known reports whether the zone is one that ParseZone accepts.
func (z Zone) Known() bool {
	_, err := ParseZone(string(z))
	return err == nil
}

// Day returns the day that it is in the zone at an instant. A name that is no zone counts as UTC.
func (z Zone) Day(t time.Time) Day {
	if z == "" || z == UTC {
		return Of(t.UTC())
	}

	if known, ok := locations.Load(z); ok {
		return Of(t.In(known.(*time.Location))) //nolint:errcheck,forcetypeassert // Nothing else is kept there.
	}

	if !z.Known() {
		return Of(t.UTC())
	}

	return z.Day(t)
}
