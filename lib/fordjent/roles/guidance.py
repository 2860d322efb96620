"""What an issue is told that names no role, where config.toml requires one."""

from __future__ import annotations

from fordjent.roles.roles import ROLES

NEEDS_ROLE = "needs-role"
"""The label of an issue that waits for a role."""


def text() -> str:
    """The comment: every role, its label and its title tags."""
    rows = "\n".join(
        f"| `{role.label}` | {', '.join(f'`{tag}`' for tag in role.title_tags)} | {role.guidance} |"
        for role in ROLES.values()
    )
    return (
        "This issue names no role, so nothing is started. Set one of these labels to start it.\n\n"
        "| label | or, when an issue is opened, in its title | what it does |\n|---|---|---|\n"
        f"{rows}"
    )
