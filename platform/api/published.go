package api

import (
	"reflect"
	"strings"
)

// publishedAs has names of schemas by the type with the path of its package, publishedUnder the package names that they
// use, by the path of the package.
var publishedAs, publishedUnder = map[string]string{}, map[string]string{}

// PublishAs publishes the schema of T under another name, for callers who know it by its first name. Call it in
// the initializer of a package variable.
func PublishAs[T any](name string) struct{} {
	t := reflect.TypeFor[T]()
	publishedAs[t.PkgPath()+"."+t.Name()] = name

	return struct{}{}
}

// PublishUnder publishes the schemas of the package of T as those of another package, in which they were first.
func PublishUnder[T any](pkg string) struct{} {
	publishedUnder[reflect.TypeFor[T]().PkgPath()] = pkg
	return struct{}{}
}

// publicName returns the name of the schema of a type of a package.
func publicName(pkgPath, name string) string {
	if chosen, ok := publishedAs[pkgPath+"."+name]; ok {
		return chosen
	}

	pkg, ok := publishedUnder[pkgPath]
	if !ok {
		pkg = pkgPath[strings.LastIndex(pkgPath, "/")+1:]
	}

	return qualifyName(pkg, name)
}
