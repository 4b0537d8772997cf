package table

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
)

// workbook lists the parts of a workbook that matter.
type workbook struct {
	parts   archive
	sheets  []sheet
	is1904  bool      // Days are counted from 1904, as on old Macs.
	styles  *zip.File // Nil if there are none.
	strings *zip.File // The texts that cells share; nil if there are none.
	texts   int       // How many these are.
}

// sheet is one worksheet of a workbook.
type sheet struct {
	name     string
	part     *zip.File
	isHidden bool
}

// openWorkbook checks a workbook and opens one of its sheets.
func openWorkbook(from io.ReaderAt, size int64, wanted string) (*Reader, error) {
	// First all checks, none of which unpacks more than it looks at.
	parts, err := openArchive(from, size)
	if err != nil {
		return nil, err
	}

	book, err := readWorkbook(parts)
	if err != nil {
		return nil, err
	}

	chosen, err := book.choose(wanted)
	if err != nil {
		return nil, err
	}

	if book.texts, err = countStrings(book.strings); err != nil {
		return nil, err
	}

	// Then the sheet with its temporary files.
	rows, err := book.open(chosen)
	if err != nil {
		return nil, err
	}

	form := Form{Type: "xlsx", Sheet: chosen.name}
	for _, s := range book.sheets {
		form.Sheets = append(form.Sheets, s.name)
	}

	return &Reader{form: form, rows: rows}, nil
}

// readWorkbook finds the sheets of a workbook. It fails with ErrNotTable if the archive is something else, such as a
// text document.
func readWorkbook(parts archive) (*workbook, error) {
	// Programs choose the names of parts: only the relationships say which is which.
	roots, err := parts.relationships("")
	if err != nil {
		return nil, err
	}

	at := slices.IndexFunc(roots, func(r relationship) bool { return r.kind() == "officeDocument" })
	if at < 0 {
		return nil, &Error{Err: ErrNotTable}
	}

	var content struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name  string `xml:"name,attr"`
			State string `xml:"state,attr"`
			ID    string `xml:"id,attr"`
		} `xml:"sheets>sheet"`
	}

	if err := parts.decode(roots[at].Target, &content); err != nil {
		return nil, err
	}

	links, err := parts.relationships(roots[at].Target)
	if err != nil {
		return nil, err
	}

	book := &workbook{parts: parts, is1904: content.Properties.Date1904 == "1" || content.Properties.Date1904 == "true"}

	// A sheet that is only a chart has no rows.
	for _, s := range content.Sheets {
		for _, link := range links {
			if part := parts[link.Target]; link.ID == s.ID && link.kind() == "worksheet" && part != nil {
				book.sheets = append(book.sheets, sheet{
					name: s.Name, part: part, isHidden: s.State != "" && s.State != "visible",
				})
			}
		}
	}

	// Texts and styles are shared by all sheets.
	for _, link := range links {
		switch link.kind() {
		case "styles":
			book.styles = parts[link.Target]
		case "sharedStrings":
			book.strings = parts[link.Target]
		}
	}

	if book.styles != nil && book.styles.UncompressedSize64 > maxMetadata {
		return nil, &Error{Err: ErrTooLarge}
	}

	if len(book.sheets) == 0 {
		return nil, &Error{Err: ErrNotTable}
	}

	return book, nil
}

// choose returns the sheet of a name, or the first visible one with text.
func (w *workbook) choose(wanted string) (sheet, error) {
	for _, s := range w.sheets {
		if wanted != "" {
			if strings.EqualFold(s.name, wanted) {
				return s, nil
			}

			continue
		}

		// People who upload a workbook mean what they see.
		if s.isHidden {
			continue
		}

		has, err := hasValues(s.part)
		if err != nil {
			return sheet{}, err
		}

		if has {
			return s, nil
		}
	}

	if wanted != "" {
		return sheet{}, &Error{Err: ErrNotTable}
	}

	return sheet{}, &Error{Err: ErrEmpty}
}

// streamAbove is the size of a part above which it is read from a file instead of memory.
const streamAbove = 1 << 20

// open copies one sheet with what belongs to it into a workbook of its own and opens that one. Pictures, charts and
// other sheets are never unpacked, and all parts have the names that excelize streams them by.
func (w *workbook) open(s sheet) (*sheetRows, error) {
	folder, err := os.MkdirTemp("", "table-")
	if err != nil {
		return nil, err
	}

	rows := &sheetRows{folder: folder, is1904: w.is1904, texts: w.texts}

	if err := rows.open(w, s); err != nil {
		return nil, errors.Join(err, rows.close())
	}

	return rows, nil
}

// open writes the workbook with one sheet and opens it for its values and for the scan of its cells.
func (r *sheetRows) open(w *workbook, s sheet) error {
	name := filepath.Join(r.folder, "sheet.xlsx")
	if err := w.writeAlone(name, s); err != nil {
		return err
	}

	var err error
	if r.book, err = excelize.OpenFile(name, excelize.Options{
		RawCellValue: true, UnzipSizeLimit: maxUnpacked, UnzipXMLSizeLimit: streamAbove, TmpDir: r.folder,
	}); err != nil {
		return &Error{Err: ErrMalformed}
	}

	if r.values, err = r.book.Rows(aloneSheet); err != nil {
		return &Error{Err: ErrMalformed}
	}

	r.cells, err = scanSheet(s.part)

	return err
}

// The parts of a workbook with one sheet.
const (
	aloneSheet     = "Sheet"
	officeTypes    = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	relationsStart = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
)

var aloneParts = map[string]string{
	"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
	"_rels/.rels": relationsStart +
		`<Relationship Id="r1" Type="` + officeTypes + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
	"xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` +
		officeTypes + `"><sheets><sheet name="` + aloneSheet + `" sheetId="1" r:id="r1"/></sheets></workbook>`,
	"xl/_rels/workbook.xml.rels": relationsStart +
		`<Relationship Id="r1" Type="` + officeTypes + `/worksheet" Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="r2" Type="` + officeTypes + `/styles" Target="styles.xml"/>` +
		`<Relationship Id="r3" Type="` + officeTypes + `/sharedStrings" Target="/xl/sharedStrings.xml"/></Relationships>`,
}

// writeAlone writes a workbook with one sheet. The parts are copied as they are packed.
func (w *workbook) writeAlone(name string, s sheet) (err error) {
	file, err := os.Create(name) //nolint:gosec // In a folder of our own.
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, file.Close()) }()

	out := zip.NewWriter(file)
	for part, content := range aloneParts {
		to, err := out.Create(part)
		if err != nil {
			return err
		}

		if _, err := io.WriteString(to, content); err != nil {
			return err
		}
	}

	// Styles and texts may be missing.
	copies := map[string]*zip.File{
		"xl/worksheets/sheet1.xml": s.part, "xl/styles.xml": w.styles, "xl/sharedStrings.xml": w.strings,
	}
	for part, from := range copies {
		if from == nil {
			continue
		}

		if err := copyPart(out, part, from); err != nil {
			return err
		}
	}

	return out.Close()
}

// copyPart copies a packed part under another name.
func copyPart(out *zip.Writer, name string, from *zip.File) error {
	packed, err := from.OpenRaw()
	if err != nil {
		return &Error{Err: ErrMalformed}
	}

	header := from.FileHeader
	header.Name = name

	to, err := out.CreateRaw(&header)
	if err != nil {
		return err
	}

	_, err = io.Copy(to, packed)

	return err
}
