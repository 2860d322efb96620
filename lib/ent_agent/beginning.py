"""The first records of a pipeline, when a step is started without any: made from config.toml."""

from __future__ import annotations

from collections.abc import Iterator

from ent_agent.config import Config
from ent_agent.records import AgentSection, Record


def records(config: Config, needs: tuple[str, ...]) -> Iterator[Record]:
    """One record with the sections of `needs` that come before an issue is chosen.

    agent, identity and repository are made by the steps that own them; `issue` and
    later ones are chosen by the step's own options (`--issue`).
    """
    record = Record(
        agent=AgentSection(
            id=config.id,
            name=config.agent_name,
            email=config.agent_email,
            aliases=list(config.assignee_aliases),
        )
    )
    yield record
