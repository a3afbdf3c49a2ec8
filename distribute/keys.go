package distribute

import (
	"strconv"
	"strings"
)

// keys builds the names of all keys of one channel. They share the hash tag
// {channel}, because every script uses keys of one channel.
//
//	(no suffix)                  hash    v, turn, window and used in bytes, shipments (number of shippers ever registered),
//	                                     removals (number of subscribers ever removed), resets (of subscribers), beat and due (of processes: the
//	                                     last action, and when the next one is due, ms), outage and amnesty (the last
//	                                     action before Redis was away, and until when leases are spared, ms)
//	:wake                        stream  one entry: the last change
//	:heads                       hash    digest of the first line → ids of files
//	:files                       zset    file → last change, ms
//	:file:ID                     hash    the record of a file; fields FIELD:SUBSCRIBER
//	:open                        zset    file in Redis → its place in the order of admission: time, ms, at least 1 more than the one before
//	:held                        hash    file in Redis → bytes of the window that it uses
//	:reserves                    hash    file in Redis → bytes that it may hold whatever the others hold, while it is the oldest
//	:uploads                     zset    file being uploaded → lease expiry, ms
//	:spent                       set     files whose segments are to be freed
//	:abandoned                   zset    abandoned file → time, ms
//	:segment:ID:SHIPMENT:N       string  a piece of a file
//	:wake:ID:SHIPMENT            stream  one entry, its id the bytes uploaded so far, then 0, 1: no room for more, 2: complete, 3: abandoned
//	:shippers                    hash    shipper → mode and host:pid
//	:leases                      zset    shipper → lease expiry, ms
//	:line                        zset    shipper that waits for the window → turn
//	:subscribers                 hash    subscriber → settings
//	:removed                     hash    subscriber whose removal is not complete → number of the removal; "reset" and its epoch: whose reset is not
//	:subscriber:S                hash    v, since, seen, sums, lines by country database, version (number of commits), folds (of cells into the totals),
//	                                     epoch (number of resets, none before the first), source (its name in its exports),
//	                                     oldest (day that is kept), dropped (its value when the cells before it were deleted),
//	                                     visitors (key of their hashes), countries (first day that may have visitors of countries)
//	:subscriber:S:claims         zset    file → lease expiry, ms
//	:subscriber:S:owners         hash    file → token of its claim
//	:subscriber:S:staged:ID      hash    cell → number, or sketch of visitors, not valid yet
//	:subscriber:S:sealed         set     ID:SHIPMENT:COMMIT that are not folded yet
//	:subscriber:S:sealed:ID:SHIPMENT:COMMIT  hash  cell → number, valid
//	:subscriber:S:readers        zset    report that reads the totals → end of its time, ms
//	:subscriber:S:checkpoint:ID  string  shipment, blank, and where its next worker reads a compressed file on
//	:subscriber:S:groups         zset    group that was counted, such as a day → cells of it that were moved into others
//	:subscriber:S:days           zset    day that has a line, or is in staged cells → 0; at most 4,096
//	:subscriber:S:crowded        set     groups that have more cells than their bound
//	:subscriber:S:count:GROUP    zset    member → count; of the group "accounts", a day and a number of its account → lines
//	:subscriber:S:visitors       zset    names of sketches of visitors, DAY or DAY COUNTRY → 0
//	:subscriber:S:visitors:NAME  string  a sketch, a HyperLogLog of Redis; while one is merged, the one named incoming
//	:subscriber:S:problems       set     files that were counted in part or not at all
//	:subscriber:S:sources        hash    imported source → EPOCH COMMIT IMPORT, what reports have of it
//	:subscriber:S:imports        hash    import that is not complete → lease expiry, ms; 0: it was replaced, and is being deleted
//	:subscriber:S:import:I       hash    fields as of a subscriber, and source; :groups, :days and :count:GROUP follow, as of a subscriber
//
// The record of a file stays for [RememberFor] after it is counted. It has up to
// 7 KB, most of it the digests by which an earlier copy is recognised.
type keys struct{ root string }

