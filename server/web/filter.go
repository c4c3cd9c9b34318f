// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/styrmin/styrmin/server"
)

// filter picks deployments; it lives in the address, so that it can be kept and
// shared. Empty fields pick all.
type filter struct {
	// Words must all be found in a deployment's name, environment, cluster,
	// version or message.
	Words       string
	Status      server.DeploymentStatusName
	Environment string
}

// statuses are those to choose from, in the order in which they are shown.
var statuses = []server.DeploymentStatusName{
	server.DeploymentFailed, server.DeploymentDeploying, server.DeploymentDeleting,
	server.DeploymentPending, server.DeploymentRunning, server.DeploymentDeleted,
}

const (
	wordsParameter       = "q"
	statusParameter      = "status"
	environmentParameter = "env"
)

// filterOf reads an address; what it does not know picks all.
func filterOf(query url.Values) filter {
	wanted := filter{
		Words:       strings.TrimSpace(query.Get(wordsParameter)),
		Environment: query.Get(environmentParameter),
	}
	if status := server.DeploymentStatusName(query.Get(statusParameter)); slices.Contains(statuses, status) {
		wanted.Status = status
	}
	return wanted
}

// Address is that of the overview with the filter.
func (f filter) Address() string {
	query := url.Values{}
	for name, value := range map[string]string{
		wordsParameter: f.Words, statusParameter: string(f.Status), environmentParameter: f.Environment,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return "/"
	}
	return "/?" + query.Encode()
}

// Set tells whether the filter leaves anything out.
func (f filter) Set() bool { return f != filter{} }

// Statuses are those to choose from.
func (f filter) Statuses() []server.DeploymentStatusName { return statuses }

// picks tells whether a row is wanted, whatever its status.
func (f filter) picks(row *overviewRow) bool {
	if f.Environment != "" && f.Environment != row.Environment {
		return false
	}
	if f.Words == "" {
		return true
	}
	text := strings.ToLower(strings.Join([]string{row.Name, row.Environment, row.Cluster, row.Version, row.Message}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(f.Words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// countsOf lists how many deployments have each status that any has, or that is
// chosen.
func countsOf(wanted filter, counts map[server.DeploymentStatusName]int) []statusCount {
	var list []statusCount
	for _, status := range statuses {
		chosen := wanted.Status == status
		if counts[status] == 0 && !chosen {
			continue
		}
		other := wanted
		if other.Status = status; chosen {
			other.Status = ""
		}
		list = append(list, statusCount{
			Status: status, Tone: toneOfDeployment(status), Count: counts[status], Address: other.Address(), Chosen: chosen,
		})
	}
	return list
}

// headline says how the deployments are that the words and the environment pick:
// what it says is not to be taken for all where they leave some out.
func headline(wanted filter, counts map[server.DeploymentStatusName]int, silent int) (string, tone) {
	one, many := "deployment", "deployments"
	none := "Nothing is deployed"
	if wanted.Words != "" || wanted.Environment != "" {
		one, many, none = "deployment that matches", "deployments that match", "No deployment matches"
	}
	all := 0
	for _, count := range counts {
		all += count
	}
	failed := counts[server.DeploymentFailed]
	moving := counts[server.DeploymentDeploying] + counts[server.DeploymentDeleting] + counts[server.DeploymentPending]
	switch {
	case all == 0:
		return none, toneWait
	case counts[server.DeploymentDeleted] == all:
		return fmt.Sprintf("%d deleted", all), toneGone
	case failed == 1 && all == 1:
		return "The " + one + " has failed", toneBad
	case failed == 1:
		return fmt.Sprintf("1 of %d %s has failed", all, many), toneBad
	case failed > 1:
		return fmt.Sprintf("%d of %d %s have failed", failed, all, many), toneBad
	case silent > 0:
		return "What runs is not known for all", toneWarn
	case moving == 1 && all == 1:
		return "The " + one + " is changing", toneBusy
	case moving == 1:
		return fmt.Sprintf("1 of %d %s is changing", all, many), toneBusy
	case moving > 0:
		return fmt.Sprintf("%d of %d %s are changing", moving, all, many), toneBusy
	case all == 1:
		return "The " + one + " runs", toneOK
	}
	return fmt.Sprintf("All %d %s run", all, many), toneOK
}
