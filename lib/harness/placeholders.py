"""`{worktree}` and its like in the values of an adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping

KNOWN = frozenset(
    (
        "prompt",
        "prompt_file",
        "worktree",
        "git_dir",
        "git_common_dir",
        "config_dir",
        "run_dir",
        "model",
        "max_turns",
        "issue_id",
    )
)

OF_MCP = frozenset(("mcp_command", "mcp_file"))
"""In an adapter's `mcp` alone."""

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def names(text: str) -> set[str]:
    """The names that stand in single braces; braces around anything else are plain text."""
    return {match[2] for match in _PLACEHOLDER.finditer(text) if match[2]}


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with its placeholders replaced, in one pass: what a value holds is not looked at again.

    `{{name}}` stands for a plain `{name}`.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[2]] if match[2] else f"{{{match[1]}}}", text)
