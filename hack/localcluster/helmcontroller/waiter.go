// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v4/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// waitInterval is how often the waited-for objects are read.
const waitInterval = 500 * time.Millisecond

// waitingClient is Helm's client with a waiter that fails in the words of Flux's.
type waitingClient struct {
	*kube.Client
	// done ends all waiting early, when the controller stops.
	done <-chan struct{}
}

// GetWaiter implements kube.Interface.
func (c *waitingClient) GetWaiter(strategy kube.WaitStrategy) (kube.Waiter, error) {
	return &waiter{done: c.done, hooksOnly: strategy == kube.HookOnlyStrategy}, nil
}

// GetWaiterWithOptions implements kube.InterfaceWaitOptions.
func (c *waitingClient) GetWaiterWithOptions(strategy kube.WaitStrategy, _ ...kube.WaitOption) (kube.Waiter, error) {
	return c.GetWaiter(strategy)
}

// waiter waits for objects by their kstatus.
type waiter struct {
	done <-chan struct{}
	// hooksOnly waits for hooks alone, for releases with disableWait.
	hooksOnly bool
}

// judge tells the status of an object that exists.
type judge func(*unstructured.Unstructured) (status.Status, error)

// Wait implements kube.Waiter: it waits until all objects are current.
func (w *waiter) Wait(resources kube.ResourceList, timeout time.Duration) error {
	return w.waitUnlessHooksOnly(resources, timeout, workloadStatus)
}

// WaitWithJobs implements kube.Waiter: it waits for Jobs to complete, too.
func (w *waiter) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	return w.waitUnlessHooksOnly(resources, timeout, func(object *unstructured.Unstructured) (status.Status, error) {
		if isJob(object) {
			return completionStatus(object)
		}
		return workloadStatus(object)
	})
}

// WatchUntilReady implements kube.Waiter for hooks: Jobs and Pods have to complete, all else only to exist.
func (w *waiter) WatchUntilReady(resources kube.ResourceList, timeout time.Duration) error {
	return w.wait(resources, timeout, completionStatus)
}

// WaitForDelete implements kube.Waiter.
func (w *waiter) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	if w.hooksOnly {
		return nil
	}
	return w.poll(timeout, func() (bool, error) {
		var left []string
		for _, info := range resources {
			_, err := read(info)
			if apierrors.IsNotFound(err) {
				continue
			}
			left = append(left, describe(info, status.TerminatingStatus))
		}
		if len(left) > 0 {
			return false, fmt.Errorf("timeout waiting for: [%s]", strings.Join(left, ", "))
		}
		return true, nil
	})
}

func (w *waiter) waitUnlessHooksOnly(resources kube.ResourceList, timeout time.Duration, statusOf judge) error {
	if w.hooksOnly {
		return nil
	}
	return w.wait(resources, timeout, statusOf)
}

func (w *waiter) wait(resources kube.ResourceList, timeout time.Duration, statusOf judge) error {
	return w.poll(timeout, func() (bool, error) {
		var waiting, failed []string
		for _, info := range resources {
			current, err := statusNow(info, statusOf)
			switch {
			case err != nil:
				return false, err
			case current == status.FailedStatus:
				failed = append(failed, describe(info, current))
			case current != status.CurrentStatus:
				waiting = append(waiting, describe(info, current))
			}
		}
		if len(failed) > 0 {
			return true, fmt.Errorf("failed early due to stalled resources: [%s]", strings.Join(failed, ", "))
		}
		if len(waiting) > 0 {
			return false, fmt.Errorf("timeout waiting for: [%s]", strings.Join(waiting, ", "))
		}
		return true, nil
	})
}

// poll looks until the look is final, and fails with what the last look saw.
func (w *waiter) poll(timeout time.Duration, look func() (final bool, err error)) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	ticker := time.NewTicker(waitInterval)
	defer ticker.Stop()
	for {
		final, err := look()
		if final {
			return err
		}
		select {
		case <-w.done:
			return errors.Join(errors.New("the controller stops"), context.Canceled)
		case <-deadline.C:
			return err
		case <-ticker.C:
		}
	}
}

func statusNow(info *resource.Info, statusOf judge) (status.Status, error) {
	object, err := read(info)
	if apierrors.IsNotFound(err) {
		return status.NotFoundStatus, nil
	}
	if err != nil {
		return status.UnknownStatus, err
	}
	return statusOf(object)
}

func read(info *resource.Info) (*unstructured.Unstructured, error) {
	object, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// describe writes an object's status the way it appears in Flux's messages.
func describe(info *resource.Info, current status.Status) string {
	name := info.Name
	if info.Namespaced() {
		name = info.Namespace + "/" + name
	}
	return fmt.Sprintf("%s/%s status: '%s'", info.Mapping.GroupVersionKind.Kind, name, current)
}

func workloadStatus(object *unstructured.Unstructured) (status.Status, error) {
	result, err := status.Compute(object)
	if err != nil {
		return status.UnknownStatus, fmt.Errorf("tell the status of %s/%s: %w", object.GetKind(), object.GetName(), err)
	}
	return result.Status, nil
}

func isJob(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return kind.Group == batchv1.GroupName && kind.Kind == "Job"
}

// completionStatus holds a Job or a Pod for current only when it has succeeded.
func completionStatus(object *unstructured.Unstructured) (status.Status, error) {
	switch kind := object.GroupVersionKind(); {
	case isJob(object):
		var job batchv1.Job
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &job); err != nil {
			return status.UnknownStatus, err
		}
		for _, condition := range job.Status.Conditions {
			if condition.Status != corev1.ConditionTrue {
				continue
			}
			switch condition.Type {
			case batchv1.JobComplete:
				return status.CurrentStatus, nil
			case batchv1.JobFailed:
				return status.FailedStatus, nil
			}
		}
		return status.InProgressStatus, nil
	case kind.Group == corev1.GroupName && kind.Kind == "Pod":
		phase, _, err := unstructured.NestedString(object.Object, "status", "phase")
		if err != nil {
			return status.UnknownStatus, err
		}
		switch corev1.PodPhase(phase) {
		case corev1.PodSucceeded:
			return status.CurrentStatus, nil
		case corev1.PodFailed:
			return status.FailedStatus, nil
		default:
			return status.InProgressStatus, nil
		}
	default:
		return status.CurrentStatus, nil
	}
}
