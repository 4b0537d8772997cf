package job

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Kind is a kind of work. Only NewKind makes one, so that Kinds has all that anything can ask for.
type Kind struct{ name string }

var made = struct {
	sync.Mutex
	kinds map[Kind]bool
}{kinds: map[Kind]bool{}}

// NewKind returns a new kind of work, for a package variable. Waiting jobs store its name, so do not change the
// name. It panics at the start of the process for a name that is taken.
func NewKind(name string) Kind {
	made.Lock()
	defer made.Unlock()

	k := Kind{name}
	if made.kinds[k] || name == "" {
		panic(fmt.Sprintf("job: the kind %q is made twice, or has no name", name))
	}

	made.kinds[k] = true

	return k
}

// Kinds returns all kinds of work of this process, by name.
func Kinds() []Kind {
	made.Lock()
	defer made.Unlock()

	kinds := make([]Kind, 0, len(made.kinds))
	for k := range made.kinds {
		kinds = append(kinds, k)
	}

	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.name, b.name) })

	return kinds
}

// String returns the name that jobs store.
func (k Kind) String() string { return k.name }
