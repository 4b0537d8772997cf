package upload_test

import "testing"

// A share is at most 100, so that its comma is a decimal one, although 66,667 can be a number of thousands elsewhere.
func TestSharesAreReadWithDecimalCommas(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.take("listings", "Property;Owner;Owner Share\nDune House;Ann Miller;66,667\nDune House;Ben Cole;33,333 %\nReef Loft;Ann Miller;12.5\nReef Loft;Ben Cole;87.5\n")
	if got := o.counts(path); got != "4 rows 2 valid 2 parts -> 2 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	r := o.Get("/listings/ownership-periods").Want(200)

	for i := range 2 {
		at := "data." + string(rune('0'+i)) + ".members."
		if got := r.String(at+"0.split") + " " + r.String(at+"1.split"); got != "66667 33333" && got != "12500 87500" {
			t.Errorf("shares %s", got)
		}
	}

	for _, share := range []string{"1.000,5", "x", "-5"} {
		path := o.preview("listings", "Property;Owner;Share\nPalm House;Ann Miller;"+share+"\n")
		if got := o.counts(path); got != "1 rows 1 faulty ->" {
			t.Errorf("a share of %s: %s", share, got)
		}
	}
}
