"""Claims that nobody needs any more: swept by whoever sees them stand for long."""

from __future__ import annotations

from ent_agent.claims import observation, standing
from ent_agent.claims.observation import Holder
from ent_agent.config import Config
from ent_agent.repositories import pushing, repositories
from ent_agent.repositories.pushing import Update
from ent_agent.running import runs
from harness.git import Git

SWEEP_AFTER_TTLS = 2


def sweep(config: Config, git: Git) -> list[str]:
    """End the claims of issues that are gone, finished or no agent's; returns their keys.

    They must have stood unchanged for two ttl by our clock, or be of a run of this state
    folder that is over. To be called after a fetch.
    """
    commit = git.resolve(f"{repositories.REMOTE}{config.issues_branch}")
    swept = []
    for key, held in observation.holders(config, git).items():
        if _is_stale(config, held) and standing.not_ours(config, git, commit, held.value.issue):
            ref = config.claims_prefix + key
            if pushing.push(config, git, [Update(ref, None, held.oid)]).ok:
                swept.append(key)
    return swept


def _is_stale(config: Config, held: Holder) -> bool:
    if held.value.released:
        return False
    if held.own:  # a dead run's is ended with it, by `finalize --pending`
        run = runs.find(config, held.value.run)
        return run is not None and run.phase == "finalized"
    return held.unchanged_seconds > SWEEP_AFTER_TTLS * held.value.lasts_seconds
