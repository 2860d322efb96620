"""Records as sentences: what the loop's progress says about them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ent_agent.config import Config
from ent_agent.loop.passes import AGENT_IS_OUT
from ent_agent.loop.progress import Level, Progress, duration, short_ids
from ent_agent.records import ErrorSection, Record, RepositorySection, RunSection, Usage

LEVELS: dict[str, Level] = {"completed": "info", "stuck": "info", "cancelled": "info"}


def of_steps(progress: Progress) -> Callable[[str, str], None]:
    """Passes on what a step says on stderr."""
    return lambda step, text: progress.say("said", f"{step}: {text}", step=step)


def failed(progress: Progress, step: str, error: ErrorSection, issue: str = "") -> None:
    progress.say(
        "failed",
        f"{step}: {error.message}" + (f" ({error.hint})" if error.hint else ""),
        level="warning" if error.retry else "error",
        issue=issue,
        step=step,
        code=error.code,
        exit_code=error.exit_code,
        resume_at=error.resume_at or None,
    )


def synced(progress: Progress, repository: RepositorySection) -> None:
    issues = f", issues at {repository.issues_head[:8]}" if repository.issues_head else ", no issues yet"
    progress.say(
        "synced",
        f"synced: {repository.default_branch or 'no default branch'} at {repository.head[:8]}{issues}",
        head=repository.head,
        issues_head=repository.issues_head,
    )


def ready(progress: Progress, issues: list[str]) -> None:
    progress.say("ready", f"ready: {', '.join(issue[:8] for issue in issues)}", issues=issues)


def passed_over(progress: Progress, record: Record) -> None:
    if record.issue:
        title = f" — {record.issue.title}" if record.issue.title else ""
        message = f"passed over: {short_ids(record.skipped or '')}{title}"
        progress.say("passed_over", message, issue=record.issue.id, reason=record.skipped)


def would_work(progress: Progress, record: Record) -> None:
    if record.issue:
        message = f"would work on: {record.issue.title} ({record.issue.state})"
        progress.say("would_work", message, issue=record.issue.id, state=record.issue.state)


def begun(progress: Progress, record: Record) -> None:
    if record.issue:
        progress.say("begun", record.issue.title, issue=record.issue.id, state=record.issue.state)


def agent_started(progress: Progress, record: Record, config: Config) -> None:
    if record.issue and record.worktree:
        branch = record.worktree.branch
        made = f"new, from {record.worktree.base}" if record.worktree.created else "taken up again"
        progress.say(
            "agent_started",
            f"claimed; {branch} is checked out ({made}); {Path(config.agent_type).stem} begins"
            f" (`ent-agent-log {record.issue.id[:8]} -f` follows it)",
            issue=record.issue.id,
            branch=branch,
            worktree=record.worktree.path,
        )


def agent_ended(progress: Progress, record: Record) -> None:
    if record.issue and record.run:
        run = record.run
        how = f"exit {run.exit_code}" if run.exit_code is not None else f"signal {run.signal}"
        why = "" if run.ended_by in ("exit", "signal") else f", {run.ended_by}"
        progress.say(
            "agent_ended",
            f"the agent ended{_within(run)} ({how}{why})",
            issue=record.issue.id,
            exit_code=run.exit_code,
            ended_by=run.ended_by,
        )


def ended(progress: Progress, record: Record) -> None:
    """What came of a record that went through finalize."""
    issue = record.issue.id if record.issue else ""
    if record.result:
        result = record.result
        progress.say(
            "ended",
            f"{result.outcome}{_within(record.run)}: {_result(record)}",
            level=LEVELS.get(result.outcome, "warning"),
            issue=issue,
            outcome=result.outcome,
            reason=result.reason or None,
            commits=result.commits,
            pushed=result.pushed,
            handed_to=result.handed_to,
            seconds=ran_seconds(record.run),
            resume_at=(record.error.resume_at if record.error else "") or None,
            **_usage(record.run.usage if record.run else Usage()),
        )
    if record.error and not (record.result and record.result.outcome in AGENT_IS_OUT):
        failed(progress, "not finished", record.error, issue)


def ran_seconds(run: RunSection | None) -> float | None:
    """How long a run took, where both ends are known."""
    if run is None or not (run.started_at and run.ended_at):
        return None
    started, ended = (
        datetime.fromisoformat(at.replace("Z", "+00:00")) for at in (run.started_at, run.ended_at)
    )
    return (ended - started).total_seconds()


def _within(run: RunSection | None) -> str:
    took = ran_seconds(run)
    return "" if took is None else f" in {duration(took)}"


def _result(record: Record) -> str:
    assert record.result
    result = record.result
    parts = [result.reason] if result.reason else []
    if result.commits:
        count = len(result.commits)
        where = f" on {record.worktree.branch}" if record.worktree else ""
        parts.append(
            f"{count} commit{'s' if count > 1 else ''}{where}{'' if result.pushed else ', not pushed'}"
        )
    if result.handed_to:
        parts.append(f"handed to {result.handed_to}")
    if record.error and record.error.resume_at:
        parts.append(f"it goes on at {record.error.resume_at}")
    return ", ".join(parts) or "nothing to hand over"


def _usage(usage: Usage) -> dict[str, int | float | None]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    }
