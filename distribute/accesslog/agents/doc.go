// Package agents identifies crawlers and browsers by the text of the User-Agent header.
//
//	crawler, class := agents.Match(agent)   // "Googlebot", "search-engine"
//	browser := agents.Browser(agent)        // "crawler"; for people "Firefox", …
//
// # The list
//
// The crawlers are those of the list crawler-user-agents
// (https://github.com/monperrus/crawler-user-agents, MIT License), of which data/crawlers.tsv is a
// copy; [Source] returns its version and date. Each entry has a pattern, which is plain text or a
// regular expression of RE2, looked for anywhere in the agent with regard to case. The first entry of
// the list that matches wins. What matches none is people, whatever it claims to be.
//
// A crawler's name is made of its pattern when the copy is made; no two entries have the same. Its
// class is the first of [Classes] that is among its tags, and "crawler" without tags.
//
// # Promises
//
//   - Match and Browser are safe for concurrent use, and do not allocate.
//   - An agent takes one pass over its bytes, and below a microsecond. A [Finder] passes only over
//     what differs from agents before. Callers that meet the same agents again remember the result.
//   - The first call builds the automaton, which takes some 20 ms and 4 MB.
//
// The copy is made anew by `make crawlers`.
package agents
