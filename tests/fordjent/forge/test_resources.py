"""The functions that make more of the server's answers than it does itself."""

from __future__ import annotations

from typing import Any

import pytest

from fordjent.forge import (
    branches,
    contents,
    dependencies,
    hooks,
    issues,
    pulls,
    repositories,
    reviews,
    users,
)
from fordjent.forge.errors import Circular, Conflict, NotAllowed, NotFound, NotOffered, Unreachable
from tests.support.scripted_forge import TOKEN, Says, ScriptedForge, talk

REPOSITORY = "acme/widget"
ROOT = "/repos/acme/widget"
PULLS = f"{ROOT}/pulls"
EXISTS = Says(409, {"message": "pull request already exists for these targets [id: 1, issue_id: 3]"})


def pull(number: int, head: str, base: str = "main", head_repo: int = 1) -> dict[str, Any]:
    return {
        "number": number,
        "head": {"ref": head, "repo_id": head_repo},
        "base": {"ref": base, "repo_id": 1},
    }


# ---- pull requests


def test_a_pull_request_that_is_open_already_is_taken_up() -> None:
    many = [pull(number, f"feature-{number}") for number in range(1, 51)]
    mine = [pull(51, "fordjent/issue-1", head_repo=9), pull(52, "fordjent/issue-1", "next")]
    more = [*mine, pull(53, "fordjent/issue-1")]
    script = ScriptedForge().on("POST", PULLS, EXISTS)
    script.on(
        "GET", PULLS, Says(200, many, {"X-Total-Count": "53"}), Says(200, more, {"X-Total-Count": "53"})
    )
    found = talk(
        script,
        lambda forge: pulls.create(forge, REPOSITORY, head="fordjent/issue-1", base="main", title="x"),
    )
    assert (found.number, found.taken_up) == (53, True)


def test_a_conflict_without_a_pull_request_is_one() -> None:
    script = ScriptedForge().on("POST", PULLS, EXISTS).on("GET", PULLS, Says(200, []))
    with pytest.raises(Conflict):
        talk(script, lambda forge: pulls.create(forge, REPOSITORY, head="a", base="main", title="x"))


def test_one_that_was_opened_now_says_so() -> None:
    script = ScriptedForge().on("POST", PULLS, Says(201, pull(7, "a")))
    made = talk(script, lambda forge: pulls.create(forge, REPOSITORY, head="a", base="main", title="x"))
    assert (made.number, made.taken_up) == (7, False)


# ---- reviewers


def test_one_unknown_reviewer_does_not_keep_the_others_from_being_asked() -> None:
    path = f"{PULLS}/3/requested_reviewers"
    unknown = Says(404, {"message": "User 'nosuch' not exist"})
    author = Says(422, {"message": "poster of pr can't be reviewer [user_id: 2]"})
    script = ScriptedForge().on("POST", path, unknown, Says(201, []), unknown, author)
    asked = talk(script, lambda forge: reviews.request(forge, REPOSITORY, 3, ["bob", "nosuch", "fordjent"]))
    assert asked.asked == ["bob"]
    assert list(asked.refused) == ["nosuch", "fordjent"]
    assert [request.body["reviewers"] for request in script.asked] == [
        ["bob", "nosuch", "fordjent"],
        ["bob"],
        ["nosuch"],
        ["fordjent"],
    ]


def test_nobody_to_ask_asks_nothing() -> None:
    assert talk(ScriptedForge(), lambda forge: reviews.request(forge, REPOSITORY, 3, [])).asked == []


# ---- branches


def test_a_missing_branch_that_answers_500_is_not_found() -> None:
    path = f"{ROOT}/branches/nope"
    script = ScriptedForge().on("DELETE", path, Says(500, {"message": ""})).on("GET", path, Says(404, {}))
    with pytest.raises(NotFound, match="there is no branch nope"):
        talk(script, lambda forge: branches.delete(forge, REPOSITORY, "nope"))
    assert script.calls() == [f"DELETE {path}", f"GET {path}"]


def test_a_500_of_a_branch_that_is_there_is_trouble() -> None:
    path = f"{ROOT}/branches/here"
    script = ScriptedForge().on("DELETE", path, Says(500, {})).on("GET", path, Says(200, {"name": "here"}))
    with pytest.raises(Unreachable):
        talk(script, lambda forge: branches.delete(forge, REPOSITORY, "here"))


