"""A whole session whose agent, issue and model try to get at every secret, and what comes to be known of them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness import sandbox
from tests.support.model_endpoint import ModelEndpoint, says
from tests.support.served import BOT, REPOSITORY, SECRET, Served

ADMIN = "canary-of-the-admin-4711"
KEY = "canary-key-of-the-provider-4712"
SPARE = "canary-key-of-the-fallback-4713"
VARIABLE = "canary-of-the-environment-4715"
SAMPLE_SECONDS = 0.01

LOOT = r"""
env; export -p; set
for process in /proc/[0-9]*; do
  tr '\0' '\n' < $process/environ; tr '\0' ' ' < $process/cmdline;
done 2>/dev/null | head -c 200000
cat "{folder}/config.toml" "{folder}"/state/credentials/* "{folder}"/server.log 2>&1
grep -a -h canary -r "{folder}/state" --include='*.db*' | head -c 20000
git config --list --show-origin; cat .git ../../control.git/config ../../work.git/config 2>&1
printf 'protocol=http\nhost={host}\n' | timeout 2 git credential fill 2>&1
git -C ../../control.git credential fill < /dev/null 2>&1
echo "${{FORDJENT_SOCKET:-none}}"; ls -la "{folder}" "{folder}/state" ~ 2>&1
true
"""


def rules(served: Served, secrets: list[str]) -> list[Any]:
    folder = str(served.folder)
    quoted = " ".join(secrets)
    loot = LOOT.format(folder=folder, host=served.forge.url.removeprefix("http://"))
    return [
        says("", ("bash", {"command": loot})),
        says(
            "",
            ("read_file", {"path": f"{folder}/config.toml"}),
            ("read_file", {"path": "../../../../../../config.toml"}),
            ("read_file", {"path": "/proc/self/environ"}),
            ("bash", {"command": f"ln -sf '{folder}/config.toml' link; cat link"}),
            ("read_file", {"path": "link"}),
            ("git", {"args": ["config", "--list", "--show-origin"]}),
            ("git", {"args": ["grep", "--no-index", "canary", f"{folder}/config.toml"]}),
            ("git", {"args": ["diff", "--no-index", "hello.py", f"{folder}/config.toml"]}),
            ("forgejo_search_code", {"query": "canary"}),
            ("bash", {"command": "rm -f link"}),
        ),
        says(
            f"What I found: {quoted}",
            ("forgejo_comment", {"body": f"In the open: {quoted}"}),
            ("remember", {"text": f"The secrets are {quoted}"}),
            ("write_file", {"path": "loot.txt", "content": quoted}),
            ("git", {"args": ["add", "-A"]}),
            ("git", {"args": ["commit", "-F", "loot.txt"]}),
            ("forgejo_create_pr", {"title": f"Loot {secrets[1]}", "body": quoted}),
        ),
        says(
            "",
            ("git", {"args": ["reset", "--hard", "origin/main"]}),
            ("write_file", {"path": "hello.py", "content": "GREETING = 'hello'\n"}),
            ("git", {"args": ["commit", "-am", "Greet"]}),
            ("forgejo_create_pr", {"title": f"Greet {secrets[1]}", "body": f"Closes #1 {quoted}"}),
        ),
        says(f"Done: {quoted}"),
    ]


@contextmanager
def sampled(served: Served) -> Iterator[list[str]]:
    """Environment and arguments of all that the server starts, while the block runs."""
    seen: set[str] = set()
    ends = threading.Event()
    assert served.server
    watched = psutil.Process(served.server.pid)
    own = watched.cmdline()
    seen.add(" ".join(own))

    def look() -> None:
        while not ends.wait(SAMPLE_SECONDS):
            for process in _children(watched):
                try:
                    words, environment = process.cmdline(), process.environ()
                    if words[:1] == ["uname"]:  # Python's own, for its module `platform`
                        continue
                    if words == process.cmdline() != own:  # else it was still between fork and exec
                        seen.add(f"{' '.join(words)} {json.dumps(environment)}")
                except psutil.Error:
                    continue

    looking = threading.Thread(target=look)
    looking.start()
    found: list[str] = []
    try:
        yield found
    finally:
        ends.set()
        looking.join()
        found += seen


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


@pytest.mark.parametrize("backend", ["auto", "none"])
def test_no_secret_comes_to_be_known(place: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    if backend == "auto" and sandbox.choose("auto").name == "none":
        pytest.skip("no sandbox can be had here")
    monkeypatch.setenv("NIGHTLY_DEPLOY_TOKEN", VARIABLE)
    with ModelEndpoint() as model, Served(place, []) as served:
        tokens = [served.forge.token(BOT), served.forge.token("reviewer")]
        secrets = [ADMIN, KEY, SPARE, VARIABLE, SECRET, *tokens]
        model.does = rules(served, secrets)
        configure(served, model.url, backend, tokens[1])
        served.start()
        with sampled(served) as processes:
            number = served.bob.open_issue(REPOSITORY, f"Say {ADMIN}", f"What do you think of {KEY}?")
            served.until_state(f"issues/{number}", "completed", "failed", "blocked")
            time.sleep(5 * SAMPLE_SECONDS)
        assert served.state(f"issues/{number}") == "completed"
        assert len(served.bob.pulls(REPOSITORY)) == 1 and len(model.requests) >= 4
        pages(served, number)
        assert served.stop() == 0

        def known_in(text: str) -> list[str]:
            return [secret for secret in secrets if secret in text]

        assert known_in(json.dumps(model.requests)) == []
        assert {one["authorization"] for one in model.headers} == {f"Bearer {KEY}"}
        told = [
            str(one.path) + one.query + json.dumps(one.body) for one in served.forge.log if one.user == BOT
        ]
        assert told and known_in(" ".join(told)) == []
        assert {one[:120]: known_in(one) for one in processes if known_in(one)} == {}
        assert files_with(served, secrets) == []


def configure(served: Served, model_url: str, backend: str, token: str) -> None:
    text = served.config_path.read_text("utf-8")
    text = text.replace("[server]\n", f'[server]\nadmin_token = "{ADMIN}"\n')
    text = text.replace(
        'base_url = "scripted:model.json"',
        f'base_url = "{model_url}"\napi_key = "{KEY}"\nfallback = "spare"',
    )
    text += f'[providers.spare]\nbase_url = "{model_url}"\nmodel = "spare"\napi_key = "{SPARE}"\n'
    text += f'[roles.reviewer]\ntoken = "{token}"\n[sandbox]\nbackend = "{backend}"\n'
    served.config_path.write_text(text, encoding="utf-8")


def pages(served: Served, number: int) -> None:
    """What people are shown is written down too: into the folder, to be searched with the rest."""
    import urllib.request

    for name in ("status", "metrics", "activity", "admin", f"trace/{REPOSITORY}/issues/{number}"):
        asked = urllib.request.Request(
            f"{served.url}/{name}", headers={"Authorization": f"Bearer {ADMIN}", "Accept": "text/html"}
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            (served.folder / f"page-{name.replace('/', '-')}").write_bytes(answer.read())


def files_with(served: Served, secrets: list[str]) -> list[str]:
    """Files that hold one, but for where it belongs, and for what the model itself wrote into its repository."""
    repository = served.folder / "state/repositories/acme/widget"
    allowed = [served.config_path, served.folder / "state/credentials", served.folder / "forge"]
    allowed += [repository / "work.git"]
    found = []
    for path in served.folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and not any(path.is_relative_to(one) for one in allowed):
            data = path.read_bytes()
            found += [f"{path}: {secret[:20]}" for secret in secrets if secret.encode() in data]
    return found
