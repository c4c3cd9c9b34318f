// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/styrmin/styrmin/server"
)

// actionsView are the forms by which an admin changes a deployment.
type actionsView struct {
	ID, Name string
	Version  string
	// Foreign: the StyrminDeployment is changed in its cluster; it can only be
	// deleted here.
	Foreign bool
	// Closed: the deployment is deleted or on its way out.
	Closed     bool
	Components []actionComponent
	// Key makes sending a form twice one change.
	Key     string
	Refused *refusedForm
}

// Scalable, Startable and Stoppable tell whether a form has anything to offer.
func (v actionsView) Scalable() bool {
	return v.any(func(c actionComponent) bool { return c.Scalable })
}
func (v actionsView) Startable() bool {
	return v.any(func(c actionComponent) bool { return !c.Running })
}
func (v actionsView) Stoppable() bool {
	return v.any(func(c actionComponent) bool { return c.Running && c.Scalable })
}

func (v actionsView) any(is func(actionComponent) bool) bool {
	for _, component := range v.Components {
		if is(component) {
			return true
		}
	}
	return false
}

type actionComponent struct {
	Name     string
	Replicas int
	Running  bool
	// Scalable: the chart takes the number of replicas.
	Scalable bool
}

// refusedForm is a form that came to nothing.
type refusedForm struct {
	Action, Message string
	status          int
}

func actionsOf(view *server.DeploymentView, refused *refusedForm) actionsView {
	deployment := &view.Deployment
	actions := actionsView{
		ID: deployment.ID, Name: deployment.Name, Version: deref(deployment.Version),
		Foreign: deployment.ManagedBy == server.DeploymentManagerCluster,
		Closed:  deployment.Status == server.DeploymentDeleted || deployment.DeletionRequestedAt != nil,
		Key:     server.NewID(), Refused: refused,
	}
	for _, component := range specOf(view.Declared).Components {
		actions.Components = append(actions.Components, actionComponent{
			Name: component.Name, Running: component.Running == nil || *component.Running,
			Replicas: declaredComponent{Replicas: component.Replicas}.wanted(), Scalable: component.ReplicasValue != "",
		})
	}
	return actions
}

// The actions, as addresses name them.
const (
	actionScale   = "scale"
	actionStart   = "start"
	actionStop    = "stop"
	actionUpgrade = "upgrade"
	actionDelete  = "delete"
)

// The fields of the forms.
const (
	fieldKey       = "key"
	fieldComponent = "component"
	fieldVersion   = "version"
	fieldName      = "name"
	// fieldReplicas leads the name of a component.
	fieldReplicas = "replicas."
)

// change makes the task that a form asks for and leads to it.
func (h *handler) change(r *http.Request, token server.Token) (*answer, error) {
	if token.Role != server.RoleAdmin {
		return nil, server.Errorf(server.CodeForbidden, "a %s's token reads the page; changes take an admin's", strings.ToLower(string(token.Role)))
	}
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	id, action := r.PathValue("id"), r.PathValue("action")
	task, err := h.request(r, token, id, action)
	var refusal *server.Error
	switch {
	case errors.As(err, &refusal) && (refusal.Code == server.CodeInvalidInput || refusal.Code == server.CodeConflict):
		return h.refuseForm(r, token, &refusedForm{Action: action, Message: refusal.Error(), status: statusOf(refusal.Code)})
	case err != nil:
		return nil, err
	case task == nil:
		return h.refuseForm(r, token, &refusedForm{Action: action, Message: "Nothing changes: that is declared already.", status: http.StatusOK})
	}
	h.Log.Info("Requested a change", "task", task.ID, "kind", task.Kind(), "deployment", id, "token", token.ID)
	return &answer{location: "/tasks/" + url.PathEscape(task.ID)}, nil
}

func (h *handler) request(r *http.Request, token server.Token, id, action string) (*server.Task, error) {
	change, err := changeOf(action, r.PostForm)
	if err != nil {
		return nil, err
	}
	if action == actionDelete {
		view, err := h.Store.DeploymentView(r.Context(), id, 0, 0)
		if err != nil {
			return nil, err
		}
		if r.PostForm.Get(fieldName) != view.Deployment.Name {
			return nil, server.InvalidInput(fieldName, "is not that of the deployment: nothing was deleted")
		}
	}
	key := r.PostForm.Get(fieldKey)
	return h.Store.RequestChange(r.Context(), token.Identity(), id, change, &key)
}

// refuseForm shows the deployment again with what stood against the form.
func (h *handler) refuseForm(r *http.Request, token server.Token, refused *refusedForm) (*answer, error) {
	shown, err := h.deploymentAnswer(r, token, refused)
	if err != nil {
		return nil, err
	}
	shown.status = refused.status
	return shown, nil
}

func statusOf(code server.Code) int {
	if code == server.CodeConflict {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// changeOf reads the change that a form asks for.
func changeOf(action string, form url.Values) (server.Change, error) {
	switch action {
	case actionScale:
		replicas, err := replicasOf(form)
		return server.Change{Kind: server.TaskScale, Replicas: replicas}, err
	case actionStart:
		return server.Change{Kind: server.TaskStartComponents, Components: form[fieldComponent]}, nil
	case actionStop:
		return server.Change{Kind: server.TaskStopComponents, Components: form[fieldComponent]}, nil
	case actionUpgrade:
		return server.Change{Kind: server.TaskUpdateVersion, Version: strings.TrimSpace(form.Get(fieldVersion))}, nil
	case actionDelete:
		return server.Change{Kind: server.TaskDelete}, nil
	}
	return server.Change{}, server.Errorf(server.CodeNotFound, "there is no action %.40q", action)
}

// replicasOf reads the wanted replicas, in the order of the form.
func replicasOf(form url.Values) ([]server.ComponentReplicas, error) {
	var replicas []server.ComponentReplicas
	for _, component := range form[fieldComponent] {
		text := strings.TrimSpace(form.Get(fieldReplicas + component))
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, server.InvalidInput("replicas of "+component, "%.20q is not a whole number", text)
		}
		replicas = append(replicas, server.ComponentReplicas{Component: component, Replicas: n})
	}
	return replicas, nil
}

// formError says what is wrong with the body of a form.
func formError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return server.Errorf(server.CodeTooLarge, "the form is larger than %d bytes", tooLarge.Limit)
	}
	return fmt.Errorf("reading a form: %w", server.Errorf(server.CodeInvalidInput, "the form cannot be read"))
}
