"""What is remembered of earlier runs: attempts and back-off of each issue, and the agent's pauses and budget.

On disk, since cron starts us anew each time. The rules are functions of values; the
wall clock may jump: a wait that seems longer than it was ever made has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from ent_agent import state
from ent_agent.config import Config
from harness import atomic, lock
from harness.clock import timestamp
from harness.config import seconds

LONGEST_BACKOFF_SECONDS = 86400.0
FIRST_PAUSE_SECONDS = 900.0
"""Where the agent does not say when its quota is back, or needs a login; doubled as long as that lasts."""
LONGEST_PAUSE_SECONDS = 7200.0
LONGEST_QUOTA_SECONDS = 8 * 86400.0
"""A later time that an agent names is not believed."""
HOUR_SECONDS = 3600.0
DAY_SECONDS = 86400.0
REMEMBERED_TREES = 50

PauseKind = Literal["", "quota", "auth"]


class IssueFile(msgspec.Struct, kw_only=True):
    """What one issue's earlier runs came to."""

    failed_attempts: int = 0
    """Since a person last changed the issue; a run counts from before it starts."""
    counted_run: str = ""
    """The run whose attempt is counted and not settled yet."""
    last_run: str = ""
    not_before: str = ""
    """RFC 3339: until then the back-off lasts."""
    own_trees: list[str] = []
    """The issue's folder in the tracker (tree ids) as we took it up or published it, newest last."""
    handed_back_tree: str = ""
    """The same, as our last hand-back left it."""


class Start(msgspec.Struct, kw_only=True):
    """A run that was started; `at` is RFC 3339."""

    run: str
    at: str
    cost_usd: float = 0.0


class AgentFile(msgspec.Struct, kw_only=True):
    """What concerns the agent as a whole, on this repository."""

    paused: PauseKind = ""
    paused_at: str = ""
    resume_at: str = ""
    pauses: int = 0
    """In a row, without a run between them that got through."""
    told: list[PauseKind] = []
    """What people were told of since then: once for each cause, not at each try."""
    starts: list[Start] = []
    """Of the last day."""


# ---- rules


def backoff_seconds(failed_attempts: int, config: Config) -> float:
    """How long to wait after that many failures: `limits.backoff`, doubled by each further one."""
    if failed_attempts < 1:
        return 0.0
    return min(seconds(config.limits.backoff) * 2.0 ** min(failed_attempts - 1, 30), LONGEST_BACKOFF_SECONDS)


def was_changed_by_a_person(known: IssueFile, tree: str) -> bool:
    """Whether the issue is not as we left it; `tree` is its folder in the tracker now."""
    return bool(known.own_trees) and tree not in known.own_trees


def failures(known: IssueFile, tree: str) -> int:
    """Failed attempts that still count."""
    return 0 if was_changed_by_a_person(known, tree) else known.failed_attempts


def waits_until(known: IssueFile, tree: str, now: float, config: Config) -> str:
    """When the back-off ends; "" when there is none."""
    if not known.not_before or was_changed_by_a_person(known, tree):
        return ""
    left = _epoch(known.not_before) - now
    return known.not_before if 0 < left <= backoff_seconds(known.failed_attempts, config) + 1 else ""


def pause(known: AgentFile, now: float) -> tuple[PauseKind, str]:
    """Why the agent is not to be started, and until when (RFC 3339); ("", "") when it may be."""
    over = not known.paused or now >= _epoch(known.resume_at) or now < _epoch(known.paused_at) - 60
    return ("", "") if over else (known.paused, known.resume_at)


def recent_starts(known: AgentFile, now: float) -> list[Start]:
    """Runs of the last hour."""
    return _within(known, now, HOUR_SECONDS)


def cost_today(known: AgentFile, now: float) -> float:
    """US dollars of the runs that were started since midnight UTC."""
    return sum(start.cost_usd for start in known.starts if start.at[:10] == timestamp(now)[:10])


def spent(known: AgentFile, now: float, config: Config) -> str:
    """Which limit of config.toml allows no further run now, as a sentence; "" when none does."""
    limits, starts = config.limits, recent_starts(known, now)
    if len(starts) >= limits.max_runs_per_hour:
        oldest = min(_epoch(start.at) for start in starts)
        return f"limits.max_runs_per_hour: {len(starts)} runs in the last hour; the next from {timestamp(oldest + HOUR_SECONDS)}"
    cost = cost_today(known, now)
    if limits.max_cost_usd_per_day and cost >= limits.max_cost_usd_per_day:
        return f"limits.max_cost_usd_per_day: {cost:.2f} of {limits.max_cost_usd_per_day:.2f} USD are spent today (UTC)"
    return ""


# ---- what happened


def of_issue(config: Config, issue_id: str) -> IssueFile:
    return atomic.read_json(state.of(config).issue_file(issue_id), IssueFile, IssueFile())


def of_issues(config: Config, ids: Iterable[str]) -> dict[str, IssueFile]:
    """`of_issue` of many, most of which were never worked."""
    folder = state.of(config).issue_files
    there = {path.stem for path in folder.iterdir()} if folder.is_dir() else set()
    return {one: of_issue(config, one) if state.key(one) in there else IssueFile() for one in ids}


