package agents_test

import (
	"fmt"

	"skidway/distribute/accesslog/agents"
)

func Example() {
	for _, agent := range []string{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
	} {
		crawler, class := agents.Match([]byte(agent))
		fmt.Printf("%q %q %s\n", crawler, class, agents.Browser([]byte(agent)))
	}
	// Output:
	// "Googlebot" "search-engine" crawler
	// "" "" Firefox
}
