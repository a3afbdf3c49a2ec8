package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A mutation is a change of the code that breaks one rule.
type mutation struct {
	id, meaning   string
	packages      []string // whose tests must notice it
	substitutions []substitution
}

// A substitution replaces the only occurrence of a text in a file.
type substitution struct {
	file              string
	replaced, written []string // lines
}

// parse reads a list of mutations. Its format is explained at its head.
func parse(list string) ([]mutation, error) {
	var mutations []mutation
	var m *mutation // the mutation that the line belongs to
	var s *substitution
	file := ""
	for i, line := range strings.Split(list, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
			s = nil
		case word == "mutation":
			id, meaning, _ := strings.Cut(rest, " ")
			mutations = append(mutations, mutation{id: id, meaning: meaning})
			m, s, file = &mutations[len(mutations)-1], nil, ""
		case word == "test" && m != nil:
			m.packages = strings.Fields(rest)
		case word == "file" && m != nil:
			file, s = rest, nil
		case line[0] == '-' && file != "":
			if s == nil || len(s.written) > 0 {
				m.substitutions = append(m.substitutions, substitution{file: file})
				s = &m.substitutions[len(m.substitutions)-1]
			}
			s.replaced = append(s.replaced, line[1:])
		case line[0] == '+' && s != nil:
			s.written = append(s.written, line[1:])
		default:
			return nil, fmt.Errorf("line %d: %q is not of this format", i+1, line)
		}
	}
	for _, m := range mutations {
		if m.meaning == "" || len(m.packages) == 0 || len(m.substitutions) == 0 {
			return nil, fmt.Errorf("mutation %s lacks a meaning, packages to test, or a substitution", m.id)
		}
	}
	return mutations, nil
}

// apply returns the content of the files below folder that m changes, by path.
func (m mutation) apply(folder string) (map[string]string, error) {
	files := map[string]string{}
	for _, s := range m.substitutions {
		text, read := files[s.file]
		if !read {
			content, err := os.ReadFile(filepath.Join(folder, s.file))
			if err != nil {
				return nil, fmt.Errorf("mutation %s: %w", m.id, err)
			}
			text = string(content)
		}
		places := s.pattern().FindAllStringIndex(text, 2)
		if len(places) != 1 {
			return nil, fmt.Errorf("mutation %s: %s has %s", m.id, s.file,
				[]string{"no such text: ", "", "more than one such text: "}[len(places)]+strings.Join(s.replaced, "\n"))
		}
		files[s.file] = text[:places[0][0]] + strings.Join(s.written, "\n") + text[places[0][1]:]
	}
	return files, nil
}

// pattern returns an expression for the replaced text with any white space.
func (s substitution) pattern() *regexp.Regexp {
	words := strings.Fields(strings.Join(s.replaced, "\n"))
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	return regexp.MustCompile(strings.Join(words, `\s+`))
}
