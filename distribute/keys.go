package distribute

import "strconv"

// keys builds the names of all keys of one channel. They share the hash tag
// {channel}, because every script uses keys of one channel.
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

func (k keys) file(id string) string { return k.root + ":file:" + id }

func (k keys) fileWake(id string, shipment int64) string {
	return k.root + ":wake:" + shipmentName(id, shipment)
}

func (k keys) segment(id string, shipment int64, number int) string {
	return k.root + ":segment:" + shipmentName(id, shipment) + ":" + strconv.Itoa(number)
}

func (k keys) subscribers() string           { return k.root + ":subscribers" }
func (k keys) subscriber(name string) string { return k.root + ":subscriber:" + name }
func (k keys) claims(name string) string     { return k.subscriber(name) + ":claims" }
func (k keys) sealed(name string) string     { return k.subscriber(name) + ":sealed" }
func (k keys) problems(name string) string   { return k.subscriber(name) + ":problems" }
func (k keys) groups(name string) string     { return k.subscriber(name) + ":groups" }

func (k keys) staged(name, id string) string { return k.subscriber(name) + ":staged:" + id }

func (k keys) sealedCells(name, shipment string) string {
	return k.subscriber(name) + ":sealed:" + shipment
}

func (k keys) totals(name, group string) string { return k.subscriber(name) + ":count:" + group }

// shipmentName is the name of one shipment of one file in keys and sets.
func shipmentName(id string, shipment int64) string {
	return id + ":" + strconv.FormatInt(shipment, 10)
}

// batchesKey is the one key that belongs to no channel: the running batches.
func batchesKey(prefix string) string { return prefix + ":logs:batches" }
