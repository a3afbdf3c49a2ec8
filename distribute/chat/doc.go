// Package chat has the types that four kinds of messaging share. In each of them
// messages wait in Redis until their receiver pulls them, so a receiver that was
// away misses nothing. Each kind is a package of its own:
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
//	room           people in a place        one script for nearly every      all see the same, in order, with
//	                                        call                             retractions; it ends by itself
//
// Every operation on one chat, box, pair or room is one atomic step on one slot of
// a Redis Cluster, without locks. A waiting call is a blocked read, which costs
// Redis nothing; after it, a script reads the messages.
//
// A message has a [Content]: a body, a type and a URL. Large data is stored
// elsewhere, and the URL points to it.
//
// Names are 1 to 200 bytes of UTF-8 without control characters and without braces. In group chats
// those that begin with "logs:" are reserved. Names are claims: any client of the Redis can send
// under any name. Every key starts with the prefix of the database; braces in keys are hash tags.
// Times are milliseconds of Redis's clock.
package chat
