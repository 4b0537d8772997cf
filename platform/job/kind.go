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

// NewKind makes a kind of work, for a package variable. Its name is kept with the jobs that wait, so it stays what it
// is. It panics for a name that is taken, which is as the process starts.
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

// Kinds are all kinds of work of this process, by name.
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

// String is the name under which the jobs are kept.
func (k Kind) String() string { return k.name }
