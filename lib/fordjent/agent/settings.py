"""What `fordjent-agent` reads of a config.toml: the providers, and how an agent works. Nothing else of it is
looked at, so that it can be another's file, with another's secrets."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from fordjent.config import Agent, Provider
from harness import config as toml
from harness.config import AgentEnvironment, Sandbox, Table
from harness.errors import BadConfig


class Settings(Table, frozen=True, dict=True):
    """`path` is where they were read from."""

    providers: dict[str, Provider]
    agent: Agent = Agent()
    agent_environment: AgentEnvironment = AgentEnvironment()
    sandbox: Sandbox = Sandbox()

    @cached_property
    def path(self) -> Path:
        return Path("config.toml").absolute()  # replaced by `load`

    def place(self, value: str) -> Path:
        """A path named in the file: ~ expanded, relative ones below the file's own folder."""
        return self.path.parent / Path(value).expanduser()

    def secrets(self) -> list[str]:
        return [provider.api_key for provider in self.providers.values() if provider.api_key]


def load(given: str | None = None) -> Settings:
    """
    Raises:
        BadConfig: no file, or what it says of these cannot work; names file and key.
    """
    path = toml.locate(given)
    document = toml.read(path)
    mine = {name: document[name] for name in Settings.__struct_fields__ if name in document}
    if not mine.get("providers"):
        raise BadConfig(f"{path}: providers: at least one, as [providers.main]")
    settings = toml.convert(path, toml.expand(path, mine), Settings, hint="config.toml.example has every key")
    settings.__dict__["path"] = path
    return settings
