// Package chat has what all messages that wait for their readers have in common.
// The receiver pulls, at its own pace, and misses nothing that was sent while it
// was away. There are four structures, for as many ways in which people talk,
// each in a package of its own:
//
//	               between                  a call takes                     guarantee
//	group          many members             Send, Ack: one script, however   each member gets each message, in
//	                                        many members; all chats of a     order, until it acknowledges; gone
//	                                        member: a round trip a hundred   when all have, or by limits
//	mailbox        senders and one          Send: one script; Read: two      each message waits for its receiver
//	               receiver                 commands; Ack: one a hundred     until it acknowledges; bounded
//	conversation   two people               Send, Read, Ack, History: one    one history; counts of unread
//	                                        script; Unread of all: a round   messages exact under any
//	                                        trip a hundred                   interleaving; bounded
//	room           people in a place        one script for nearly every      all see the same, in order, and who
//	                                        call                             took back what; it ends by itself
//
// Every operation on one chat, box, pair or room is one atomic step on one slot of
// a Redis Cluster, and takes no lock. Waiting is a blocked read, which costs Redis
// nothing; what is delivered is always read by a script that looks first.
//
// A message has a [Content]: a body, a type and a URL. What is too big for a message
// lies elsewhere, and the message says where.
//
// Names are 1 to 200 bytes of UTF-8 without control characters and without braces.
// They are claims: whoever can use the Redis can speak as anybody. Every key starts
// with the prefix of the database; braces in keys are hash tags. Times are
// milliseconds of Redis's clock.
package chat
