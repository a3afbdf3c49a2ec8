package main

import (
	"github.com/spf13/cobra"
)

func (a *app) bench() *cobra.Command {
	bench := group(&cobra.Command{
		Use:   "bench",
		Short: "Measures this machine and this Redis",
		Long: `Measures what Skidway does on this machine with this Redis, beside what the
machine could do at most, in the same run: machines differ, ratios less.`,
		Example: `  skidway bench logs
  skidway bench queue --json
  skidway bench chat`,
	})
	bench.AddCommand(a.benchLogs(), a.benchQueue(), a.benchChat())
	return bench
}
