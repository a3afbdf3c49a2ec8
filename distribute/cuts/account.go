package cuts

import "slices"

// An Account has the numbers of the lines of one day that are in its cells. Private is a part of
// Unknown, Crawlers one of Counted and Unknown together.
type Account struct{ Counted, Unknown, Private, Crawlers int64 }

// AccountGroup is the group with the accounts of all days, of no cut. A member is a day and the
// name of a number, such as "2026-11-01 counted".
const AccountGroup = "accounts"

// Accounts are the names of the numbers of an Account, in the order of its fields.
var Accounts = [...]string{"counted", "unknown", "private", "crawlers"}

func (a *Account) numbers() [len(Accounts)]*int64 {
	return [...]*int64{&a.Counted, &a.Unknown, &a.Private, &a.Crawlers}
}

// Add adds a number with a name of [Accounts]. Another name adds nothing.
func (a *Account) Add(name string, n int64) {
	if i := slices.Index(Accounts[:], name); i >= 0 {
		*a.numbers()[i] += n
	}
}

// Cells calls yield with the numbers of the account of a day that are not 0, as cells.
func (a *Account) Cells(day string, yield func(group, member string, n int64)) {
	for i, n := range a.numbers() {
		if *n != 0 {
			yield(AccountGroup, day+" "+Accounts[i], *n)
		}
	}
}

func (a *Account) addUnknown(private bool) {
	a.Unknown++
	if private {
		a.Private++
	}
}

// crawlerPlace returns the place of a value that tells crawlers from people, -1 if there is none.
func (c Cut) crawlerPlace() int {
	return slices.IndexFunc(c, func(d Dimension) bool { return d.Kind == Crawler || d.Kind == CrawlerClass })
}
