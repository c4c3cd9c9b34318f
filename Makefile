SHELL := /usr/bin/env bash -o pipefail
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help

GO ?= go
KUBECTL ?= kubectl
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TOOL := $(GO) tool -modfile=hack/tools/go.mod
LINT := $(GO) tool -modfile=hack/tools/golangci-lint/go.mod golangci-lint
LDFLAGS := -s -w -X main.version=$(VERSION)
# Passed to go test, as TESTARGS='-run TestR5 -v'.
TESTARGS ?=
# Where generated files are.
GENERATED := api config hack/localcluster/crds reporter sdk server worker
# Passed to the reporter's benchmark, as BENCHARGS='--pods 1000 --window 20s'.
BENCHARGS ?=
# Passed to the demo, as ARGS='--kubeconfig $(HOME)/.kube/config'.
ARGS ?=

##@ Start here

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
		/^[a-zA-Z0-9_-]+:.*?##/ {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2} \
		/^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

.PHONY: demo
demo: announce build localcluster ## Run the whole system on a real local control plane, with a sample application; Ctrl-C ends it.
	@bin/demo $(ARGS)

.PHONY: announce
announce:
	@echo "This builds and starts a Kubernetes control plane, the Styrmin server and its agent on this machine, then waits"
	@echo "until a sample application runs. The first time it builds all of Kubernetes, which takes ten minutes to half an hour."

.PHONY: demo-clean
demo-clean: localcluster ## Remove the state of a demo that has ended.
	@[ ! -e .demo/cluster/localcluster.lock ] || bin/localcluster clean --dir .demo/cluster
	rm -rf .demo

.PHONY: test
test: build localcluster ## Run all tests: the local cluster's own, then unit, envtest and end to end with -race.
	@bin/localcluster build
	@KUBEBUILDER_ASSETS="$$(bin/localcluster assets)"; \
	export KUBEBUILDER_ASSETS LOCALCLUSTER="$(CURDIR)/bin/localcluster"; \
	export KUBE_CACHE_MUTATION_DETECTOR=true; \
	export KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=1m; \
	echo "Testing the local cluster"; \
	$(GO) -C hack/localcluster test -race -p 1 -timeout 30m $(TESTARGS) ./...; \
	compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v initdb >/dev/null || \
		echo "SKIPPED: the tests on PostgreSQL, whose programs are not installed (apt-get install postgresql)"; \
	command -v promtool >/dev/null || echo "SKIPPED: the tests of the alerts, whose checker promtool is not installed (apt-get install prometheus)"; \
	command -v chromium >/dev/null || echo "SKIPPED: the page in a browser, unless another Chromium is there (apt-get install chromium)"; \
	echo "Testing the product, part by part"; \
	$(GO) test -race -timeout 30m $(TESTARGS) $$($(GO) list ./... | grep -v -e /test/ -e /hack/); \
	echo "Testing the product as a whole"; \
	$(GO) test -race -p 2 -timeout 30m $(TESTARGS) ./hack/... ./test/...

.PHONY: fault
fault: localcluster ## Run the fault suite alone and print the times to detect; TESTARGS=-count=20 repeats it.
	@bin/localcluster build
	KUBEBUILDER_ASSETS="$$(bin/localcluster assets)" KUBE_CACHE_MUTATION_DETECTOR=true \
		$(GO) test -race -v -timeout 240m $(TESTARGS) ./test/fault

# How long each fuzz test runs.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## Let random calls, reports and objects try the server and the reporter, FUZZTIME for each test.
	@for test in server/FuzzRInvariants server/FuzzR1Rows server/FuzzR15CleanText reporter/FuzzP6AnyPodsMakeAValidReport \
		reporter/FuzzP6AnyStyrminDeploymentsMakeAValidReport reporter/FuzzP6TheServerTakesAnyReportWhole reporter/FuzzP6CleanText; do \
		$(GO) test "./$${test%/*}" -run '^$$' -fuzz "^$${test#*/}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
	done

.PHONY: screenshots
screenshots: localcluster ## Take the README's pictures of the page, of the system on the local cluster; needs Chromium.
	@bin/localcluster build
	@export KUBEBUILDER_ASSETS="$$(bin/localcluster assets)" LOCALCLUSTER="$(CURDIR)/bin/localcluster"; \
	$(GO) test ./test/e2e -count=1 -run TestScreenshots -v -screenshots $(CURDIR)/docs/img

.PHONY: looks
looks: ## Take a picture of every state of the page into dist/looks, to be looked at; needs Chromium.
	$(GO) test ./server/web -count=1 -run TestLooks -looks $(CURDIR)/dist/looks

.PHONY: bench-page
bench-page: ## Measure the page: 1,000 deployments, and 500 pods of one.
	$(GO) test ./server/web -run '^$$' -bench . -benchtime 100x

.PHONY: bench
bench: bench-server bench-reporter ## Measure what docs/benchmarks.md tells.

