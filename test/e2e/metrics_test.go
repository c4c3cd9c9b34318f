// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scraper makes a ServiceAccount, binds it to a ClusterRole where one is given,
// and returns its token.
func scraper(t *testing.T, name, role string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	objects := []client.Object{account}
	if role != "" {
		objects = append(objects, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: name}},
		})
	}
	for _, object := range objects {
		if err := sys.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := sys.Client.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Errorf("removing %s: %v", name, err)
			}
		})
	}
	token, err := sys.ServiceAccountToken(t.Context(), account.Namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// allMetrics are what the server and the manager serve to Prometheus, once the
// manager leads and has reported. The token is a reader's.
func allMetrics(t *testing.T, token string) string {
	t.Helper()
	eventually(t, time.Minute, "the agent has reported", func(ctx context.Context) error {
		last, err := sys.LastReport(ctx)
		if err == nil && last.IsZero() {
			err = errors.New("no report yet")
		}
		return err
	})
	fromServer, err := sys.ServerMetrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fromServer + scrape(t, token)
}

// scrape reads the manager's metrics with a token that may, once the binding of
// its ServiceAccount has reached the API server's authorizer: the manager's library
// holds on to a refusal for half a minute.
func scrape(t *testing.T, token string) string {
	t.Helper()
	var served string
	eventually(t, time.Minute, "the manager serves its metrics", func(ctx context.Context) error {
		status, body, err := sys.ScrapeManager(ctx, token)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("it answers %d: %.200s", status, body)
		}
		served = body
		return err
	})
	return served
}

// TestMetricsAreForReadersOnly asks the manager, as it is shipped, for its metrics.
func TestMetricsAreForReadersOnly(t *testing.T) {
	for sentence, test := range map[string]struct {
		token string
		want  int
	}{
		"nobody": {token: "", want: http.StatusUnauthorized},
		// The API server names an error for it, which the manager's library passes on.
		"a token that is none":                  {token: "no-token", want: http.StatusInternalServerError},
		"a ServiceAccount without a role":       {token: scraper(t, "stranger", ""), want: http.StatusForbidden},
		"a ServiceAccount with a person's role": {token: scraper(t, "viewer", "styrmin-styrmindeployment-viewer"), want: http.StatusForbidden},
	} {
		t.Run(sentence, func(t *testing.T) {
			status, body, err := sys.ScrapeManager(t.Context(), test.token)
			if err != nil {
				t.Fatal(err)
			}
			if status != test.want || strings.Contains(body, "styrmin_") {
				t.Errorf("got status %d, want %d; the answer: %.200s", status, test.want, body)
			}
		})
	}
	t.Run("a ServiceAccount with the reader's role", func(t *testing.T) {
		served := scrape(t, scraper(t, "reader", "styrmin-metrics-reader"))
		if !strings.Contains(served, "\nstyrmin_operator_start_problems 0\n") {
			t.Error("the operator's metrics are not in the answer, or tell of problems with its rights")
		}
	})
}
