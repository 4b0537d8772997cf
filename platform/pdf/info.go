package pdf

import (
	"bytes"
	"encoding/xml"
	"time"
)

// producer is the name of the program in the properties of documents.
const producer = "stayledger"

// dictionary returns the document's properties for old readers.
func (i *Info) dictionary() []byte {
	b := []byte("<<")

	for _, entry := range [][2]string{
		{"Title", i.Title}, {"Author", i.Author}, {"Subject", i.Subject}, {"Creator", producer}, {"Producer", producer},
	} {
		if entry[1] != "" {
			b = appendText(append(append(b, '/'), entry[0]...), entry[1])
		}
	}

	at := i.Created.UTC().Format("D:20060102150405Z")
	b = appendText(append(b, "/CreationDate"...), at)
	b = appendText(append(b, "/ModDate"...), at)

	return append(b, ">>"...)
}

// xmp returns the same for new readers. It claims PDF/UA-1: everything drawn is tagged or decoration.
func (i *Info) xmp() []byte {
	var b bytes.Buffer

	text := func(before, s, after string) {
		if s == "" {
			return
		}

		b.WriteString(before)

		if err := xml.EscapeText(&b, []byte(s)); err != nil {
			panic(err) // a bytes.Buffer takes everything
		}

		b.WriteString(after)
	}

	// The packet begins and ends as the XMP specification says.
	b.WriteString("<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n" +
		`<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""` +
		` xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/"` +
		` xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/"><pdfuaid:part>1</pdfuaid:part>`)
	text(`<dc:title><rdf:Alt><rdf:li xml:lang="x-default">`, i.Title, `</rdf:li></rdf:Alt></dc:title>`)
	text(`<dc:creator><rdf:Seq><rdf:li>`, i.Author, `</rdf:li></rdf:Seq></dc:creator>`)
	text(`<dc:description><rdf:Alt><rdf:li xml:lang="x-default">`, i.Subject, `</rdf:li></rdf:Alt></dc:description>`)
	text(`<dc:language><rdf:Bag><rdf:li>`, i.Lang, `</rdf:li></rdf:Bag></dc:language>`)
	at := i.Created.UTC().Format(time.RFC3339)
	text(`<xmp:CreateDate>`, at, `</xmp:CreateDate>`)
	text(`<xmp:ModifyDate>`, at, `</xmp:ModifyDate>`)
	text(`<xmp:CreatorTool>`, producer, `</xmp:CreatorTool>`)
	text(`<pdf:Producer>`, producer, `</pdf:Producer>`)
	b.WriteString("</rdf:Description></rdf:RDF></x:xmpmeta>\n<?xpacket end=\"r\"?>")

	return b.Bytes()
}
