package dash

// Texts are the texts of all pages.
var Texts = texts
