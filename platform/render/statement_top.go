package render

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // decoder of logos
	"image/png"
	"strconv"
	"strings"

	"codeberg.org/go-pdf/fpdf"
)

// ErrLogo is what OwnerStatement wraps when the logo is no PNG or JPEG, is damaged, or has over 16 million pixels.
var ErrLogo = errors.New("render: logo cannot be read")

const (
	logoWidth, logoHeight = 150.0, 46.0
	logoPixels            = 16_000_000
)

// letterhead sets the sender: logo or name on the left, contact details on the right.
func (p *statementPage) letterhead() error {
	name := style{bold: true, size: 13, colour: accent}
	small := style{size: 8, colour: muted}
	team := p.doc.Team
	leftEnd, rightEnd := p.y, p.y
	details := append(append([]string(nil), team.Address...), team.Phone, team.Email)
	if len(team.Logo) > 0 {
		high, err := p.logo(team.Logo)
		if err != nil {
			return err
		}
		leftEnd += high
		p.textRight(p.right, rightEnd, p.fit(team.Name, style{bold: true, size: 8.5}, 220), style{bold: true, size: 8.5, colour: ink})
		rightEnd += 13
	} else {
		for _, line := range p.wrap(team.Name, name, p.right-p.left-240) {
			p.text(p.left, leftEnd, line, name)
			leftEnd += name.lead()
		}
	}
	for _, detail := range details {
		if detail == "" {
			continue
		}
		for _, line := range p.wrap(detail, small, 220) {
			p.textRight(p.right, rightEnd, line, small)
			rightEnd += small.lead()
		}
	}
	p.y = max(leftEnd, rightEnd) + 26
	return nil
}

// logo draws the logo into its box at the upper left and returns its height.
func (p *statementPage) logo(data []byte) (float64, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLogo, err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width*config.Height > logoPixels {
		return 0, fmt.Errorf("%w: %d by %d pixels", ErrLogo, config.Width, config.Height)
	}
	// Decoding proves the whole file sound: the PDF library trusts what it is given.
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLogo, err)
	}
	if format == "png" && !plainPNG(data) {
		if data, err = flatten(decoded); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrLogo, err)
		}
	}
	options := fpdf.ImageOptions{ImageType: format}
	name := fmt.Sprintf("logo-%x", sha256.Sum256(data)) // equal logos of many statements are kept once
	p.pdf.RegisterImageOptionsReader(name, options, bytes.NewReader(data))
	scale := min(logoWidth/float64(config.Width), logoHeight/float64(config.Height))
	wide, high := float64(config.Width)*scale, float64(config.Height)*scale
	p.pdf.ImageOptions(name, p.left, p.y, wide, high, false, options, 0, "")
	if err := p.pdf.Error(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLogo, err)
	}
	return high, nil
}

// plainPNG tells whether the PDF library takes the PNG as it is: 8 bits a sample, not interlaced.
func plainPNG(data []byte) bool {
	const depth, interlace = 24, 28 // in the header chunk
	return len(data) > interlace && data[depth] == 8 && data[interlace] == 0
}

func flatten(decoded image.Image) ([]byte, error) {
	bounds := decoded.Bounds()
	flat := image.NewNRGBA(bounds)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			flat.Set(x, y, decoded.At(x, y))
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, flat)
	return b.Bytes(), err
}

// heading says what this is: title, listing, and the facts of the statement between two rules.
func (p *statementPage) heading() {
	kicker := style{bold: true, size: 9.5, colour: accent}
	big := style{bold: true, size: 21, colour: ink}
	small := style{size: 9, colour: muted}
	wide := p.right - p.left
	p.text(p.left, p.y, p.fit(p.doc.Title, kicker, wide), kicker)
	p.y += kicker.lead() + 2
	if p.doc.Listing.Name != "" {
		for _, line := range p.wrap(p.doc.Listing.Name, big, wide) {
			p.text(p.left, p.y, line, big)
			p.y += big.size * 1.25
		}
	}
	if p.doc.Listing.Address != "" {
		p.y += 2
		p.y = p.paragraph(p.y, p.doc.Listing.Address, small, wide)
	}
	p.y += 16
	p.rule(p.left, p.right, p.y, ruleThick, ink)
	p.y += 9
	p.facts()
	p.y += 9
	p.rule(p.left, p.right, p.y, ruleThin, hair)
	p.y += sectionGap
}

