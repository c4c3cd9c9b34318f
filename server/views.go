// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

// DeploymentSummary is what a list shows of a deployment.
type DeploymentSummary struct {
	Deployment
	// ReadyPods and LivePods count the observed pods but for those that have
	// succeeded.
	ReadyPods int
	LivePods  int
	// DesiredPods are those that the components want, as last reported.
	DesiredPods int
}

// Summarize counts the pods that the observed components want. Where a cluster
// has several objects of the deployment, the prevailing one counts.
func (s *DeploymentSummary) Summarize(objects []DeploymentStatus) {
	s.DesiredPods = 0
	if observed := s.Prevailing(objects); observed != nil {
		for _, component := range observed.Components {
			s.DesiredPods += component.Desired
		}
	}
}

// DeploymentView is what one page shows of a deployment: what should run, what
// does, and what was done.
type DeploymentView struct {
	Deployment Deployment
	// Observed is the row of the deployment's object. Nil: the cluster has none.
	Observed *DeploymentStatus
	// Declared is the newest instance whose write was recorded. Nil: none was.
	Declared *Instance
	// Reported is the instance that Observed is about. Nil: the server does not
	// know it.
	Reported *Instance
	// Pods are the observed ones by namespace and name, those that are neither
	// ready nor have succeeded first; at most so many as were asked for.
	Pods []PodStatus
	// PodCount is how many there are.
	PodCount int
	// Tasks are the newest ones with their families, in order of creation.
	Tasks Tasks
	// Newest are the ids of the tasks but for those of hooks: the one at work, then
	// the newest first, at most so many as were asked for.
	Newest []string
	// TaskCount is how many there are.
	TaskCount int
}
