package delivery

import (
	"bytes"
	_ "embed"
	"fmt"
	htmltemplate "html/template"
	texttemplate "text/template"
	"time"

	"stayledger/platform/day"
	"stayledger/provider/mail"
)

//go:embed letter.txt
var letterText string

//go:embed letter.html
var letterHTML string

var (
	asText = texttemplate.Must(texttemplate.New("letter.txt").Parse(letterText))
	asHTML = htmltemplate.Must(htmltemplate.New("letter.html").Parse(letterHTML))
)

// letterFacts is the data of a message. It contains no amount.
type letterFacts struct {
	WrittenAt    time.Time
	GreetingName string
	OwnerName    string
	ListingName  string
	StartAt      *day.Day // of the statement; null when it is gone
	EndAt        *day.Day
	TeamName     string
	TeamEmail    *string // only when the statement's layout shows it
}

// period returns the days of a statement as text: a month by its name, "" when the statement is gone.
func (f *letterFacts) period() string {
	switch {
	case f.StartAt == nil || f.EndAt == nil:
		return ""
	case *f.StartAt == f.StartAt.FirstOfMonth() && *f.EndAt == f.StartAt.LastOfMonth():
		// A statement of a whole month is named after it.
		return f.StartAt.In(time.UTC).Format("January 2006")
	}

	return f.StartAt.String() + " to " + f.EndAt.String()
}

// renderMessage returns the message of a letter with the address of its link.
func (l *letter) renderMessage(url string) (mail.Message, error) {
	facts := map[string]any{
		"Name":    l.GreetingName,
		"Listing": l.ListingName,
		"Period":  l.period(),
		"URL":     url,
		"Team":    l.TeamName,
		"Email":   "",
	}

	m := mail.Message{
		// The message's own id identifies the statement, the contact and the version, and is short enough to keep the
		// Message-Id on one line.
		Key: l.ID.String(), Date: l.WrittenAt, To: l.Address, ToName: l.OwnerName, From: l.TeamName,
		Subject: "Owner statement " + l.period() + ": " + l.ListingName,
	}

	// Owners answer to the team if its layout shows the address.
	if l.TeamEmail != nil {
		m.ReplyTo, facts["Email"] = *l.TeamEmail, *l.TeamEmail
	}

	// Both forms say the same; the reader's program chooses one.
	var text, html bytes.Buffer
	if err := asText.Execute(&text, facts); err != nil {
		return m, fmt.Errorf("write an e-mail: %w", err)
	}

	if err := asHTML.Execute(&html, facts); err != nil {
		return m, fmt.Errorf("write an e-mail: %w", err)
	}

	m.Text, m.HTML = text.String(), html.String()

	return m, nil
}
