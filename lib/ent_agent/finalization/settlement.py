"""What a run's verdict means for the next ones: its attempt, its cost, and whether the agent may go on."""

from __future__ import annotations

import time

from ent_agent.config import Config
from ent_agent.finalization.outcome import FINISHED, Verdict
from ent_agent.records import Record
from ent_agent.running import runs
from ent_agent.running.runs import Ending, Run
from ent_agent.selection import attempts
from harness.errors import NotLoggedIn, TryLater


def settle(config: Config, run: Run, record: Record, ending: Ending) -> None:
    """Count the attempt as failed, as a success, or not at all; repeatable."""
    verdict = run.verdict
    assert verdict
    if ending.not_ours and verdict.outcome != "cancelled":  # a person was faster than the verdict
        verdict = Verdict("cancelled", f"the issue {ending.not_ours}")
        runs.update(config, run, verdict=verdict)
    if record.run and record.run.usage.cost_usd is not None:
        attempts.record_cost(config, run.id, record.run.usage.cost_usd)
    if verdict.outcome in FINISHED:
        attempts.record_success(config, run.issue, run.id)
    elif verdict.counts:
        attempts.record_failure(config, run.issue, run.id, time.time())
    else:
        attempts.give_back(config, run.issue, run.id)


def stop_of_the_agent(config: Config, record: Record, verdict: Verdict) -> TryLater | NotLoggedIn | None:
    """What keeps the agent from being started at all, noted for the next starts; None: nothing."""
    if verdict.outcome == "quota":
        resume_at = record.run.resume_at if record.run else ""
        return TryLater(
            verdict.reason,
            hint="the issue stays as it is, and is taken up again by itself",
            code="agent_quota",
            resume_at=attempts.pause_agent(config, "quota", time.time(), resume_at),
        )
    if verdict.outcome == "auth":
        attempts.pause_agent(config, "auth", time.time())
        return NotLoggedIn(
            verdict.reason, hint="log in once by hand, with the agent's own command and agent_config_dir"
        )
    return None