func (p *statementPage) facts() {
	label := style{size: headSize, colour: muted}
	value := style{bold: true, size: 9.5, colour: ink}
	facts := []struct {
		label, value string
		share        float64
	}{
		{p.labels.Period, p.period(), 0.40},
		{p.labels.Statement, p.doc.Statement.ID, 0.24},
		{p.labels.Status, p.doc.Statement.Status, 0.20},
		{p.labels.Currency, strings.ToUpper(p.doc.Currency), 0.16},
	}
	x, lowest := p.left, p.y
	for _, fact := range facts {
		wide := fact.share * (p.right - p.left)
		if fact.value != "" {
			p.text(x, p.y, p.fit(fact.label, label, wide-8), label)
			y := p.y + label.lead() + 1
			for _, line := range p.wrap(fact.value, value, wide-8) {
				p.text(x, y, line, value)
				y += value.lead()
			}
			lowest = max(lowest, y)
		}
		x += wide
	}
	p.y = lowest
}

// recipientsAndSummary sets the owners on the left and the summary on the right. The summary may run over the page;
// the owners beside it are few.
func (p *statementPage) recipientsAndSummary() {
	const summaryWidth = 250.0
	page := p.pdf.PageNo()
	lowest := p.recipients(p.right - p.left - summaryWidth - 32)
	if len(p.doc.Summary) > 0 {
		p.summary(p.right - summaryWidth)
	}
	if p.pdf.PageNo() == page {
		p.y = max(p.y, lowest)
	}
}

// recipients names the owners and returns where that ends; the position stays.
func (p *statementPage) recipients(width float64) float64 {
	if len(p.doc.Owners) == 0 {
		return p.y
	}
	p.text(p.left, p.y, p.fit(p.labels.PreparedFor, titleStyle, width), titleStyle)
	y := p.y + titleStyle.lead() + 8
	if len(p.doc.Owners) > cardOwners {
		return p.names(y, width)
	}
	name := style{bold: true, size: 10, colour: ink}
	small := style{size: 8.5, colour: muted}
	for _, owner := range p.doc.Owners {
		y = p.paragraph(y, owner.Name, name, width)
		for _, address := range owner.Address {
			y = p.paragraph(y, address, small, width)
		}
		if owner.SplitPercent != "" {
			y = p.paragraph(y+2, p.shareOf(owner), style{size: 8.5, colour: ink}, width)
		}
		y += 9
	}
	return y - 9
}

// names sets the owners as running text; who does not fit here stands in the table of owners.
func (p *statementPage) names(y, width float64) float64 {
	plain := style{size: 9, colour: ink}
	all := make([]string, len(p.doc.Owners))
	for i, owner := range p.doc.Owners {
		all[i] = owner.Name
	}
	lines := p.wrap(strings.Join(all, ", "), plain, width)
	if len(lines) > nameLines {
		lines = append(lines[:nameLines], "…")
	}
	return p.paragraph(y, strings.Join(lines, "\n"), plain, width)
}

// paragraph sets wrapped text at the left margin and returns where it ends.
func (p *statementPage) paragraph(y float64, text string, st style, width float64) float64 {
	for _, line := range p.wrap(text, st, width) {
		p.text(p.left, y, line, st)
		y += st.lead()
	}
	return y
}

func (p *statementPage) shareOf(owner StatementOwner) string {
	return joined(" · ", owner.SplitPercent, p.total(owner.ShareCents))
}

