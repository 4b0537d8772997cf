package connection

// Await is for tests.
var Await = await
