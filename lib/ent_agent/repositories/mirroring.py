"""What the agents see of origin: all but the claims."""

from __future__ import annotations

from ent_agent.config import Config
from ent_agent.repositories.repositories import REMOTE, pair


def mirror(config: Config) -> None:
    """Show the agents origin's branches and tags: work.git's remote-tracking refs are control.git's."""
    ours = pair(config)
    ours.mirror([name for name in ours.git.refs(REMOTE) if _is_claim(config, name)])


def _is_claim(config: Config, tracking: str) -> bool:
    """Whether a remote-tracking branch is a claim (`claims_prefix` below refs/heads/)."""
    return tracking.replace(REMOTE, "refs/heads/", 1).startswith(config.claims_prefix)
