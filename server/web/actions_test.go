// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/server"
)

func TestEachFormMakesTheTaskOfItsChange(t *testing.T) {
	for name, tt := range map[string]struct {
		action string
		form   url.Values
		want   server.Change
	}{
		"scale": {"scale", url.Values{"component": {"server"}, "replicas.server": {" 5 "}},
			server.Change{Kind: server.TaskScale, Replicas: []server.ComponentReplicas{{Component: "server", Replicas: 5}}}},
		"stop": {"stop", url.Values{"component": {"server"}},
			server.Change{Kind: server.TaskStopComponents, Components: []string{"server"}}},
		"start": {"start", url.Values{"component": {"server"}},
			server.Change{Kind: server.TaskStartComponents, Components: []string{"server"}}},
		"upgrade": {"upgrade", url.Values{"version": {"2.5.0 "}},
			server.Change{Kind: server.TaskUpdateVersion, Version: "2.5.0"}},
		"delete": {"delete", url.Values{"name": {"shop"}}, server.Change{Kind: server.TaskDelete}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			id, _ := s.runShop()
			tt.form.Set("key", server.NewID())
			first := s.post(server.RoleAdmin, "/deployments/"+id+"/"+tt.action, tt.form)
			s.want("the status", http.StatusSeeOther, first.Code)
			task, isTask := strings.CutPrefix(first.Header().Get("Location"), "/tasks/")
			if !isTask {
				t.Fatalf("it leads to %s", first.Header().Get("Location"))
			}
			s.want("the change", tt.want, s.find(task).Change)
			s.wantText(s.get(server.RoleAdmin, "/tasks/"+task), titleOf(tt.want), "WAITING", "until a worker claims it")

			again := s.post(server.RoleAdmin, "/deployments/"+id+"/"+tt.action, tt.form)
			s.want("where a double click leads", first.Header().Get("Location"), again.Header().Get("Location"))
			view, err := s.store.DeploymentView(t.Context(), id, 0, 10)
			s.must(err)
			s.want("the tasks", 2, len(view.Newest))
		})
	}
}

func TestARefusedFormSaysWhatStandsAgainstIt(t *testing.T) {
	for name, tt := range map[string]struct {
		action     string
		form       url.Values
		wantStatus int
		wantText   string
	}{
		"no number":              {"scale", url.Values{"component": {"server"}, "replicas.server": {"<b>"}}, 422, "replicas of server: &#34;&lt;b&gt;&#34; is not a whole number"},
		"a negative number":      {"scale", url.Values{"component": {"server"}, "replicas.server": {"-1"}}, 422, "Not done"},
		"an unknown component":   {"stop", url.Values{"component": {"oven"}}, 422, "oven"},
		"no component":           {"stop", url.Values{}, 422, "Not done"},
		"no version":             {"upgrade", url.Values{"version": {""}}, 422, "Not done"},
		"another name to delete": {"delete", url.Values{"name": {"shop2"}}, 422, "nothing was deleted"},
		"what is so already":     {"scale", url.Values{"component": {"server"}, "replicas.server": {"3"}}, 200, "Nothing changes"},
		"an action that is none": {"explode", url.Values{}, 404, "there is no action"},
		"no key":                 {"upgrade", url.Values{"version": {"3"}, "key": {""}}, 422, "idempotencyKey"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			id, _ := s.runShop()
			if !tt.form.Has("key") {
				tt.form.Set("key", server.NewID())
			}
			got := s.post(server.RoleAdmin, "/deployments/"+id+"/"+tt.action, tt.form)
			s.want("the status", tt.wantStatus, got.Code)
			s.wantText(got, tt.wantText)
			view, err := s.store.DeploymentView(t.Context(), id, 0, 10)
			s.must(err)
			s.want("the tasks", 1, len(view.Newest))
		})
	}
}

func TestAViewerChangesNothing(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	s.wantNoText(s.get(server.RoleViewer, "/deployments/"+id), "do-delete", "<button type=\"button\"", "/scale")
	s.wantText(s.get(server.RoleAdmin, "/deployments/"+id), "do-delete", "do-scale", "do-stop", "do-upgrade")
	for _, action := range []string{"scale", "start", "stop", "upgrade", "delete"} {
		got := s.post(server.RoleViewer, "/deployments/"+id+"/"+action, url.Values{"name": {"shop"}, "version": {"3"}, "component": {"server"}, "key": {"k"}})
		s.want("the status of "+action, http.StatusForbidden, got.Code)
	}
	s.want("without a session", http.StatusSeeOther, s.post("", "/deployments/"+id+"/delete", url.Values{"name": {"shop"}, "key": {"k"}}).Code)
	view, err := s.store.DeploymentView(t.Context(), id, 0, 10)
	s.must(err)
	s.want("the tasks", 1, len(view.Newest))
}

func TestFormsOfferWhatIsPossible(t *testing.T) {
	s := newStage(t)
	id, what := s.runShop()
	what.objects = append(what.objects, s.object("blog"))
	s.reports(what)
	popovers := func(address string) []string {
		var shown []string
		body := s.get(server.RoleAdmin, address).body
		for _, action := range []string{"scale", "start", "stop", "upgrade", "delete"} {
			if strings.Contains(body, `id="do-`+action+`"`) {
				shown = append(shown, action)
			}
		}
		return shown
	}
	for name, tt := range map[string]struct{ got, want []string }{
		"a deployment of the server":  {popovers("/deployments/" + id), []string{"scale", "stop", "upgrade", "delete"}},
		"a deployment of the cluster": {popovers("/deployments/uid-blog"), []string{"delete"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	stop := s.request(id, server.Change{Kind: server.TaskStopComponents, Components: []string{"server"}})
	s.claim(stop.ID)
	s.write(stop.ID)
	s.want("with a stopped component", []string{"scale", "start", "upgrade", "delete"}, popovers("/deployments/"+id))
	s.end(stop.ID)
	remove := s.request(id, server.Change{Kind: server.TaskDelete})
	s.claim(remove.ID)
	s.start(remove.ID, "Request")
	s.must(s.store.RecordDeletionRequest(t.Context(), s.agent, remove.ID, worker))
	s.want("while it is deleted", []string(nil), popovers("/deployments/"+id))
}
