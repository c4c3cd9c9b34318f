// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/test/system"
)

// adminToken is what the server's Secret holds.
const adminToken = "an-admin-token-of-the-tests"

// runningServer is the server in its image.
type runningServer struct {
	*pod
	address string
	http    *http.Client
}

// TestTheImageWorksAsItIsShipped runs the server and the agent from the image, each
// as its manifests say: alone in a root that can only be read, as nobody, with the
// manifests' arguments, environment and volumes, the agent with the rights of its
// ServiceAccount at a real API server. They speak TLS, once with an authority that
// the image trusts and once with one of the agent's Secret.
func TestTheImageWorksAsItIsShipped(t *testing.T) {
	for sentence, test := range map[string]struct{ private string }{
		"the image trusts the server's authority":       {private: "no"},
		"the agent's Secret has the server's authority": {private: "yes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			authority, server := startServer(t)
			server.wantConfined(t)
			if !strings.Contains(server.output.String(), "+0900") {
				t.Errorf("the log's times are not of the time zone that was asked for: %s", server.output)
			}
			clusterID, token := server.createCluster(t)
			secret := writeFiles(t, map[string]string{"token": token})
			options := podOptions{volumes: map[string]string{"token": secret}}
			if test.private == "yes" {
				writeFile(t, secret, "ca.crt", authority)
			} else {
				options.certificates = filepath.Join(writeFiles(t, map[string]string{"ca.crt": authority}), "ca.crt")
			}
			agent := startAgent(t, made(t, "agent", "SERVER_ADDRESS=https://"+server.address, "PRIVATE_CA="+test.private), options)
			agent.wantConfined(t)
			server.waitForReport(t, clusterID, time.Time{}, agent)

			// A new token is used without a restart. The old one is refused at once, so a
			// report that comes from now on has the new one.
			rotated := server.rotateToken(t, clusterID)
			now := time.Now()
			writeFile(t, secret, "token", rotated)
			server.waitForReport(t, clusterID, now, agent)
		})
	}
}

// startServer runs the server, with SQLite and TLS, and returns its certificate's
// authority.
func startServer(t *testing.T) (authority string, _ *runningServer) {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if err := os.Chown(data, nobody, nobody); err != nil && os.Getuid() == 0 {
		t.Fatal(err)
	}
	objects := made(t, "server", "TLS=yes")
	server := &runningServer{
		pod: startPod(t, objects, podOptions{
			volumes: map[string]string{
				"data":        data,
				"admin-token": writeFiles(t, map[string]string{"token": adminToken}),
				"tls":         writeFiles(t, map[string]string{"tls.crt": string(certificate), "tls.key": string(key)}),
			},
			args: []string{"--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0"},
			env:  []string{"TZ=Asia/Tokyo"},
		}),
		http: kubeletClient(),
	}
	readiness := decoded[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.Containers[0].ReadinessProbe
	eventually(t, "the server is ready", func(ctx context.Context) error {
		if server.address = servedAddress(server.output.String()); server.address == "" {
			return errors.New("it does not serve yet")
		}
		return probe(ctx, server.http, readiness, server.address)
	}, server.pod)
	return string(certificate), server
}

// startAgent installs the agent's manifests but for the Deployment, which it runs
// here.
func startAgent(t *testing.T, objects []*unstructured.Unstructured, options podOptions) *pod {
	t.Helper()
	c := cluster(t)
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			continue
		}
		if err := apply(t.Context(), c, object); err != nil {
			t.Fatal(err)
		}
	}
	deployment := decoded[appsv1.Deployment](t, objects, "Deployment")[0]
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: deployment.Namespace, Name: deployment.Spec.Template.Spec.ServiceAccountName,
	}}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(t.Context(), account, request, &client.SubResourceCreateOptions{}); err != nil {
		t.Fatal(err)
	}
	options.serviceAccount = writeFiles(t, map[string]string{
		"token": request.Status.Token, "namespace": deployment.Namespace, "ca.crt": string(apiServer.Config.CAData),
	})
	host, port, err := net.SplitHostPort(strings.TrimPrefix(apiServer.Config.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	probes := freeAddress(t)
	options.env = append(options.env, "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	options.args = append(options.args, "--health-probe-bind-address="+probes, "--metrics-bind-address="+freeAddress(t))
	agent := startPod(t, objects, options)
	readiness := deployment.Spec.Template.Spec.Containers[0].ReadinessProbe
	eventually(t, "the agent is ready", func(ctx context.Context) error {
		return probe(ctx, kubeletClient(), readiness, probes)
	}, agent)
	return agent
}

// kubeletClient checks no certificate, as the kubelet's probes do not.
func kubeletClient() *http.Client {
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	}
}

// servedAddress finds in the server's log where it serves.
func servedAddress(log string) string {
	for line := range strings.Lines(log) {
		var serving struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &serving) == nil && serving.Msg == "Serving" {
			return serving.Address
		}
	}
	return ""
}

