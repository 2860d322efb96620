"""Merging: what each of the server's refusals comes down to."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from fordjent.forge import merging
from fordjent.forge.errors import (
    Draft,
    ForgeError,
    HeadMoved,
    MergeConflict,
    NotAllowed,
    NotYet,
    Refused,
    Unreachable,
)
from fordjent.forge.types import Pull
from tests.support.scripted_forge import Says, ScriptedForge, talk

PULL = "/repos/acme/widget/pulls/3"
MERGE = f"{PULL}/merge"
HEAD = "7a955876ff87cbddb862f07164d61d299a491100"
LATER = Says(405, {"message": "Please try again later"})
DONE = Says(200, "")


def pull(**changed: Any) -> Says:
    state = {
        "number": 3,
        "state": "open",
        "mergeable": True,
        "head": {"ref": "fordjent/issue-1", "sha": HEAD},
        "base": {"ref": "main"},
        **changed,
    }
    return Says(200, state)


MERGED = pull(state="closed", merged=True)


def merge(script: ScriptedForge, patience_seconds: float = 0.2, **options: Any) -> Pull:
    return talk(
        script,
        lambda forge: merging.merge(
            forge,
            "acme/widget",
            3,
            head_commit=HEAD,
            patience_seconds=patience_seconds,
            pause_seconds=0.01,
            **options,
        ),
    )


def test_exactly_the_head_that_was_looked_at_is_merged() -> None:
    script = ScriptedForge().on("POST", MERGE, DONE).on("GET", PULL, MERGED)
    assert merge(script, style="squash", title="Add a greeting").merged
    assert script.asked[0].body == {
        "Do": "squash",
        "head_commit_id": HEAD,
        "MergeTitleField": "Add a greeting",
    }


def test_try_again_later_is_asked_again_while_the_server_still_looks() -> None:
    script = ScriptedForge().on("POST", MERGE, LATER, LATER, DONE)
    script.on("GET", PULL, pull(mergeable=False), pull(mergeable=True), MERGED)
    assert merge(script).merged
    assert script.calls().count(f"POST {MERGE}") == 3


def test_it_is_a_conflict_when_it_stays_unmergeable() -> None:
    script = ScriptedForge().on("POST", MERGE, LATER).on("GET", PULL, pull(mergeable=False))
    with pytest.raises(MergeConflict, match="conflicts with main"):
        merge(script)
    assert script.calls().count(f"POST {MERGE}") > 2


def test_it_is_a_missing_check_when_it_is_mergeable_all_the_same() -> None:
    script = ScriptedForge().on("POST", MERGE, LATER).on("GET", PULL, pull())
    with pytest.raises(NotYet, match="a check or an approval is missing") as raised:
        merge(script, patience_seconds=20.0)
    assert raised.value.retry
    assert script.calls().count(f"POST {MERGE}") == merging.REFUSALS


def test_a_draft_is_not_waited_for() -> None:
    script = ScriptedForge().on(
        "POST", MERGE, Says(405, {"message": "Work in progress PRs cannot be merged"})
    )
    script.on("GET", PULL, pull(draft=True, mergeable=False))
    with pytest.raises(Draft):
        merge(script, patience_seconds=20.0)
    assert len(script.asked) == 2


@pytest.mark.parametrize(
    ("said", "now"),
    [
        (Says(409, {"message": "head out of date"}), pull()),
        (LATER, pull(head={"sha": "b" * 40})),
        (Says(409, {"message": "head out of date"}), pull(head={"sha": "b" * 40})),
    ],
)
def test_another_head_than_was_looked_at_is_not_merged(said: Says, now: Says) -> None:
    script = ScriptedForge().on("POST", MERGE, said).on("GET", PULL, now)
    with pytest.raises(HeadMoved):
        merge(script, patience_seconds=20.0)
    assert len(script.asked) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"message": "merge failed because of conflict"},
        {"Style": "rebase", "StdOut": "", "StdErr": "CONFLICT (content)", "Err": {}},
    ],
)
def test_a_conflict_that_the_merge_itself_finds(body: dict[str, Any]) -> None:
    script = ScriptedForge().on("POST", MERGE, Says(409, body)).on("GET", PULL, pull())
    with pytest.raises(MergeConflict, match=r"(?i)conflict"):
        merge(script, patience_seconds=20.0)


def test_a_base_that_moves_meanwhile_is_merged_into_again() -> None:
    moved = Says(409, {"message": "merge push out of date"})
    script = ScriptedForge().on("POST", MERGE, moved, DONE).on("GET", PULL, pull(), MERGED)
    assert merge(script).merged


@pytest.mark.parametrize("said", [LATER, Says(404, {}), httpx2.ReadError("reset"), Says(500)])
def test_already_merged_is_success(said: Says | Exception) -> None:
    script = ScriptedForge().on("POST", MERGE, said).on("GET", PULL, MERGED)
    assert merge(script).merged
    assert script.calls().count(f"POST {MERGE}") == 1


def test_a_closed_one_is_refused() -> None:
    script = ScriptedForge().on("POST", MERGE, Says(404, {})).on("GET", PULL, pull(state="closed"))
    with pytest.raises(Refused, match="closed without being merged"):
        merge(script)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("User not allowed to merge PR", NotAllowed),
        ("Invalid merge style", Refused),
        ("Branch has diverged and cannot be fast-forwarded", Refused),
    ],
)
def test_what_no_time_will_mend_is_not_waited_for(said: str, kind: type[ForgeError]) -> None:
    script = ScriptedForge().on("POST", MERGE, Says(405, {"message": said})).on("GET", PULL, pull())
    with pytest.raises(kind, match=said):
        merge(script, patience_seconds=20.0)
    assert len(script.asked) == 2


@pytest.mark.parametrize(
    ("status", "kind"), [(403, NotAllowed), (422, Refused), (502, Unreachable), (404, ForgeError)]
)
def test_anything_else_is_said_as_it_is(status: int, kind: type[ForgeError]) -> None:
    script = ScriptedForge().on("POST", MERGE, Says(status, {"message": "no"})).on("GET", PULL, pull())
    with pytest.raises(kind):
        merge(script, patience_seconds=20.0)
    assert script.calls().count(f"POST {MERGE}") == 1
