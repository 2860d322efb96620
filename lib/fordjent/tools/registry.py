"""Every tool there is, by name, in the order in which models are offered them. Checked when it is loaded."""

from __future__ import annotations

from fordjent.tools import administration, comments, issues, memory, proposing, pulls, repository
from fordjent.tools.local import LOCAL
from fordjent.tools.tool import Tool, check

FORGE: dict[str, Tool] = {
    tool.name: tool
    for family in (proposing, issues, pulls, comments, repository, administration, memory)
    for tool in family.TOOLS
}

TOOLS = LOCAL | FORGE

for _tool in FORGE.values():
    check(_tool)
