# Loaded by each .bats file: a folder with a space and an accent in its name, and a clean environment.
# After `setup`: $ROOT the checkout, $PLACE the test's folder (current), with origin.git and config.toml.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BIN=$ROOT/bin

setup() {
  local name
  for name in $(compgen -e); do
    case $name in GIT_* | XDG_* | ENT_AGENT* | ENT_RUN* | SSH_*) unset "$name" ;; esac
  done
  PLACE="$BATS_TEST_TMPDIR/a plàce"
  export HOME="$PLACE/home"
  mkdir -p "$HOME"
  cd "$PLACE" || return 1
  make_sample "$PLACE"
}

# origin.git and config.toml in a folder.
make_sample() {
  PYTHONPATH=$ROOT/lib:$ROOT "$ROOT/.venv/bin/python" -m tests.support.sample "$1"
}

# The value of a path of JSON keys in the first line of stdin: `field issue id`.
field() {
  "$ROOT/.venv/bin/python" -c '
import json, sys
value = json.loads(sys.stdin.readline())
for key in sys.argv[1:]:
    value = value[key]
print(value if isinstance(value, str) else json.dumps(value))' "$@"
}