// freeAddress returns an address that nothing else on this machine takes by itself.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := system.FreeAddress(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// writeFiles writes files as a Secret's volume has them, for all to read.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, dir, name, content)
	}
	return dir
}

// writeFile replaces a file at once, as the kubelet does.
func writeFile(t *testing.T, dir, name, content string) {
	t.Helper()
	next := filepath.Join(dir, "."+name)
	if err := os.WriteFile(next, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// query asks the server as an admin.
func (s *runningServer) query(ctx context.Context, query string, variables map[string]any, answer any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+s.address+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := s.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	result := struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}{}
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		return err
	}
	if len(result.Errors) > 0 {
		return errors.New(result.Errors[0].Message)
	}
	return json.Unmarshal(result.Data, answer)
}

// createCluster makes a cluster's entry and checks the server's version.
func (s *runningServer) createCluster(t *testing.T) (id, token string) {
	t.Helper()
	var version struct{ Server struct{ Version string } }
	if err := s.query(t.Context(), `{ server { version } }`, nil, &version); err != nil {
		t.Fatal(err)
	}
	if version.Server.Version != imageVersion {
		t.Errorf("the server says that it is %s, want %s", version.Server.Version, imageVersion)
	}
	var created struct {
		CreateCluster struct {
			Cluster    struct{ ID string }
			AgentToken string
		}
	}
	if err := s.query(t.Context(), `mutation { createCluster(input: {name: "image"}) { cluster { id } agentToken } }`, nil, &created); err != nil {
		t.Fatal(err)
	}
	return created.CreateCluster.Cluster.ID, created.CreateCluster.AgentToken
}

func (s *runningServer) rotateToken(t *testing.T, clusterID string) string {
	t.Helper()
	var rotated struct{ RotateAgentToken struct{ AgentToken string } }
	err := s.query(t.Context(), `mutation ($id: ID!) { rotateAgentToken(clusterId: $id) { agentToken } }`, map[string]any{"id": clusterID}, &rotated)
	if err != nil {
		t.Fatal(err)
	}
	return rotated.RotateAgentToken.AgentToken
}

// waitForReport waits for a complete report of the cluster after a time.
func (s *runningServer) waitForReport(t *testing.T, clusterID string, after time.Time, agent *pod) {
	t.Helper()
	var answer struct {
		Cluster struct {
			LastReportAt *time.Time
			AgentVersion *string
		}
	}
	eventually(t, "the server has a report", func(ctx context.Context) error {
		err := s.query(ctx, `query ($id: ID!) { cluster(id: $id) { lastReportAt agentVersion } }`, map[string]any{"id": clusterID}, &answer)
		if err == nil && (answer.Cluster.LastReportAt == nil || !answer.Cluster.LastReportAt.After(after)) {
			err = fmt.Errorf("the last one is of %v, want one after %v", answer.Cluster.LastReportAt, after)
		}
		return err
	}, s.pod, agent)
	if got := answer.Cluster.AgentVersion; got == nil || *got != imageVersion {
		t.Errorf("the agent's version is %v, want %s", got, imageVersion)
	}
}
