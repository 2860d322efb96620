"""kill -9 of everything right after any effect, then one more run: the same end as without it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from ent_agent import state
from ent_agent.config import Config
from ent_agent.finalization import finalization
from ent_agent.running import runs
from ent_agent.selection import attempts
from harness import effects
from harness.git import Git
from harness.worktrees import registrations
from tests.support import host_loop
from tests.support.sample import GOODBYE, SPELLING, WELSH, Sample, configuration

EFFECTS = (
    "run-created",
    "claim-recorded",
    "claim-pushed",
    "claim-confirmed",
    "run-claimed",
    "run-in-progress",
    "run-counted",
    "run-started",
    "agent-ended",
    "run-ended",
    "commits-brought-home",
    "left-overs-committed",
    "claim-resumed",
    "verdict-recorded",
    "ending-recorded",
    "claim-released",
    "ending-pushed",
    "attempt-settled",
    "worktree-settled",
    "finalized",
    "notified",
)
ONE_BY_ONE = ("ending-recorded", "branch-pushed", "data-pushed", "claim-released", "ending-pushed")


class End(NamedTuple):
    """What a person sees at the end."""

    branch: list[str]
    log: list[str]
    state: tuple[str | None, str | None]
    comments: list[str]
    claims: list[str]
    failed_attempts: int
    unfinished: list[str]
    worktree: str


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    """One issue is the agent's."""
    for other in (GOODBYE, SPELLING):
        sample.change({f"{other}/assignee": b"alice"})
    notice = f"""[notify]\ncommand = ["sh", "-c", "cat >> '{place}/notices'"]\n"""
    return configuration(place, sample.url, notice)


def killed_at(effect: str, config: Config, *, fails: bool = False) -> bool:
    """Whether a run in a process group of its own was killed at the effect."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.environ[effects.STOP_AT] = effect
            host_loop.passes(config, fails=fails)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def end(sample: Sample, config: Config) -> End:
    branch = f"robo/{WELSH}"
    [worktree] = registrations.every(state.of(config).work)
    git = Git(worktree.folder)
    return End(
        branch=sample.files(branch),
        log=sample.git.lines("log", "--format=%s", f"main..refs/heads/{branch}"),
        state=(sample.read(f"{WELSH}/state"), sample.read(f"{WELSH}/assignee")),
        comments=sorted(text.split("\n")[0] for text in sample.comments(WELSH)),
        claims=list(sample.git.refs("refs/ent-agent/claims/")),
        failed_attempts=attempts.of_issue(config, WELSH).failed_attempts,
        unfinished=[run.id for run in runs.every(config) if run.phase != "finalized"],
        worktree=git.text(f"--work-tree={worktree.path}", "status", "--porcelain", "--branch"),
    )


FINISHED = End(
    branch=["README.md", "greet.sh", "left-over.txt", "work.txt"],
    log=["Greet in Welsh", "Work"],
    state=("blocked", "Alice Ångström <alice@example.org>"),
    comments=["Handed back for review: the agent said that it is done.", "Looked at it."],
    claims=[],
    failed_attempts=0,
    unfinished=[],
    worktree=f"## robo/{WELSH}",
)


def test_a_run_without_a_kill_comes_to_this_end(sample: Sample, config: Config, place: Path) -> None:
    assert host_loop.passes(config) == 1
    assert end(sample, config) == FINISHED
    assert (place / "notices").read_text().count('"notice":"handed_over"') == 1


@pytest.mark.parametrize("effect", EFFECTS)
def test_killed_after(effect: str, sample: Sample, config: Config) -> None:
    assert killed_at(effect, config)
    host_loop.passes(config)
    found = end(sample, config)
    # A second agent finds the first one's work: what it left is then committed as work in progress.
    assert found._replace(log=[line.removeprefix("WIP: ") for line in found.log]) == FINISHED
    assert list(finalization.pending(config)) == []


@pytest.mark.parametrize("effect", ONE_BY_ONE)
def test_killed_without_atomic_pushes_after(effect: str, sample: Sample, config: Config) -> None:
    sample.git.run("config", "receive.advertiseAtomic", "false")
    assert killed_at(effect, config)
    host_loop.passes(config)
    assert end(sample, config) == FINISHED


@pytest.mark.parametrize(
    "effect", ["verdict-recorded", "ending-recorded", "ending-pushed", "attempt-settled"]
)
def test_a_failed_attempt_counts_once_killed_after(effect: str, sample: Sample, config: Config) -> None:
    assert killed_at(effect, config, fails=True)
    host_loop.finish_dead(config)
    known = attempts.of_issue(config, WELSH)
    assert (known.failed_attempts, bool(known.not_before)) == (1, True)
    assert sample.git.refs("refs/ent-agent/claims/") == {}
    assert sample.read(f"{WELSH}/assignee") == "Robo"


def test_several_kills_in_a_row_come_to_the_same_end(sample: Sample, config: Config) -> None:
    for effect in ("claim-pushed", "run-counted", "ending-recorded", "ending-pushed", "worktree-settled"):
        assert killed_at(effect, config)
    host_loop.passes(config)
    assert end(sample, config) == FINISHED
