// Runs folders with test files through Kyverno's own test command, for tools/record_cases.py, which
// builds it inside a checkout of Kyverno (its go.mod decides the versions).
//
// Standard input: one folder a line. Standard output: one answer a line, {"rows", "error",
// "panic"}; rows are those of `kyverno test --output-format json --detailed-results`.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno/commands/test"
)

type answer struct {
	Rows  []map[string]any `json:"rows"`
	Error string           `json:"error,omitempty"`
	Panic string           `json:"panic,omitempty"`
}

func main() {
	answers := os.Stdout
	os.Stdout = os.Stderr
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		raw, _ := json.Marshal(run(lines.Text()))
		fmt.Fprintln(answers, string(raw))
	}
}

func run(folder string) (found answer) {
	var out bytes.Buffer
	defer func() {
		if reason := recover(); reason != nil {
			found.Panic = fmt.Sprint(reason)
		}
		found.Rows = rows(out.String())
	}()
	command := test.Command()
	command.SilenceErrors = true
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs([]string{folder, "-o", "json", "--detailed-results", "--remove-color"})
	if err := command.Execute(); err != nil {
		found.Error = err.Error()
	}
	return found
}

// The tables of the tests are lists of JSON between lines for people.
func rows(output string) []map[string]any {
	found := []map[string]any{}
	for {
		_, after, isThere := strings.Cut(output, "\n[")
		if !isThere {
			return found
		}
		var table []map[string]any
		decoder := json.NewDecoder(strings.NewReader("[" + after))
		if decoder.Decode(&table) == nil {
			found = append(found, table...)
			after = after[decoder.InputOffset()-1:]
		}
		output = "\n" + after
	}
}
