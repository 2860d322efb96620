"""The tools that need a folder only, by name, in the order in which models are offered them."""

from __future__ import annotations

from fordjent.tools import files, git, shell
from fordjent.tools.tool import Tool, check

LOCAL: dict[str, Tool] = {tool.name: tool for family in (files, shell, git) for tool in family.TOOLS}

for _tool in LOCAL.values():
    check(_tool)
