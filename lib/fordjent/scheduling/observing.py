"""What the forge says about issues that wait, and about all that they depend on: the planner's input."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

import msgspec

from fordjent.forge import dependencies, issues
from fordjent.forge.errors import NotFound
from fordjent.forge.forge import Forge
from fordjent.forge.types import Issue
from fordjent.scheduling import references
from fordjent.scheduling.plan import State, Thing

LOOKED_AT = 1000
"""Issues and pull requests that are asked for in one look; of those beyond it is not known that they are done."""
AT_ONCE = 8


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """`issues`: those of the repository that there are, by number. `elsewhere`: names of those of other
    repositories, which have numbers below 0 here."""

    things: dict[int, Thing]
    issues: dict[int, Issue]
    elsewhere: dict[int, str]

    def name(self, number: int) -> str:
        return self.elsewhere.get(number, f"#{number}")


async def observe(forge: Forge, repository: str, numbers: Iterable[int]) -> Seen:
    """Those issues, and what they depend on, over however many others.

    Raises:
        Unreachable: the forge does not answer.
    """
    found = Seen(things={}, issues={}, elsewhere={})
    front = set(numbers)
    while front and len(found.things) < LOOKED_AT:
        chosen = sorted(front)[: LOOKED_AT - len(found.things)]
        for native in await _each(forge, repository, found, chosen):
            _note_native(repository, found, native)
        needed = {other for number in chosen for other in found.things[number].depends_on}
        front = needed - found.things.keys()
    return found


async def undone(forge: Forge, repository: str, number: int, body: str) -> tuple[int, ...]:
    """What an issue with this text depends on and is not done; of other repositories by a number below 0.

    Raises:
        Unreachable: the forge does not answer.
    """
    named = references.dependencies(body, repository)
    native = await _native(forge, repository, number)
    known = {_number(repository, one): one for one in native}
    asked = [other for other in named if other not in known and other != number]
    found = Seen(things={}, issues={}, elsewhere={})
    await _each(forge, repository, found, asked, with_native=False)
    open_native = [other for other, one in known.items() if not one.is_done]
    open_named = [other for other in asked if not found.things[other].is_done]
    itself = [number] if number in named else []
    return tuple(dict.fromkeys((*open_native, *open_named, *itself)))


async def _each(
    forge: Forge, repository: str, found: Seen, numbers: Collection[int], *, with_native: bool = True
) -> list[list[Issue]]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> list[Issue]:
        async with slots:
            return await _one(forge, repository, found, number, with_native)

    return await asyncio.gather(*(one(number) for number in numbers))


async def _one(forge: Forge, repository: str, found: Seen, number: int, with_native: bool) -> list[Issue]:
    """Asks for one, and says what it depends on natively."""
    try:
        issue = await issues.get(forge, repository, number)
    except NotFound:
        found.things[number] = Thing(number=number, state="missing")
        return []
    found.issues[number] = issue
    is_open_issue = issue.state == "open" and not issue.is_pull
    native = await _native(forge, repository, number) if with_native and is_open_issue else []
    named = references.dependencies(issue.body, repository) if is_open_issue else ()
    needs = dict.fromkeys((*named, *(_number(repository, other) for other in native)))
    found.things[number] = Thing(
        number=number, is_pull=issue.is_pull, state=state(issue), depends_on=tuple(needs)
    )
    return native


def state(issue: Issue) -> State:
    if issue.pull_request and issue.pull_request.merged:
        return "merged"
    return "open" if issue.state == "open" else "closed"


async def _native(forge: Forge, repository: str, number: int) -> list[Issue]:
    """None where the repository has dependencies switched off."""
    try:
        return await dependencies.list_all(forge, repository, number)
    except NotFound:
        return []


def _number(repository: str, issue: Issue) -> int:
    return -issue.id if _is_elsewhere(repository, issue) else issue.number


def _is_elsewhere(repository: str, issue: Issue) -> bool:
    home = issue.repository.full_name
    return bool(home) and home.casefold() != repository.casefold()


def _note_native(repository: str, found: Seen, native: Iterable[Issue]) -> None:
    """Those of other repositories are known by what the list says of them; what they depend on is not ours."""
    for issue in native:
        if _is_elsewhere(repository, issue):
            number = _number(repository, issue)
            found.elsewhere[number] = f"{issue.repository.full_name}#{issue.number}"
            found.things[number] = Thing(number=number, is_pull=issue.is_pull, state=state(issue))
