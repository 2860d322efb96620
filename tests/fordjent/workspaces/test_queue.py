"""Many sessions of one repository: they take turns, ask the forge together, and leave threads to the others."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from fordjent import threads
from fordjent.session_key import SessionKey
from fordjent.workspaces.workspaces import Workspaces
from harness import process
from harness.worktrees import registrations
from tests.support.forge.server import StandIn
from tests.support.grounds import write_config

LOOKS = 3
"""Passes over all worktrees: for who has the branch, for what is at its folder, and for what was made there."""
READS = 11
"""Files of another worktree's registration that are read for each that is prepared."""


def test_a_repository_that_is_held_up_leaves_threads_to_the_others(place: Path) -> None:
    assert beside_a_hundred(threads.run_in, place / "one", place / "other") == "done"


def test_what_has_begun_does_not_wait_behind_what_begins(place: Path) -> None:
    assert beside_a_hundred(threads.begin_in, place / "one", place / "one") == "done"


def beside_a_hundred(hold: Callable[..., Coroutine[Any, Any, bool]], held_up: Path, repository: Path) -> str:
    """What is run in `repository` comes to, while a hundred threads' work holds `held_up`."""
    let_go = threading.Event()

    async def both() -> str:
        held = [asyncio.create_task(hold(held_up, let_go.wait, 20)) for _ in range(100)]
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(10):
                return await threads.run_in(repository, lambda: "done")
        finally:
            let_go.set()
            await asyncio.gather(*held)

    return asyncio.run(both())


def test_those_who_wait_together_ask_the_forge_once(place: Path) -> None:
    with StandIn.start(place / "forge") as forge:
        forge.repository("acme/widget", {"a.py": "a = 1\n"}, collaborators={"fordjent": "write"})
        config = write_config(place, url=forge.url, token=forge.token("fordjent"))
        workspaces = Workspaces(config, config.forgejo.url, config.forgejo.token)
        asked = time.monotonic()
        first = workspaces.prepare(SessionKey.parse("acme/widget/issues/1"), asked=asked)
        exchanges = len(forge.log)
        second = workspaces.prepare(SessionKey.parse("acme/widget/issues/2"), asked=asked)
        assert len(forge.log) == exchanges > 0
        assert (first.start, first.base) == (second.start, second.base)

        pushed = forge.api_as("fordjent").push("acme/widget", "main", {"b.py": "b = 1\n"}, "Add b")
        later = workspaces.prepare(SessionKey.parse("acme/widget/issues/3"))
        assert later.start == pushed != first.start


def test_no_git_and_no_further_look_at_all_worktrees_is_added_by_each_other_one(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()

    def counted(owner: object, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def call(*args: Any, **named: Any) -> Any:
            counts[name] += 1
            return original(*args, **named)

        monkeypatch.setattr(owner, name, call)

    with StandIn.start(place / "forge") as forge:
        forge.repository("acme/widget", {"a.py": "a = 1\n"}, collaborators={"fordjent": "write"})
        config = write_config(place, url=forge.url, token=forge.token("fordjent"))
        workspaces = Workspaces(config, config.forgejo.url, config.forgejo.token)
        for owner, name in ((process, "run"), (registrations, "every"), (registrations, "_text")):
            counted(owner, name)
        taken: list[Counter[str]] = []
        for number in range(1, 13):
            counts.clear()
            workspaces.prepare(SessionKey.parse(f"acme/widget/issues/{number}"))
            taken.append(counts.copy())
    few, many = taken[2], taken[11]  # beside two others, and beside eleven
    assert many["run"] == few["run"] > 0
    assert 0 < many["every"] == few["every"] <= LOOKS
    assert many["_text"] - few["_text"] <= 9 * READS
