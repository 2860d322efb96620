# ent-agent-identity: alone, in a pipe, and what it says when it cannot.

bats_require_minimum_version 1.5.0

load setup

@test "identity: on /dev/null it starts from config.toml, and says the new public key on stderr only" {
  "$BIN/ent-agent-identity" </dev/null >out 2>said
  [ "$(field agent id <out)" = robo ]
  [ "$(field identity key <out)" = "$PLACE/identity/id_ed25519" ]
  [ "$(field identity created <out)" = true ]
  [ "$(wc -l <out)" -eq 1 ]
  grep -q "^ssh-ed25519 .* robo@example.org$" said
  "$BIN/ent-agent-identity" </dev/null >out 2>said
  [ "$(field identity created <out)" = false ]
  [ ! -s said ]
}

@test "identity: records go through, with what it does not know" {
  printf '%s\n' '{"schema_version": 1, "agent": {"id": "robo", "name": "Robo", "email": "r@x", "team": "a"}, "own": [1]}' \
    '{"agent": {"id": "robo", "name": "Robo", "email": "r@x"}, "error": {"code": "x", "message": "y"}}' |
    "$BIN/ent-agent-identity" >out 2>said
  [ "$(wc -l <out)" -eq 2 ]
  [ "$(field own <out)" = "[1]" ]
  [ "$(field agent team <out)" = a ]
  [ "$(field identity key <out)" = "$PLACE/identity/id_ed25519" ]
  ! tail -1 out | grep -q '"identity":{'
}

@test "identity: no line in, no line out, and that is fine" {
  : | "$BIN/ent-agent-identity" >out
  [ ! -s out ]
  "$BIN/ent-agent-identity" <out >out2
  [ ! -s out2 ]
}

@test "identity: what is no record is 65, with the line's number" {
  run --separate-stderr bash -c "printf '%s\n' '' 'no json' | '$BIN/ent-agent-identity'"
  [ "$status" -eq 65 ]
  [[ "$stderr" == *'"code":"bad_data"'*'line 2'* ]]
  [ -z "$output" ]
}

@test "identity: a wrong key in config.toml is 78, with file and key" {
  echo 'agnet_type = "hermes"' | cat - config.toml >wrong.toml
  run --separate-stderr bash -c "'$BIN/ent-agent-identity' --config wrong.toml </dev/null"
  [ "$status" -eq 78 ]
  [[ "$stderr" == *wrong.toml*agnet_type* ]]
  run --separate-stderr bash -c "'$BIN/ent-agent-identity' --config nowhere.toml </dev/null"
  [ "$status" -eq 78 ]
}

@test "identity: a key with a passphrase is 78, with the way out, on the record too" {
  mkdir -m 700 identity
  ssh-keygen -q -t ed25519 -N secret -f identity/id_ed25519
  run --separate-stderr bash -c "'$BIN/ent-agent-identity' </dev/null"
  [ "$status" -eq 78 ]
  [[ "$stderr" == *key_has_passphrase*"ssh-keygen -p"* ]]
  [ "$(field error code <<<"$output")" = key_has_passphrase ]
}

@test "identity: --help has an example, an unknown option is 64" {
  "$BIN/ent-agent-identity" --help | grep -q "Example:"
  run --separate-stderr "$BIN/ent-agent-identity" --nonsense
  [ "$status" -eq 64 ]
  [ -z "$output" ]
}

@test "identity: cron's environment will do" {
  env -i PATH=/usr/bin:/bin LC_ALL=C "$ROOT/.venv/bin/python" "$BIN/ent-agent-identity" --config config.toml </dev/null >out 2>said
  [ "$(field identity key <out)" = "$PLACE/identity/id_ed25519" ]
}
