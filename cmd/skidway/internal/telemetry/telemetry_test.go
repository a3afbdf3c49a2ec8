package telemetry

import (
	"net/http"
	"testing"
)

func TestWithoutTelemetryRequestsCostNothing(t *testing.T) {
	t.Parallel()
	var off *Telemetry
	mux := http.NewServeMux()
	if off.Handler(mux) != http.Handler(mux) || off.Transport(http.DefaultTransport) != http.DefaultTransport {
		t.Error("handlers or transports are wrapped although nothing is measured")
	}
}