.PHONY: bench-server
bench-server: ## Measure the server on SQLite and PostgreSQL: CPU and rows of reports, memory, reads beside reports.
	@{ $(GO) test -run '^$$' -bench '^Benchmark(Report|FirstReport|Plain)' -benchtime 20x -timeout 30m ./server/graph; \
		$(GO) test -run '^$$' -bench 'Read' -benchtime 20s -timeout 30m ./server/graph; \
		$(GO) test -run '^$$' -bench 'Memory' -benchtime 20x -timeout 30m ./cmd/server/app; } | tee /dev/stderr | awk ' \
		BEGIN { print "| measured | database | figures |\n|---|---|---|" } \
		/^Benchmark/ { sub(/^Benchmark/, "", $$1); sub(/-[0-9]+$$/, "", $$1); split($$1, name, "/"); figures = ""; \
			for (i = 3; i < NF; i += 2) figures = figures (i > 3 ? ", " : "") $$i " " $$(i + 1); \
			printf "| %s | %s | %s |\n", name[1], name[2], figures } \
		/^(--- )?FAIL/ { failed = 1 } END { exit failed }'

.PHONY: bench-reporter
bench-reporter: build localcluster ## Measure the reporter beside two plain ways at 1,000 to 50,000 pods, and write docs/benchmarks.md.
	@bin/localcluster build
	@KUBEBUILDER_ASSETS="$$(bin/localcluster assets)" $(GO) run ./hack/bench --write docs/benchmarks.md $(BENCHARGS)

.PHONY: bench-operator
bench-operator: localcluster ## Measure the operator: CROWD=1000 deployments at once on the local cluster, and a restart.
	@export KUBEBUILDER_ASSETS="$$(bin/localcluster assets)" LOCALCLUSTER="$(CURDIR)/bin/localcluster" RACE=off; \
	$(GO) test -run '^$$' -bench O8Crowd -benchtime 1x -timeout 90m ./test/e2e

.PHONY: kill-loop
kill-loop: localcluster ## Kill the manager KILLS=30 times during create, upgrade and delete of ten deployments.
	@export KUBEBUILDER_ASSETS="$$(bin/localcluster assets)" LOCALCLUSTER="$(CURDIR)/bin/localcluster"; \
	KILLS="$${KILLS:-30}" $(GO) test -race -run TestO6ManagerKilledAtAnyTime -v -timeout 30m ./test/e2e

##@ Deployment

# The image to build and to deploy. The tool that builds it, and for which platforms docker-buildx does.
IMG ?= styrmin:$(VERSION)
CONTAINER_TOOL ?= docker
PLATFORMS ?= linux/amd64,linux/arm64
# For the agent: the server's address, as https://styrmin.example; yes where its certificate is of an authority of yours,
# which is then ca.crt in the Secret beside the token.
SERVER_ADDRESS ?=
PRIVATE_CA ?= no
# For the server: sqlite (one replica) or postgres (two); yes where it is to speak TLS itself.
DATABASE ?= sqlite
TLS ?= no
# What undeploy does with all StyrminDeployments and the custom resource: keep or delete.
DEPLOYMENTS ?= keep
# The folder for what deploy and deploy-server apply.
OVERLAYS ?= dist
# They are for that program alone: in the environment of all they would be those of a make that a test runs, too.
OVERLAY = IMG='$(IMG)' SERVER_ADDRESS='$(SERVER_ADDRESS)' PRIVATE_CA='$(PRIVATE_CA)' \
	DATABASE='$(DATABASE)' TLS='$(TLS)' OVERLAYS='$(OVERLAYS)' hack/overlay.sh

.PHONY: docker-build
docker-build: container-tool ## Build the image IMG, which holds the manager and the server, for this machine.
	$(CONTAINER_TOOL) build --build-arg VERSION=$(VERSION) --tag $(IMG) .

.PHONY: docker-push
docker-push: container-tool ## Push the image IMG.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: container-tool ## Build the image IMG for all PLATFORMS, with the time of the commit, and push it.
	SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct)" $(CONTAINER_TOOL) buildx build --platform $(PLATFORMS) --build-arg VERSION=$(VERSION) \
		--output type=image,name=$(IMG),push=true,rewrite-timestamp=true .

.PHONY: container-tool
container-tool:
	@$(CONTAINER_TOOL) info >/dev/null 2>&1 || { \
		echo "$(CONTAINER_TOOL) is not installed, or nothing runs that it could talk to: '$(CONTAINER_TOOL) info' fails." >&2; \
		echo "Set CONTAINER_TOOL to another one, or build the image elsewhere." >&2; exit 1; }

.PHONY: deploy
deploy: ## Install or upgrade the custom resource and the agent: make deploy IMG=… SERVER_ADDRESS=https://…
	@[ -n '$(SERVER_ADDRESS)' ] || ! grep -q 'serverAddress=https://styrmin.example$$' config/agent/kustomization.yaml || \
		{ echo "Set SERVER_ADDRESS to the address of the server, as https://styrmin.example" >&2; exit 1; }
	@$(OVERLAY) agent
	$(KUBECTL) apply --server-side --force-conflicts -k '$(OVERLAYS)/agent'

