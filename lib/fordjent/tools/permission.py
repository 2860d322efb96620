"""Which tools a role may use: its own set (roles.roles), or exactly what `[roles.<name>].tools` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fordjent.roles.roles import ROLES, configured
from fordjent.tools.registry import TOOLS
from harness.errors import BadConfig

if TYPE_CHECKING:
    from fordjent.config import Config
    from fordjent.roles.roles import Role


def names(role: Role, config: Config) -> tuple[str, ...]:
    """The names, in the registry's order.

    Raises:
        BadConfig: config.toml names a tool that there is not.
    """
    wanted = configured(config, role.name).tools
    for name in wanted:
        if name not in TOOLS:
            raise BadConfig(
                f"{config.path}: roles.{role.name}.tools: there is no tool {name!r}",
                hint="`fordjent-tool --list` shows all",
            )
    return tuple(name for name in TOOLS if name in wanted)


def check(config: Config) -> None:
    """
    Raises:
        BadConfig: a role is to have a tool that there is not.
    """
    for role in ROLES.values():
        names(role, config)
