package tidy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// callsOutside are the ways in which Go code calls another machine without a library.
var callsOutside = regexp.MustCompile(`http\.(DefaultClient|DefaultTransport|Post\(|PostForm\(|Get\(|Head\(|Client\{|Transport\{)|(net|tls)\.(Dial|Dialer\b)|"net/smtp"`)

// doors are the files that call other machines: for every client of the domain, for files, for mail, and for the command
// that forwards events. The test of dry runs watches what is behind the doors of the service; the reference prints code.
var doors = []string{
	"cmd/stayledger/internal/apicall/client.go", "cmd/stayledger/listen.go", "platform/apitest/line.go", "platform/blob/s3config.go", "platform/outbound/outbound.go", "provider/mail/smtp.go",
	"web/reference/languages.go",
}

// Nothing leaves the service but by its doors, so nothing that follows what people do is sent to anybody, in a dry run or
// otherwise.
//
// Proves: DRY-18.
func TestNothingCallsOutsideButTheDoors(t *testing.T) {
	t.Parallel()

	var found []string

	for _, file := range goFiles(t) {
		isOther := file.isTest() || slices.ContainsFunc([]string{"bench/", "clients/", "test/", "provider/sandbox/"}, func(folder string) bool {
			return strings.HasPrefix(file.name, folder)
		})
		if isOther || !callsOutside.MatchString(file.content) {
			continue
		}

		found = append(found, file.name)

		if !slices.Contains(doors, file.name) {
			t.Errorf("%s calls another machine by itself: use platform/outbound, which the test of dry runs watches", file.name)
		}
	}

	// A door that is gone would keep its place free for another.
	for _, door := range doors {
		if !slices.Contains(found, door) {
			t.Errorf("%s calls nobody", door)
		}
	}
}
