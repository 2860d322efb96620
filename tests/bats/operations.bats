# The commands by which a person looks after a loop that runs unattended.

bats_require_minimum_version 1.5.0

load setup

SPELLING=33333333333333333333333333333333

invoke() { "$ROOT/.venv/bin/python" -m invoke -r "$ROOT" "$@" </dev/null; }

# Of the JSON lines on stdin that have these values, a field: `pick message check=agent status=ok`.
pick() {
  "$ROOT/.venv/bin/python" -c '
import json, sys
wanted = dict(pair.split("=", 1) for pair in sys.argv[2:])
for line in map(json.loads, sys.stdin):
    if all(line.get(key) == value for key, value in wanted.items()):
        print(line.get(sys.argv[1], ""))' "$@"
}

@test "each command has a help with an example" {
  for command in doctor prune stop; do
    run -0 "$BIN/ent-agent-$command" --help
    [[ $output == *"Example:"*"$command"* ]]
  done
}

@test "the doctor writes a JSON object a line, and ends with 0 where there are only warnings" {
  "$BIN/ent-agent-identity" </dev/null >/dev/null 2>&1
  run -0 --separate-stderr "$BIN/ent-agent-doctor"
  [ "$(pick check <<<"$output" | sort -u | grep -c .)" -gt 15 ]
  [ "$(pick message status=ok <<<"$output" | grep -c .)" -gt 15 ]
  [ -z "$stderr" ]
}

@test "the doctor ends with 78 for a wrong key, and names it" {
  echo 'colour = "green"' >>config.toml
  run -78 --separate-stderr "$BIN/ent-agent-doctor"
  pick message check=config status=problem <<<"$output" | grep -q "colour: unknown key"
}

@test "the doctor ends with 69 for a missing agent, and names the line that installs it" {
  printf 'command = ["no-such-agent"]\ninstall = "pipx install no-such-agent"\n' >robot.toml
  sed -i 's|^agent_type.*|agent_type = "./robot.toml"|' config.toml
  run -69 --separate-stderr "$BIN/ent-agent-doctor"
  pick fix check=agent status=problem <<<"$output" | grep -q "pipx install no-such-agent"
}

@test "the doctor --cron sees what cron would: the PATH of the crontab line, and no variable of ours" {
  mkdir -p tools && printf '#!/bin/sh\n' >tools/robot && chmod +x tools/robot
  echo 'command = ["robot"]' >robot.toml
  sed -i 's|^agent_type.*|agent_type = "./robot.toml"|' config.toml
  export PATH="$PLACE/tools:$PATH"
  run -0 --separate-stderr "$BIN/ent-agent-doctor" --cron
  [ "$(pick message check=agent status=ok <<<"$output")" = "$PLACE/tools/robot" ]
  path=$(pick message check=path <<<"$output")
  [[ $path == *"$PLACE/tools"* ]] && [[ $path != *"$HOME"* ]]
  printf '[agent_environment.set]\nMODEL_API_KEY = "${FROM_MY_SHELL}"\n' >>config.toml
  export FROM_MY_SHELL=abcdefgh12
  run -0 --separate-stderr "$BIN/ent-agent-doctor"
  [[ $output != *abcdefgh12* ]]
  run -78 --separate-stderr "$BIN/ent-agent-doctor" --cron
  pick message check=config status=problem <<<"$output" | grep -q "FROM_MY_SHELL is not set"
}

@test "prune says first, and removes then, what handed-back issues left" {
  invoke loop >/dev/null
  worktrees=(state/robo/origin-*/worktrees)
  [ -d "${worktrees[0]}/$SPELLING" ]
  run -0 --separate-stderr "$BIN/ent-agent-prune" --dry-run
  [ "$(pick verdict kind=worktree <<<"$output" | sort -u)" = would_remove ]
  [ -d "${worktrees[0]}/$SPELLING" ]
  run -0 --separate-stderr "$BIN/ent-agent-prune"
  [ "$(pick verdict kind=worktree <<<"$output" | sort -u)" = removed ]
  [ ! -e "${worktrees[0]}/$SPELLING" ]
  run -0 --separate-stderr "$BIN/ent-agent-prune"
  [ -z "$output" ]
}

@test "prune without an answer from origin removes nothing, and ends with 75" {
  invoke loop >/dev/null
  mv origin.git elsewhere.git
  run -75 --separate-stderr "$BIN/ent-agent-prune"
  [ -z "$output" ]
}

@test "a pause holds for select and the loop, is said, and ends with resume" {
  run -0 invoke pause --for 2h --reason holidays
  [[ $output == "paused until "*": holidays" ]]
  run -0 --separate-stderr bash -c "'$BIN/ent-agent-sync' </dev/null 2>/dev/null | '$BIN/ent-agent-select'"
  [ -z "$output" ]
  [[ $stderr == *"paused until"*"holidays"* ]]
  run -0 --separate-stderr invoke loop
  [ "$(pick message event=no_start <<<"$output" | grep -c holidays)" = 1 ]
  [ -z "$(git -C origin.git for-each-ref refs/heads/robo)" ]
  [[ $("$BIN/ent-agent-status" | field stop) == paused* ]]
  run -0 invoke resume
  run -0 --separate-stderr invoke loop --once
  git -C origin.git rev-parse --verify --quiet "refs/heads/robo/$SPELLING"
}

@test "a pause by hand does not keep a person from an issue that is named" {
  invoke pause >/dev/null
  "$BIN/ent-agent-worktree" --issue 1111 </dev/null >record
  [ "$(field worktree created <record)" = true ]
}

@test "stop says that nothing is on, and refuses an issue that nobody knows" {
  run -65 --separate-stderr "$BIN/ent-agent-stop" beef
  invoke loop >/dev/null
  run -0 --separate-stderr "$BIN/ent-agent-stop" "${SPELLING:0:6}"
  [ -z "$output" ]
  [[ $stderr == *"is not being worked here"* ]]
}
