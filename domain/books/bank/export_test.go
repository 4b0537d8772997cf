package bank

// ListQuery lets the external tests look at the plan of a list and narrow it.
var ListQuery = listQuery
