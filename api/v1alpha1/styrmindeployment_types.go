// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StyrminDeploymentSpec is what should run.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.deploymentId) || (has(self.deploymentId) && self.deploymentId == oldSelf.deploymentId)",fieldPath=".deploymentId",message="deploymentId is immutable; delete the StyrminDeployment and create another one"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.deploymentId) || !has(self.deploymentId)",fieldPath=".deploymentId",message="deploymentId cannot be set on a StyrminDeployment that was created without one"
// +kubebuilder:validation:XValidation:rule="has(self.targetNamespace) == has(oldSelf.targetNamespace) && (!has(self.targetNamespace) || self.targetNamespace == oldSelf.targetNamespace)",fieldPath=".targetNamespace",message="targetNamespace is immutable; delete the StyrminDeployment and create another one"
// +kubebuilder:validation:XValidation:rule="self.environment == oldSelf.environment",fieldPath=".environment",message="environment is immutable; delete the StyrminDeployment and create another one"
// +kubebuilder:validation:XValidation:rule="self.helmRelease.releaseName == oldSelf.helmRelease.releaseName",fieldPath=".helmRelease.releaseName",message="helmRelease.releaseName is immutable; delete the StyrminDeployment and create another one"
// +kubebuilder:validation:XValidation:rule="!has(self.services) || self.services.all(s, has(self.components) && self.components.exists(c, c.name == s.component))",fieldPath=".services",message="every service's component must be one of components",messageExpression="'every service\\'s component must be one of components; service ' + self.services[[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31].filter(i, i < size(self.services) && (!has(self.components) || !self.components.exists(c, c.name == self.services[i].component)))[0]].name + ' has another one'"
// +kubebuilder:validation:XValidation:rule="!has(self.services) || self.services.all(s, !has(s.http) || !has(s.http.middlewares) || s.http.middlewares.all(m, has(self.middlewares) && self.middlewares.exists(x, x.name == m)))",fieldPath=".services",message="every middleware of a service's http route must be one of middlewares",messageExpression="'every middleware of a service\\'s http route must be one of middlewares; the route of service ' + self.services[[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31].filter(i, i < size(self.services) && has(self.services[i].http) && has(self.services[i].http.middlewares) && self.services[i].http.middlewares.exists(m, !has(self.middlewares) || !self.middlewares.exists(x, x.name == m)))[0]].name + ' has another one'"
type StyrminDeploymentSpec struct {
	// deploymentId is the server's id of the deployment. Empty: the object was
	// applied by hand and its UID serves. Immutable.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`
	DeploymentID string `json:"deploymentId,omitempty"`

	// instanceId names this rollout; a new value is a new rollout even where
	// nothing else changed. Empty: <name>-<generation> serves.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	InstanceID string `json:"instanceId,omitempty"`

	// environment is the environment that the deployment belongs to. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Environment string `json:"environment"`

	// internal marks a deployment of the platform itself, such as an
	// environment's ingress controller.
	// +optional
	Internal bool `json:"internal,omitempty"`

	// targetNamespace holds everything that runs for the deployment. The operator
	// makes it and removes it. Immutable; default <environment>-<name>. Of several
	// StyrminDeployments that name one namespace the first to make it has it; the
	// others are Failed. When its owner is deleted the namespace goes with all that
	// is in it, and then one of those that waited makes it anew, empty, and rolls
	// out: delete first what is not to have it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// version is the application's version, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// networkPolicy says who may reach the pods of the target namespace.
	// +optional
	// +kubebuilder:default={isolation: Namespace}
	NetworkPolicy NetworkPolicySpec `json:"networkPolicy,omitempty,omitzero"`

	// secrets are made in the target namespace before the release.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Secrets []SecretSpec `json:"secrets,omitempty"`

	// helmRelease is the chart that makes the workloads.
	// +required
	HelmRelease HelmReleaseSpec `json:"helmRelease"`

	// components are the parts of the application that have replicas of their
	// own and can be stopped, started and scaled.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Components []ComponentSpec `json:"components,omitempty"`

	// services are made after the release, with routes where they have http.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Services []ServiceSpec `json:"services,omitempty"`

	// middlewares are Traefik Middlewares that the services' routes may use.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Middlewares []MiddlewareSpec `json:"middlewares,omitempty"`

	// jobs can be run on request.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Jobs []JobSpec `json:"jobs,omitempty"`

	// hooks run before and after flows.
	// +optional
	Hooks *HooksSpec `json:"hooks,omitempty"`
}

