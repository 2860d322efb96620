"""Branches, files, people, webhooks and tokens of a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import desks
from tests.support.desks import REPOSITORY, Desk
from tests.support.forge.server import StandIn

NAMED = """
[roles.devops]
tools = ["forgejo_delete_branch", "forgejo_list_branches", "forgejo_create_hook", "forgejo_delete_hook",
         "forgejo_list_hooks", "forgejo_create_token"]
"""
SECRET_OF_HOOK = "a-secret-that-nobody-sees"


def test_branches_files_people_and_the_server_are_shown(desk: Desk) -> None:
    desk.alice.push(REPOSITORY, "faster", {"docs/a.md": "fast\n"})

    assert [line.split()[0] for line in desk.use("forgejo_list_branches").text.splitlines()] == [
        "faster",
        "main",
    ]
    assert desk.use("forgejo_list_files").text == "README.md (9 bytes)"
    assert desk.use("forgejo_list_files", path="docs", ref="faster").text == "docs/a.md (5 bytes)"
    assert "404" in desk.use("forgejo_list_files", path="docs", ref="main").text
    assert "alice" in desk.use("forgejo_list_collabs").text
    assert desk.use("forgejo_version").text.startswith("Forgejo ")
    assert desk.use("forgejo_user").text.startswith("fordjent ")


@pytest.mark.parametrize("path", ["../../../admin", "a/../../x", "./x"])
def test_a_path_cannot_lead_to_another_endpoint(desk: Desk, path: str) -> None:
    asked = len(desk.forge.log)

    assert desk.use("forgejo_list_files", path=path).failed
    assert len(desk.forge.log) == asked


@pytest.fixture
def admin(place: Path, forge: StandIn) -> object:
    forge.world.repositories[REPOSITORY].collaborators["fordjent"] = "admin"
    with desks.at(place, forge, role="devops", more=NAMED) as found:
        yield found


def test_what_administrates_is_nobodys_unless_it_is_named(place: Path, forge: StandIn) -> None:
    named = {"forgejo_delete_branch", "forgejo_create_hook", "forgejo_delete_hook", "forgejo_create_token"}
    for number, role in enumerate(("pm", "implementer", "reviewer", "tester", "devops"), 1):
        with desks.at(place, forge, role=role, key=f"{REPOSITORY}/issues/{number}") as desk:
            assert not named & {spec.name for spec in desk.toolbox.specs()}
            refused = desk.use("forgejo_delete_branch", branch="faster")
            assert refused.failed and "is not for this role" in refused.text


def test_branches_are_deleted_but_never_protected_ones(admin: Desk) -> None:
    for branch in ("faster", "release"):
        admin.alice.push(REPOSITORY, branch, {"a": "b"})

    assert not admin.use("forgejo_delete_branch", branch="faster").failed
    for branch in ("main", "refs/heads/main", "master", "MAIN", "no-such"):
        assert admin.use("forgejo_delete_branch", branch=branch).failed
    assert admin.use("forgejo_list_branches").text.count("\n") == 1


def test_a_webhook_is_made_once_and_its_secret_is_recorded_nowhere(admin: Desk) -> None:
    arguments = {"url": "https://ci.example.org/hook", "secret": SECRET_OF_HOOK, "events": ["push"]}
    first = admin.use("forgejo_create_hook", call="h", **arguments)
    admin.again("forgejo_create_hook", call="h", **arguments)

    listed = admin.use("forgejo_list_hooks").text
    assert not first.failed and listed.count("webhook ") == 1 and "ci.example.org/hook: push" in listed
    assert all(SECRET_OF_HOOK not in str(row) for row in admin.records())
    number = listed.split()[1]
    assert not admin.use("forgejo_delete_hook", hook_id=int(number)).failed
    assert admin.use("forgejo_list_hooks").text == "no webhooks"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "https://user:word@x.org/", "not a url", "ftp://x.org"]
)
def test_a_webhook_goes_to_http_without_a_password(admin: Desk, url: str) -> None:
    assert admin.use("forgejo_create_hook", url=url, secret=SECRET_OF_HOOK).failed


def test_a_token_that_the_server_does_not_make_is_told(admin: Desk) -> None:
    result = admin.use("forgejo_create_token", username="fordjent", token_name="mine")

    assert result.failed and "a token cannot make tokens" in result.text
