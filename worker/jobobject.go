// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// labelTaskID marks a Job, and its pods, with the task that runs it.
const labelTaskID = "styrmin.io/task-id"

const (
	// jobDeadline ends a Job whose template sets no end: one that can never come to
	// its end would hold up every later change of the deployment (W2).
	jobDeadline = time.Hour
	// keepFinished is how long a Job is kept at least after its end: a worker that
	// takes over must find it, or it would run the job again.
	keepFinished = 24 * time.Hour
)

// jobObject is the Job that the task runs: the template of the deployment's spec,
// with what finding it again, an end, and a failure's reason need.
func jobObject(task *TaskFields, deployment client.ObjectKey, rawSpec []byte, name string) (*unstructured.Unstructured, error) {
	declared := &styrminv1.StyrminDeployment{}
	declared.Name = deployment.Name
	if err := json.Unmarshal(rawSpec, &declared.Spec); err != nil {
		return nil, permanently("reading the deployment's spec: %v", err)
	}
	template, err := jobTemplate(rawSpec, name)
	if err != nil {
		return nil, err
	}
	// A job that someone asks for is to run.
	delete(template, "suspend")
	if template["activeDeadlineSeconds"] == nil {
		template["activeDeadlineSeconds"] = int64(jobDeadline / time.Second)
	}
	if ttl, ok := template["ttlSecondsAfterFinished"].(int64); !ok || ttl < int64(keepFinished/time.Second) {
		template["ttlSecondsAfterFinished"] = int64(keepFinished / time.Second)
	}
	labels := map[string]string{styrminv1.LabelDeploymentID: task.DeploymentId, labelTaskID: task.Id}
	if pod, ok := template["template"].(map[string]any); ok {
		completePod(pod, labels)
	}
	job := &unstructured.Unstructured{Object: map[string]any{"spec": template}}
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	job.SetNamespace(declared.TargetNamespace())
	job.SetName(jobName(name, task.Id))
	job.SetLabels(labels)
	return job, nil
}

// jobName is the name of the Job of a task: at most 57 characters, since names of
// jobs have at most 40.
func jobName(job, taskID string) string {
	sum := sha256.Sum256([]byte(taskID))
	return job + "-" + hex.EncodeToString(sum[:8])
}

// jobTemplate finds the template of a job as it was written, with fields that this
// agent's version does not know.
func jobTemplate(rawSpec []byte, name string) (map[string]any, error) {
	spec := map[string]any{}
	if err := utiljson.Unmarshal(rawSpec, &spec); err != nil {
		return nil, permanently("reading the deployment's spec: %v", err)
	}
	jobs, _ := spec["jobs"].([]any)
	for _, entry := range jobs {
		job, _ := entry.(map[string]any)
		if job["name"] != name {
			continue
		}
		if template, ok := job["template"].(map[string]any); ok {
			return template, nil
		}
		return nil, permanently("the job %q of the deployment's spec has no template", name)
	}
	return nil, permanently("the deployment's spec has no job %q any more", name)
}

// completePod labels the pods, and has the end of a failed container's log be its
// message where it writes none itself.
func completePod(pod map[string]any, labels map[string]string) {
	for key, value := range labels {
		// Where the template's labels are no labels, the API server says so.
		_ = unstructured.SetNestedField(pod, value, "metadata", "labels", key)
	}
	spec, _ := pod["spec"].(map[string]any)
	for _, field := range []string{"initContainers", "containers"} {
		containers, _ := spec[field].([]any)
		for _, entry := range containers {
			if container, ok := entry.(map[string]any); ok && container["terminationMessagePolicy"] == nil {
				container["terminationMessagePolicy"] = string(corev1.TerminationMessageFallbackToLogsOnError)
			}
		}
	}
}
