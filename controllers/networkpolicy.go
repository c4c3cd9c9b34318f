// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// networkPolicyName is the policy's name in every target namespace.
const networkPolicyName = "styrmin-isolation"

const (
	dnsNamespace = "kube-system"
	dnsPort      = 53
)

// desiredNetworkPolicy closes the target namespace: pods reach, and are reached
// by, the namespace itself and the named ones; and they reach the cluster's DNS.
func desiredNetworkPolicy(s *scope) *networkingv1.NetworkPolicy {
	allowed := s.deployment.Spec.NetworkPolicy.AllowFromNamespaces
	peers := make([]networkingv1.NetworkPolicyPeer, 0, 1+len(allowed))
	peers = append(peers, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}})
	for _, namespace := range allowed {
		peers = append(peers, namespacePeer(namespace))
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: networkPolicyName},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: peers}},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{To: peers},
				{
					To:    []networkingv1.NetworkPolicyPeer{namespacePeer(dnsNamespace)},
					Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP), port(corev1.ProtocolTCP)},
				},
			},
		},
	}
}

func namespacePeer(name string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: name},
	}}
}

func port(protocol corev1.Protocol) networkingv1.NetworkPolicyPort {
	number := intstr.FromInt32(dnsPort)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &number}
}