func channelKeys(prefix, channel string) keys { return keys{prefix + ":logs:{" + channel + "}"} }

func (k keys) channel() string   { return k.root }
func (k keys) wake() string      { return k.root + ":wake" }
func (k keys) heads() string     { return k.root + ":heads" }
func (k keys) files() string     { return k.root + ":files" }
func (k keys) open() string      { return k.root + ":open" }
func (k keys) abandoned() string { return k.root + ":abandoned" }
func (k keys) uploads() string   { return k.root + ":uploads" }
func (k keys) spent() string     { return k.root + ":spent" }
func (k keys) shippers() string  { return k.root + ":shippers" }
func (k keys) leases() string    { return k.root + ":leases" }
func (k keys) line() string      { return k.root + ":line" }
func (k keys) held() string      { return k.root + ":held" }
func (k keys) reserves() string  { return k.root + ":reserves" }

func (k keys) file(id string) string { return k.root + ":file:" + id }

func (k keys) fileWake(id string, shipment int64) string {
	return k.root + ":wake:" + shipmentName(id, shipment)
}

func (k keys) segment(id string, shipment int64, number int) string {
	return k.root + ":segment:" + shipmentName(id, shipment) + ":" + strconv.Itoa(number)
}

func (k keys) subscribers() string { return k.root + ":subscribers" }
func (k keys) removed() string     { return k.root + ":removed" }
func (k keys) subscriber(name string) subscriberKeys {
	owner, _, _ := strings.Cut(name, importInfix)
	return subscriberKeys{k.root + ":subscriber:" + name, k.root + ":subscriber:" + owner + ":readers"}
}

// importName is the name of an import among the names of subscribers, which have no colon.
func importName(subscriber, imported string) string { return subscriber + importInfix + imported }

const importInfix = ":import:"

// subscriberKeys builds the names of the keys of one subscriber, or of an import, which has the reports
// of its subscriber.
type subscriberKeys struct{ root, reports string }

func (k subscriberKeys) record() string   { return k.root }
func (k subscriberKeys) claims() string   { return k.root + ":claims" }
func (k subscriberKeys) owners() string   { return k.root + ":owners" }
func (k subscriberKeys) sealed() string   { return k.root + ":sealed" }
func (k subscriberKeys) readers() string  { return k.reports }
func (k subscriberKeys) sources() string  { return k.root + ":sources" }
func (k subscriberKeys) imports() string  { return k.root + ":imports" }
func (k subscriberKeys) problems() string { return k.root + ":problems" }
func (k subscriberKeys) groups() string   { return k.root + ":groups" }
func (k subscriberKeys) days() string     { return k.root + ":days" }
func (k subscriberKeys) crowded() string  { return k.root + ":crowded" }

func (k subscriberKeys) staged(id string) string     { return k.root + ":staged:" + id }
func (k subscriberKeys) checkpoint(id string) string { return k.root + ":checkpoint:" + id }

func (k subscriberKeys) sealedCells(commit string) string { return k.root + ":sealed:" + commit }

func (k subscriberKeys) totals(group string) string { return k.root + ":count:" + group }

func (k subscriberKeys) visitors() string                { return k.root + ":visitors" }
func (k subscriberKeys) visitorsOf(sketch string) string { return k.visitors() + ":" + sketch }

// shipmentName is the name of one shipment of one file in keys and sets.
func shipmentName(id string, shipment int64) string {
	return id + ":" + strconv.FormatInt(shipment, 10)
}

// commitName is the name of one commit of a shipment in keys and sets.
func commitName(id string, shipment, commit int64) string {
	return shipmentName(id, shipment) + ":" + strconv.FormatInt(commit, 10)
}

// Two keys belong to no channel: channelsKey is a sorted set, channel → when it was
// created, in ms, without the channels of batches; batchesKey is a hash, running batch →
// last heartbeat.
func channelsKey(prefix string) string { return prefix + ":logs:channels" }
func batchesKey(prefix string) string  { return prefix + ":logs:batches" }
