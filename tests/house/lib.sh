# For the house tests, which are scripts: sourced, sets $root and $scratch (removed at the end) and
# gives the expectations. A test fails at its first expectation that does not hold.

set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

# fail WORDS...: ends the test.
fail() {
    printf 'FAILED: %s\n' "$*"
    exit 1
}

# answer COMMAND...: runs it; leaves its exit code in $code, its output in $out and $err.
answer() {
    code=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    out=$(<"$scratch/out")
    err=$(<"$scratch/err")
}

# expect_code CODE: what the last answer ended with.
expect_code() { [[ $code == "$1" ]] || fail "exit code $code, not $1; it said: $out $err"; }

# expect_in TEXT PART: PART stands in TEXT.
expect_in() { [[ $1 == *"$2"* ]] || fail "no '$2' in: $1"; }

# expect_one_line TEXT: TEXT is one line.
expect_one_line() { [[ -n $1 && $1 != *$'\n'* ]] || fail "not one line: $1"; }