.PHONY: deploy-server
deploy-server: ## Install or upgrade the server: make deploy-server IMG=… DATABASE=postgres TLS=yes
	@$(OVERLAY) server
	$(KUBECTL) apply --server-side --force-conflicts -k '$(OVERLAYS)/server'

.PHONY: undeploy
undeploy: ## Remove the agent. StyrminDeployments, what they run and the custom resource stay, unless DEPLOYMENTS=delete.
	@case '$(DEPLOYMENTS)' in keep | delete) ;; *) echo "DEPLOYMENTS is '$(DEPLOYMENTS)': want keep or delete" >&2; exit 1 ;; esac
	@# The agent removes what they run, so it goes after them.
	@if [ '$(DEPLOYMENTS)' = delete ]; then \
		crd="$$($(KUBECTL) get crd styrmindeployments.styrmin.io --ignore-not-found -o name)" || exit 1; \
		[ -z "$$crd" ] || $(KUBECTL) delete styrmindeployments --all --all-namespaces; \
	fi
	$(KUBECTL) delete --ignore-not-found -k config/agent
	@# Each server address has had a ConfigMap of its own.
	$(KUBECTL) delete configmaps --ignore-not-found --namespace styrmin-system --selector app.kubernetes.io/name=styrmin,app.kubernetes.io/component=manager
	@[ '$(DEPLOYMENTS)' = keep ] || $(KUBECTL) delete --ignore-not-found -k config/default

.PHONY: build-installer
build-installer: ## Write what deploy applies into dist/install.yaml.
	@$(OVERLAY) agent
	@mkdir -p dist
	$(KUBECTL) kustomize '$(OVERLAYS)/agent' > dist/install.yaml.next
	@mv dist/install.yaml.next dist/install.yaml

##@ Release

.PHONY: sbom
sbom: build ## Write the bill of materials (CycloneDX) of each program into dist.
	@mkdir -p dist
	@for program in manager styrmin-server styrminctl; do \
		$(GO) tool -modfile=hack/tools/sbom/go.mod cyclonedx-gomod bin -json -noserial -notimestamp -std \
			-version $(VERSION) -output dist/$$program.cdx.json bin/$$program || exit 1; done

.PHONY: release-check
release-check: sbom build-installer ## Tell what is missing to release VERSION: tag, CHANGELOG, versions of the programs, SBOM, install.yaml.
	@VERSION='$(VERSION)' hack/release-check.sh

.PHONY: release-contract
release-contract: ## Keep the contract and the operations of now as those of the release before, right after a release.
	cp api/graphql/schema.graphqls test/compat/testdata/released/
	for client in reporter worker sdk; do cp $$client/operations.graphql test/compat/testdata/released/$$client.graphql; done

##@ Development

.PHONY: build
build: ## Build the manager, the server, styrminctl and the demo into bin.
	@echo "Building the manager, the server, styrminctl and the demo"
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/manager ./cmd
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/styrmin-server ./cmd/server
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/styrminctl ./cmd/styrminctl
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/demo ./hack/demo

.PHONY: localcluster
localcluster: ## Build the program that runs the local control plane into bin.
	@echo "Building the program that runs the local control plane"
	$(GO) -C hack/localcluster build -trimpath -o $(CURDIR)/bin/localcluster .

.PHONY: generate
generate: ## Generate code: deep copies, the GraphQL server and client.
	$(TOOL) controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(TOOL) gqlgen generate --config server/graph/gqlgen.yml
	$(TOOL) genqlient reporter/genqlient.yaml
	$(TOOL) genqlient sdk/genqlient.yaml
	$(TOOL) genqlient worker/genqlient.yaml

.PHONY: manifests
manifests: ## Generate the CRD and the manager's roles.
	$(TOOL) controller-gen crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(TOOL) controller-gen rbac:roleName=manager-role paths=./controllers/... paths=./reporter/... paths=./worker/... output:rbac:artifacts:config=config/rbac

.PHONY: monitoring-crds
monitoring-crds: ## Generate the Prometheus operator's custom resources that the manifests for it are tested against.
	$(GO) -C hack/tools/monitoring tool controller-gen crd:maxDescLen=0 \
		paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1 \
		output:crd:dir=$(CURDIR)/test/manifests/testdata/monitoring
	find test/manifests/testdata/monitoring -name '*.yaml' ! -name '*_servicemonitors.yaml' ! -name '*_prometheusrules.yaml' -delete

.PHONY: fmt
fmt: ## Format the code.
	$(LINT) fmt

.PHONY: lint
lint: ## Run golangci-lint, import rules included.
	$(LINT) run
	cd hack/localcluster && $(GO) tool -modfile=../tools/golangci-lint/go.mod golangci-lint run

.PHONY: drift
drift: generate manifests ## Fail when generated files are not what the sources say.
	$(GO) -C hack/localcluster generate ./crds
	@git diff --exit-code -- $(GENERATED) && \
		test -z "$$(git status --porcelain -- $(GENERATED))" || \
		{ git status --short -- $(GENERATED); echo "Generated files differ from their sources: run 'make generate manifests' and commit the result." >&2; exit 1; }

.PHONY: clean
clean: ## Remove what was built here; the cache of the control plane stays.
	rm -rf bin dist
