# ent-agent-worktree: alone, in a pipe, and what it leaves.

bats_require_minimum_version 1.5.0

load setup

@test "worktree: at the end of the pipeline there is a clean worktree and a claim on origin" {
  "$BIN/ent-agent-identity" </dev/null 2>/dev/null | "$BIN/ent-agent-sync" | "$BIN/ent-agent-select" --limit 1 |
    "$BIN/ent-agent-worktree" >out
  path=$(field worktree path <out)
  [ "$(field worktree branch <out)" = "robo/33333333333333333333333333333333" ]
  [ "$(field worktree base <out)" = main ]
  [ "$(git -C "$path" rev-parse HEAD)" = "$(field worktree start <out)" ]
  [ -z "$(git -C "$path" status --porcelain)" ]
  [ "$(git -C origin.git rev-parse "$(field claim ref <out)")" = "$(field claim oid <out)" ]
  [ "$(git -C origin.git rev-parse main)" = "$(field worktree start <out)" ]
}

@test "worktree: the run has the issue in progress on a line of its own, not on origin" {
  "$BIN/ent-agent-worktree" --issue 11111 </dev/null >out 2>/dev/null
  control=$(field repository path <out)
  line="refs/ent-agent/runs/$(field claim run <out)"
  issue=$(field issue id <out)
  [ "$(git --git-dir="$control" cat-file blob "$line:$issue/state")" = inprogress ]
  [ "$(git -C origin.git cat-file blob "entomologist-data:$issue/state")" = new ]
}

@test "worktree: again, while nobody works on it, it is the same run" {
  "$BIN/ent-agent-worktree" --issue 11111 </dev/null >one 2>/dev/null
  "$BIN/ent-agent-worktree" --issue 11111 </dev/null >two
  [ "$(field claim run <one)" = "$(field claim run <two)" ]
  [ "$(field worktree created <two)" = false ]
  [ "$(field issue attempts <two)" = 0 ]
  [ "$(git -C origin.git for-each-ref refs/ent-agent/claims | wc -l)" -eq 1 ]
}

@test "worktree: without records it wants --issue" {
  run --separate-stderr bash -c "'$BIN/ent-agent-worktree' </dev/null"
  [ "$status" -eq 64 ]
  [[ "$stderr" == *--issue* ]]
}

@test "worktree: an issue that is not the agent's, or not there, is 65" {
  for issue in 6666 4444 abcd; do
    run --separate-stderr bash -c "'$BIN/ent-agent-worktree' --issue $issue </dev/null"
    [ "$status" -eq 65 ]
  done
  [ "$(git -C origin.git for-each-ref refs/ent-agent | wc -l)" -eq 0 ]
}

@test "worktree: an issue that another process works on is 75" {
  "$BIN/ent-agent-worktree" --issue 11111 </dev/null >out 2>/dev/null
  lock=$(dirname "$(field repository path <out)")/locks/$(field issue id <out).lock
  run --separate-stderr flock "$lock" bash -c "'$BIN/ent-agent-worktree' --issue 11111 </dev/null"
  [ "$status" -eq 75 ]
  [[ "$stderr" == *'"code":"busy"'* ]]
}

@test "worktree: no line in, no line out; passed-over records and errors go through" {
  : | "$BIN/ent-agent-worktree" >out
  [ ! -s out ]
  "$BIN/ent-agent-select" --all </dev/null 2>/dev/null | grep skipped | "$BIN/ent-agent-worktree" >out
  [ "$(wc -l <out)" -eq 2 ]
  ! grep -q '"worktree":{' out
}

@test "worktree: no JSON is 65; wrong config.toml is 78; a branch in the way is 78" {
  run --separate-stderr bash -c "echo nope | '$BIN/ent-agent-worktree'"
  [ "$status" -eq 65 ]
  echo 'limits = 1' | cat - config.toml >wrong.toml
  run --separate-stderr bash -c "'$BIN/ent-agent-worktree' --config wrong.toml --issue 1111 </dev/null"
  [ "$status" -eq 78 ]
  git -C origin.git branch robo main
  run --separate-stderr bash -c "'$BIN/ent-agent-worktree' --issue 1111 </dev/null"
  [ "$status" -eq 78 ]
  [ "$(field error code <<<"$output")" = branch_in_the_way ]
}

@test "worktree: with a dead origin nothing is claimed, and it is 75" {
  "$BIN/ent-agent-select" --limit 1 </dev/null >record 2>/dev/null
  mv origin.git away.git
  run --separate-stderr bash -c "'$BIN/ent-agent-worktree' <record"
  [ "$status" -eq 75 ]
  [ "$(field error retry <<<"$output")" = true ]
  mv away.git origin.git
  "$BIN/ent-agent-worktree" <record >out
  [ -n "$(field claim oid <out)" ]
}

@test "worktree: cron's environment will do" {
  env -i PATH=/usr/bin:/bin LC_ALL=C PYTHONUTF8=0 "$ROOT/.venv/bin/python" "$BIN/ent-agent-worktree" --config config.toml --issue 11111 </dev/null >out 2>/dev/null
  [ -z "$(git -C "$(field worktree path <out)" status --porcelain)" ]
}
