"""Each answer that a real Forgejo gave, read by the function that asks for it, which asks as was asked then."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
import pytest

from fordjent.forge import (
    branches,
    comments,
    contents,
    dependencies,
    hooks,
    issues,
    labels,
    pulls,
    repositories,
    reviews,
    server,
    statuses,
    users,
)
from fordjent.forge.errors import (
    Archived,
    Conflict,
    Locked,
    NotAllowed,
    NotFound,
    NotYet,
    Refused,
    Unreachable,
)
from fordjent.forge.forge import Forge
from fordjent.forge.types import Issue, Label
from tests.support.scripted_forge import Says, ScriptedForge, talk

RECORDED = Path(__file__).parents[2] / "support/forge/recorded/api-transcript.json"

BY_STATUS = {
    400: Refused,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    405: NotYet,
    409: Conflict,
    412: Locked,
    422: Refused,
    423: Archived,
    500: Unreachable,
}


class Entry(msgspec.Struct):
    method: str
    path: str
    status: int
    note: str = ""
    request: Any = None
    response: Any = None
    headers: dict[str, str] = {}

    @property
    def place(self) -> str:
        return self.path.partition("?")[0]

    def __str__(self) -> str:
        return f"{self.note} {self.method} {self.path}"


Call = Callable[[Forge, re.Match[str], Any], Awaitable[Any]]


class Endpoint(NamedTuple):
    method: str
    path: str
    call: Call


async def _items(found: Any) -> list[Any]:
    return [item async for item in found]


def _remarks(body: dict[str, Any]) -> list[reviews.Remark]:
    return [msgspec.convert(remark, reviews.Remark) for remark in body.get("comments", ())]


R = r"/repos/(?P<r>[^/]+/[^/]+)"
N = r"(?P<n>\d+)"

ENDPOINTS = [
    Endpoint("GET", f"{R}", lambda f, m, b: repositories.get(f, m["r"])),
    Endpoint("GET", f"{R}/collaborators", lambda f, m, b: repositories.collaborators(f, m["r"])),
    Endpoint(
        "PUT",
        f"{R}/collaborators/(?P<who>[^/]+)",
        lambda f, m, b: repositories.add_collaborator(f, m["r"], m["who"], b["permission"]),
    ),
    Endpoint(
        "POST",
        f"{R}/hooks",
        lambda f, m, b: hooks.create(
            f, m["r"], url=b["config"]["url"], secret=b["config"]["secret"], events=b["events"]
        ),
    ),
    Endpoint("GET", f"{R}/hooks", lambda f, m, b: hooks.list_all(f, m["r"])),
    Endpoint("DELETE", f"{R}/hooks/{N}", lambda f, m, b: hooks.delete(f, m["r"], int(m["n"]))),
    Endpoint("POST", f"{R}/hooks/{N}/tests", lambda f, m, b: hooks.test(f, m["r"], int(m["n"]))),
    Endpoint("POST", f"{R}/labels", lambda f, m, b: labels.create(f, m["r"], b["name"], b["color"])),
    Endpoint("GET", f"{R}/labels", lambda f, m, b: labels.list_all(f, m["r"])),
    Endpoint("GET", "/orgs/(?P<o>[^/]+)/labels", lambda f, m, b: labels.list_of_owner(f, m["o"])),
    Endpoint(
        "POST",
        f"{R}/issues",
        lambda f, m, b: issues.create(
            f, m["r"], title=b["title"], body=b.get("body", ""), labels=b.get("labels", ())
        ),
    ),
    Endpoint("GET", f"{R}/issues", lambda f, m, b: _items(issues.list_open(f, m["r"]))),
    Endpoint("GET", f"{R}/issues/{N}", lambda f, m, b: issues.get(f, m["r"], int(m["n"]))),
    Endpoint(
        "PATCH",
        f"{R}/issues/{N}",
        lambda f, m, b: issues.edit(
            f, m["r"], int(m["n"]), **{k: v for k, v in b.items() if k != "milestone"}
        ),
    ),
    Endpoint(
        "POST",
        f"{R}/issues/{N}/comments",
        lambda f, m, b: comments.create(f, m["r"], int(m["n"]), b["body"]),
    ),
    Endpoint("GET", f"{R}/issues/{N}/comments", lambda f, m, b: comments.list_all(f, m["r"], int(m["n"]))),
    Endpoint(
        "PATCH",
        f"{R}/issues/comments/{N}",
        lambda f, m, b: comments.edit(f, m["r"], int(m["n"]), b["body"]),
    ),
    Endpoint("DELETE", f"{R}/issues/comments/{N}", lambda f, m, b: comments.delete(f, m["r"], int(m["n"]))),
    Endpoint(
        "GET",
        f"{R}/issues/{N}/dependencies",
        lambda f, m, b: dependencies.list_all(f, m["r"], int(m["n"])),
    ),
    Endpoint("GET", f"{R}/branches", lambda f, m, b: branches.list_all(f, m["r"])),
    Endpoint(
        "GET",
        f"{R}/compare/(?P<a>.+?)[.]{{3}}(?P<z>.+)",
        lambda f, m, b: branches.compare(f, m["r"], m["a"], m["z"]),
    ),
    Endpoint("GET", f"{R}/contents", lambda f, m, b: contents.list_all(f, m["r"])),
    Endpoint("GET", f"{R}/contents/(?P<p>.+)", lambda f, m, b: contents.get(f, m["r"], m["p"])),
    Endpoint(
        "POST",
        f"{R}/pulls",
        lambda f, m, b: pulls.create(
            f,
            m["r"],
            head=b["head"],
            base=b["base"],
            title=b["title"],
            body=b.get("body", ""),
            labels=b.get("labels", ()),
        ),
    ),
    Endpoint("GET", f"{R}/pulls", lambda f, m, b: _items(pulls.list_open(f, m["r"]))),
    Endpoint("GET", f"{R}/pulls/{N}", lambda f, m, b: pulls.get(f, m["r"], int(m["n"]))),
    Endpoint("PATCH", f"{R}/pulls/{N}", lambda f, m, b: pulls.edit(f, m["r"], int(m["n"]), **b)),
    Endpoint("GET", f"{R}/pulls/{N}/files", lambda f, m, b: pulls.files(f, m["r"], int(m["n"]))),
    Endpoint("GET", f"{R}/pulls/{N}[.]diff", lambda f, m, b: pulls.diff(f, m["r"], int(m["n"]))),
    Endpoint("POST", f"{R}/pulls/{N}/update", lambda f, m, b: pulls.update(f, m["r"], int(m["n"]))),
    Endpoint("GET", f"{R}/pulls/{N}/reviews", lambda f, m, b: reviews.list_all(f, m["r"], int(m["n"]))),
    Endpoint(
        "POST",
        f"{R}/pulls/{N}/reviews",
        lambda f, m, b: reviews.create(
            f, m["r"], int(m["n"]), event=b["event"], body=b["body"], comments=_remarks(b)
        ),
    ),
    Endpoint(
        "GET",
        f"{R}/pulls/{N}/reviews/(?P<id>\\d+)/comments",
        lambda f, m, b: reviews.comments(f, m["r"], int(m["n"]), int(m["id"])),
    ),
    Endpoint(
        "POST",
        f"{R}/pulls/{N}/reviews/(?P<id>\\d+)/dismissals",
        lambda f, m, b: reviews.dismiss(f, m["r"], int(m["n"]), int(m["id"]), b["message"]),
    ),
    Endpoint(
        "DELETE",
        f"{R}/pulls/{N}/requested_reviewers",
        lambda f, m, b: reviews.withdraw(f, m["r"], int(m["n"]), b["reviewers"]),
    ),
    Endpoint(
        "POST",
        f"{R}/statuses/(?P<sha>[0-9a-f]+)",
        lambda f, m, b: statuses.create(f, m["r"], m["sha"], **b),
    ),
    Endpoint(
        "GET",
        f"{R}/commits/(?P<sha>[0-9a-f]+)/status",
        lambda f, m, b: statuses.combined(f, m["r"], m["sha"]),
    ),
    Endpoint("GET", "/version", lambda f, m, b: server.version(f)),
    Endpoint("GET", "/user", lambda f, m, b: users.me(f)),
    Endpoint(
        "POST",
        "/users/(?P<who>[^/]+)/tokens",
        lambda f, m, b: users.create_token(f, m["who"], b["name"], b["scopes"]),
    ),
]
"""The functions that are one request; those that make more of the answers have tests of their own."""

ELSEWHERE = (
    r"POST /orgs(/\w+/(repos|labels))?",  # making what is looked at here
    r"POST .*/(branch_protections|milestones)",
    r"PATCH /repos/\w+/\w+",
    r"GET /repos/issues/search",
    r"POST .*/hooks",  # the one with form encoding, which we never ask for
    r"(POST|PUT|DELETE) .*/issues/\d+/labels(/\w+)?",  # test_labels
    r"(POST|DELETE|GET) .*/reactions",  # test_reactions
    r"POST .*/dependencies",  # test_dependencies
    r"POST .*/merge",  # test_merging
    r"POST .*/requested_reviewers",  # test_reviews
    r"DELETE .*/branches/.*",  # test_branches
    r"GET .*/git/trees/.*",  # test_contents
)

ENTRIES = msgspec.json.decode(RECORDED.read_bytes(), type=list[Entry])


def _endpoint(entry: Entry) -> tuple[Endpoint, re.Match[str]] | None:
    if entry.place == "/repos/issues/search" or "form content type" in entry.note:
        return None
    for endpoint in ENDPOINTS:
        match = re.fullmatch(endpoint.path, entry.place)
        if match and endpoint.method == entry.method:
            return endpoint, match
    return None


OURS = [entry for entry in ENTRIES if _endpoint(entry)]


@pytest.mark.parametrize("entry", OURS, ids=str)
def test_a_recorded_exchange_is_asked_for_and_understood(entry: Entry) -> None:
    found = _endpoint(entry)
    assert found
    endpoint, match = found
    script = ScriptedForge().on(entry.method, entry.place, _once(entry))
    if entry.status == 409 and entry.method == "POST":
        script.on("GET", entry.place, Says(200, []))
    if entry.status < 400:
        talk(script, lambda forge: endpoint.call(forge, match, entry.request))
    else:
        with pytest.raises(BY_STATUS[entry.status]) as raised:
            talk(script, lambda forge: endpoint.call(forge, match, entry.request))
        assert entry.response["message"] in raised.value.said
    _asked_as_recorded(script, entry)


def test_every_recorded_exchange_is_looked_at_somewhere() -> None:
    left = [entry for entry in ENTRIES if not _endpoint(entry)]
    unknown = [
        str(entry)
        for entry in left
        if not any(re.fullmatch(known, f"{entry.method} {entry.place}") for known in ELSEWHERE)
    ]
    assert unknown == []
    assert len(OURS) > 80


def test_an_issue_has_what_was_recorded_of_it() -> None:
    entry = next(entry for entry in ENTRIES if entry.note == "get issue")
    script = ScriptedForge().on("GET", entry.place, Says(200, entry.response))
    issue = talk(script, lambda forge: issues.get(forge, "acme/widget", 1))
    assert (issue.number, issue.user.login, issue.title) == (1, "bob", "Add a greeting")
    assert issue.label_names == ["role:implementer"]
    assert [user.login for user in issue.assignees] == ["fordjent"]
    assert not issue.is_pull
    assert issue.created_at.isoformat() == "2026-11-30T15:10:21+00:00"


def test_a_pull_request_has_what_was_recorded_of_it() -> None:
    entry = next(entry for entry in ENTRIES if entry.note == "conflicting PR")
    script = ScriptedForge().on("GET", entry.place, Says(200, entry.response))
    pull = talk(script, lambda forge: pulls.get(forge, "acme/widget", 5))
    assert (pull.head.ref, pull.base.ref, pull.mergeable) == ("fordjent/issue-3", "main", False)
    assert pull.is_from_here
    assert pull.head.repo and pull.head.repo.full_name == "acme/widget"


def test_null_is_an_empty_list_and_a_missing_field() -> None:
    script = ScriptedForge()
    script.on("GET", "/repos/acme/widget/issues/1/labels", Says(200, "null"))
    script.on("GET", "/repos/acme/widget/issues/1", Says(200, {"number": 1, "labels": None, "user": None}))
    nothing: list[Label] = talk(script, lambda forge: labels.of_issue(forge, "acme/widget", 1))
    issue: Issue = talk(script, lambda forge: issues.get(forge, "acme/widget", 1))
    assert nothing == []
    assert (issue.labels, issue.user.login) == ([], "")


def _once(entry: Entry) -> Says:
    body = "" if entry.response is None and entry.status == 204 else entry.response
    kept = {k: v for k, v in entry.headers.items() if k.lower() not in ("link", "x-total-count")}
    if isinstance(entry.response, list) or "branches of an empty repo" in entry.note:
        kept["X-Total-Count"] = str(len(entry.response or ()))  # long lists were cut to one
    return Says(entry.status, body, kept)


def _asked_as_recorded(script: ScriptedForge, entry: Entry) -> None:
    """Nothing that the server was not sent then; lists with our own order and size of pages."""
    asked = script.asked[0]
    assert (asked.method, asked.path) == (entry.method, entry.place)
    if isinstance(entry.request, dict):
        ours = asked.body or {}
        assert {k: v for k, v in ours.items() if k in entry.request and v not in ("", [])} == {
            k: v for k, v in entry.request.items() if k in ours and v not in ("", [])
        }
    if entry.method == "GET" and dict(parse_qsl(entry.path.partition("?")[2])).get("limit"):
        assert asked.query["limit"] == "50"
