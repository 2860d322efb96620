"""Fordjent's keys of config.toml."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from harness import config as toml
from harness import shipped
from harness.config import AgentEnvironment, Duration, Sandbox, SecretScan, Table
from harness.errors import BadConfig
from harness.git import Person

ENT_AGENT_NAMES = frozenset(
    (
        "ssh_key_dir",
        "repo_url",
        "agent_name",
        "agent_email",
        "agent_type",
        "agent_id",
        "assignee_aliases",
        "state_dir",
        "base_branch",
        "issues_branch",
        "claims_prefix",
        "reviewer",
        "handler",
        "sign_commits",
        "model",
        "limits",
        "loop",
        "worktree",
        "notify",
    )
)

EXAMPLE_SECRETS = frozenset(("change-me-in-production", "changeme", "secret"))

Count = Annotated[int, msgspec.Meta(ge=0)]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
Money = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
Filled = Annotated[str, msgspec.Meta(min_length=1)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]


class Server(Table, frozen=True):
    host: Filled = "127.0.0.1"
    port: Port = 8080
    admin_token: str = ""
    max_body_bytes: AtLeastOne = 10485760
    public_url: str = ""


class Webhook(Table, frozen=True):
    secret: Filled


class Forgejo(Table, frozen=True):
    url: Filled
    token: Filled
    bot_logins: list[str] = msgspec.field(default_factory=lambda: ["fordjent[bot]", "fordjent-bot"])
    allowed_senders: list[str] = []
    requests_per_minute: AtLeastOne = 600


class State(Table, frozen=True):
    dir: Filled = "~/.local/state/fordjent"
    database: str = ""


class Sessions(Table, frozen=True):
    agent_type: Filled = "builtin"
    max_sessions: AtLeastOne = 10
    idle_timeout: Duration = "4h"
    run_timeout: Duration = "60m"
    shutdown_grace: Duration = "30s"
    coalesce: Duration = "2s"
    max_runs_per_hour: AtLeastOne = 12
    max_retries: Count = 2
    retry_delay: Duration = "5m"
    require_role: bool = False
    reconcile_interval: Duration = "5m"


class Agent(Table, frozen=True):
    context_window: AtLeastOne = 128000
    compaction_threshold: Share = 0.8
    compaction: Literal["truncate", "summary"] = "truncate"
    commit_prefix: str = "[agent-automation]"
    max_sub_issues: AtLeastOne = 8


class Provider(Table, frozen=True):
    """One model endpoint. `base_url` "scripted:PATH" is the shipped scripted model (models/scripted.py).

    Prices: None is not known here, 0 is free.
    """

    base_url: Filled
    model: Filled
    api_key: str = ""
    max_tokens: AtLeastOne = 16384
    temperature: float | None = 0.3
    timeout: Duration = "120s"
    max_retries: Count = 4
    retry_base_delay: Duration = "2s"
    retry_max_delay: Duration = "60s"
    max_concurrent: AtLeastOne = 3
    system_role: bool = True
    parallel_tools: bool = True
    input_usd_per_million: Money | None = None
    cached_usd_per_million: Money | None = None
    output_usd_per_million: Money | None = None
    fallback: str = ""


class Role(Table, frozen=True):
    provider: str = ""
    max_turns: Count = 0
    tools: list[str] = []
    prompt: str = ""
    token: str = ""


class Policy(Table, frozen=True):
    merge: Literal["human", "auto"] = "human"
    merge_queue: Literal["overlap", "conflict"] = "overlap"
    ci_timeout: Duration = "60m"
    protected_branches: list[str] = msgspec.field(default_factory=lambda: ["main", "master"])


class Verify(Table, frozen=True):
    commands: list[str] = []
    timeout: Duration = "15m"


class Budget(Table, frozen=True):
    session: Money = 0.0
    repository: Money = 0.0
    month: Money = 0.0


class Memory(Table, frozen=True):
    """`compaction_time`: of the day, local; "": never. `compaction_path`: a folder of each repository."""

    compaction_time: str = "02:00"
    compaction_path: str = "docs/issues"


class Log(Table, frozen=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "text", "json"] = "auto"


class Config(Table, frozen=True, dict=True):
    """The whole of it; `path` is where it was read from."""

    webhook: Webhook
    forgejo: Forgejo
    providers: dict[str, Provider]
    agent_config_dir: str = ""
    agents_dir: str = ""
    prompts_dir: str = ""
    server: Server = Server()
    state: State = State()
    sessions: Sessions = Sessions()
    agent: Agent = Agent()
    roles: dict[str, Role] = {}
    policy: Policy = Policy()
    verify: Verify = Verify()
    budget: Budget = Budget()
    memory: Memory = Memory()
    log: Log = Log()
    agent_environment: AgentEnvironment = msgspec.field(default_factory=AgentEnvironment)
    sandbox: Sandbox = Sandbox()
    secret_scan: SecretScan = SecretScan()

    @cached_property
    def path(self) -> Path:
        return Path("config.toml").absolute()  # replaced by `load`

    def folder(self, value: str) -> Path:
        """A folder named in config.toml: ~ expanded, relative ones below the file's own folder."""
        return self.path.parent / Path(value).expanduser()

    @property
    def state_dir(self) -> Path:
        return self.folder(self.state.dir)

    @property
    def database_url(self) -> str:
        """For SQLAlchemy."""
        return self.state.database or f"sqlite:///{self.state_dir / 'fordjent.db'}"

    @property
    def first_provider(self) -> str:
        return next(iter(self.providers))

    @property
    def person(self) -> Person:
        """Who commits, until the forge has told the bot's own name and address."""
        return Person("Fordjent", "fordjent@noreply.invalid")

    def secrets(self) -> list[str]:
        """Every value in it that must show up nowhere: for the redactor."""
        found = [self.webhook.secret, self.forgejo.token, self.server.admin_token]
        found += [provider.api_key for provider in self.providers.values()]
        found += [role.token for role in self.roles.values()]
        database = urlsplit(self.state.database).password or ""
        return [value for value in (*found, database) if value]


