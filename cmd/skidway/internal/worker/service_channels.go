package worker

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"skidway"
	"skidway/distribute"
	"skidway/workers/metrics"
)

// channelMetrics are the metrics of log channels. They are read from Redis at each
// scrape, so that all processes report the same of a channel. A channel that does not
// exist yet has no values.
//
//	skidway_log_lines_total{channel,subscriber,result}  counted, unknown_country, filtered, expired, unparsable
//	skidway_log_bytes_total{channel,subscriber}         of uncompressed content
//	skidway_log_files_total{channel,subscriber}         counted in whole or in part
//	skidway_log_files_pending{channel,subscriber}       announced, and not counted yet
//	skidway_log_window_bytes{channel}                   that files may take up in Redis
//	skidway_log_window_used_bytes{channel}              that they do
//	skidway_log_channel_up{channel}                     0 when it could not be read
type channelMetrics struct {
	db                                             *skidway.DB
	lines, bytes, files, pending, window, used, up *prometheus.Desc

	mu    sync.Mutex
	names []string
}

func newChannelMetrics(db *skidway.DB) *channelMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("skidway_log_"+name, help, append([]string{"channel"}, labels...), nil)
	}
	return &channelMetrics{
		db:      db,
		lines:   desc("lines_total", "Log lines that a subscriber has dealt with, by what they were.", "subscriber", "result"),
		bytes:   desc("bytes_total", "Bytes of uncompressed logs that a subscriber has counted.", "subscriber"),
		files:   desc("files_total", "Log files that a subscriber has counted, in whole or in part.", "subscriber"),
		pending: desc("files_pending", "Log files that are announced and that a subscriber has not counted yet.", "subscriber"),
		window:  desc("window_bytes", "Bytes that log files may take up in Redis."),
		used:    desc("window_used_bytes", "Bytes that log files take up in Redis."),
		up:      desc("channel_up", "0 when the channel could not be read."),
	}
}

// watch sets the channels to report.
func (m *channelMetrics) watch(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = names
}

// Describe implements [prometheus.Collector].
func (m *channelMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.lines, m.bytes, m.files, m.pending, m.window, m.used, m.up} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (m *channelMetrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	names := m.names
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), metrics.ReadTimeout)
	defer cancel()
	for _, name := range names {
		up := 1.0
		if err := m.collect(ctx, name, out); err != nil && !errors.Is(err, distribute.ErrNoChannel) {
			up = 0
		}
		out <- prometheus.MustNewConstMetric(m.up, prometheus.GaugeValue, up, name)
	}
}

func (m *channelMetrics) collect(ctx context.Context, name string, out chan<- prometheus.Metric) error {
	channel, err := distribute.OpenExisting(ctx, m.db, name)
	if err != nil {
		return err
	}
	status, err := channel.Status(ctx)
	if err != nil {
		return err
	}
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, float64(value), append([]string{name}, labels...)...)
	}
	send(m.window, prometheus.GaugeValue, status.Window)
	send(m.used, prometheus.GaugeValue, status.Used)
	for _, s := range status.Subscribers {
		if !utf8.ValidString(s.Name) { // labels must be UTF-8, names in Redis need not be
			s.Name = strconv.QuoteToASCII(s.Name)
		}
		send(m.lines, prometheus.CounterValue, s.Tally.Counted, s.Name, "counted")
		send(m.lines, prometheus.CounterValue, s.Tally.Unknown, s.Name, "unknown_country")
		if s.Tally.Filtered > 0 {
			send(m.lines, prometheus.CounterValue, s.Tally.Filtered, s.Name, "filtered")
		}
		if s.Tally.Expired > 0 {
			send(m.lines, prometheus.CounterValue, s.Tally.Expired, s.Name, "expired")
		}
		send(m.lines, prometheus.CounterValue, s.Tally.Unparsable, s.Name, "unparsable")
		send(m.bytes, prometheus.CounterValue, s.Tally.Bytes, s.Name)
		send(m.files, prometheus.CounterValue, s.Tally.Files, s.Name)
		send(m.pending, prometheus.GaugeValue, s.Pending, s.Name)
	}
	return nil
}