// Isolation is how much a target namespace is closed against the others.
// +kubebuilder:validation:Enum=None;Namespace
type Isolation string

const (
	// IsolationNone makes no network policy.
	IsolationNone Isolation = "None"
	// IsolationNamespace lets in the namespace itself and the named ones only,
	// and lets out DNS and the namespace itself and the named ones.
	IsolationNamespace Isolation = "Namespace"
)

// NetworkPolicySpec says who may reach the pods.
type NetworkPolicySpec struct {
	// isolation: Namespace closes the namespace but for itself, DNS and
	// allowFromNamespaces; None makes no policy.
	// +optional
	// +kubebuilder:default=Namespace
	Isolation Isolation `json:"isolation,omitempty"`
	// allowFromNamespaces are namespaces whose pods may reach those of this one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:MinLength=1
	AllowFromNamespaces []string `json:"allowFromNamespaces,omitempty"`
}

// SecretSpec is a Secret of the target namespace: copied, or generated once.
// +kubebuilder:validation:XValidation:rule="has(self.fromSecret) != has(self.generate)",message="exactly one of fromSecret and generate must be set"
type SecretSpec struct {
	// name of the Secret in the target namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// fromSecret names a Secret beside the StyrminDeployment to copy.
	// +optional
	FromSecret *SecretReference `json:"fromSecret,omitempty"`
	// generate makes random values, once; they are kept for ever.
	// +optional
	Generate *GenerateSpec `json:"generate,omitempty"`
}

// SecretReference names a Secret in the StyrminDeployment's own namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// GenerateSpec says which random values a Secret gets.
type GenerateSpec struct {
	// keys to make a value for.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Keys []string `json:"keys"`
	// length of each value, in characters of A-Z, a-z and 0-9.
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=256
	Length int32 `json:"length,omitempty"`
}

// HelmReleaseSpec is the release that Flux installs.
type HelmReleaseSpec struct {
	// releaseName is Helm's name of the release. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	ReleaseName string `json:"releaseName"`
	// chart is where the chart comes from.
	// +required
	Chart ChartSpec `json:"chart"`
	// values for the chart.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
	// timeout of one install or upgrade; Flux waits that long for the workloads.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="timeout must be a duration such as 90s or 1h30m, between 1s and 24h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ChartSpec is a chart in a repository.
type ChartSpec struct {
	// repository is the address of a Helm repository (https:// or http://) or
	// the registry that holds the chart (oci://).
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^(https?|oci)://.+$`
	Repository string `json:"repository"`
	// name of the chart.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// version of the chart, exact or a semver range.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version"`
}

// ComponentSpec is a part of the application with replicas of its own.
// +kubebuilder:validation:XValidation:rule="!has(self.running) || self.running || has(self.replicasValue)",message="a component without replicasValue cannot be stopped"
type ComponentSpec struct {
	// name of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
	// replicas that should run.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas int32 `json:"replicas"`
	// running: false stops the component; replicas is kept for the next start.
	// +optional
	// +kubebuilder:default=true
	Running *bool `json:"running,omitempty"`
	// replicasValue is the path in the chart's values that sets the replicas, as
	// server.replicas.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`
	ReplicasValue string `json:"replicasValue,omitempty"`
	// selector finds the component's pods in the target namespace.
	// +required
	Selector metav1.LabelSelector `json:"selector"`
}

// ServiceSpec is a Service of the target namespace.
type ServiceSpec struct {
	// name of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
	// component whose pods serve it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Component string `json:"component"`
	// port that the Service offers.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// targetPort of the pods, a number or a name; default: port.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == string || (self >= 1 && self <= 65535)",message="targetPort must be a number from 1 to 65535, or the name of a port"
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`
	// http makes a Traefik IngressRoute to the Service.
	// +optional
	HTTP *HTTPSpec `json:"http,omitempty"`
}

// HTTPSpec is a route from outside to a Service.
type HTTPSpec struct {
	// host that the route answers to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Host string `json:"host"`
	// path prefix.
	// +optional
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern="^/[^`]*$"
	Path string `json:"path,omitempty"`
	// middlewares that requests pass, in this order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	Middlewares []string `json:"middlewares,omitempty"`
	// tlsSecretName names a Secret of the target namespace with the certificate.
	// Empty: the route is plain HTTP.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TLSSecretName string `json:"tlsSecretName,omitempty"`
}

