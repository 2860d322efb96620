"""ent-agent's keys of config.toml."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec

from harness import config as toml
from harness.config import AgentEnvironment, Duration, Sandbox, SecretScan, Table
from harness.errors import BadConfig
from harness.git import Person

FORDJENT_NAMES = frozenset(
    (
        "server",
        "webhook",
        "forgejo",
        "state",
        "sessions",
        "agent",
        "providers",
        "roles",
        "policy",
        "verify",
        "budget",
        "memory",
        "log",
    )
)

Count = Annotated[int, msgspec.Meta(ge=0)]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
Money = Annotated[float, msgspec.Meta(ge=0)]
Filled = Annotated[str, msgspec.Meta(min_length=1)]


class Limits(Table, frozen=True):
    agent_timeout: Duration = "2h"
    silence_timeout: Duration = "20m"
    kill_grace: Duration = "10s"
    max_attempts: AtLeastOne = 3
    backoff: Duration = "1m"
    max_turns: Count = 0
    max_runs_per_hour: AtLeastOne = 20
    max_cost_usd: Money = 0.0
    max_cost_usd_per_day: Money = 0.0
    max_file_bytes: AtLeastOne = 10485760
    max_left_over_files: AtLeastOne = 10_000


class Loop(Table, frozen=True):
    interval: Duration = "60s"
    retry_delay: Duration = "60s"
    jobs: AtLeastOne = 1
    max_retries: Count = 5


class Worktree(Table, frozen=True):
    setup: list[str] = []
    setup_timeout: Duration = "15m"


class Notify(Table, frozen=True):
    command: list[str] = []


class Config(Table, frozen=True, dict=True):
    """The whole of it; `path` is where it was read from."""

    ssh_key_dir: Filled
    repo_url: Filled
    agent_name: Filled
    agent_email: Filled
    agent_type: Filled = "hermes"
    agent_config_dir: str = ""
    agent_id: str = ""
    assignee_aliases: list[str] = []
    state_dir: Filled = "~/.local/state/ent-agent"
    base_branch: str = ""
    agents_dir: str = ""
    prompts_dir: str = ""
    issues_branch: Filled = "entomologist-data"
    claims_prefix: Filled = "refs/ent-agent/claims/"
    reviewer: str = ""
    handler: str = ""
    sign_commits: bool = False
    model: str = ""
    limits: Limits = Limits()
    loop: Loop = Loop()
    worktree: Worktree = Worktree()
    notify: Notify = Notify()
    agent_environment: AgentEnvironment = msgspec.field(default_factory=AgentEnvironment)
    sandbox: Sandbox = Sandbox()
    secret_scan: SecretScan = SecretScan()

    @cached_property
    def path(self) -> Path:
        return Path("config.toml").absolute()  # replaced by `load`

    @cached_property
    def id(self) -> str:
        """First part of branch names: `agent_id`, else `agent_name` as a slug."""
        return self.agent_id or slug(self.agent_name)

    @property
    def person(self) -> Person:
        return Person(self.agent_name, self.agent_email)

    @property
    def data_ref(self) -> str:
        return f"refs/heads/{self.issues_branch}"

    def folder(self, value: str) -> Path:
        """A folder named in config.toml: ~ expanded, relative ones below the file's own folder."""
        return self.path.parent / Path(value).expanduser()

    def is_agent(self, assignee: str | None) -> bool:
        """Whether an assignee's text means this agent: id, name, email, `Name <email>` or an alias."""
        return bool(assignee) and assignee in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        person = str(self.person)
        return frozenset((self.id, self.agent_name, self.agent_email, person, *self.assignee_aliases))


def load(given: str | None = None) -> Config:
    """The configuration that `--config`, the environment or the current folder names.

    Raises:
        BadConfig: missing, malformed, or a value that cannot work; names file and key.
    """
    path = toml.locate(given)
    config = toml.take(path, toml.read(path), Config, FORDJENT_NAMES)
    config.__dict__["path"] = path
    _check(config)
    return config


def _check(config: Config) -> None:
    def wrong(key: str, why: str) -> BadConfig:
        return BadConfig(f"{config.path}: {key}: {why}")

    if (
        not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", config.id)
        or config.id.endswith((".lock", "."))
        or ".." in config.id
    ):
        raise wrong(
            "agent_id", f"{config.id!r} must be lower-case letters, digits, - and _ (it starts branch names)"
        )
    for key in ("agent_name", "agent_email"):
        value: str = getattr(config, key)
        if any(c in value for c in "<>\n\0") or not value.strip():
            raise wrong(
                key, "must not be blank nor have <, > or line ends (git does not take them in an identity)"
            )
    for key in ("ssh_key_dir", "state_dir"):
        if "\n" in getattr(config, key):
            raise wrong(key, "has a line end")
    prefix = config.claims_prefix
    if not re.fullmatch(r"refs/[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+", prefix) or not prefix.endswith(("/", "-")):
        raise wrong("claims_prefix", "must be like refs/ent-agent/claims/ and end in / or -")
    if "://" in config.repo_url and "@" in config.repo_url.split("://", 1)[1].split("/", 1)[0]:
        authority = config.repo_url.split("://", 1)[1].split("/", 1)[0]
        if ":" in authority.rsplit("@", 1)[0]:
            raise wrong(
                "repo_url", "holds a password; use ssh, or a git credential helper, so that it stands nowhere"
            )


def slug(name: str) -> str:
    """`name` in lower-case ASCII letters, digits and dashes: "Zoë B." -> "zoe-b"."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
