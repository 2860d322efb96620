"""The redactor for everything that ent-agent writes, shows or pushes."""

from __future__ import annotations

import os

from ent_agent.config import Config
from harness.redaction import Redactor, key_bodies, known_secrets


def redactor(config: Config) -> Redactor:
    """Knows the environment's secrets, the ssh key, and the credentials that config.toml names."""
    environment = config.agent_environment
    return Redactor(
        (
            *known_secrets(os.environ, environment.pass_, environment.set),
            *key_bodies(config.folder(config.ssh_key_dir)),
        ),
        config.secret_scan.allow,
    )
