#!/usr/bin/env bats
# ent-agent-ent: typed by path, in pipes, in any folder.

bats_require_minimum_version 1.5.0
load setup

clone() {
  git clone --quiet origin.git mine 2>/dev/null
  cd mine
  git config user.name Ada
  git config user.email ada@example.org
}

@test "it finds its own interpreter, and the tracker of the folder it is called in" {
  clone
  mkdir -p deep/er && cd deep/er
  run --separate-stderr env -i PATH=/usr/bin:/bin HOME="$HOME" LC_ALL=C "$BIN/ent-agent-ent" list
  [ "$status" -eq 0 ]
  [[ "$output" == *"New:"* ]]
}

@test "an issue is made, worked and closed with what is printed" {
  clone
  id=$("$BIN/ent-agent-ent" new "Say hello" | sed -n 's/^ID: //p')
  [ "${#id}" -eq 32 ]
  [ "$("$BIN/ent-agent-ent" state "$id" inprogress)" = "issue: $id"$'\n'"state: new -> inprogress" ]
  "$BIN/ent-agent-ent" comment "$id" "Done: said" >/dev/null
  "$BIN/ent-agent-ent" assign "${id:0:8}" alice >/dev/null
  "$BIN/ent-agent-ent" list assignee=alice | grep -q "^$id  .* 1      Say hello"
  "$BIN/ent-agent-ent" state "$id" done >/dev/null
  "$BIN/ent-agent-ent" show --json "$id" | "$ROOT/.venv/bin/python" -c '
import json, sys
issue = json.load(sys.stdin)
assert issue["state"] == "done" and issue["done_time"] and issue["comments"][0]["description"] == "Done: said"'
  git fsck --strict
}

@test "what changed goes to origin and comes to another clone" {
  clone
  id=$("$BIN/ent-agent-ent" new "Shared" | sed -n 's/^ID: //p')
  run --separate-stderr "$BIN/ent-agent-ent" sync
  [ "$status" -eq 0 ]
  [ "${lines[-1]}" = 'synced "entomologist-data" with "origin"' ]
  cd .. && git clone --quiet origin.git yours 2>/dev/null && cd yours
  "$BIN/ent-agent-ent" show "$id" | grep -qx Shared
}

@test "exit codes: 0, 1 for what fails, 2 for the command line" {
  clone
  run --separate-stderr "$BIN/ent-agent-ent" show nope
  [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$stderr" = "Error: issue nope not found" ]
  run --separate-stderr "$BIN/ent-agent-ent" stat
  [ "$status" -eq 2 ] && [ -z "$output" ] && [[ "$stderr" == "error: unrecognized subcommand 'stat'"* ]]
  run --separate-stderr "$BIN/ent-agent-ent" --help
  [ "$status" -eq 0 ] && [[ "$output" == *"ent-agent-ent list assignee=seb"* ]] && [ -z "$stderr" ]
  cd /
  run --separate-stderr env GIT_CEILING_DIRECTORIES=/ "$BIN/ent-agent-ent" list
  [ "$status" -eq 1 ] && [[ "$stderr" == *"not a git repository"* ]]
}

@test "a pipe that closes early is no error, and eight at once lose nothing" {
  clone
  id=$("$BIN/ent-agent-ent" new "Busy" | sed -n 's/^ID: //p')
  for number in 1 2 3 4 5 6 7 8; do
    "$BIN/ent-agent-ent" comment "$id" "number $number" >/dev/null &
  done
  wait
  [ "$("$BIN/ent-agent-ent" show "$id" | grep -c '^number ')" -eq 8 ]
  set -o pipefail
  "$BIN/ent-agent-ent" show "$id" | head -1
}
