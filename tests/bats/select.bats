# ent-agent-select: alone, in a pipe, and its options.

bats_require_minimum_version 1.5.0

load setup

ids() { "$ROOT/.venv/bin/python" -c 'import json, sys
for line in sys.stdin: record = json.loads(line); print(record["issue"]["id"][0], record.get("skipped") or "ready")'; }

@test "select: one line per task in working order" {
  "$BIN/ent-agent-sync" </dev/null 2>/dev/null | "$BIN/ent-agent-select" >out
  [ "$(ids <out)" = $'3 ready\n1 ready' ]
  [ "$(field issue title <out)" = "Which spelling?" ]
  [ "$(field repository default_branch <out)" = main ]
}

@test "select: alone it works on what the last sync fetched, without origin" {
  "$BIN/ent-agent-sync" </dev/null >/dev/null 2>&1
  mv origin.git away.git
  [ "$("$BIN/ent-agent-select" </dev/null | ids)" = $'3 ready\n1 ready' ]
}

@test "select: alone, where nothing was fetched yet, it syncs first" {
  [ "$("$BIN/ent-agent-select" </dev/null 2>/dev/null | ids)" = $'3 ready\n1 ready' ]
}

@test "select: --all has the reasons" {
  run --separate-stderr bash -c "'$BIN/ent-agent-select' --all </dev/null"
  [ "$status" -eq 0 ]
  [ "$(ids <<<"$output" | cut -c1-11)" = $'3 ready\n2 waits for\n1 ready\n8 cannot be' ]
}

@test "select: --limit and --issue" {
  [ "$("$BIN/ent-agent-select" --limit 1 </dev/null 2>/dev/null | ids)" = "3 ready" ]
  [ "$("$BIN/ent-agent-select" --issue 11111 </dev/null | ids)" = "1 ready" ]
  [ -z "$("$BIN/ent-agent-select" --issue 2222 </dev/null)" ]
  run --separate-stderr bash -c "'$BIN/ent-agent-select' --issue abcd </dev/null"
  [ "$status" -eq 65 ]
  [[ "$stderr" == *'"code":"not_found"'* ]]
  run --separate-stderr bash -c "'$BIN/ent-agent-select' --limit many </dev/null"
  [ "$status" -eq 64 ]
  [[ "$stderr" == *"expected to be a whole number, not 'many'\","* ]]
}

@test "select: no line in, no line out; no JSON is 65; wrong config.toml is 78" {
  : | "$BIN/ent-agent-select" >out
  [ ! -s out ]
  run --separate-stderr bash -c "echo '{' | '$BIN/ent-agent-select'"
  [ "$status" -eq 65 ]
  echo 'x' >wrong.toml
  run --separate-stderr bash -c "'$BIN/ent-agent-select' --config wrong.toml </dev/null"
  [ "$status" -eq 78 ]
}

@test "select: with a dead origin and nothing fetched it is 75" {
  rm -rf origin.git
  run --separate-stderr bash -c "'$BIN/ent-agent-select' </dev/null"
  [ "$status" -eq 75 ]
}

@test "select: a record with an error is passed through" {
  echo '{"agent": {"id": "r", "name": "R", "email": "r@x"}, "error": {"code": "x", "message": "y", "more": 1}}' |
    "$BIN/ent-agent-select" >out
  [ "$(field error more <out)" = 1 ]
}

@test "select: a reader that stops early is no failure" {
  "$BIN/ent-agent-sync" </dev/null >/dev/null 2>&1
  run bash -c "set -o pipefail; '$BIN/ent-agent-select' --all </dev/null | head -1 >/dev/null"
  [ "$status" -eq 0 ]
}

@test "select: cron's environment will do" {
  env -i PATH=/usr/bin:/bin LC_ALL=C "$ROOT/.venv/bin/python" "$BIN/ent-agent-select" --config config.toml </dev/null >out 2>/dev/null
  [ "$(ids <out)" = $'3 ready\n1 ready' ]
}
