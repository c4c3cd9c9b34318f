// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// declaredRights are what the reporter's markers ask for, by the kind that each
// is for.
func declaredRights() map[half]rbacv1.PolicyRule {
	return map[half]rbacv1.PolicyRule{
		pods:        {APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
		deployments: {APIGroups: []string{"styrmin.io"}, Resources: []string{"styrmindeployments"}, Verbs: []string{"list", "watch"}},
		"session":   {APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}},
	}
}

// TestP3AListOfOneKindIsForbidden is cases B02 and H02: a right is taken away
// while the agent runs, whose watch goes on, and is given back. It shows as well
// that the declared rights suffice.
func TestP3AListOfOneKindIsForbidden(t *testing.T) {
	for forbidden, kind := range map[half]string{pods: "pods", deployments: "styrmindeployments"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newScenario(t, sharedConfig(t))
			stays, changes, goes, shop := s.shop()
			role, config := s.limitedUser()
			agent := s.startAgent(config, agentOptions{interval: quick})
			s.shown(startWithin, stays, changes, goes, shop)

			unread := agent.metric("unread_total", kind)
			s.setRights(role, forbidden)
			harmedAt := time.Now()
			s.eventually(silenceBound, "the kind is left out", func() bool { return agent.metric("unread_total", kind) > unread })
			s.detected(kind+" that must not be listed", time.Since(harmedAt), silenceBound)
			silentSince := time.Now()
			if agent.metric("proofs_total", kind, "forbidden") == 0 {
				t.Error("No metric tells that it is forbidden")
			}
			// Where another failure came first it is logged a minute later.
			s.eventually(2*time.Minute, "a log names what is forbidden", func() bool {
				return agent.log.tells("Failed", "reporting "+kind, "forbidden")
			})

			// The other kind goes on, and this one stays as it was.
			s.setPod(changes, "CrashLoopBackOff")
			s.deletePod(goes)
			s.setDeployment(failed)
			allowed, was := []subject{shop}, map[subject]string{stays: "Running", changes: "Running", goes: "Running"}
			if forbidden == deployments {
				allowed, was = []subject{stays, changes, goes}, map[subject]string{shop: isRunning}
			}
			s.detected("the other kind", s.shown(2*goOnBound, allowed...), goOnBound)
			v, err := look(t.Context(), s.server, s.namespace)
			s.must(err)
			for subject, want := range was {
				if got := v.shows(subject); got != want {
					t.Errorf("%s is shown as %s, want %s as before", subject.name, got, want)
				}
			}
			if n := s.gateway.appliedSince(forbidden, silentSince); n > 0 {
				t.Errorf("It was sent %d times", n)
			}

			s.setRights(role, "")
			allowedAt := time.Now()
			s.shown(2*returnBound, stays, changes, goes, shop)
			s.detected(kind+" that may be listed again", time.Since(allowedAt), returnBound)
		})
	}
}

var addUser sync.Mutex

// limitedUser makes a user with the declared rights, and returns its role.
func (s *scenario) limitedUser() (*rbacv1.ClusterRole, *rest.Config) {
	s.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.namespace}},
	}
	for _, object := range []client.Object{role, binding} {
		s.must(s.cluster.Create(s.t.Context(), object))
	}
	s.setRights(role, "")
	addUser.Lock() // envtest numbers the users' certificates without a lock.
	defer addUser.Unlock()
	user, err := shared.env.AddUser(envtest.User{Name: s.namespace}, nil)
	s.must(err)
	return role, user.Config()
}

// setRights gives a role the declared rights but for one kind.
func (s *scenario) setRights(role *rbacv1.ClusterRole, without half) {
	s.t.Helper()
	role.Rules = nil
	for kind, rule := range declaredRights() {
		if kind != without {
			role.Rules = append(role.Rules, rule)
		}
	}
	s.must(s.cluster.Update(s.t.Context(), role))
}