// MiddlewareSpec is a Traefik Middleware of the target namespace.
type MiddlewareSpec struct {
	// name of the Middleware.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
	// spec is the Middleware's own spec, as Traefik documents it.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec apiextensionsv1.JSON `json:"spec"`
}

// JobSpec is a Job that can be run on request.
type JobSpec struct {
	// name of the job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
	// template is the Job's spec; the API server checks it when the job is run.
	// It is kept as it was written (see JobTemplate): one that is no Job's spec
	// must not make the whole object, and every list with it, unreadable.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Template apiextensionsv1.JSON `json:"template"`
}

// HooksSpec are the hooks of the flows.
type HooksSpec struct {
	// upgrade hooks run around a change of the version.
	// +optional
	Upgrade *HookPhases `json:"upgrade,omitempty"`
}

// HookPhases are hooks before and after a flow, each in order.
type HookPhases struct {
	// pre hooks run before the flow.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Pre []HookAction `json:"pre,omitempty"`
	// post hooks run after the flow.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Post []HookAction `json:"post,omitempty"`
}

// HookAction is one thing that a hook does.
// +kubebuilder:validation:XValidation:rule="(has(self.stopComponents) ? 1 : 0) + (has(self.startComponents) ? 1 : 0) + (has(self.runJob) ? 1 : 0) == 1",message="exactly one of stopComponents, startComponents and runJob must be set"
type HookAction struct {
	// stopComponents stops the named components.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	StopComponents []string `json:"stopComponents,omitempty"`
	// startComponents starts the named components.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	StartComponents []string `json:"startComponents,omitempty"`
	// runJob runs the named job.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	RunJob string `json:"runJob,omitempty"`
}

// StyrminDeploymentStatus is what the operator found out. It is written by the
// operator alone, as a whole.
type StyrminDeploymentStatus struct {
	// instanceId is the instance whose spec the operator works on or last
	// worked on.
	// +optional
	InstanceID string `json:"instanceId,omitempty"`
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is how far the operator has come.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// displayState is the one word for people.
	// +optional
	DisplayState DisplayState `json:"displayState,omitempty"`
	// message says what is waited for, or what went wrong and what to do.
	// +optional
	Message string `json:"message,omitempty"`
	// conditions are PrerequisitesReady, HelmReleaseReady, ServicesReady and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// components as observed, in the spec's order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Components []ComponentStatus `json:"components,omitempty"`
}

// ComponentStatus is a component as observed.
type ComponentStatus struct {
	// name of the component.
	// +required
	Name string `json:"name"`
	// desired replicas: what the spec declares, 0 where it is stopped.
	// +required
	Desired int32 `json:"desired"`
	// ready replicas.
	// +required
	Ready int32 `json:"ready"`
	// state of the component.
	// +required
	State ComponentState `json:"state"`
}

// StyrminDeployment is an application that should run in this cluster.
//
// Its CustomResourceDefinition is to outlive the agent: deleting it deletes every
// StyrminDeployment, and with each of them what runs for it. The annotation keeps
// Helm from doing so when a chart with it is uninstalled.
//
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sd,categories=styrmin
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.displayState`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Instance",type=string,JSONPath=`.status.instanceId`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name must be no longer than 63 characters"
// +kubebuilder:validation:XValidation:rule="has(self.spec.targetNamespace) || size(self.spec.environment) + size(self.metadata.name) <= 62",message="<environment>-<name> must be no longer than 63 characters; set targetNamespace"
// +kubebuilder:validation:XValidation:rule="has(self.spec.targetNamespace) || !self.metadata.name.contains('.')",message="a name with a dot makes no name of a namespace; set targetNamespace or choose another name"
type StyrminDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is what should run.
	// +required
	Spec StyrminDeploymentSpec `json:"spec"`
	// status is what the operator found out.
	// +optional
	Status StyrminDeploymentStatus `json:"status,omitempty,omitzero"`
}

// StyrminDeploymentList is a list of StyrminDeployments.
//
// +kubebuilder:object:root=true
type StyrminDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StyrminDeployment `json:"items"`
}