def test_the_default_branch_is_not_deleted() -> None:
    path = f"{ROOT}/branches/main"
    script = ScriptedForge().on("DELETE", path, Says(403, {"message": "can not delete default branch"}))
    with pytest.raises(NotAllowed, match="can not delete default branch"):
        talk(script, lambda forge: branches.delete(forge, REPOSITORY, "main"))


def test_a_branch_s_name_is_encoded_when_it_is_deleted() -> None:
    script = ScriptedForge().on("DELETE", f"{ROOT}/branches/fordjent%2Fissue-1", Says(204, ""))
    talk(script, lambda forge: branches.delete(forge, REPOSITORY, "fordjent/issue-1"))


# ---- dependencies


def _depending(number: int, *on: int) -> tuple[str, str, Says]:
    found = [{"number": other} for other in on]
    return "GET", f"{ROOT}/issues/{number}/dependencies", Says(200, found, {"X-Total-Count": str(len(on))})


def test_a_circle_of_dependencies_is_named() -> None:
    script = ScriptedForge().on("POST", f"{ROOT}/issues/3/dependencies", Says(500, {"message": ""}))
    script.on(*_depending(3)).on(*_depending(2, 5, 4)).on(*_depending(4, 3)).on(*_depending(5, 2))
    with pytest.raises(Circular, match="#2 depends on #3 already"):
        talk(script, lambda forge: dependencies.add(forge, REPOSITORY, 3, on=2))


def test_a_500_without_a_circle_is_trouble() -> None:
    script = ScriptedForge().on("POST", f"{ROOT}/issues/3/dependencies", Says(500, {"message": ""}))
    script.on(*_depending(3)).on(*_depending(2))
    with pytest.raises(Unreachable):
        talk(script, lambda forge: dependencies.add(forge, REPOSITORY, 3, on=2))


@pytest.mark.parametrize("status", [409, 422, 500])
def test_a_dependency_that_is_there_already_is_no_error(status: int) -> None:
    script = ScriptedForge().on("POST", f"{ROOT}/issues/3/dependencies", Says(status, {}))
    script.on(*_depending(3, 2))
    talk(script, lambda forge: dependencies.add(forge, REPOSITORY, 3, on=2))
    assert script.asked[0].body == {"owner": "acme", "repo": "widget", "index": 2}


def test_taking_away_a_dependency_that_is_not_there_is_no_error() -> None:
    script = (
        ScriptedForge().on("DELETE", f"{ROOT}/issues/3/dependencies", Says(500, {})).on(*_depending(3, 4))
    )
    talk(script, lambda forge: dependencies.remove(forge, REPOSITORY, 3, on=2))
    with pytest.raises(Unreachable):
        talk(script, lambda forge: dependencies.remove(forge, REPOSITORY, 3, on=4))


# ---- permissions


@pytest.mark.parametrize("told", ["owner", "admin", "write", "read", "none"])
def test_the_permission_that_the_server_tells(told: str) -> None:
    path = f"{ROOT}/collaborators/bob/permission"
    script = ScriptedForge().on("GET", path, Says(200, {"permission": told}))
    assert talk(script, lambda forge: repositories.permission(forge, REPOSITORY, "bob")) == told


@pytest.mark.parametrize("says", [Says(404, {}), Says(200, {"permission": "boss"}), Says(200, {})])
def test_a_stranger_may_nothing(says: Says) -> None:
    script = ScriptedForge().on("GET", f"{ROOT}/collaborators/eve/permission", says)
    assert talk(script, lambda forge: repositories.permission(forge, REPOSITORY, "eve")) == "none"


@pytest.mark.parametrize(("login", "right"), [("bob", "write"), ("Bob", "write"), ("eve", "read")])
def test_an_account_that_is_not_told_looks_who_can_be_assigned(login: str, right: str) -> None:
    path = f"{ROOT}/collaborators/{login}/permission"
    script = ScriptedForge().on("GET", path, Says(403, {"message": "Only admins can query all permissions"}))
    script.on("GET", f"{ROOT}/assignees", Says(200, [{"login": "alice"}, {"login": "bob"}]))
    assert talk(script, lambda forge: repositories.permission(forge, REPOSITORY, login)) == right


def test_a_login_cannot_leave_its_place_in_the_path() -> None:
    path = f"{ROOT}/collaborators/a%2F..%2Fb/permission"
    script = ScriptedForge().on("GET", path, Says(404, {}))
    assert talk(script, lambda forge: repositories.permission(forge, REPOSITORY, "a/../b")) == "none"


# ---- files