def of_agent(config: Config) -> AgentFile:
    return atomic.read_json(_agent_path(config), AgentFile, AgentFile())


def count_attempt(config: Config, issue_id: str, run_id: str, tree: str, now: float) -> int:
    """Count a run before its agent starts; once per run. Returns the failures before it.

    `tree` is the issue's folder in the tracker as the run takes it up.
    """
    with _agent(config) as agent:
        if all(start.run != run_id for start in agent.starts):
            agent.starts = [*_within(agent, now, DAY_SECONDS), Start(run=run_id, at=timestamp(now))]
    with _issue(config, issue_id) as known:
        if known.counted_run != run_id:
            known.failed_attempts = failures(known, tree) + 1
            known.counted_run = known.last_run = run_id
            known.own_trees = _with(known.own_trees, tree)
        return known.failed_attempts - 1


def give_back(config: Config, issue_id: str, run_id: str) -> None:
    """The run's attempt does not count after all: quota, login, a signal, a cancellation."""
    with _issue(config, issue_id) as known:
        if known.counted_run == run_id:
            known.failed_attempts = max(known.failed_attempts - 1, 0)
            known.counted_run = ""


def record_failure(config: Config, issue_id: str, run_id: str, now: float) -> int:
    """The run's attempt failed: its back-off begins. Returns the failures that count now."""
    with _issue(config, issue_id) as known:
        if known.counted_run == run_id:
            known.counted_run = ""
            known.not_before = timestamp(now + backoff_seconds(known.failed_attempts, config))
        return known.failed_attempts


def record_success(config: Config, issue_id: str, run_id: str) -> None:
    """The run came to something: the issue's count starts anew, and a pause of the agent is over."""
    with _issue(config, issue_id) as known:
        if known.last_run == run_id:
            known.failed_attempts = 0
            known.counted_run = known.not_before = ""
    lift_pause(config)


def note_publication(
    config: Config, issue_id: str, *, before: str, after: str, handed_back: bool = False
) -> None:
    """We are about to publish a change of the issue; to be said before each such push.

    `before` and `after` are its folder in the tracker as origin has it, and as we leave
    it. Where `before` is none that we left, a person was there between, and the count
    starts anew with the run that is on.
    """
    with _issue(config, issue_id) as known:
        if was_changed_by_a_person(known, before):
            known.failed_attempts = 1 if known.counted_run else 0
            known.not_before = ""
        known.own_trees = _with(known.own_trees, after)
        if handed_back:
            known.handed_back_tree = after


def pause_agent(config: Config, kind: PauseKind, now: float, resume_at: str = "") -> str:
    """Start no agent until `resume_at`, or for a quarter of an hour and longer each time. Returns until when."""
    with _agent(config) as known:
        length = min(FIRST_PAUSE_SECONDS * 2.0 ** min(known.pauses, 10), LONGEST_PAUSE_SECONDS)
        told = _epoch(resume_at)
        until = min(told, now + LONGEST_QUOTA_SECONDS) if told > now else now + length
        known.pauses += 1
        known.paused, known.paused_at, known.resume_at = kind, timestamp(now), timestamp(until)
        return known.resume_at


def lift_pause(config: Config) -> None:
    if of_agent(config).pauses:
        with _agent(config) as known:
            known.paused, known.paused_at, known.resume_at, known.pauses, known.told = "", "", "", 0, []


def note_told(config: Config, kind: PauseKind) -> None:
    """People know why the agent is paused, until that is over."""
    with _agent(config) as known:
        known.told = [*known.told, kind]


def record_cost(config: Config, run_id: str, cost_usd: float) -> None:
    """What a run cost in all."""
    with _agent(config) as known:
        for start in known.starts:
            if start.run == run_id:
                start.cost_usd = cost_usd


def _agent_path(config: Config) -> Path:
    return state.of(config).root / "agent.json"


@contextmanager
def _issue(config: Config, issue_id: str) -> Iterator[IssueFile]:
    """The issue's file, written back at the end. The caller holds the issue's lock."""
    known = of_issue(config, issue_id)
    before = msgspec.json.encode(known)
    yield known
    if msgspec.json.encode(known) != before:
        atomic.write_json(state.of(config).issue_file(issue_id), known)


@contextmanager
def _agent(config: Config) -> Iterator[AgentFile]:
    """The agent's file, written back at the end, under a lock of its own: several runs share it."""
    path = _agent_path(config)
    with lock.held(path.with_suffix(".lock"), timeout_seconds=30.0, what="the agent's file"):
        known = of_agent(config)
        yield known
        atomic.write_json(path, known)


def _epoch(moment: str) -> float:
    """Seconds since the epoch of an RFC 3339 time; long ago when it cannot be read."""
    try:
        when = datetime.fromisoformat(moment)
    except ValueError:
        return 0.0
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _within(known: AgentFile, now: float, length_seconds: float) -> list[Start]:
    """The starts of a length of time before now, or after it: the clock may have been put back."""
    return [start for start in known.starts if abs(now - _epoch(start.at)) < length_seconds]


def _with(trees: list[str], tree: str) -> list[str]:
    return [*(known for known in trees if known != tree), tree][-REMEMBERED_TREES:]
