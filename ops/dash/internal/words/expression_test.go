package words_test

import (
	"testing"

	"skidway/ops/dash/internal/words"
)

func TestExpressionsAreShownInWords(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"@every 90s": "every 90s", "* * * * *": "every minute", "*/5 * * * *": "every 5 minutes", "0 */5 * * * *": "every 5 minutes", "15 * * * *": "15 minutes past each hour", "@hourly": "every hour", "0 */2 * * *": "every 2 hours",
		"30 2 * * *": "02:30 every day", " 30  2 * * ? ": "02:30 every day", "@daily": "00:00 every day", "0 9,17 * * *": "09:00 and 17:00 every day", "0,30 8 * * *": "08:00 and 08:30 every day",
		"30 2 * * 1-5": "02:30, Monday to Friday", "30 2 * * MON-FRI": "02:30, Monday to Friday", "0 8 * * 1,3,5": "08:00 on Monday, Wednesday and Friday", "@weekly": "00:00 on Sunday", "0 8 * * 7": "08:00 on Sunday", "0 8 * * 1-3,6": "08:00 on Monday, Tuesday, Wednesday and Saturday",
		"*/15 9-17 * * 1-5": "every 15 minutes from 09:00 to 17:59, Monday to Friday", "5 9-17 * * *": "every hour from 09:05 to 17:05",
		"@monthly": "00:00 on day 1 of the month", "0 6 1,15 * *": "06:00 on day 1 and 15 of the month", "0 6 1-7 * *": "06:00 on day 1 to 7 of the month", "0 6 13 * 5": "06:00 on day 13 of the month or on Friday",
		"@yearly": "00:00 on day 1 of the month in January", "0 6 * 6-8 *": "06:00 every day in June to August", "0 6 * jan,jul 1": "06:00 on Monday in January and July",
		// Without words.
		"": "", "x": "", "30 2 * *": "", "5 */5 * * * *": "", "1-10 * * * *": "", "0 0,4,8,12,16 * * *": "", "15 */2 * * *": "", "0 0 */2 * *": "", "0 0 L * *": "", "61 * * * *": "", "0 24 * * *": "", "0 0 * * 5-1": "", "0 0 * * mon#2": "", "0 0 * 13 *": "", "1-10/2 * * * *": "", "0 0 1, * *": "", "@never": "", "0 0 * * 1-5,": "",
	} {
		if got := words.Cron(expr); got != want {
			t.Errorf("%q is %q in words, want %q", expr, got, want)
		}
	}
}
