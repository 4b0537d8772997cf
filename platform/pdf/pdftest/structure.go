package pdftest

import "fmt"

// Node is an element of the structure, with the elements within it.
type Node struct {
	Tag     string
	Scope   string
	Alt     string
	Kids    []*Node
	Content int // pieces of marked content
}

// allowed says what may be within what.
var allowed = map[string][]string{
	"Document": {"Sect"}, "Sect": {"H1", "H2", "P", "Table", "Figure"}, "Table": {"TR"}, "TR": {"TH", "TD"},
}

// Structure reads the tags. It fails if tags do not nest, if a piece of marked content belongs to no element or to
// another one than the parent tree says, or if an element names content that is not there.
func (f *File) Structure() (*Node, error) {
	pages, err := f.Pages()
	if err != nil {
		return nil, err
	}

	root := f.Dict(f.Dict(f.Trailer["Root"])["StructTreeRoot"])
	owners := map[[2]int]Ref{} // by page and number

	node, err := f.node(root["K"], f.Dict(f.Trailer["Root"])["StructTreeRoot"], owners)
	if err != nil {
		return nil, err
	}

	// The parent tree says for each page which element a mark belongs to.
	parents := map[int][]any{}

	for _, leaf := range f.List(f.Dict(root["ParentTree"])["Kids"]) {
		list := f.List(f.Dict(leaf)["Nums"])
		for i := 0; i+1 < len(list); i += 2 {
			key, _ := list[i].(float64)
			parents[int(key)] = f.List(list[i+1])
		}
	}

	// Compare it with what the elements say, in both directions.
	marks := 0

	for _, page := range pages {
		key, _ := f.Dict(page.Ref)["StructParents"].(float64)
		if len(parents[int(key)]) != len(page.Tags) {
			return nil, fmt.Errorf(
				"%w: page %v has %d marks, the parent tree %d",
				errSyntax,
				key,
				len(page.Tags),
				len(parents[int(key)]),
			)
		}

		for n, tag := range page.Tags {
			owner := owners[[2]int{int(page.Ref), n}]
			if owner == 0 || parents[int(key)][n] != owner || f.Dict(owner)["S"] != Name(tag) {
				return nil, fmt.Errorf(
					"%w: mark %d of page %v is %s, element %v, parent tree %v",
					errSyntax,
					n,
					key,
					tag,
					owner,
					parents[int(key)][n],
				)
			}

			marks++
		}
	}

	if marks != len(owners) {
		return nil, fmt.Errorf("%w: %d marks, %d in elements", errSyntax, marks, len(owners))
	}

	return node, nil
}

// node reads an element and everything inside it.
func (f *File) node(v, parent any, owners map[[2]int]Ref) (*Node, error) {
	ref, _ := v.(Ref)

	d := f.Dict(v)
	if d == nil || d["P"] != parent {
		return nil, fmt.Errorf("%w: element %v has the parent %v, not %v", errSyntax, ref, d["P"], parent)
	}

	n := &Node{Tag: fmt.Sprint(d["S"]), Alt: String(d["Alt"])}
	if scope := f.Dict(d["A"])["Scope"]; scope != nil {
		n.Scope = fmt.Sprint(scope)
	}

	// A kid is an element, a mark of the element's page, or a mark with a page of its own.
	for _, kid := range f.List(d["K"]) {
		page, mark := d["Pg"], 0

		switch k := kid.(type) {
		case Ref:
			child, err := f.node(k, v, owners)
			if err != nil {
				return nil, err
			}

			fits := false
			for _, tag := range allowed[n.Tag] {
				fits = fits || tag == child.Tag
			}

			if !fits {
				return nil, fmt.Errorf("%w: %s within %s", errSyntax, child.Tag, n.Tag)
			}

			n.Kids = append(n.Kids, child)

			continue
		case float64:
			mark = int(k)
		case Dict:
			page = k["Pg"]
			id, _ := k["MCID"].(float64)
			mark = int(id)
		}

		at, _ := page.(Ref)
		if owners[[2]int{int(at), mark}] != 0 {
			return nil, fmt.Errorf("%w: content %d of page %v is in two elements", errSyntax, mark, at)
		}

		owners[[2]int{int(at), mark}] = ref
		n.Content++
	}

	return n, nil
}

// All returns the elements of a tag, in reading order.
func (n *Node) All(tag string) (out []*Node) {
	if n.Tag == tag {
		out = append(out, n)
	}

	for _, kid := range n.Kids {
		out = append(out, kid.All(tag)...)
	}

	return out
}
