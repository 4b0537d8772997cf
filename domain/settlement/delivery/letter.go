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

// letterFacts are what a message says. No amount is among them.
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

// period names the days of a statement: a month by its name.
func (f *letterFacts) period() string {
	switch {
	case f.StartAt == nil || f.EndAt == nil:
		return ""
	case *f.StartAt == f.StartAt.FirstOfMonth() && *f.EndAt == f.StartAt.LastOfMonth():
		return f.StartAt.In(time.UTC).Format("January 2006")
	}

	return f.StartAt.String() + " to " + f.EndAt.String()
}

// write makes the message of a letter around the address of its link.
func (l *letter) write(url string) (mail.Message, error) {
	facts := map[string]any{"Name": l.GreetingName, "Listing": l.ListingName, "Period": l.period(), "URL": url, "Team": l.TeamName, "Email": ""}

	m := mail.Message{
		// The message's own id stands for the statement, the contact and the version, and leaves the Message-Id on one
		// line.
		Key: l.ID.String(), Date: l.WrittenAt, To: l.Address, ToName: l.OwnerName, From: l.TeamName,
		Subject: "Owner statement " + l.period() + ": " + l.ListingName,
	}
	if l.TeamEmail != nil {
		m.ReplyTo, facts["Email"] = *l.TeamEmail, *l.TeamEmail
	}

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
