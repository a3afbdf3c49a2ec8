// Package worldmap draws counts by country as a map of the world, in SVG, and has the names of
// countries.
//
//	drawing := worldmap.Draw(map[string]int64{"DE": 1200, "FR": 30}, "request", "requests")
//
// The map is of the page of reports and of the dashboard. It needs no script, no style of its own
// and no file: a page puts Drawing.SVG into itself, and lists Drawing.Steps below it. Its shapes have
// the classes c0 (none) to c7 of the style sheet, which decides their colours.
//
// It is Natural Earth 1:110m (https://www.naturalearthdata.com, public domain) in the projection Equal
// Earth, in which areas are true, without Antarctica. Countries that have no area at this scale are
// dots. Natural Earth shows borders as they are held; an area without a code of ISO 3166-1 is drawn as
// one without counts. The data are made by `make worldmap`.
package worldmap
