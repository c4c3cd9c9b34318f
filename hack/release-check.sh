#!/usr/bin/env bash
# Tells whether what was built can be released as VERSION (make release-check): it
# names everything that is missing, and changes nothing.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
check() { # check WHAT COMMAND…: says whether the command succeeds.
	if "${@:2}"; then echo "ok: $1"; else echo "MISSING: $1" >&2; failed=1; fi
}

programs=(manager styrmin-server styrminctl)

is_version() { [[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; }
is_tagged() { git tag --points-at HEAD | grep -qxF "$VERSION"; }
is_clean() { [ -z "$(git status --porcelain)" ]; }
# The section of the version has a date and says something.
has_changes() {
	awk -v heading="## ${VERSION#v} - " '
		index($0, "## ") == 1 { inside = index($0, heading) == 1 && $0 ~ /- [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/; next }
		inside && /^- / { found = 1 }
		END { exit !found }' CHANGELOG.md
}
has_contract() { # has_contract TAG: the contract beside the tests is that of the release before.
	[ -z "$1" ] || git show "$1:api/graphql/schema.graphqls" | cmp -s - test/compat/testdata/released/schema.graphqls
}
tells_version() {
	case $1 in
	styrminctl) bin/styrminctl version --client ;;
	*) "bin/$1" --version ;;
	esac | grep -qwF -- "$VERSION"
}
lists_modules() { # Every module in the program is in its bill of materials, and so is the version.
	local bill="dist/$1.cdx.json" module
	grep -qF "\"version\": \"$VERSION\"" "$bill" || return 1
	for module in $(go version -m "bin/$1" | awk '$1 == "dep" { print $2 "@" $3 }'); do
		grep -qF "pkg:golang/$module" "$bill" || { echo "$bill lacks $module" >&2; return 1; }
	done
}
installs() { grep -qE "^ +image: .*$VERSION(@.*)?$" dist/install.yaml; }

check "VERSION=$VERSION is a version, as v1.2.3" is_version
check "the commit has the tag $VERSION" is_tagged
check "nothing differs from the commit" is_clean
check "CHANGELOG.md has the section '## ${VERSION#v} - YYYY-MM-DD' with entries" has_changes
previous="$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null)"
check "test/compat has the contract of the release before${previous:+, $previous} (make release-contract)" has_contract "$previous"
for program in "${programs[@]}"; do
	check "bin/$program says that it is $VERSION" tells_version "$program"
	check "dist/$program.cdx.json names every module of bin/$program" lists_modules "$program"
done
check "dist/install.yaml installs the image of $VERSION" installs
exit "$failed"
