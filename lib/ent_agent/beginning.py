"""The first records of a pipeline, when a step is started without any: made from config.toml."""

from __future__ import annotations

from collections.abc import Iterator

from ent_agent.config import Config
from ent_agent.records import AgentSection, Record
from harness.errors import BadData


def records(config: Config, needs: tuple[str, ...], issue: str = "") -> Iterator[Record]:
    """One record with the sections of `needs`, made by the steps that own them.

    `issue` (an id or a unique prefix) stands for the sections that come from choosing one.

    Raises:
        Failure: what the owning steps raise.
    """
    record = Record(
        agent=AgentSection(
            id=config.id,
            name=config.agent_name,
            email=config.agent_email,
            aliases=list(config.assignee_aliases),
        )
    )
    if "identity" in needs or "repository" in needs or issue:
        from ent_agent.repositories import identity

        record.identity = identity.ensure(config)
    if "repository" in needs or issue:
        from ent_agent.repositories import syncing

        record.repository = syncing.last(config)
        if record.repository is None:
            record = syncing.sync(record, config)
    yield choose(record, config, needs, issue) if issue else record


def choose(record: Record, config: Config, needs: tuple[str, ...], issue: str) -> Record:
    """`record` with the issue that an id or a unique prefix names, as far as `needs` asks.

    Raises:
        BadData: no such issue, or several; or it has no run that a later step could go on with.
        Busy: somebody else is at it.
    """
    if "worktree" not in needs:
        from ent_agent.selection import selection

        return selection.pick(record, config, issue)
    from ent_agent.running import runs

    begun = runs.named(runs.pending(config), issue)
    if not begun:
        raise BadData(
            f"issue {issue} has no run that was begun here",
            hint=f"begin one with `ent-agent-worktree --issue {issue}`",
        )
    return runs.record(begun[-1])
