"""Every tool there is, by name, in the order in which models are offered them. Checked when it is loaded."""

from __future__ import annotations

from fordjent.tools import (
    administration,
    comments,
    files,
    git,
    issues,
    memory,
    proposing,
    pulls,
    repository,
    shell,
)
from fordjent.tools.tool import Tool, check

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for family in (files, shell, git, proposing, issues, pulls, comments, repository, administration, memory)
    for tool in family.TOOLS
}

for _tool in TOOLS.values():
    check(_tool)
