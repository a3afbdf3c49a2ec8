package cli

import (
	"os"

	"github.com/spf13/pflag"

	"skidway/ops"
)

// rulesVariable is the environment variable of the file with the rules of diagnoses.
const rulesVariable = "SKIDWAY_RULES"

// RulesFlag adds the flag --rules. After the flags are parsed, read returns the rules of its file or
// of that of the environment, nil for none.
func RulesFlag(flags *pflag.FlagSet) (read func() ([]ops.Rule, error)) {
	file := flags.String("rules", "", "`FILE` with the rules of diagnoses that are not the default ones (default "+rulesVariable+")")
	return func() ([]ops.Rule, error) {
		from, path := "--rules", *file
		if path == "" {
			from, path = "the environment variable "+rulesVariable, os.Getenv(rulesVariable)
		}
		if path == "" {
			return nil, nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, WrongUsage("%s: %w", from, err)
		}
		rules, err := ops.ParseRules(text)
		if err != nil {
			return nil, WrongUsage("%s: %s: %w", from, path, err)
		}
		return rules, nil
	}
}
