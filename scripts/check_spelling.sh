#!/bin/sh
# Spelling: codespell finds no common misspelling in what git tracks or would track, nor in its names.
#
# usage: check_spelling.sh [ROOT]
#
# Without git all files but those of build folders are looked at. Exits 77 when codespell is not there.
# A word that codespell takes for a mistake and is none belongs in WORDS, with the place it is from.
set -eu

# crate: a box of the unit tests' parcels; fro: to and fro; hel, nd, ot, te: pieces of words that arrive
# in parts, or that a script puts together; whats: the plural of a test's parameter; bu: an option's letters;
# exat: an option of Redis's SET
WORDS=bu,crate,exat,fro,hel,nd,ot,te,whats

root=$(cd "${1:-$(dirname "$0")/..}" && pwd)
if ! command -v codespell >/dev/null 2>&1; then
	echo "spelling: codespell is not there, skipped"
	exit 77
fi

list=$(mktemp "${TMPDIR:-/tmp}/gyre-spelling.XXXXXX")
trap 'rm -f "$list" "$list.found"' EXIT
cd "$root"
if [ ! -e .git ] || ! git -c safe.directory="$root" ls-files -z --cached --others --exclude-standard \
	>"$list" 2>/dev/null; then
	find . \( -name 'build*' -o -name .git -o -name __pycache__ \) -type d -prune \
		-o -type f ! -name '*.pyc' -print0 >"$list"
fi

# Its exit status is a count, which may come round to 0: what it prints decides. Deleted files that git
# still lists are left out.
status=0
xargs -0 -r sh -c 'for file; do [ ! -f "$file" ] || printf "%s\0" "$file"; done' sh <"$list" |
	xargs -0 -r codespell --quiet-level 3 --check-filenames --check-hidden \
		--ignore-words-list "$WORDS" >"$list.found" 2>&1 || status=$?
if [ "$status" -ne 0 ] || [ -s "$list.found" ]; then
	sed 's/:\([0-9]*\): /:\1: spelling: /' "$list.found"
	echo "spelling: mend the words above, or add those that are right to WORDS in $0"
	exit 1
fi
echo "spelling: $(tr -cd '\0' <"$list" | wc -c) files looked at, nothing to mend"
