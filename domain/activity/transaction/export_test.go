package transaction

// LoadBorneOf is LoadBorne with the number of open bills that are few.
var LoadBorneOf = loadBorne
