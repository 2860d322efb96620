"""Labels, always by id.

By name the server is treacherous: it leaves out names that it does not know, a PUT with such a name
clears all labels, and two labels may have one name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

from fordjent.forge import paths
from fordjent.forge.errors import NotAllowed, NotFound, Refused
from fordjent.forge.forge import Forge
from fordjent.forge.types import Label

COLOURS = {
    "ready": "#0e8a16",
    "in_progress": "#1d76db",
    "blocked": "#b60205",
    "review": "#5319e7",
    "needs-role": "#fbca04",
    "scaffold": "#c5def5",
    "plan-approved": "#0e8a16",
}
_BY_PREFIX = {"role:": "#5319e7", "fordjent/failed:": "#d93f0b"}
_GREY = "#ededed"


async def ensure(forge: Forge, repository: str, names: Iterable[str]) -> dict[str, int]:
    """The id of each name; what neither the repository nor its organization has is made.

    Of two labels of one name the repository's own, then the older one counts.
    """
    wanted = list(dict.fromkeys(names))
    async with forge.pool.locks.setdefault(f"labels {repository}", asyncio.Lock()):
        known = forge.pool.labels.get(repository, {})
        if not known.keys() >= set(wanted):
            known = await ids(forge, repository)
            for name in wanted:
                if name not in known:
                    known[name] = (await create(forge, repository, name)).id
            forge.pool.labels[repository] = known
    return {name: known[name] for name in wanted}


async def ids(forge: Forge, repository: str) -> dict[str, int]:
    """The labels that can be set in a repository, by name."""
    own = await list_all(forge, repository)
    shared = await list_of_owner(forge, repository.split("/")[0])
    found: dict[str, int] = {}
    for labels in (own, shared):
        for label in sorted(labels, key=lambda label: label.id):
            found.setdefault(label.name, label.id)
    return found


async def list_all(forge: Forge, repository: str) -> list[Label]:
    return await forge.all(paths.of(repository, "labels"), Label)


async def list_of_owner(forge: Forge, owner: str) -> list[Label]:
    """Those of an organization; a person has none."""
    try:
        return await forge.all(f"/orgs/{paths.segment(owner)}/labels", Label)
    except (NotFound, NotAllowed):
        return []


async def create(forge: Forge, repository: str, name: str, colour: str = "", description: str = "") -> Label:
    """Not asking whether it is there: a second one of that name is made."""
    made = {"name": name, "color": colour or colour_of(name), "description": description}
    return await forge.post(paths.of(repository, "labels"), Label, made)


def colour_of(name: str) -> str:
    by_prefix = (colour for prefix, colour in _BY_PREFIX.items() if name.startswith(prefix))
    return COLOURS.get(name) or next(by_prefix, _GREY)


async def of_issue(forge: Forge, repository: str, number: int) -> list[Label]:
    return await forge.get(paths.of(repository, "issues", number, "labels"), list[Label])


async def add(forge: Forge, repository: str, number: int, names: Collection[str]) -> list[Label]:
    """Set labels beside those that are set; what does not exist is made.

    Raises:
        Refused: the server did not set one of them.
    """
    path = paths.of(repository, "issues", number, "labels")
    if not names:
        return await of_issue(forge, repository, number)
    for attempt in range(2):  # an id that we remember may have been deleted since
        wanted = await ensure(forge, repository, names)
        try:
            body = {"labels": list(wanted.values())}
            there = await forge.post(path, list[Label], body, repeatable=True)
        except Refused:
            if attempt:
                raise
            there = []
        missing = set(names) - {label.name for label in there}
        if not missing:
            return there
        forge.pool.labels.pop(repository, None)
    raise Refused("POST", path, 200, f"the server did not set {', '.join(sorted(missing))}")


async def remove(forge: Forge, repository: str, number: int, names: Collection[str]) -> list[Label]:
    """Take labels off, each that has one of these names; those that remain."""
    return await change(forge, repository, number, off=names)


async def change(
    forge: Forge, repository: str, number: int, *, on: Collection[str] = (), off: Collection[str] = ()
) -> list[Label]:
    """Take off and set what is not so already; asks first, and writes only differences.

    What goes is taken off first: no moment shows two that contradict. A name that is in both is on.
    """
    there = await of_issue(forge, repository, number)
    gone = [label for label in there if label.name in off and label.name not in on]
    for label in gone:
        await _remove_id(forge, repository, number, label.id)
    kept = [label for label in there if label not in gone]
    missing = [name for name in on if name not in {label.name for label in kept}]
    return await add(forge, repository, number, missing) if missing else kept


async def _remove_id(forge: Forge, repository: str, number: int, label: int) -> None:
    try:
        await forge.delete(paths.of(repository, "issues", number, "labels", label))
    except (NotFound, Refused):
        return  # 422: deleted from the repository meanwhile
