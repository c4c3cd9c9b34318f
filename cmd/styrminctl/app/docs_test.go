// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/styrmin/styrmin/sdk/sdktest"
)

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	shopBlock    = regexp.MustCompile("(?s)This is `shop.yaml`:\n\n```yaml\n(.*?)```")
)

// TestTheExamplesOfTheDocumentationWork runs them in the order of the page, beside
// a real server whose agent works, and compares what they print with the page.
func TestTheExamplesOfTheDocumentationWork(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	server := sdktest.Start(t)
	agent := server.NewCluster(t, "production")
	agent.Work(t)
	m := &machine{T: t, env: map[string]string{
		"STYRMIN_SERVER_ADDRESS": server.URL, "STYRMIN_TOKEN": server.AdminToken, "HOME": t.TempDir(),
	}}
	t.Chdir(t.TempDir())
	shop := shopBlock.FindStringSubmatch(string(page))
	if shop == nil {
		t.Fatal("the page has no shop.yaml")
	}
	for name, content := range map[string]string{
		"shop.yaml":   shop[1],
		"wrong.yaml":  strings.Replace(shop[1], "replicas: 3", "replica: 3", 1),
		"broken.yaml": strings.ReplaceAll(withoutHooks(shop[1]), `"2.4.0"`, `"`+sdktest.BrokenVersion+`"`),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	task := "" // the one that the command before has named
	for _, block := range consoleBlock.FindAllStringSubmatch(string(page), -1) {
		for _, example := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, want, _ := strings.Cut(example, "\n")
			args := strings.Fields(strings.TrimPrefix(line, "styrminctl "))
			for i := range args {
				if strings.HasPrefix(args[i], "task/") {
					args[i] = task
				}
			}
			ran := m.start(args...)
			code := ran.wait()
			if (code != ExitOK) != strings.Contains(want, "Error: ") {
				t.Errorf("%s ended with %d: %s", line, code, ran.err.String())
			}
			// Whatever comes first on the page: results and errors.
			got := ran.out.String() + ran.err.String()
			if strings.Contains(line, "--wait") || strings.Contains(line, "tasks wait") {
				first, rest, _ := strings.Cut(ran.out.String(), "\n")
				got = first + "\n" + ran.err.String() + rest
				if rest == "" && code == ExitOK {
					got = ran.err.String() + ran.out.String()
				}
			}
			compareExample(t, line, want, got)
			task = strings.TrimSpace(ran.out.String())
		}
	}
}

// compareExample compares what an example printed with the page, line by line. A
// line … stands for any others, and … at the end of a line for its rest.
func compareExample(t *testing.T, line, want, got string) {
	t.Helper()
	var pattern strings.Builder
	for wanted := range strings.Lines(want) {
		wanted = strings.TrimRight(wanted, "\n")
		if wanted == "…" {
			pattern.WriteString(`(.*\n)*?`)
			continue
		}
		quoted := regexp.QuoteMeta(timeless(wanted))
		pattern.WriteString(strings.ReplaceAll(quoted, "…", ".*") + `\n`)
	}
	if !regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(timelessLines(got)) {
		t.Errorf("%s printed:\n%s\nthe page has:\n%s", line, got, want)
	}
}

func timelessLines(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprintln(&lines, timeless(strings.TrimRight(line, "\n")))
	}
	return lines.String()
}

var (
	uuidPattern     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	durationPattern = regexp.MustCompile(`\b(\d+[smhdy])+\b`)
)

// timeless is a line without what differs from run to run.
func timeless(line string) string {
	line = uuidPattern.ReplaceAllString(line, "ID")
	line = durationPattern.ReplaceAllString(line, "TIME")
	return strings.Join(strings.Fields(line), " ")
}
