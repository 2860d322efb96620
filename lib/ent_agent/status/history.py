"""What the runs of an issue printed, newest last; of one that is on, as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.finalization import secrecy
from ent_agent.loop import telling
from ent_agent.loop.progress import duration
from ent_agent.running import runs, workplace
from ent_agent.running.runs import Run
from harness import lock
from harness.errors import BadData
from harness.plain import plain

POLL_SECONDS = 0.3


def of_issue(config: Config, issue: str) -> list[Run]:
    """The runs of the issue that an id or a unique prefix names, oldest first.

    Raises:
        BadData: no run of such an issue is here, or of several.
    """
    found = runs.named(runs.every(config), issue)
    if not found:
        raise BadData(f"issue {issue} was never worked here", hint="`ent-agent-status` shows what was")
    return found


def show(config: Config, run: Run, *, follow: bool = False) -> Iterator[str]:
    """The lines of a run: its head, its output, how it ended. `follow`: wait for what is still to come."""
    redactor = secrecy.redactor(config)
    yield f"==== run {run.id} of issue {run.issue}, {run.created_at}"
    folder = workplace.folder(config, run)
    for label, path in (("setup", folder.setup), ("output", folder.stdout), ("errors", folder.stderr)):
        growing = follow and label == "output"
        head = f"---- {label}: {path}"
        for line in _lines(config, run, path, follow=growing):
            if head:
                yield head
                head = ""
            yield plain(redactor.redact(line))
    yield _ending(config, run)


def is_at_work(config: Config, run: Run) -> bool:
    """Whether a step is at work on the run's issue for it."""
    current = runs.find(config, run.id)
    if current is None or current.phase in ("ran", "finalized"):
        return False
    return not lock.is_free(state.of(config).issue_lock(run.issue))


def _lines(config: Config, run: Run, path: Path, *, follow: bool) -> Iterator[str]:
    """Lines without their ends; while the run is at work, those that are still to come too."""
    rest = b""
    offset = 0
    while True:
        last_look = not follow or not is_at_work(config, run)
        if path.exists():
            with path.open("rb") as file:
                file.seek(offset)
                while chunk := file.read(1 << 20):
                    offset += len(chunk)
                    *whole, rest = (rest + chunk).split(b"\n")
                    yield from (line.decode("utf-8", "replace") for line in whole)
        if last_look:
            break
        time.sleep(POLL_SECONDS)
    if rest:
        yield rest.decode("utf-8", "replace")


def _ending(config: Config, run: Run) -> str:
    record = runs.record(runs.find(config, run.id) or run)
    if record.result is None:
        return "==== at work" if is_at_work(config, run) else "==== not finished; the next loop does it"
    took = telling.ran_seconds(record.run)
    return (
        f"==== {record.result.outcome}"
        + (f" in {duration(took)}" if took is not None else "")
        + (f": {plain(record.result.reason)}" if record.result.reason else "")
    )
