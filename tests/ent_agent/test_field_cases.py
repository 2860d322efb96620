"""Accidents of the field (docs/field-cases.md) that belong to no single module."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.repositories import repositories
from ent_agent.running import runs
from harness import invocation
from harness.adapter import Adapter
from harness.invocation import Setting
from harness.worktrees.workspace import Workspace
from tests.support.bench import Bench
from tests.support.sample import SPELLING, WELSH, Sample, configuration
from tests.support.ssh_server import SSHD, SshServer

ROOT = Path(__file__).resolve().parents[2]


def test_looking_at_a_worktree_leaves_the_agents_index_and_its_lock_alone(
    place: Path, sample: Sample
) -> None:
    bench = Bench(sample, configuration(place, sample.url))
    bench.start(WELSH)
    bench.write("greet.sh", "changed\n")
    (git_dir,) = (state.of(bench.config).work / "worktrees").iterdir()
    lock = git_dir / "index.lock"
    lock.write_bytes(b"a rebase of the agent's")
    before = (git_dir / "index").stat()
    space = Workspace(bench.control, bench.worktree, state.of(bench.config).index(WELSH))
    head = bench.record.worktree.start  # type: ignore[union-attr]
    assert space.tree(head) != bench.control.objects.tree_of(head)
    assert lock.read_bytes() == b"a rebase of the agent's"
    after = (git_dir / "index").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_gits_of_ours_take_no_lock_that_they_can_do_without(place: Path, sample: Sample) -> None:
    config = configuration(place, sample.url)
    assert repositories.control(config).environment["GIT_OPTIONAL_LOCKS"] == "0"


def test_a_run_leaves_nothing_of_ours_in_the_worktree(place: Path, sample: Sample) -> None:
    """The demo agent commits all that it does; what is there beside it would be ours."""
    config = configuration(place, sample.url)
    words = [sys.executable, "-m", "invoke", "-r", str(ROOT), "loop", "--config", str(config.path), "--once"]
    subprocess.run(words, stdin=subprocess.DEVNULL, check=True, timeout=90, capture_output=True)
    worktree = state.of(config).worktree(SPELLING)
    status = ["git", "status", "--porcelain", "--ignored", "--untracked-files=all"]
    assert subprocess.run(status, cwd=worktree, check=True, capture_output=True).stdout == b""


@pytest.mark.parametrize(
    ("prompt", "fits"),
    [
        ("x" * invocation.ARGUMENT_BYTES, True),
        ("x" * (invocation.ARGUMENT_BYTES + 1), False),
        ("é" * (invocation.ARGUMENT_BYTES // 2 + 1), False),
        ("\n" * 1000, True),
    ],
    ids=["one line as long as may be", "one line too long", "too long in bytes only", "many lines"],
)
def test_bytes_decide_what_argv_can_hold_not_lines(place: Path, prompt: str, fits: bool) -> None:
    adapter = Adapter(command=["true", "{prompt}"], prompt="argument", large_prompt="read {prompt_file}")
    setting = Setting(
        prompt=prompt,
        prompt_file=place / "prompt.md",
        worktree=place,
        git_dir=place,
        git_common_dir=place,
        config_dir=place,
        run_dir=place,
        issue_id="1",
    )
    argument = invocation.prepare(adapter, setting, "/usr/bin:/bin").argv[-1]
    assert argument == (prompt if fits else f"read {place / 'prompt.md'}")
    assert (place / "prompt.md").read_text() == prompt


@pytest.mark.skipif(SSHD is None, reason="sshd is not installed: sudo apt-get install openssh-server")
def test_a_key_that_may_not_write_stops_before_the_agent_starts(place: Path, sample: Sample) -> None:
    script = place / "only read.sh"
    script.write_text(
        '#!/bin/sh\ncase "$SSH_ORIGINAL_COMMAND" in git-receive-pack*) echo "ERROR: read only" >&2; exit 1;; esac\n'
        'eval "$SSH_ORIGINAL_COMMAND"\n'
    )
    script.chmod(0o755)
    with SshServer(place / "sshd") as server:
        config = configuration(place, server.url(sample.origin))
        from ent_agent.repositories import identity

        server.authorize(f"command=\"'{script}'\" {identity.ensure(config).public_key}")
        words = [str(ROOT / "bin/ent-agent-worktree"), "--config", str(config.path), "--issue", WELSH]
        begun = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=90)
    assert begun.returncode == 75
    error = json.loads(begun.stdout)["error"]
    assert error["code"] == "permission_denied" and "write access" in error["hint"]
    assert [run.phase for run in runs.every(config)] in ([], ["claiming"])
