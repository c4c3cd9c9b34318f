// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What pods share with each other. It has no effect but on memory: of a hundred
// pods of one ReplicaSet, a hundred times the same labels, owner and containers
// would be most of what an informer keeps (P7).
var (
	podTexts      interner[string]
	podLabels     interner[map[string]string]
	podOwners     interner[[]metav1.OwnerReference]
	podContainers interner[[]corev1.Container]
)

func shared(s string) string {
	if s == "" {
		return ""
	}
	return podTexts.get(s, func() string { return s })
}

func keepLabels(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	var key []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		key = appendText(appendText(key, name), labels[name])
	}
	return podLabels.get(string(key), func() map[string]string {
		kept := make(map[string]string, len(labels))
		for name, value := range labels {
			kept[shared(name)] = shared(value)
		}
		return kept
	})
}

func keepOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	if len(owners) == 0 {
		return nil
	}
	var key []byte
	for i := range owners {
		owner := &owners[i]
		for _, text := range []string{owner.APIVersion, owner.Kind, owner.Name, string(owner.UID)} {
			key = appendText(key, text)
		}
		key = appendFlag(appendFlag(key, owner.Controller), owner.BlockOwnerDeletion)
	}
	return podOwners.get(string(key), func() []metav1.OwnerReference {
		kept := slices.Clone(owners)
		for i := range kept {
			owner := &kept[i]
			owner.APIVersion, owner.Kind, owner.Name = shared(owner.APIVersion), shared(owner.Kind), shared(owner.Name)
		}
		return kept
	})
}

// containersKey names what is kept of containers.
func containersKey(containers []corev1.Container) string {
	var key []byte
	for i := range containers {
		key = appendText(appendText(key, containers[i].Name), containers[i].Image)
		policy := ""
		if containers[i].RestartPolicy != nil {
			policy = "+" + string(*containers[i].RestartPolicy)
		}
		key = appendText(key, policy)
	}
	return string(key)
}

// appendText appends a text so that no two lists of texts become the same key.
func appendText(key []byte, text string) []byte {
	key = append(strconv.AppendInt(key, int64(len(text)), 10), ':')
	return append(key, text...)
}

func appendFlag(key []byte, flag *bool) []byte {
	if flag == nil {
		return append(key, '-')
	}
	return strconv.AppendBool(key, *flag)
}