def load(given: str | None = None) -> Config:
    """The configuration that `--config`, the environment or the current folder names.

    Raises:
        BadConfig: missing, malformed, or a value that cannot work; names file and key.
    """
    path = toml.locate(given)
    config = toml.take(path, toml.read(path), Config, ENT_AGENT_NAMES)
    config.__dict__["path"] = path
    _check(config)
    return config


_TIME = re.compile(r"(?:(?:[01]\d|2[0-3]):[0-5]\d)?")
_TOKEN = re.compile(r"[!-~]+")
_DATABASE = re.compile(r"sqlite:///(?!:memory:)[^?\x00-\x1f]+(?:\?.*)?")
_INSIDE = re.compile(r"(?!\.{1,2}(?:/|$)|(?i:\.git)(?:/|$))[^/\\\x00-\x1f\x7f]{1,100}")

ROLES = ("pm", "implementer", "reviewer", "tester", "devops")


def _check(config: Config) -> None:
    def wrong(key: str, why: str, hint: str = "") -> BadConfig:
        return BadConfig(f"{config.path}: {key}: {why}", hint=hint or "config.toml.example has every key")

    if not config.webhook.secret.strip():
        raise wrong("webhook.secret", "is blank", hint="make one: `openssl rand -hex 32`")
    if config.webhook.secret.strip().lower() in EXAMPLE_SECRETS:
        raise wrong("webhook.secret", "is an example's", hint="make one: `openssl rand -hex 32`")
    for key, url in (("forgejo.url", config.forgejo.url), ("server.public_url", config.server.public_url)):
        if url and not _is_address(url):
            raise wrong(key, f"{url!r} must be like https://forge.example.org")
        parts = urlsplit(url)
        if parts.username or parts.password:
            raise wrong(key, "holds a name or password; the token stands in forgejo.token")
    for key, token in (
        ("forgejo.token", config.forgejo.token),
        *((f"roles.{name}.token", role.token) for name, role in config.roles.items() if role.token),
    ):
        if not _TOKEN.fullmatch(token.strip()):
            raise wrong(
                key, "is blank, or has characters that no token has", hint="look for a line end in it"
            )
    if config.state.database and not _DATABASE.fullmatch(config.state.database):
        raise wrong(
            "state.database", "must be like sqlite:////var/lib/fordjent/fordjent.db", hint='leave it ""'
        )
    for key, folder in (("prompts_dir", config.prompts_dir), ("agents_dir", config.agents_dir)):
        if folder and not config.folder(folder).is_dir():
            raise wrong(key, f"{config.folder(folder)} is no folder")
    for name in ("idle_timeout", "run_timeout", "reconcile_interval"):
        if not toml.seconds(getattr(config.sessions, name)):
            raise wrong(f"sessions.{name}", "must be longer than nothing")
    if not _TIME.fullmatch(config.memory.compaction_time):
        raise wrong(
            "memory.compaction_time",
            f"{config.memory.compaction_time!r} is no time of the day",
            hint='like "02:00"; "": never',
        )
    if not all(_INSIDE.fullmatch(part) for part in config.memory.compaction_path.split("/")):
        raise wrong(
            "memory.compaction_path",
            f"{config.memory.compaction_path!r} must be a folder inside of the repository",
            hint='like "docs/issues"',
        )
    if not config.providers:
        raise wrong("providers", "at least one, as [providers.main]")
    for name, provider in config.providers.items():
        if not provider.base_url.startswith("scripted:") and not _is_address(provider.base_url):
            why = f"{provider.base_url!r} must be like https://api.openai.com/v1"
            raise wrong(f"providers.{name}.base_url", why)
        if provider.fallback and provider.fallback not in config.providers:
            raise wrong(f"providers.{name}.fallback", f"there is no provider {provider.fallback!r}")
    for name, role in config.roles.items():
        if name not in ROLES:
            raise wrong(f"roles.{name}", f"no such role; there are {', '.join(ROLES)}")
        if role.provider and role.provider not in config.providers:
            raise wrong(f"roles.{name}.provider", f"there is no provider {role.provider!r}")
        if role.prompt and not _has_template(config, role.prompt):
            raise wrong(
                f"roles.{name}.prompt",
                f"there is no template {role.prompt!r} in prompts_dir",
                hint="docs/fordjent.md says what a template is; without the key the role has its usual one",
            )


def _has_template(config: Config, name: str) -> bool:
    """Whether prompts_dir or the shipped folder has it; both are folders that a name leads nowhere out of."""
    folders = [config.folder(config.prompts_dir)] if config.prompts_dir else []
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    return inside and any((folder / name).is_file() for folder in (*folders, shipped.folder("prompts")))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (it is looked at when it is asked for)
    except ValueError:
        return False
    usual = url.isprintable() and not any(letter.isspace() for letter in url)
    return usual and parts.scheme in ("http", "https") and bool(parts.hostname)
