"""Reactions: the one that is meant, else the nearest that the server allows."""

from __future__ import annotations

import pytest

from fordjent.forge import reactions
from fordjent.forge.errors import NotAllowed
from fordjent.forge.forge import Forge
from tests.support.scripted_forge import Says, ScriptedForge, talk

ON_ISSUE = "/repos/acme/widget/issues/1/reactions"
ON_COMMENT = "/repos/acme/widget/issues/comments/7/reactions"
STOCK = ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"]
EMOJIS = ["eyes", "hourglass_flowing_sand", "white_check_mark", "x"]


@pytest.mark.parametrize(
    ("wanted", "stock", "rich"),
    [
        (reactions.SEEN, "eyes", "eyes"),
        (reactions.WORKING, "rocket", "hourglass_flowing_sand"),
        (reactions.DONE, "hooray", "white_check_mark"),
        (reactions.FAILED, "confused", "x"),
        ("+1", "+1", ""),
        (":rocket:", "rocket", ""),
        ("👍", "+1", ""),
        ("hourglass", "rocket", "hourglass_flowing_sand"),
        ("banana", "", ""),
    ],
)
def test_the_nearest_that_is_allowed(wanted: str, stock: str, rich: str) -> None:
    assert reactions.nearest(wanted, STOCK) == stock
    assert reactions.nearest(wanted, EMOJIS) == rich


def test_the_four_differ_on_a_stock_server() -> None:
    four = (reactions.SEEN, reactions.WORKING, reactions.DONE, reactions.FAILED)
    assert len({reactions.nearest(wanted, STOCK) for wanted in four}) == 4


def test_a_server_that_lists_emojis_themselves_gets_them() -> None:
    assert reactions.nearest("⏳", ["👀", "⏳"]) == "⏳"


def test_what_is_allowed_is_asked_once() -> None:
    script = _allowing(STOCK).on("POST", ON_ISSUE, Says(201, {"content": "eyes"}))

    async def twice(forge: Forge) -> None:
        await reactions.add(forge, "acme/widget", 1, reactions.SEEN)
        await reactions.add(forge.as_role("t" * 20), "acme/widget", 1, reactions.SEEN)

    talk(script, twice)
    assert script.calls().count("GET /settings/ui") == 1


@pytest.mark.parametrize("status", [200, 201])
def test_adding_one_again_is_no_error(status: int) -> None:
    script = _allowing(STOCK).on("POST", ON_COMMENT, Says(status, {"content": "rocket"}))
    added = talk(
        script, lambda forge: reactions.add(forge, "acme/widget", 1, reactions.WORKING, comment_id=7)
    )
    assert added and added.content == "rocket"
    assert script.asked[-1].body == {"content": "rocket"}


def test_what_nothing_comes_near_is_left_out() -> None:
    script = _allowing(["heart"])
    assert talk(script, lambda forge: reactions.add(forge, "acme/widget", 1, reactions.FAILED)) is None
    assert script.calls() == ["GET /settings/ui"]


def test_without_a_list_the_server_is_taken_for_a_stock_one() -> None:
    script = ScriptedForge().on("GET", "/settings/ui", Says(404, {}))
    script.on("POST", ON_ISSUE, Says(201, {"content": "hooray"}))
    talk(script, lambda forge: reactions.add(forge, "acme/widget", 1, reactions.DONE))
    assert script.asked[-1].body == {"content": "hooray"}


def test_a_locked_issue_is_said() -> None:
    script = _allowing(STOCK).on("POST", ON_ISSUE, Says(403, {"message": "locked"}))
    with pytest.raises(NotAllowed):
        talk(script, lambda forge: reactions.add(forge, "acme/widget", 1, reactions.SEEN))


def test_taking_one_back_needs_its_name_and_forgives() -> None:
    script = _allowing(STOCK).on("DELETE", ON_ISSUE, Says(404, {}))
    talk(script, lambda forge: reactions.remove(forge, "acme/widget", 1, reactions.SEEN))
    assert script.asked[-1].body == {"content": "eyes"}


def test_reactions_that_nobody_gave_are_none() -> None:
    script = ScriptedForge().on("GET", ON_ISSUE, Says(200, "null"))
    assert talk(script, lambda forge: reactions.list_all(forge, "acme/widget", 1)) == []


def _allowing(names: list[str]) -> ScriptedForge:
    return ScriptedForge().on("GET", "/settings/ui", Says(200, {"allowed_reactions": names}))
