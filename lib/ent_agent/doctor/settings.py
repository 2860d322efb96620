"""config.toml beyond what loading it checks, and the key that it names."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from ent_agent.config import Config
from ent_agent.repositories import identity, keys
from harness.doctor.findings import Finding, ok, problem, warning
from harness.doctor.programs import why_not_runnable
from harness.redaction import is_secret_name


def values(config: Config) -> Iterator[Finding]:
    """The file loads (that is how we got here); what it holds is not for everybody's eyes."""
    secrets = [name for name in config.agent_environment.set if is_secret_name(name)]
    mode = config.path.stat().st_mode & 0o777
    quoted = shlex.quote(str(config.path))
    if secrets and mode & 0o077:
        yield warning(
            "config",
            f"{config.path} holds {', '.join(secrets)} and can be read by others (mode {mode:o})",
            f"chmod 600 {quoted}",
        )
    else:
        yield ok("config", str(config.path))
    for key in ("agents_dir", "prompts_dir"):
        if (named := getattr(config, key)) and not config.folder(named).is_dir():
            folder = config.folder(named)
            yield problem("config", f"{key}: {folder} is not there", f"mkdir -p {shlex.quote(str(folder))}")


def notifier(config: Config) -> Iterator[Finding]:
    command = config.notify.command
    if not command:
        yield ok("notify", "no command: whoever looks at `ent-agent-status` sees what happened")
    elif why := why_not_runnable(command, config.path.parent):
        yield problem(
            "notify", f"notify.command: {why}", f"mend notify.command in {shlex.quote(str(config.path))}"
        )
    else:
        yield ok("notify", command[0])


def key(config: Config) -> Iterator[Finding]:
    """The key is there, readable by us alone, and needs no passphrase."""
    folder = config.folder(config.ssh_key_dir)
    found = keys.find(folder)
    if found is None:
        yield warning("key", f"{folder} holds no key yet", _command(config, "identity"))
        return
    if (wrong := _readable_by_others(found)) or (wrong := _changeable_by_others(folder)):
        yield wrong
        return
    section = identity.ensure(config)
    yield ok("key", f"{section.key} ({section.public_key.split()[0]})")


def _readable_by_others(found: Path) -> Finding | None:
    about = found.stat()
    if about.st_uid not in (os.geteuid(), 0) or not os.access(found, os.R_OK):
        return problem(
            "key", f"{found} is not ours to read", f'sudo chown "$(id -u)" {shlex.quote(str(found))}'
        )
    if about.st_mode & 0o077:
        return problem(
            "key",
            f"{found} can be read by others (mode {about.st_mode & 0o777:o}), so ssh refuses it",
            f"chmod 600 {shlex.quote(str(found))}",
        )
    return None


def _changeable_by_others(folder: Path) -> Finding | None:
    mode = folder.stat().st_mode & 0o777
    if mode & 0o022:
        return problem(
            "key",
            f"{folder} can be changed by others (mode {mode:o})",
            f"chmod 700 {shlex.quote(str(folder))}",
        )
    return None


def _command(config: Config, verb: str) -> str:
    return f"ent-agent-{verb} --config {shlex.quote(str(config.path))}"
