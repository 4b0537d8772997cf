package upload

var currencyField = field{
	name: "currency", typ: typeCurrency, into: "currency",
}

var refField = field{
	name: "uniqueRef", typ: typeText, into: "uniqueRef",
}

// addressFields are the columns of an address.
func addressFields() []field {
	return []field{
		{name: "address", typ: typeText, into: "address.full"},
		{name: "addressLine1", typ: typeText, into: "address.line1"},
		{name: "addressLine2", typ: typeText, into: "address.line2"},
		{name: "city", typ: typeText, into: "address.city"},
		{name: "state", typ: typeText, into: "address.state"},
		{name: "stateCode", typ: typeText, into: "address.stateCode"},
		{name: "postalCode", typ: typeText, into: "address.postalCode"},
		{name: "countryCode", typ: typeText, into: "address.countryCode"},
	}
}

var contactFields = append([]field{
	{name: "name", typ: typeText, into: "name"},
	{name: "firstName", typ: typeText, into: "firstName"},
	{name: "lastName", typ: typeText},
	{name: "type", typ: typeEnum, into: "type"},
	{name: "email", typ: typeText, into: "email"},
	{name: "phone", typ: typeText, into: "phone"},
	{name: "companyType", typ: typeEnum, into: "companyType"},
	{name: "taxIdentifier", typ: typeText, into: "taxIdentifier", isSecret: true},
	{name: "status", typ: typeEnum, into: "status"},
	refField,
}, addressFields()...)

var listingFields = append([]field{
	{name: "name", typ: typeText, into: "name"},
	refField,
	{name: "currency", typ: typeCurrency, into: "defaultCurrency"},
	{name: "sourceId", typ: typeText},
	{name: "timeZone", typ: typeText, into: "timeZone"},
	{name: "status", typ: typeEnum, into: "status"},
	{name: "owners", typ: typeText, isLine: true},
	{name: "owner", typ: typeText, isLine: true},
	{name: "ownerEmail", typ: typeText, isLine: true},
	{name: "share", typ: typeShare, isLine: true},
	{name: "ownedFrom", typ: typeDate},
	{name: "reserve", typ: typeAmount},
	{name: "businessModel", typ: typeEnum},
}, addressFields()...)

var reservationFields = []field{
	{name: "listing", typ: typeListing, into: "listingId"},
	{name: "confirmationCode", typ: typeText, into: "confirmationCode"},
	{name: "checkIn", typ: typeDate, into: "checkIn"},
	{name: "checkOut", typ: typeDate, into: "checkOut"},
	{name: "nights", typ: typeInteger},
	{name: "status", typ: typeEnum, into: "status"},
	{name: "guestName", typ: typeText, into: "guestName"},
	{name: "bookerName", typ: typeText, into: "bookerName"},
	{name: "guests", typ: typeInteger, into: "guests"},
	{name: "bookedAt", typ: typeDate, into: "bookedAt"},
	{name: "cancelledAt", typ: typeDate, into: "cancelledAt"},
	{name: "bookingPlatform", typ: typeText, into: "bookingPlatform"},
	{name: "type", typ: typeEnum, into: "type"},
	{name: "generalLedgerStatus", typ: typeEnum, lenient: true, into: "generalLedgerStatus"},
	{name: "shortRef", typ: typeText},
	{name: "generalLedgerPostingAt", typ: typeDate, into: "generalLedgerPostingAt"},
	{name: "appId", typ: typeText, into: "appId"},
	{name: "sourceId", typ: typeText, into: "sourceId"},
	{name: "pmsReferenceCode", typ: typeText, into: "pmsReferenceCode"},
	refField, currencyField,
	{name: "rent", typ: typeAmount, lineType: "rent", isLine: true},
	{name: "cleaningFee", typ: typeAmount, lineType: "cleaningFee", isLine: true},
	{name: "guestFee", typ: typeAmount, lineType: "guestFee", isLine: true},
	{name: "tax", typ: typeAmount, lineType: "tax", isLine: true},
	{name: "discount", typ: typeAmount, lineType: "discount", isLine: true},
	{name: "damage", typ: typeAmount, lineType: "damage", isLine: true},
	{name: "other", typ: typeAmount, lineType: "other", isLine: true},
	{name: "lineType", typ: typeText, into: "type", isLine: true},
	{name: "lineDescription", typ: typeText, into: "description", isLine: true},
	{name: "lineAmount", typ: typeAmount, into: "amount", isLine: true},
	{name: "total", typ: typeAmount},
	{name: "expectedPayout", typ: typeAmount, into: "expectedPayout"},
	{name: "expectedChannelFee", typ: typeAmount, into: "expectedChannelFee"},
	{name: "expectedProcessingFee", typ: typeAmount, into: "expectedProcessingFee"},
}

