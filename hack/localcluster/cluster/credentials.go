// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/styrmin/styrmin/hack/localcluster/pki"
)

// Users of the API server. The control plane's own have the names that RBAC's built-in roles are bound to.
const (
	adminUser             = "admin"
	controllerManagerUser = "kube-controller-manager"
	schedulerUser         = "kube-scheduler"
	kwokUser              = "kwok"
	fluxUser              = "flux"
)

const adminGroup = "system:masters"

// credentials are the certificates and keys of a cluster's servers.
type credentials struct {
	authority      *pki.Authority
	serving        pki.Pair
	etcdClient     pki.Pair
	serviceAccount string
}

// newCredentials makes, or reads, all certificates and writes the kubeconfig of each user for this run's address.
func newCredentials(l layout, apiServer string) (credentials, error) {
	authority, err := pki.Load(l.pki())
	if err != nil {
		return credentials{}, err
	}
	serving, err := authority.Issue(pki.Request{
		Name:       "serving",
		CommonName: "localcluster",
		Hosts: []string{
			loopback, "localhost", "10.0.0.1",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
	})
	if err != nil {
		return credentials{}, err
	}
	etcdClient, err := authority.Issue(pki.Request{Name: "etcd-client", CommonName: "kube-apiserver"})
	if err != nil {
		return credentials{}, err
	}
	serviceAccount, err := authority.SigningKey("service-account")
	if err != nil {
		return credentials{}, err
	}
	users := []struct {
		request pki.Request
		file    string
	}{
		{pki.Request{Name: adminUser, CommonName: adminUser, Organizations: []string{adminGroup}}, l.kubeconfig()},
		{pki.Request{Name: kwokUser, CommonName: kwokUser, Organizations: []string{adminGroup}}, l.config(kwokUser)},
		{pki.Request{Name: fluxUser, CommonName: fluxUser, Organizations: []string{adminGroup}}, l.config(fluxUser)},
		{pki.Request{Name: controllerManagerUser, CommonName: "system:kube-controller-manager"}, l.config(controllerManagerUser)},
		{pki.Request{Name: schedulerUser, CommonName: "system:kube-scheduler"}, l.config(schedulerUser)},
	}
	for _, user := range users {
		pair, err := authority.Issue(user.request)
		if err != nil {
			return credentials{}, err
		}
		if err := writeKubeconfig(user.file, apiServer, user.request.Name, authority.CertFile, pair); err != nil {
			return credentials{}, fmt.Errorf("write the kubeconfig of %s: %w", user.request.Name, err)
		}
	}
	return credentials{authority: authority, serving: serving, etcdClient: etcdClient, serviceAccount: serviceAccount}, nil
}

// writeKubeconfig writes a self-contained kubeconfig, so that it can be copied elsewhere.
func writeKubeconfig(file, server, user, caFile string, pair pki.Pair) error {
	ca, err := os.ReadFile(caFile) // #nosec G304 -- the cluster's own folder.
	if err != nil {
		return err
	}
	cert, err := os.ReadFile(pair.CertFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(pair.KeyFile)
	if err != nil {
		return err
	}
	const name = "localcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}
