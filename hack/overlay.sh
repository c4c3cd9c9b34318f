#!/usr/bin/env bash
# Writes agent and server into the folder OVERLAYS, the kustomizations that make
# deploy and make deploy-server apply: those of config with the image and the choices
# of the Makefile's variables, which the environment holds. One that is there already
# is replaced at once, or stays when something is wrong with the choices.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "$1" >&2; exit 1; }

# image prints the patch that gives the Deployment its image.
image() {
	cat <<-END
	patches:
	- target: {kind: Deployment}
	  patch: |
	    - {op: replace, path: /spec/template/spec/containers/0/image, value: "$IMG"}
	END
}

agent() {
	local literals=()
	if [ -n "$SERVER_ADDRESS" ]; then
		[[ $SERVER_ADDRESS =~ ^https?://[^/]+ ]] || fail "SERVER_ADDRESS is '$SERVER_ADDRESS': want an address as https://styrmin.example"
		literals+=("serverAddress=$SERVER_ADDRESS")
	fi
	case $PRIVATE_CA in
	yes) literals+=("caFile=/etc/styrmin/ca.crt") ;;
	no) ;;
	*) fail "PRIVATE_CA is '$PRIVATE_CA': want yes or no" ;;
	esac
	echo "resources: [$config/default]"
	if [ ${#literals[@]} -gt 0 ]; then
		cat <<-END
		configMapGenerator:
		- name: agent
		  namespace: styrmin-system
		  behavior: merge
		  literals:
		END
		printf -- '  - %s\n' "${literals[@]}"
	fi
	image
}

server() {
	case $DATABASE in
	sqlite) echo "resources: [$config/server]" ;;
	postgres) echo "resources: [$config/server-postgres]" ;;
	*) fail "DATABASE is '$DATABASE': want sqlite or postgres" ;;
	esac
	case $TLS in
	yes) echo "components: [$config/server-tls]" ;;
	no) ;;
	*) fail "TLS is '$TLS': want yes or no" ;;
	esac
	image
}

[ -n "$IMG" ] || fail "IMG is empty: want the image, as registry.example/styrmin:v1.2.3"
for part in "$@"; do
	folder="$OVERLAYS/$part"
	# kustomize takes no absolute paths.
	config="$(realpath -m --relative-to="$folder" config)"
	content="$("$part")"
	mkdir -p "$folder"
	echo "$content" >"$folder/.kustomization.yaml.next"
	mv "$folder/.kustomization.yaml.next" "$folder/kustomization.yaml"
done
