// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/styrmin/styrmin/server"
)

// comparison is what should run beside what does.
type comparison struct {
	// Declared: the server holds the spec that should run.
	Declared bool
	// Reported: the cluster has the deployment's object.
	Reported bool
	// Differences counts the rows that differ.
	Differences int
	Rows        []compareRow
	// Addresses are where the application is served.
	Addresses []string
}

type compareRow struct {
	What               string
	Declared, Observed string
	// Long is the whole of what is shortened.
	Long    string
	Differs bool
}

// declaredSpec is what the page reads of a spec; whatever cannot be read is left
// out.
type declaredSpec struct {
	TargetNamespace string
	HelmRelease     struct {
		Chart struct{ Repository, Name, Version string }
	}
	Components []declaredComponent
	Services   []struct {
		HTTP *struct{ Host, Path, TLSSecretName string }
	}
}

type declaredComponent struct {
	Name          string
	Replicas      *int
	Running       *bool
	ReplicasValue string
}

// wanted is how many replicas should run.
func (c declaredComponent) wanted() int {
	switch {
	case c.Running != nil && !*c.Running:
		return 0
	case c.Replicas != nil:
		return *c.Replicas
	}
	return 1
}

func (c declaredComponent) text() string {
	if c.Running != nil && !*c.Running {
		return "stopped"
	}
	return plural(c.wanted(), "replica")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func specOf(instance *server.Instance) declaredSpec {
	var spec declaredSpec
	if instance != nil {
		_ = json.Unmarshal(instance.Spec, &spec) // the server wrote it; what does not fit is not shown
	}
	return spec
}

// compare puts what should run beside what was last reported.
func compare(view *server.DeploymentView) comparison {
	declared, observed := specOf(view.Declared), view.Observed
	shown := comparison{Declared: view.Declared != nil, Reported: observed != nil}
	if observed == nil {
		observed = new(server.DeploymentStatus)
	}
	if view.Declared != nil {
		shown.add(instanceRow(view, observed))
		shown.add(textRow("Version", deref(view.Declared.Version), reportedVersion(view)))
		shown.add(textRow("Chart", chartOf(declared), reportedChart(view)))
		shown.add(textRow("Namespace", declared.TargetNamespace, deref(observed.TargetNamespace)))
	} else if shown.Reported {
		shown.add(compareRow{What: "Instance", Observed: short(observed.InstanceID), Long: observed.InstanceID})
		shown.add(compareRow{What: "Namespace", Observed: deref(observed.TargetNamespace)})
	}
	if shown.Reported {
		shown.add(generationRow(observed))
		shown.add(stateRow(view))
	}
	shown.addComponents(view.Declared != nil, declared.Components, observed.Components)
	for _, service := range declared.Services {
		if route := service.HTTP; route != nil {
			scheme := "http://"
			if route.TLSSecretName != "" {
				scheme = "https://"
			}
			shown.Addresses = append(shown.Addresses, scheme+route.Host+route.Path)
		}
	}
	return shown
}

func (c *comparison) add(row compareRow) {
	if row.Declared == "" && row.Observed == "" {
		return
	}
	// Without an object there is nothing to compare with: one banner says so.
	row.Differs = row.Differs && c.Reported
	if row.Differs {
		c.Differences++
	}
	c.Rows = append(c.Rows, row)
}

// textRow differs where both sides are known and not the same.
func textRow(what, declared, observed string) compareRow {
	return compareRow{
		What: what, Declared: declared, Observed: observed,
		Differs: declared != "" && observed != "" && declared != observed,
	}
}

func instanceRow(view *server.DeploymentView, observed *server.DeploymentStatus) compareRow {
	row := textRow("Instance", view.Declared.ID, observed.InstanceID)
	row.Long = "declared " + row.Declared + ", observed " + row.Observed
	row.Declared, row.Observed = short(row.Declared), short(row.Observed)
	return row
}

func reportedVersion(view *server.DeploymentView) string {
	if view.Reported == nil {
		return ""
	}
	return deref(view.Reported.Version)
}

func chartOf(spec declaredSpec) string {
	if spec.HelmRelease.Chart.Name == "" {
		return ""
	}
	return spec.HelmRelease.Chart.Name + " " + spec.HelmRelease.Chart.Version
}

func reportedChart(view *server.DeploymentView) string { return chartOf(specOf(view.Reported)) }

// generationRow tells whether the operator has begun with the newest spec.
func generationRow(observed *server.DeploymentStatus) compareRow {
	row := compareRow{What: "Generation", Declared: strconv.FormatInt(observed.Generation, 10)}
	if observed.ObservedGeneration == nil {
		row.Observed, row.Differs = "none yet", true
		return row
	}
	row.Observed = strconv.FormatInt(*observed.ObservedGeneration, 10)
	row.Differs = *observed.ObservedGeneration != observed.Generation
	return row
}

// stateRow compares what the operator should come to with what it says.
func stateRow(view *server.DeploymentView) compareRow {
	row := compareRow{What: "State", Declared: "Running", Observed: view.Observed.DisplayState}
	if view.Deployment.DeletionRequestedAt != nil || view.Observed.DeletionRequestedAt != nil {
		row.Declared = "Deleted"
	}
	if view.Observed.Phase != view.Observed.DisplayState && view.Observed.Phase != "Ready" {
		row.Observed += " (" + view.Observed.Phase + ")"
	}
	row.Differs = view.Observed.DisplayState != row.Declared
	return row
}

// addComponents compares the components of both sides, in the order in which
// they are declared.
func (c *comparison) addComponents(known bool, declared []declaredComponent, observed []server.ComponentStatus) {
	states := map[string]server.ComponentStatus{}
	for _, component := range observed {
		states[component.Name] = component
	}
	for _, component := range declared {
		state, reported := states[component.Name]
		delete(states, component.Name)
		row := compareRow{What: component.Name, Declared: component.text()}
		if reported {
			row.Observed = stateText(state)
			row.Differs = state.Ready != component.wanted() || state.Desired != component.wanted()
		} else if c.Reported {
			row.Observed, row.Differs = "not reported", true
		}
		c.add(row)
	}
	for _, component := range observed {
		if state, left := states[component.Name]; left {
			row := compareRow{What: component.Name, Observed: stateText(state), Differs: known || state.Ready != state.Desired}
			if !known {
				row.Declared = plural(state.Desired, "replica")
			}
			c.add(row)
		}
	}
}

func stateText(state server.ComponentStatus) string {
	if state.State == "Stopped" && state.Ready == 0 {
		return "stopped"
	}
	return fmt.Sprintf("%d of %d ready · %s", state.Ready, state.Desired, state.State)
}