var transactionFields = []field{
	{name: "date", typ: typeDate, into: "date"},
	{name: "type", typ: typeEnum, into: "type"},
	{name: "status", typ: typeEnum, lenient: true},
	{name: "reference", typ: typeText},
	refField,
	{name: "description", typ: typeText, into: "description"},
	{name: "account", typ: typeAccount, into: "accountId"},
	{name: "contact", typ: typeContact, into: "contactId"},
	{name: "sourceId", typ: typeText},
	{name: "paymentDate", typ: typeDate, into: "payment.date"},
	{name: "paymentAccount", typ: typeAccount, into: "payment.accountId"},
	{name: "isOpeningBalance", typ: typeEnum, into: "isOpeningBalance"},
	currencyField,
	{name: "lineUniqueRef", typ: typeText, into: "uniqueRef", isLine: true},
	{name: "lineDescription", typ: typeText, into: "description", isLine: true},
	{name: "lineAccount", typ: typeAccount, into: "accountId", isLine: true},
	{name: "lineType", typ: typeText, into: "matchLineTypeClassification", isLine: true},
	{name: "lineContact", typ: typeContact, into: "contactId", isLine: true},
	{name: "listing", typ: typeListing, into: "listingId", isLine: true},
	{name: "reservation", typ: typeReservation, into: "reservationId", isLine: true},
	{name: "party", typ: typeEnum, into: "party", isLine: true},
	{name: "amount", typ: typeAmount, into: "amount", isLine: true},
	{name: "debit", typ: typeAmount, isLine: true},
	{name: "credit", typ: typeAmount, isLine: true},
	{name: "markupAmount", typ: typeAmount, into: "markup", isLine: true},
	{name: "taxAmount", typ: typeAmount},
	{name: "transactionTotal", typ: typeAmount},
}

var bankFields = []field{
	{name: "date", typ: typeDate, into: "date"},
	{name: "valueDate", typ: typeDate},
	{name: "description", typ: typeText, into: "description", several: true},
	{name: "amount", typ: typeAmount, into: "amount"},
	{name: "debit", typ: typeAmount},
	{name: "credit", typ: typeAmount},
	{name: "direction", typ: typeEnum},
	{name: "balance", typ: typeAmount},
	{name: "reference", typ: typeText},
	{name: "account", typ: typeAccount, into: "accountId"},
	{name: "recordType", typ: typeEnum, lenient: true, into: "type"},
	{name: "state", typ: typeEnum, lenient: true},
	refField, currencyField,
}

var journalFields = []field{
	{name: "date", typ: typeDate, into: "date"},
	{name: "journal", typ: typeText},
	refField,
	{name: "description", typ: typeText, into: "description"},
	{name: "ledger", typ: typeEnum, into: "ledger"},
	currencyField,
	{name: "account", typ: typeAccount, into: "accountId", isLine: true},
	{name: "debit", typ: typeAmount, isLine: true},
	{name: "credit", typ: typeAmount, isLine: true},
	{name: "amount", typ: typeAmount, into: "centTotal", isLine: true},
	{name: "listing", typ: typeListing, into: "listingId", isLine: true},
	{name: "contact", typ: typeContact, into: "contactId", isLine: true},
	{name: "reservation", typ: typeReservation, into: "reservationId", isLine: true},
	{name: "party", typ: typeEnum, into: "party", isLine: true},
	{name: "lineDescription", typ: typeText, into: "description", isLine: true},
}

var openingFields = []field{
	{name: "listing", typ: typeListing, into: "listingId"},
	{name: "account", typ: typeAccount, into: "accountId"},
	{name: "date", typ: typeDate, into: "date"},
	{name: "amount", typ: typeAmount, into: "amount"},
	currencyField,
}
