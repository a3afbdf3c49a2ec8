package agents

import "regexp/syntax"

// maxTexts bounds the texts that a pattern is written out as.
const maxTexts = 16

// required returns texts one of which is in everything that the pattern matches. They are exact if
// the pattern matches all that has one of them.
func required(pattern string) (texts []string, exact bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic("agents: pattern of the embedded list: " + err.Error())
	}
	if texts = spelled(parsed); texts != nil {
		return texts, true
	}
	if texts = longestRun(parsed); texts == nil {
		panic("agents: pattern without a required text: " + pattern)
	}
	return texts, false
}

// spelled returns all texts that an expression matches, nil if they are too many.
func spelled(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCharClass:
		var texts []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if texts = append(texts, string(r)); len(texts) > maxTexts {
					return nil
				}
			}
		}
		return texts
	case syntax.OpCapture:
		return spelled(re.Sub[0])
	case syntax.OpAlternate:
		var texts []string
		for _, sub := range re.Sub {
			more := spelled(sub)
			if texts = append(texts, more...); more == nil || len(texts) > maxTexts {
				return nil
			}
		}
		return texts
	case syntax.OpConcat:
		texts := []string{""}
		for _, sub := range re.Sub {
			if texts = product(texts, spelled(sub)); texts == nil {
				return nil
			}
		}
		return texts
	}
	return nil
}

// product returns all first texts with all second ones behind them, nil if these are too many or none.
func product(first, second []string) (all []string) {
	if len(first)*len(second) > maxTexts {
		return nil
	}
	for _, a := range first {
		for _, b := range second {
			all = append(all, a+b)
		}
	}
	return all
}

// longestRun returns the texts of the neighbouring parts of a concatenation whose shortest text is
// longest.
func longestRun(re *syntax.Regexp) (best []string) {
	if re.Op != syntax.OpConcat {
		return nil
	}
	run := []string{""}
	for _, sub := range re.Sub {
		texts := spelled(sub)
		if longer := product(run, texts); longer != nil {
			run = longer
		} else if run = texts; run == nil {
			run = []string{""}
		}
		if shortest(run) > shortest(best) {
			best = run
		}
	}
	return best
}

func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	length := len(texts[0])
	for _, text := range texts {
		length = min(length, len(text))
	}
	return length
}
