// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// A component with replicasValue is scaled by its StyrminDeployment alone: Flux
// puts the replicas back at each look for drift, so a HorizontalPodAutoscaler of
// the same workload could never win, nor lose. The two are named to people. A
// component that an autoscaler is to scale has no replicasValue; then the number
// that its workloads declare is the desired one.
//
// They are listed only where the numbers differ after an installation, so the
// operator watches none.
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list

// isContested tells whether a workload of an installed release declares another
// number of replicas than the spec set in the chart's values.
func isContested(d *styrminv1.StyrminDeployment, workloads []workload) bool {
	for i := range d.Spec.Components {
		c := &d.Spec.Components[i]
		selector, err := c.PodSelector()
		if err != nil || c.ReplicasValue == "" {
			continue
		}
		own := matching(workloads, selector)
		if len(own) > 0 && declaredBy(own) != c.DesiredReplicas() {
			return true
		}
	}
	return false
}

// findAutoscalers notes which autoscalers scale the workloads. It serves a
// message only: where they cannot be listed, the message does without.
func (r *reconciler) findAutoscalers(ctx context.Context, namespace string, workloads []workload) {
	list := &autoscalingv2.HorizontalPodAutoscalerList{}
	if err := r.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		log.FromContext(ctx).Error(err, "Could not look for HorizontalPodAutoscalers", "namespace", namespace)
		return
	}
	for i := range list.Items {
		target := list.Items[i].Spec.ScaleTargetRef
		for j := range workloads {
			if workloads[j].kind == target.Kind && workloads[j].name == target.Name {
				workloads[j].autoscaler = list.Items[i].Name
			}
		}
	}
}

// autoscaled names the first autoscaler of the workloads and what to do, or "".
func autoscaled(workloads []workload) string {
	for _, w := range workloads {
		if w.autoscaler != "" {
			return fmt.Sprintf("; HorizontalPodAutoscaler %s scales %s %s too: remove it, or the component's replicasValue",
				w.autoscaler, w.kind, w.name)
		}
	}
	return ""
}
