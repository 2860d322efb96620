"""ent-agent-identity: see that the agent has an ssh key."""

from __future__ import annotations

from collections.abc import Iterator

from ent_agent.cli import Step
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.repositories import identity


class Identity(Step):
    """See that the agent has an ssh key; generate one where there is none."""

    PROGNAME = "ent-agent-identity"
    DESCRIPTION_MORE = "Example:  ent-agent-identity | jq -r .identity.public_key"
    needs = ("agent",)

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        record.identity = identity.ensure(config)
        yield record


def main() -> None:
    Identity.start()
