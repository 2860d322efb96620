# The pipeline of docs/contract.md by hand, in a shell, as a person types it.

bats_require_minimum_version 1.5.0

load setup

WELSH=11111111111111111111111111111111
SPELLING=33333333333333333333333333333333

pipeline() {
  "$BIN/ent-agent-identity" </dev/null | "$BIN/ent-agent-sync" | "$BIN/ent-agent-select" "$@" |
    "$BIN/ent-agent-worktree" | "$BIN/ent-agent-run" | "$BIN/ent-agent-finalize"
}

loop() {
  "$ROOT/.venv/bin/python" -m invoke -r "$ROOT" loop </dev/null
}

# What origin has of issues and code, without what differs from run to run: times, ids, hashes.
picture() {
  local branch
  for branch in $(git -C origin.git for-each-ref --format='%(refname:short)' refs/heads/ | sort); do
    echo "$branch: $(git -C origin.git ls-tree -r "$branch" | grep -v /comments/ | cut -f2 | sort | tr '\n' ' ')"
  done
  git -C origin.git grep --no-color -h '' entomologist-data -- '*/state' '*/assignee' | sort
  git -C origin.git for-each-ref --format='%(refname)' refs/ent-agent
}

@test "the pipeline works the first issue to its hand-back" {
  pipeline --limit 1 >record
  [ "$(field result outcome <record)" = completed ]
  [ "$(field issue id <record)" = $SPELLING ]
  git -C origin.git rev-parse --verify --quiet "refs/heads/robo/$SPELLING"
  [ "$(git -C origin.git show "entomologist-data:$SPELLING/state")" = blocked ]
  [ -z "$(git -C origin.git for-each-ref refs/ent-agent)" ]
}

@test "by hand and by the loop come to the same end" {
  pipeline >/dev/null
  picture >by-hand
  mkdir again && cd again
  make_sample "$PWD"
  loop >log
  picture >by-loop
  diff ../by-hand by-loop
}

@test "each step can be stopped at, looked at, and gone on from" {
  "$BIN/ent-agent-worktree" --issue 1111 </dev/null >record
  [ "$(field worktree branch <record)" = "robo/$WELSH" ]
  [ -d "$(field worktree path <record)" ]
  "$BIN/ent-agent-run" --print-prompt <record | grep -q "Greet in Welsh"
  "$BIN/ent-agent-run" <record >ran
  [ "$(field run exit_code <ran)" = 0 ]
  "$BIN/ent-agent-finalize" --issue 1111 </dev/null >end
  [ "$(field result outcome <end)" = completed ]
  [ "$(field result pushed <end)" = true ]
}

@test "fields that nobody knows come out at the end" {
  "$BIN/ent-agent-identity" </dev/null | sed 's/^{/{"ticket":[1,{"a":null}],/' >begun
  "$BIN/ent-agent-sync" <begun | "$BIN/ent-agent-select" --limit 1 | "$BIN/ent-agent-worktree" |
    "$BIN/ent-agent-run" | "$BIN/ent-agent-finalize" >end
  [ "$(field ticket <end)" = '[1, {"a": null}]' ]
}

@test "no records in, none out" {
  for step in identity sync select worktree run finalize; do
    run -0 --separate-stderr "$BIN/ent-agent-$step" < <(true)
    [ -z "$output" ]
    [ -z "$stderr" ]
  done
}

@test "an origin that is not there fails as 75, and the record says so to the end" {
  mv origin.git elsewhere.git
  set -o pipefail
  run -75 --separate-stderr bash -c "'$BIN/ent-agent-identity' </dev/null 2>/dev/null | '$BIN/ent-agent-sync'"
  [ "$(field error retry <<<"$output")" = true ]
  run -0 --separate-stderr "$BIN/ent-agent-select" <<<"$output"
  [ "$(field error exit_code <<<"$output")" = 75 ]
}

@test "kill -9 of a run loses nothing: the next loop finishes it" {
  "$BIN/ent-agent-worktree" --issue 1111 </dev/null >record
  printf '[worktree]\nsetup = ["sleep 60"]\n' >>config.toml
  "$BIN/ent-agent-run" <record >/dev/null 2>&1 &
  local step=$!
  sleep 1.5
  kill -9 $step
  wait $step || true
  sed -i '/worktree/,$d' config.toml
  loop >log
  [ "$(git -C origin.git show "entomologist-data:$WELSH/state")" = blocked ]
  git -C origin.git rev-parse --verify --quiet "refs/heads/robo/$WELSH"
  [ -z "$(git -C origin.git for-each-ref refs/ent-agent)" ]
}

@test "two at once on one issue: one works it, the other says busy" {
  printf '[worktree]\nsetup = ["sleep 3"]\n' >>config.toml
  "$BIN/ent-agent-worktree" --issue 1111 </dev/null >record
  "$BIN/ent-agent-run" <record >first &
  sleep 1
  run -75 --separate-stderr "$BIN/ent-agent-run" <record
  [ "$(field error code <<<"$output")" = busy ]
  wait
  [ "$(field run exit_code <first)" = 0 ]
}

@test "nothing of the environment is needed but PATH and HOME" {
  local bare=(env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$HOME" LC_ALL=C)
  cd /
  "${bare[@]}" "$BIN/ent-agent-worktree" --config "$PLACE/config.toml" --issue 1111 </dev/null |
    "${bare[@]}" "$BIN/ent-agent-run" --config "$PLACE/config.toml" |
    "${bare[@]}" "$BIN/ent-agent-finalize" --config "$PLACE/config.toml" >"$PLACE/end"
  [ "$(field result outcome <"$PLACE/end")" = completed ]
}

@test "git variables of the caller do not lead astray" {
  git init --quiet --bare other.git
  GIT_DIR="$PLACE/other.git" GIT_INDEX_FILE="$PLACE/index" pipeline --limit 1 >record
  [ "$(field result outcome <record)" = completed ]
  [ -z "$(git -C other.git for-each-ref)" ]
}

@test "a person answers, and the agent goes on where it stopped" {
  printf 'Which greeting?\n\nDemo: stuck\n' >text
  git clone --quiet origin.git clone
  cd clone
  git config user.name Alice
  git config user.email alice@example.org
  git branch --quiet entomologist-data origin/entomologist-data
  ent() { "$BIN/ent-agent-ent" "$@"; }
  issue=$(ent new "$(cat ../text)" | sed -n 's/^ID: //p')
  ent assign "$issue" Robo
  ent sync
  cd ..
  loop >first
  [ "$(git -C origin.git show "entomologist-data:$issue/state")" = blocked ]
  [[ "$(git -C origin.git show "entomologist-data:$issue/assignee")" = Alice* ]]
  loop >second
  ! grep -q "$issue" second
  cd clone
  ent sync
  ent comment "$issue" "In English."
  ent assign "$issue" Robo
  ent sync
  cd ..
  loop >third
  grep '"ended"' third | grep "$issue" | grep -q completed
  git -C origin.git rev-parse --verify --quiet "refs/heads/robo/$issue"
}
