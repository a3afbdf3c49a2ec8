package delayed_test

import (
	"testing"

	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