// ownerTable lists the owners when they are too many to stand beside the summary.
func (p *statementPage) ownerTable() {
	if len(p.doc.Owners) <= cardOwners {
		return
	}
	t := &table{title: p.labels.Owners, size: bodySize, columns: []tableColumn{
		{head: p.labels.Owner}, {head: p.labels.Share, width: 60, right: true}, {head: p.labels.Amount, right: true},
	}}
	for _, owner := range p.doc.Owners {
		row := []tableCell{{text: owner.Name, below: strings.Join(owner.Address, ", ")}, {text: owner.SplitPercent}, {}}
		if owner.SplitPercent != "" {
			row[2].text = p.amount(owner.ShareCents)
		}
		t.rows = append(t.rows, row)
	}
	t.columns[2].width = p.natural(t, 2, wholeHead)
	p.section(t)
}

// summary sets label and figure at the two ends of a line. The last line, when emphasised, is the figure the statement
// is about, and the only one with its currency.
func (p *statementPage) summary(left float64) {
	p.text(left, p.y, p.fit(p.labels.Summary, titleStyle, p.right-left), titleStyle)
	p.y += titleStyle.lead() + 8
	p.rule(left, p.right, p.y-2, ruleThick, ink)
	for i, line := range p.doc.Summary {
		plain := style{size: 9, colour: ink}
		figure := p.amount(line.Cents)
		pad := 3.5
		final := line.Emphasis && i == len(p.doc.Summary)-1
		switch {
		case final:
			plain = style{bold: true, size: 11.5, colour: accent}
			figure = p.total(line.Cents)
			pad = 8
		case line.Emphasis:
			plain.bold = true
		}
		label := p.wrap(line.Label, plain, p.right-left-p.width(figure, plain)-30)
		high := float64(len(label))*plain.lead() + 2*pad
		p.room(high + 6)
		inset := 0.0
		if final {
			p.y += 6
			inset = 10
			p.pdf.SetFillColor(tint.r, tint.g, tint.b)
			p.pdf.Rect(left, p.y, p.right-left, high, "F")
		}
		for n, text := range label {
			p.text(left+inset, p.y+pad+float64(n)*plain.lead(), text, plain)
		}
		p.textRight(p.right-inset, p.y+pad, figure, plain)
		p.y += high
		if !final {
			p.rule(left, p.right, p.y, ruleThin, hair)
		}
	}
}

func (p *statementPage) notes() {
	if strings.TrimSpace(p.doc.Notes) == "" {
		return
	}
	body := style{size: 9, colour: ink}
	p.y += sectionGap
	p.room(titleStyle.lead() + 6 + 2*body.lead())
	p.text(p.left, p.y, p.fit(p.labels.Notes, titleStyle, p.right-p.left), titleStyle)
	p.y += titleStyle.lead() + 6
	// Lines over the whole width are hard to read.
	for _, line := range p.wrap(strings.TrimSpace(p.doc.Notes), body, min(p.right-p.left, 420)) {
		p.room(body.lead())
		p.text(p.left, p.y, line, body)
		p.y += body.lead()
	}
}

// footers go back over the finished pages, since only now their number is known: so it is measured, and stands exactly
// at the margin.
func (p *statementPage) footers() {
	small := style{size: 8, colour: muted}
	pages := p.pdf.PageCount() - p.before
	_, paperHeight := p.pdf.GetPageSize()
	top := paperHeight - footerHeight - small.lead()
	for n := 1; n <= pages; n++ {
		p.pdf.SetPage(p.before + n)
		p.set = style{}
		p.rule(p.left, p.right, top-8, ruleThin, hair)
		place := strings.NewReplacer("{page}", strconv.Itoa(n), "{pages}", strconv.Itoa(pages)).Replace(p.labels.PageOf)
		wide := p.width(place, small)
		p.text(p.left, top, p.fit(joined(" · ", p.doc.Team.Name, p.doc.Statement.ID), small, p.right-p.left-wide-24), small)
		p.textRight(p.right, top, place, small)
	}
}
