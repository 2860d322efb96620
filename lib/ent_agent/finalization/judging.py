"""The verdict on a run: the facts gathered, judged once, and written down before anything is published."""

from __future__ import annotations

import msgspec

from ent_agent.claims import standing
from ent_agent.config import Config
from ent_agent.finalization import secrecy
from ent_agent.finalization.outcome import Facts, Verdict, judge
from ent_agent.finalization.saving import Saved
from ent_agent.records import Record, RunSection
from ent_agent.repositories import repositories
from ent_agent.running import runs
from ent_agent.running.runs import Run
from harness.effects import reached
from harness.git import Git


def verdict(config: Config, git: Git, run: Run, record: Record, saved: Saved | None) -> Verdict:
    """What came of the run: as it was decided before a kill, else decided now, by origin's last fetch."""
    if run.verdict is None:
        found = _judged(config, git, run, record, saved)
        plain = msgspec.structs.replace(found, reason=secrecy.redactor(config).redact(found.reason))
        runs.update(config, run, verdict=plain)
        reached("verdict-recorded")
    assert run.verdict
    return run.verdict


def _judged(config: Config, git: Git, run: Run, record: Record, saved: Saved | None) -> Verdict:
    if run.phase == "running":
        return Verdict("cancelled", "the run was killed; what it left is saved")
    if run.phase != "ran" or record.run is None or saved is None:
        why = f": {record.error.message}" if record.error else ""
        return Verdict("failed", f"the agent was not started{why}")
    data = git.resolve(f"{repositories.REMOTE}{config.issues_branch}")
    return judge(_facts(config, record.run, saved, standing.not_ours(config, git, data, run.issue)))


def _facts(config: Config, ran: RunSection, saved: Saved, not_ours: str) -> Facts:
    to = saved.line.assignee if saved.line and saved.line.changed_assignee else None
    return Facts(
        ended_by=ran.ended_by,
        exit_code=ran.exit_code,
        signal=ran.signal,
        reported=ran.reported,
        commits=saved.commits,
        left_overs=saved.left_overs,
        ahead=saved.ahead,
        statement=saved.statement,
        last_words=saved.last_words,
        handed_over=bool(to) and not config.is_agent(to),
        not_ours=not_ours,
    )
