#!/bin/sh
# Format: clang-format changes nothing.
#
# usage: check_format.sh [ROOT]
#
# Version 14 is the one that .clang-format is written for; others break lines in other places, so they
# are not used. Exits 77 when that version is not there. To mend what is found, run
# clang-format-14 -i on the files named.
set -eu

root=$(cd "${1:-$(dirname "$0")/..}" && pwd)
for program in clang-format-14 clang-format; do
	if command -v "$program" >/dev/null 2>&1 && "$program" --version | grep -q 'version 14\.'; then
		break
	fi
	program=
done
if [ -z "$program" ]; then
	echo "format: clang-format 14 is not there, skipped"
	exit 77
fi

cd "$root"
set --
for folder in lib include apps perf test; do
	if [ -d "$folder" ]; then
		set -- "$@" "$folder"
	fi
done
count=$(find "$@" -name '*.[ch]' | wc -l)
if ! find "$@" -name '*.[ch]' -print0 | sort -z | xargs -0 -r "$program" --dry-run -Werror; then
	echo "format: run $program -i on the files named above"
	exit 1
fi
echo "format: $count files looked at, nothing to mend"
