#!/bin/sh
# Runs a Criterion test program so that what a sanitizer reports fails the run.
#
# usage: run_unit.sh PROGRAM [ARGUMENT ...]
#
# Criterion runs each test in a child and forgets the child's exit status: a leak, or a report of a
# sanitizer that goes on, is printed and the run exits 0 all the same. So the sanitizers are told to
# write their reports into a folder, and if any is there in the end it is shown and the exit status is
# 99, or what the program itself exited with if that was a failure already. Set GYRE_VALGRIND=1 to run
# the program under valgrind in the same way.
set -u

if [ $# -eq 0 ]; then
	echo "usage: $0 PROGRAM [ARGUMENT ...]" >&2
	exit 2
fi
reports=$(mktemp -d "${TMPDIR:-/tmp}/gyre-unit.XXXXXX") || exit 2
trap 'rm -rf "$reports"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

log="log_path=$reports/report"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=1:detect_stack_use_after_return=1:$log"
export LSAN_OPTIONS="${LSAN_OPTIONS:+$LSAN_OPTIONS:}$log"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}print_stacktrace=1:$log"
if [ -n "${GYRE_VALGRIND:-}" ]; then
	set -- valgrind -q --trace-children=yes --leak-check=full --log-file="$reports/report.%p" "$@"
fi

"$@"
status=$?

# Valgrind opens a log for every child, and leaves it empty when it has nothing to say.
find "$reports" -type f -size 0 -delete
for report in "$reports"/*; do
	if [ -f "$report" ]; then
		cat "$report" >&2
		if [ "$status" -eq 0 ]; then
			status=99
		fi
	fi
done
exit "$status"
