"""ent-agent-sync: bring our copy of the repository level with origin."""

from __future__ import annotations

from collections.abc import Iterator

from ent_agent.cli import Step
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.repositories import syncing


class Sync(Step):
    """Fetch from origin, and bring the entomologist branch level in both directions."""

    PROGNAME = "ent-agent-sync"
    DESCRIPTION_MORE = "Example:  ent-agent-identity | ent-agent-sync | jq .repository"
    needs = ("agent", "identity")

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        yield syncing.sync(record, config)


def main() -> None:
    Sync.start()