def test_a_file_and_a_folder_are_told_apart() -> None:
    file = {"path": "README.md", "name": "README.md", "type": "file", "content": "IyB3aWRnZXQKCmRlbW8="}
    script = ScriptedForge().on("GET", f"{ROOT}/contents/README.md", Says(200, file))
    script.on("GET", f"{ROOT}/contents/src", Says(200, [{"path": "src/a.py", "type": "file"}]))
    entry = talk(script, lambda forge: contents.get(forge, REPOSITORY, "README.md", "fordjent/issue-1"))
    assert entry.data == b"# widget\n\ndemo"
    assert script.asked[0].query == {"ref": "fordjent/issue-1"}
    with pytest.raises(NotFound, match="is a folder"):
        talk(script, lambda forge: contents.get(forge, REPOSITORY, "src"))
    listed = talk(script, lambda forge: contents.list_all(forge, REPOSITORY, "/src/"))
    assert [entry.path for entry in listed] == ["src/a.py"]


def test_the_tree_of_an_empty_repository_is_empty() -> None:
    script = ScriptedForge().on(
        "GET", f"{ROOT}/git/trees/main", Says(400, {"message": "sha not found [main]"})
    )
    assert talk(script, lambda forge: contents.tree(forge, REPOSITORY, "main")) == []


def test_a_large_tree_is_read_page_by_page() -> None:
    first = {"tree": [{"path": "a"}], "truncated": True}
    script = ScriptedForge().on("GET", f"{ROOT}/git/trees/main", Says(200, first))
    script.on("GET", f"{ROOT}/git/trees/main", Says(200, {"tree": [{"path": "b"}], "truncated": False}))
    found = talk(script, lambda forge: contents.tree(forge, REPOSITORY, "main"))
    assert [entry.path for entry in found] == ["a", "b"]
    assert script.asked[0].query["recursive"] == "true"


def test_a_search_that_the_server_does_not_have_is_said_with_the_way_out() -> None:
    script = ScriptedForge().on("GET", f"{ROOT}/code/search", Says(404, "404 page not found"))
    with pytest.raises(NotOffered) as raised:
        talk(script, lambda forge: contents.search(forge, REPOSITORY, "hello"))
    assert "git grep" in raised.value.hint


# ---- the rest


def test_lists_ask_for_what_is_meant() -> None:
    script = ScriptedForge().on("GET", f"{ROOT}/issues", Says(200, []))

    async def ask(forge: Any) -> None:
        found = issues.list_all(forge, REPOSITORY, state="all", type="", labels=["a", "b"], created_by="x")
        assert [issue async for issue in found] == []

    talk(script, ask)
    asked = script.asked[0].query
    assert asked == {
        "state": "all",
        "labels": "a,b",
        "created_by": "x",
        "sort": "oldest",
        "limit": "50",
        "page": "1",
    }


def test_a_diff_is_cut_where_it_is_too_long() -> None:
    script = ScriptedForge().on("GET", f"{PULLS}/3.diff", Says(200, "x" * 5000))
    assert talk(script, lambda forge: pulls.diff(forge, REPOSITORY, 3, 4096)) == ("x" * 4096, True)
    assert talk(script, lambda forge: pulls.diff(forge, REPOSITORY, 3)) == ("x" * 5000, False)


def test_a_token_is_made_with_the_password_alone() -> None:
    path = "/users/fordjent/tokens"
    script = ScriptedForge().on("POST", path, Says(201, {"id": 1, "name": "x", "sha1": "f" * 40}))
    made = talk(
        script,
        lambda forge: users.create_token(forge, "fordjent", "x", ["read:issue"], password="pass word"),
    )
    assert made.sha1 == "f" * 40
    assert script.asked[0].headers["authorization"].startswith("Basic ")
    assert TOKEN not in str(script.asked[0])


def test_a_token_cannot_make_tokens() -> None:
    script = ScriptedForge().on("POST", "/users/fordjent/tokens", Says(401, {"message": "auth required"}))
    with pytest.raises(NotAllowed, match="auth required") as raised:
        talk(script, lambda forge: users.create_token(forge, "fordjent", "x", ["read:issue"]))
    assert "a token cannot make tokens" in raised.value.hint


def test_a_hook_that_is_gone_is_no_error() -> None:
    script = ScriptedForge().on("DELETE", f"{ROOT}/hooks/5", Says(404, {}))
    talk(script, lambda forge: hooks.delete(forge, REPOSITORY, 5))
