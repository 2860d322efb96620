# ent-agent-finalize as a person and the loop call it.

bats_require_minimum_version 1.5.0

load setup

WELSH=11111111111111111111111111111111

# An agent that runs the lines on stdin of this function, in the worktree.
agent() {
  mkdir -p agents
  { echo '#!/bin/sh -e'; cat; } >agents/own-agent
  chmod +x agents/own-agent
  printf 'description = "test"\ncommand = ["./own-agent"]\nprompt = "stdin"\n%s\n' "$1" >agents/own.toml
  sed -i 's/^agent_type = .*/agent_type = ".\/agents\/own.toml"/' config.toml
}

# A record of a run that has ended.
ran() {
  "$BIN/ent-agent-worktree" --issue 1111 </dev/null | "$BIN/ent-agent-run" >ran
}

on_origin() {
  git -C origin.git show "entomologist-data:$WELSH/$1"
}

comments() {
  git -C origin.git ls-tree -r --name-only entomologist-data | grep -c "^$WELSH/comments/.*/description" || true
}

@test "--help has an example" {
  run -0 "$BIN/ent-agent-finalize" --help
  [[ $output == *"Example:  ent-agent-finalize --issue"* ]]
}

@test "options that do not go together are a usage error" {
  run -64 --separate-stderr "$BIN/ent-agent-finalize" --pending --issue 1111
  run -64 --separate-stderr "$BIN/ent-agent-finalize" --allow some/path
  run -64 --separate-stderr "$BIN/ent-agent-finalize" </dev/null
}

@test "nothing pending is nothing to do" {
  run -0 --separate-stderr "$BIN/ent-agent-finalize" --pending </dev/null
  [ -z "$output" ]
  [ -z "$stderr" ]
}

@test "a record without a claim passes as it is" {
  echo '{"schema_version":1,"skipped":"because","issue":{"id":"1","title":"","description":"","state":"new"}}' >in
  run -0 "$BIN/ent-agent-finalize" <in
  [ "$(field skipped <<<"$output")" = because ]
}

@test "killed half-way, --pending finishes it, once" {
  agent <<'END'
echo hello >hello.txt && git add hello.txt && git commit -qm "Say hello" && echo "Done: said hello."
END
  ran
  for effect in left-overs-committed ending-recorded ending-pushed; do
    run -137 --separate-stderr env ENT_AGENT_STOP_AT=$effect setsid --wait "$BIN/ent-agent-finalize" <ran
  done
  "$BIN/ent-agent-finalize" --pending </dev/null >end
  [ "$(field result outcome <end)" = completed ]
  [ "$(field result pushed <end)" = true ]
  [ "$(on_origin state)" = blocked ]
  [ "$(comments)" = 1 ]
  run -0 "$BIN/ent-agent-finalize" --pending </dev/null
  [ -z "$output" ]
  "$BIN/ent-agent-finalize" <ran >again
  [ "$(field result <again)" = "$(field result <end)" ]
}

@test "a quota that is used up is 75, with the result in the record" {
  agent $'[failure]\nquota = ["out of quota"]' <<'END'
echo "out of quota"; exit 1
END
  ran
  run -75 --separate-stderr "$BIN/ent-agent-finalize" <ran
  [ "$(field result outcome <<<"$output")" = quota ]
  [ "$(field error code <<<"$output")" = agent_quota ]
  [ -n "$(field error resume_at <<<"$output")" ]
  [ "$(field retry <<<"$stderr")" = true ]
}

@test "an agent that is not logged in is 77" {
  agent $'[failure]\nauth = ["please log in"]' <<'END'
echo "please log in"; exit 1
END
  ran
  run -77 --separate-stderr "$BIN/ent-agent-finalize" <ran
  [ "$(field result outcome <<<"$output")" = auth ]
}

@test "a secret is withheld until a person lets it pass" {
  agent <<'END'
echo "key: AKIAQWERTYUIOPASDFGH" >key.txt; echo "fine" >fine.txt; echo "Done: wrote both."
END
  ran
  "$BIN/ent-agent-finalize" <ran >end
  [ "$(git -C origin.git ls-tree --name-only "robo/$WELSH" | tr '\n' ' ')" = "README.md fine.txt greet.sh " ]
  git -C origin.git grep -q "key.txt.: AWS access key" entomologist-data -- "$WELSH/comments/*"
  run -1 git -C origin.git grep -q AKIAQWERTYUIOPASDFGH entomologist-data
  run -65 "$BIN/ent-agent-finalize" --issue 1111 --allow fine.txt </dev/null
  "$BIN/ent-agent-finalize" --issue 1111 --allow key.txt </dev/null >end
  [ "$(field result pushed <end)" = true ]
  git -C origin.git cat-file -e "robo/$WELSH:key.txt"
}

@test "an issue that another process works on is busy" {
  agent <<'END'
echo "Done: nothing to do."
END
  ran
  lock=$(ls "$PLACE"/state/robo/*/locks/$WELSH.lock)
  flock "$lock" sleep 30 3>&- &
  while flock --nonblock "$lock" true; do sleep 0.05; done
  run -0 --separate-stderr "$BIN/ent-agent-finalize" --pending </dev/null
  [ -z "$output" ]
  run -75 --separate-stderr "$BIN/ent-agent-finalize" <ran
  [ "$(field error code <<<"$output")" = busy ]
  kill %1
}
