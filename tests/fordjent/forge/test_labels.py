"""Labels go by id; names are looked up, made where they are missing, and seen in the answer."""

from __future__ import annotations

from typing import Any

import pytest

from fordjent.forge import labels
from fordjent.forge.errors import Refused
from fordjent.forge.forge import Forge
from tests.support.scripted_forge import Says, ScriptedForge, talk

REPOSITORY = "acme/gadget"
LABELS = "/repos/acme/gadget/labels"
SHARED = "/orgs/acme/labels"
ON_ISSUE = "/repos/acme/gadget/issues/1/labels"

READY, BLOCKED, READY_AGAIN, SHARED_ONE = (20, "ready"), (21, "blocked"), (23, "ready"), (22, "org-wide")


def label(one: tuple[int, str]) -> dict[str, Any]:
    return {"id": one[0], "name": one[1], "color": "00aa00"}


def says(*some: tuple[int, str], status: int = 200) -> Says:
    return Says(status, [label(one) for one in some], {"X-Total-Count": str(len(some))})


def forge(*known: tuple[int, str]) -> ScriptedForge:
    return ScriptedForge().on("GET", LABELS, says(*known)).on("GET", SHARED, says(SHARED_ONE))


def test_names_become_ids_of_the_repository_and_of_its_organization() -> None:
    script = forge(READY, BLOCKED)
    found = talk(script, lambda forge: labels.ensure(forge, REPOSITORY, ["blocked", "org-wide", "blocked"]))
    assert found == {"blocked": 21, "org-wide": 22}


def test_of_two_labels_of_one_name_the_older_one_is_taken() -> None:
    script = forge(READY_AGAIN, READY)
    assert talk(script, lambda forge: labels.ensure(forge, REPOSITORY, ["ready"])) == {"ready": 20}


def test_the_repository_s_own_label_goes_before_the_organization_s() -> None:
    script = forge((30, "org-wide"))
    assert talk(script, lambda forge: labels.ensure(forge, REPOSITORY, ["org-wide"])) == {"org-wide": 30}


def test_a_missing_label_is_made_with_its_colour() -> None:
    script = forge(READY).on("POST", LABELS, Says(201, label((40, "fordjent/failed:error"))))
    found = talk(script, lambda forge: labels.ensure(forge, REPOSITORY, ["fordjent/failed:error"]))
    assert found == {"fordjent/failed:error": 40}
    assert script.asked[-1].body == {
        "name": "fordjent/failed:error",
        "color": "#d93f0b",
        "description": "",
    }


def test_a_label_is_made_once_by_those_who_want_it_at_the_same_time() -> None:
    import asyncio

    script = forge(READY).on("POST", LABELS, Says(201, label((40, "review"))))

    async def both(forge: Forge) -> list[dict[str, int]]:
        return list(await asyncio.gather(*(labels.ensure(forge, REPOSITORY, ["review"]) for _ in range(3))))

    assert talk(script, both) == [{"review": 40}] * 3
    assert script.calls().count(f"POST {LABELS}") == 1


def test_a_person_s_repository_has_no_shared_labels() -> None:
    script = ScriptedForge().on("GET", LABELS, says(READY)).on("GET", SHARED, Says(404, {"message": "no"}))
    assert talk(script, lambda forge: labels.ensure(forge, REPOSITORY, ["ready"])) == {"ready": 20}


def test_labels_are_added_by_id() -> None:
    script = forge(READY, BLOCKED).on("POST", ON_ISSUE, says(READY, BLOCKED))
    talk(script, lambda forge: labels.add(forge, REPOSITORY, 1, ["ready", "blocked"]))
    assert script.asked[-1].body == {"labels": [20, 21]}


def test_nothing_to_add_writes_nothing() -> None:
    script = ScriptedForge().on("GET", ON_ISSUE, says(READY))
    assert [label.name for label in talk(script, lambda forge: labels.add(forge, REPOSITORY, 1, []))] == [
        "ready"
    ]
    assert script.calls() == [f"GET {ON_ISSUE}"]


def test_an_id_that_was_deleted_meanwhile_is_looked_up_again() -> None:
    script = ScriptedForge().on("GET", LABELS, says(READY), says((50, "ready")))
    script.on("GET", SHARED, says()).on("POST", ON_ISSUE, says(), says((50, "ready")))
    talk(script, lambda forge: labels.add(forge, REPOSITORY, 1, ["ready"]))
    bodies = [asked.body for asked in script.asked if asked.method == "POST"]
    assert bodies == [{"labels": [20]}, {"labels": [50]}]


def test_what_the_server_leaves_out_is_said() -> None:
    script = forge(READY).on("POST", ON_ISSUE, says())
    with pytest.raises(Refused, match="did not set ready"):
        talk(script, lambda forge: labels.add(forge, REPOSITORY, 1, ["ready"]))


def test_every_label_of_a_name_is_taken_off() -> None:
    script = ScriptedForge().on("GET", ON_ISSUE, says(READY, READY_AGAIN, BLOCKED))
    script.on("DELETE", f"{ON_ISSUE}/20", Says(204, "")).on("DELETE", f"{ON_ISSUE}/23", Says(204, ""))
    left = talk(script, lambda forge: labels.remove(forge, REPOSITORY, 1, ["ready"]))
    assert [label.name for label in left] == ["blocked"]


@pytest.mark.parametrize("status", [404, 422])
def test_taking_off_what_is_gone_is_no_error(status: int) -> None:
    script = ScriptedForge().on("GET", ON_ISSUE, says(READY))
    script.on("DELETE", f"{ON_ISSUE}/20", Says(status, {"message": "label does not exist"}))
    assert talk(script, lambda forge: labels.remove(forge, REPOSITORY, 1, ["ready"])) == []


def test_a_change_takes_off_before_it_sets() -> None:
    script = forge(READY, BLOCKED).on("GET", ON_ISSUE, says(READY))
    script.on("DELETE", f"{ON_ISSUE}/20", Says(204, "")).on("POST", ON_ISSUE, says(BLOCKED))
    left = talk(script, lambda forge: labels.change(forge, REPOSITORY, 1, on=["blocked"], off=["ready"]))
    assert [label.name for label in left] == ["blocked"]
    assert [call for call in script.calls() if not call.startswith("GET")] == [
        f"DELETE {ON_ISSUE}/20",
        f"POST {ON_ISSUE}",
    ]


def test_a_change_that_is_none_writes_nothing() -> None:
    script = ScriptedForge().on("GET", ON_ISSUE, says(BLOCKED))
    talk(script, lambda forge: labels.change(forge, REPOSITORY, 1, on=["blocked"], off=["ready"]))
    assert script.calls() == [f"GET {ON_ISSUE}"]
