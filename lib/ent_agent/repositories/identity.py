"""The agent's ssh key: found, checked, or generated; and how git's ssh is to use it, and nothing else.

`ssh_key_dir` holds the key pair and known_hosts. It is part of the portable identity:
copied to another machine, it works there.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from ent_agent.config import Config
from ent_agent.records import IdentitySection
from ent_agent.repositories import keys
from harness import config as toml
from harness.diagnostics import say
from harness.errors import BadConfig

CONNECT_TIMEOUT_SECONDS = 30
DEAD_PEER_SECONDS = 60


def ensure(config: Config) -> IdentitySection:
    """The key pair in `ssh_key_dir`, generated when there is none; a new public key is said on stderr.

    Permissions that ssh would refuse are repaired, a missing public key is derived.
    Repeatable after kill -9: a key is there whole or not at all.

    Raises:
        BadConfig: the folder or key cannot be used as it is: a passphrase, damage,
            permissions that are not ours to mend, several keys to choose from.
        Missing: ssh-keygen is not installed.
    """
    with toml.naming(config.path):
        key, created = keys.find_or_make(config.folder(config.ssh_key_dir), config.agent_email)
        keys.keep_private(key)
        public_key, is_new = keys.public_half(key, config.agent_email)
    if created or is_new:
        say(introduction(config, key, public_key))
    return IdentitySection(key=str(key), public_key=public_key, created=created)


def known_hosts(config: Config) -> Path:
    return config.folder(config.ssh_key_dir) / "known_hosts"


def public_key_path(config: Config) -> Path:
    """Where the public half of the key in use stands, or will."""
    return keys.public_path(_key_in_use(config))


def ssh_command(config: Config) -> str:
    """git's GIT_SSH_COMMAND: this key only, no prompt, new hosts taken once and changed ones refused.

    Nothing of the user's own ssh configuration or agent takes part, so that it works
    alike by hand, from cron and on another machine.
    """
    options = (
        f"IdentityFile={_ssh_path(_key_in_use(config))}",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "BatchMode=yes",
        f"UserKnownHostsFile={_ssh_path(known_hosts(config))}",
        "StrictHostKeyChecking=accept-new",
        "UpdateHostKeys=no",
        f"ConnectTimeout={CONNECT_TIMEOUT_SECONDS}",
        f"ServerAliveInterval={DEAD_PEER_SECONDS // 4}",
        "ServerAliveCountMax=4",
    )
    return shlex.join(["ssh", "-F", "/dev/null", *(word for option in options for word in ("-o", option))])


def introduction(config: Config, key: Path, public_key: str) -> str:
    """What a person is to do with a new public key."""
    from ent_agent.repositories.repositories import shown_url

    return (
        f"The ssh key of {config.agent_name} is new: {key}\n"
        f"Register its public half where {shown_url(config)} lives, as a deploy key with write access\n"
        f"or as a key of the agent's own account there:\n\n{public_key}\n"
    )


def _key_in_use(config: Config) -> Path:
    folder = config.folder(config.ssh_key_dir)
    try:
        return keys.find(folder) or folder / keys.USUAL_NAMES[0]
    except BadConfig:  # said by `ensure`
        return folder / keys.USUAL_NAMES[0]


def _ssh_path(path: Path) -> str:
    """A path as a value in ssh's options: quoted, % doubled (ssh_config(5), TOKENS)."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
