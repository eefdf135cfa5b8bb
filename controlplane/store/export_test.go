package store

// OpenAs opens as another role than the application's, which is refused when the
// role could pass the wall.
var OpenAs = open
