// Package hyperloglog estimates how many different members a set has, with sketches that Redis can
// read.
//
// A [Sketch] has the 2^14 registers of Redis, with a standard error of 0.81 %. The lower 14 bits
// of the hash of a member are the index of its register, which holds the highest number of zero
// bits from bit 14 on, before a bit that is set, plus one. [Sketch.Encode] writes the dense or the
// sparse format of Redis, for PFMERGE and PFCOUNT. Sketches are merged by the highest value of each
// register: the order does not matter, and a repeat changes nothing. [Sketch.Count] is the estimate
// of PFCOUNT (Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017).
package hyperloglog
