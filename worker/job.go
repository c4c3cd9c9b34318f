// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;create
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// jobStepPrefix leads the name of the step that runs a job (W1).
const jobStepPrefix = "Run job "

// runJob runs a job of the deployment's spec in the deployment's namespace and
// waits for its end. The Job's name says which task it is for, so that a worker
// which takes over finds it and does not run it a second time (W3).
func (f *flow) runJob(ctx context.Context, step *StepFields) error {
	name, ok := strings.CutPrefix(step.Name, jobStepPrefix)
	if !ok {
		return fmt.Errorf("this version of the agent does not find the job in the name of step %q", step.Name)
	}
	spec, err := f.server.writtenSpec(ctx, f.task.DeploymentId)
	if err != nil {
		return err
	}
	job, err := jobObject(f.task, f.object, spec, name)
	if err != nil {
		return err
	}
	err = f.persistently(ctx, "making a Job", func(ctx context.Context) error { return f.ensureJob(ctx, job) })
	if err != nil {
		return err
	}
	return f.awaitJob(ctx, client.ObjectKeyFromObject(job))
}

// ensureJob makes the Job where it does not exist. It runs in no namespace but the
// deployment's own.
func (f *flow) ensureJob(ctx context.Context, job *unstructured.Unstructured) error {
	key := client.ObjectKeyFromObject(job)
	existing := &batchv1.Job{}
	err := f.live.Get(ctx, key, existing)
	switch {
	case err == nil && existing.Labels[labelTaskID] == f.id:
		return nil
	case err == nil:
		return permanently("Job %s exists and is not this task's; it is left untouched", key)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading Job %s: %w", key, err)
	}
	if err := f.checkNamespace(ctx, key.Namespace); err != nil {
		return err
	}
	err = f.writer.Create(ctx, job.DeepCopy(), fieldOwner, client.FieldValidation(metav1.FieldValidationStrict))
	if err != nil {
		return fmt.Errorf("creating Job %s: %w", key, err)
	}
	return nil
}

// checkNamespace makes sure that the namespace is there and the deployment's own.
// The operator may not have come to it yet.
func (f *flow) checkNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{}
	err := f.live.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return unfinished("namespace %s does not exist yet", name)
	case err != nil:
		return fmt.Errorf("reading namespace %s: %w", name, err)
	case namespace.Labels[styrminv1.LabelDeploymentID] != f.task.DeploymentId:
		return permanently("namespace %s was not made for this deployment; no job is run in it", name)
	case namespace.DeletionTimestamp != nil:
		return unfinished("namespace %s is being deleted", name)
	}
	return nil
}

// awaitJob waits until the Job has completed or failed. Only its own conditions
// say so: a pod that failed may be tried again.
func (f *flow) awaitJob(ctx context.Context, key client.ObjectKey) error {
	var trouble string
	for {
		job := &batchv1.Job{}
		pods := &corev1.PodList{}
		err := f.persistently(ctx, "reading a Job", func(ctx context.Context) error {
			err := f.live.Get(ctx, key, job)
			if apierrors.IsNotFound(err) {
				return permanently("Job %s was deleted before its end was seen", key)
			}
			if err != nil {
				return err
			}
			return f.live.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels{batchv1.JobNameLabel: key.Name})
		})
		if err != nil {
			return err
		}
		// The pods may be gone with the failure, so what was seen before counts too.
		trouble = cmp.Or(podTrouble(pods.Items), trouble)
		ended, failure := jobEnd(job)
		switch {
		case failure != "":
			return jobFailure(key, failure, trouble)
		case ended:
			return nil
		}
		if err := pauseFor(ctx, f.clock, f.pollPause()); err != nil {
			return err
		}
	}
}
