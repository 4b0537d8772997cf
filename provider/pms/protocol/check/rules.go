package check

// Rule is a rule of the page of the protocol that a server can be held against.
type Rule struct {
	// ID is short and stays the same.
	ID string `json:"id"`
	// Says is the rule in one sentence.
	Says string `json:"says"`
}

// The ids of the rules.
const (
	answers        = "answers"
	contentType    = "content-type"
	utf8Text       = "utf-8"
	answerSize     = "answer-size"
	noRedirect     = "no-redirect"
	tokenAccepted  = "token-accepted"
	tokenRefused   = "token-refused"
	accountID      = "account-id"
	listingList    = "listing-list"
	listingNext    = "listing-next"
	listingPages   = "listing-pages"
	listingPage    = "listing-page-unknown"
	listingID      = "listing-id"
	listingUnique  = "listing-unique"
	listingName    = "listing-name"
	listingMoney   = "listing-currency"
	listingParent  = "listing-parent"
	listingForm    = "listing-form"
	stayList       = "reservation-list"
	stayNext       = "reservation-next"
	stayPages      = "reservation-pages"
	stayPage       = "reservation-page-unknown"
	stayMark       = "reservation-mark"
	stayComplete   = "reservation-complete"
	stayID         = "reservation-id"
	stayNeeded     = "reservation-needed"
	stayAmounts    = "reservation-amounts"
	stayForm       = "reservation-form"
	stayOrder      = "reservation-order"
	stayListing    = "reservation-listing"
	stayTotal      = "reservation-total"
	stayPayout     = "reservation-payout"
	stayCanceled   = "reservation-canceled"
	stayCode       = "reservation-code"
	stayAgain      = "reservation-again"
	staySince      = "reservation-since"
	stayBounds     = "reservation-bounds"
	lookupKnown    = "lookup-known"
	lookupUnknown  = "lookup-unknown"
	payoutList     = "payout-list"
	payoutPages    = "payout-pages"
	payoutForm     = "payout-form"
	payoutSum      = "payout-sum"
	webhookPut     = "webhook-put"
	webhookDelete  = "webhook-delete"
	blockPut       = "block-put"
	blockAgain     = "block-again"
	blockListing   = "block-listing"
	blockDelete    = "block-delete"
	blockDeleteTwo = "block-delete-again"
)

// Rules are the rules that a server is held against, in the order in which they are reported.
var Rules = []Rule{
	{answers, "Each request is answered in time."},
	{contentType, "Answers have Content-Type: application/json."},
	{utf8Text, "Answers are UTF-8."},
	{answerSize, "An answer has at most 8 MiB."},
	{noRedirect, "No answer is a redirect."},
	{tokenAccepted, "The token is taken by every request."},
	{tokenRefused, "Another token is answered with 401 or 403 by every request."},
	{accountID, "GET /account has an id: printable ASCII without blanks, at most 200 characters."},
	{listingList, "GET /listings has the list listings, with at most 1000 rows."},
	{listingNext, "next is a text of at most 1000 bytes without control characters, and no page names itself."},
	{listingPages, "Pages of listings come to an end."},
	{listingPage, "A page that was never given is answered with 410 or another 4xx."},
	{listingID, "Each listing has an id: printable ASCII without blanks, at most 200 characters."},
	{listingUnique, "Each listing comes once."},
	{listingName, "Each listing has a name."},
	{listingMoney, "The currency of a listing is a code of ISO 4217, or empty."},
	{listingParent, "parentId is the id of another listing that is given."},
	{listingForm, "The other fields of a listing are of the types of the page."},
	{stayList, "GET /reservations has the list reservations, with at most 1000 rows."},
	{stayNext, "next is a text of at most 1000 bytes without control characters, and no page names itself."},
	{stayPages, "Pages of reservations come to an end."},
	{stayPage, "A page that was never given is answered with 410 or another 4xx."},
	{stayMark, "The first page has a mark: a text of at most 1000 bytes without control characters."},
	{stayComplete, "complete is true or false."},
	{stayID, "Each reservation has an id: printable ASCII without blanks, at most 200 characters."},
	{stayNeeded, "Each reservation has a status of the page, a listingId, a checkIn, a later checkOut, and a " +
		"currency unless it is a block or an owner stay."},
	{stayAmounts, "Amounts are decimals with the right sign, and each line has a type and an amount."},
	{stayForm, "The other fields of a reservation are of the types of the page."},
	{stayOrder, "Reservations are sorted by changedAt, the oldest first, over all pages."},
	{stayListing, "listingId is the id of a listing that is given."},
	{stayTotal, "The lines of a stay add up to its total."},
	{stayPayout, "payout is what the guest pays less channelFee."},
	{stayCanceled, "The lines of a canceled stay are what is kept of it, and add up to its total."},
	{stayCode, "Stays of guests have a code, so that they are found in other systems."},
	{stayAgain, "The same reservations have the same ids when they are read again."},
	{staySince, "With since, only what has changed is given."},
	{stayBounds, "With from and to, every reservation with a night between them is given, both days included."},
	{lookupKnown, "POST /reservations/lookup gives reservations by their ids, as they are now."},
	{lookupUnknown, "An id that is not known is left out of the lookup, or given as gone."},
	{payoutList, "GET /payouts has the list payouts, with at most 1000 rows."},
	{payoutPages, "Pages of payouts come to an end, and none names itself."},
	{payoutForm, "Each payout has an id, a date, a currency and an amount, and gross for each member."},
	{payoutSum, "The amount of a payout is gross less fees of its members."},
	{webhookPut, "PUT /webhook is taken, also a second time."},
	{webhookDelete, "DELETE /webhook is taken, and 2xx or 404 a second time."},
	{blockPut, "PUT /blocks/{id} is taken for free nights of a listing."},
	{blockAgain, "The same PUT /blocks/{id} again is taken, and makes no second block."},
	{blockListing, "A block of an unknown listing is answered with 4xx, such as 422."},
	{blockDelete, "DELETE /blocks/{id} is taken."},
	{blockDeleteTwo, "DELETE /blocks/{id} is answered with 2xx or 404 when there is none any more."},
}
