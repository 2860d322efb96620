# ent-agent-sync: alone, in a pipe, and what it says when origin does not answer.

bats_require_minimum_version 1.5.0

load setup

@test "sync: in a pipe after identity" {
  "$BIN/ent-agent-identity" </dev/null 2>/dev/null | "$BIN/ent-agent-sync" >out
  [ "$(field repository default_branch <out)" = main ]
  [ "$(field repository head <out)" = "$(git -C origin.git rev-parse main)" ]
  [ "$(field repository issues_head <out)" = "$(git -C origin.git rev-parse entomologist-data)" ]
  [ -d "$(field repository path <out)" ]
}

@test "sync: alone it makes what comes before, key and all" {
  "$BIN/ent-agent-sync" </dev/null >out 2>said
  [ "$(field identity created <out)" = true ]
  [ "$(field repository default_branch <out)" = main ]
  grep -q "^ssh-ed25519" said
}

@test "sync: a record without an identity is 65 and goes on with the error" {
  run --separate-stderr bash -c "echo '{\"agent\": {\"id\": \"robo\", \"name\": \"Robo\", \"email\": \"r@x\"}, \"own\": 1}' | '$BIN/ent-agent-sync'"
  [ "$status" -eq 65 ]
  [ "$(field own <<<"$output")" = 1 ]
  [ "$(field error code <<<"$output")" = bad_data ]
}

@test "sync: no line in, no line out" {
  : | "$BIN/ent-agent-sync" >out
  [ ! -s out ]
  [ ! -e state ]
}

@test "sync: no JSON is 65, a wrong config.toml 78" {
  run --separate-stderr bash -c "echo '[1]' | '$BIN/ent-agent-sync'"
  [ "$status" -eq 65 ]
  echo 'repo_url = 1' >wrong.toml
  run --separate-stderr bash -c "'$BIN/ent-agent-sync' --config wrong.toml </dev/null"
  [ "$status" -eq 78 ]
}

@test "sync: an origin that is gone is 75, and works again when it is back" {
  mv origin.git away.git
  run --separate-stderr bash -c "'$BIN/ent-agent-sync' </dev/null 2> >(grep code >&2)"
  [ "$status" -eq 75 ]
  [ "$(field error code <<<"$output")" = not_a_repository ]
  [ "$(field error retry <<<"$output")" = true ]
  [[ "$stderr" == *'"code":"not_a_repository"'* ]]
  mv away.git origin.git
  "$BIN/ent-agent-sync" </dev/null >out
  [ "$(field repository default_branch <out)" = main ]
}

@test "sync: a host that refuses is 75, with the address" {
  sed -i 's|^repo_url.*|repo_url = "ssh://git@127.0.0.1:9/team/project.git"|' config.toml
  run --separate-stderr bash -c "'$BIN/ent-agent-sync' </dev/null"
  [ "$status" -eq 75 ]
  [ "$(field error code <<<"$output")" = git_unreachable ]
  [[ "$(field error message <<<"$output")" == *127.0.0.1* ]]
}

@test "sync: started from a git hook it acts on our repository and no other" {
  git init -q victim
  git -C victim -c user.name=a -c user.email=a@x commit -q --allow-empty -m one
  before=$(git -C victim for-each-ref; cat victim/.git/config)
  GIT_DIR="$PLACE/victim/.git" GIT_INDEX_FILE="$PLACE/victim/.git/index" GIT_WORK_TREE="$PLACE/victim" \
    "$BIN/ent-agent-sync" </dev/null >out 2>/dev/null
  [ "$(field repository default_branch <out)" = main ]
  [ "$(git -C victim for-each-ref; cat victim/.git/config)" = "$before" ]
}

@test "sync: cron's environment will do" {
  env -i PATH=/usr/bin:/bin LC_ALL=C "$ROOT/.venv/bin/python" "$BIN/ent-agent-sync" --config config.toml </dev/null >out 2>/dev/null
  [ "$(field repository default_branch <out)" = main ]
}
