// Package bench has the commands below "skidway bench".
package bench

import (
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
)

// Command returns the command "bench".
func Command(a *cli.App) *cobra.Command {
	bench := cli.Group(&cobra.Command{
		Use:   "bench",
		Short: "Measures this machine and this Redis",
		Long: `Measures what Skidway does on this machine with this Redis, beside what the
machine could do at most, in the same run: machines differ, ratios less.`,
		Example: `  skidway bench logs
  skidway bench queue --json
  skidway bench chat`,
	})
	bench.AddCommand(logsCommand(a), queueCommand(a), chatCommand(a))
	return bench
}
