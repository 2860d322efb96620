"""Every function of the client against a forge that refuses whatever the recorded API does not know."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest

import fordjent.forge
from fordjent.forge import (
    branches,
    comments,
    contents,
    dependencies,
    hooks,
    issues,
    labels,
    merging,
    pulls,
    reactions,
    repositories,
    reviews,
    server,
    statuses,
    timeline,
    users,
)
from fordjent.forge.errors import (
    Archived,
    Circular,
    Draft,
    HeadMoved,
    Locked,
    MergeConflict,
    NotAllowed,
    NotFound,
    NotOffered,
    NotYet,
    Refused,
    Unreachable,
)
from fordjent.forge.forge import Forge
from tests.support.forge.server import StandIn

T = TypeVar("T")

REPOSITORY = "acme/widget"


@pytest.fixture
def forge(place: Path) -> Iterator[StandIn]:
    with StandIn.start(place / "forge") as forge:
        forge.user("alice", admin=True)
        forge.repository(REPOSITORY, collaborators={"fordjent": "write", "bob": "write", "eve": "read"})
        yield forge
        assert forge.strange == []


def test_issues_and_their_comments(forge: StandIn) -> None:
    async def use(client: Forge) -> None:
        label = await labels.create(client, REPOSITORY, "ready")
        made = await issues.create(
            client, REPOSITORY, title="Ünïcode ✓", body="a\nb", labels=[label.id], assignees=["bob"]
        )
        assert (made.number, made.label_names, made.user.login) == (1, ["ready"], "fordjent")
        edited = await issues.edit(client, REPOSITORY, 1, title="New", body="", assignees=[])
        assert (edited.title, edited.body, edited.assignees) == ("New", "", [])
        assert (await issues.close(client, REPOSITORY, 1)).is_done
        assert not (await issues.reopen(client, REPOSITORY, 1)).is_done
        assert (await issues.get(client, REPOSITORY, 1)).label_names == ["ready"]
        found = issues.list_all(client, REPOSITORY, labels=["ready"], since=made.created_at, type="")
        assert [issue.number async for issue in found] == [1]
        assert [issue.number async for issue in issues.list_open(client, REPOSITORY)] == [1]

        comment = await comments.create(client, REPOSITORY, 1, "one")
        assert (comment.number, comment.is_on_pull) == (1, False)
        assert (await comments.edit(client, REPOSITORY, comment.id, "two")).body == "two"
        assert (await comments.get(client, REPOSITORY, comment.id)).body == "two"
        assert [one.body for one in await comments.list_all(client, REPOSITORY, 1)] == ["two"]
        everywhere = comments.list_repository(client, REPOSITORY, since=comment.created_at)
        assert [one.id async for one in everywhere] == [comment.id]
        await comments.delete(client, REPOSITORY, comment.id)
        await comments.delete(client, REPOSITORY, comment.id)
        assert await comments.list_all(client, REPOSITORY, 1) == []
        with pytest.raises(NotFound):
            await issues.get(client, REPOSITORY, 99)

    as_bot(forge, use)


def test_more_issues_than_fit_on_a_page(forge: StandIn) -> None:
    bob = forge.api_as("bob")
    for number in range(1, 54):
        bob.open_issue(REPOSITORY, f"Issue {number}")

    async def numbers(client: Forge) -> list[int]:
        return [issue.number async for issue in issues.list_open(client, REPOSITORY)]

    assert as_bot(forge, numbers) == list(range(1, 54))


def test_labels(forge: StandIn) -> None:
    bob = forge.api_as("bob")
    bob.open_issue(REPOSITORY, "One", labels=["role:pm"])
    forge.api_as("alice").do("POST", "/orgs/acme/labels", {"name": "org-wide", "color": "#0000aa"})

    async def use(client: Forge) -> None:
        ids = await labels.ensure(client, REPOSITORY, ["ready", "org-wide", "role:pm"])
        assert ids == {name: (await labels.ids(client, REPOSITORY))[name] for name in ids}
        assert [label.name for label in await labels.list_of_owner(client, "acme")] == ["org-wide"]
        assert {"ready", "role:pm"} <= {label.name for label in await labels.list_all(client, REPOSITORY)}
        there = await labels.add(client, REPOSITORY, 1, ["ready", "org-wide"])
        assert {label.name for label in there} == {"ready", "org-wide", "role:pm"}
        await labels.change(client, REPOSITORY, 1, on=["in_progress"], off=["ready", "blocked"])
        await labels.remove(client, REPOSITORY, 1, ["org-wide"])
        left = {label.name for label in await labels.of_issue(client, REPOSITORY, 1)}
        assert left == {"role:pm", "in_progress"}

    as_bot(forge, use)


def test_reactions(forge: StandIn) -> None:
    bob = forge.api_as("bob")
    bob.open_issue(REPOSITORY, "One")
    comment = bob.comment(REPOSITORY, 1, "hello")

    async def use(client: Forge) -> None:
        for wanted in (reactions.SEEN, reactions.SEEN, reactions.WORKING, reactions.DONE, reactions.FAILED):
            assert await reactions.add(client, REPOSITORY, 1, wanted)
        await reactions.remove(client, REPOSITORY, 1, reactions.SEEN)
        await reactions.remove(client, REPOSITORY, 1, reactions.SEEN)
        left = [one.content for one in await reactions.list_all(client, REPOSITORY, 1)]
        assert left == ["rocket", "hooray", "confused"]
        assert await reactions.add(client, REPOSITORY, 1, reactions.SEEN, comment_id=comment)
        on_comment = await reactions.list_all(client, REPOSITORY, 1, comment_id=comment)
        assert [one.content for one in on_comment] == ["eyes"]
        assert await reactions.allowed(client) == reactions.STOCK

    as_bot(forge, use)


def test_pull_requests_and_their_reviews(forge: StandIn) -> None:
    head = forge.api_as("fordjent").push(REPOSITORY, "fordjent/issue-1", {"hello.txt": "hello\n"})

    async def use(client: Forge) -> None:
        made = await pulls.create(
            client, REPOSITORY, head="fordjent/issue-1", base="main", title="Add a greeting", body="Closes #1"
        )
        again = await pulls.create(client, REPOSITORY, head="fordjent/issue-1", base="main", title="x")
        assert (again.number, again.taken_up, made.taken_up) == (made.number, True, False)
        number = made.number
        got = await pulls.get(client, REPOSITORY, number)
        assert (got.head.sha, got.is_from_here, got.base.ref) == (head, True, "main")
        assert [one.number async for one in pulls.list_open(client, REPOSITORY)] == [number]
        assert [one.number async for one in pulls.list_all(client, REPOSITORY, state="all")] == [number]
        found = await pulls.find(client, REPOSITORY, "fordjent/issue-1")
        assert found and found.number == number
        assert await pulls.find(client, REPOSITORY, "fordjent/issue-1", "other") is None
        assert [file.filename for file in await pulls.files(client, REPOSITORY, number)] == ["hello.txt"]
        assert [one.sha for one in await pulls.commits(client, REPOSITORY, number)] == [head]
        diff, more = await pulls.diff(client, REPOSITORY, number)
        assert "+hello" in diff and not more
        await pulls.edit(client, REPOSITORY, number, title="Greet")
        await pulls.close(client, REPOSITORY, number)
        await pulls.edit(client, REPOSITORY, number, state="open")
        assert (await issues.get(client, REPOSITORY, number)).is_pull
        comment = await comments.create(client, REPOSITORY, number, "on it")
        assert (comment.number, comment.is_on_pull) == (number, True)

        asked = await reviews.request(client, REPOSITORY, number, ["bob", "nosuch", "fordjent"])
        assert asked.asked == ["bob"]
        assert sorted(asked.refused) == ["fordjent", "nosuch"]
        await reviews.withdraw(client, REPOSITORY, number, ["bob"])
        remark = reviews.Remark(path="hello.txt", body="why?", new_position=1)
        review = await reviews.create(
            client, REPOSITORY, number, event="COMMENT", body="Seen.", comments=[remark], commit=head
        )
        assert (await reviews.get(client, REPOSITORY, number, review.id)).body == "Seen."
        inline = await reviews.comments(client, REPOSITORY, number, review.id)
        assert [(one.path, one.position, one.body) for one in inline] == [("hello.txt", 1, "why?")]
        assert review.id in [one.id for one in await reviews.list_all(client, REPOSITORY, number)]
        with pytest.raises(Refused):
            await reviews.create(client, REPOSITORY, number, event="APPROVED", body="self")

    as_bot(forge, use)


@pytest.mark.parametrize(("head", "base", "kind"), [("nope", "main", NotFound), ("main", "main", Refused)])
def test_a_pull_request_of_nothing(forge: StandIn, head: str, base: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        as_bot(forge, lambda client: pulls.create(client, REPOSITORY, head=head, base=base, title="x"))


def test_a_review_is_dismissed_by_an_administrator(forge: StandIn) -> None:
    number = _opened(forge)
    review = forge.api_as("bob").review(REPOSITORY, number, "request_changes", "No.")

    async def dismiss(client: Forge) -> bool:
        return (await reviews.dismiss(client, REPOSITORY, number, review, "outdated")).dismissed

    assert as_user(forge, "alice", dismiss)


def test_a_pull_request_is_merged_once_the_server_has_looked(forge: StandIn) -> None:
    number = _opened(forge)

    async def merge(client: Forge) -> None:
        pull = await pulls.get(client, REPOSITORY, number)
        merged = await _merge(client, number, pull.head.sha, style="squash")
        assert merged.merged and merged.merge_commit_sha
        assert (await _merge(client, number, pull.head.sha)).merged
        assert (await issues.get(client, REPOSITORY, number)).is_done

    as_bot(forge, merge)


def test_a_pull_request_that_conflicts(forge: StandIn) -> None:
    number = _opened(forge)
    forge.api_as("alice").push(REPOSITORY, "main", {"hello.txt": "hi\n"})

    async def merge(client: Forge) -> None:
        with pytest.raises(MergeConflict):
            head = (await pulls.get(client, REPOSITORY, number)).head.sha
            await _merge(client, number, head, patience_seconds=0.5)
        with pytest.raises(MergeConflict):
            await pulls.update(client, REPOSITORY, number)

    as_bot(forge, merge)


def test_a_pull_request_that_is_behind_is_updated(forge: StandIn) -> None:
    number = _opened(forge)
    forge.api_as("alice").push(REPOSITORY, "main", {"other.txt": "x\n"})

    async def update(client: Forge) -> int:
        await pulls.update(client, REPOSITORY, number)
        return len(await pulls.commits(client, REPOSITORY, number))

    assert as_bot(forge, update) > 1


def test_a_pull_request_that_cannot_be_merged_yet(forge: StandIn) -> None:
    number = _opened(forge)
    alice = forge.api_as("alice")
    alice.protect(REPOSITORY, "main", enable_status_check=True, status_check_contexts=["ci/build"])

    async def merge(client: Forge) -> None:
        head = (await pulls.get(client, REPOSITORY, number)).head.sha
        with pytest.raises(NotYet, match="a check or an approval is missing"):
            await _merge(client, number, head)
        made = await statuses.create(client, REPOSITORY, head, state="success", context="ci/build")
        assert (made.status, made.context) == ("success", "ci/build")
        assert (await statuses.combined(client, REPOSITORY, head)).state == "success"
        assert [one.context for one in await statuses.latest(client, REPOSITORY, head)] == ["ci/build"]
        with pytest.raises(HeadMoved):
            await _merge(client, number, "0" * 40)
        await pulls.edit(client, REPOSITORY, number, title="WIP: greet")
        with pytest.raises(Draft):
            await _merge(client, number, head)
        await pulls.edit(client, REPOSITORY, number, title="greet")
        assert (await _merge(client, number, head)).merged

    as_bot(forge, merge)


def test_branches_and_what_is_in_them(forge: StandIn) -> None:
    async def use(client: Forge) -> None:
        made = await branches.create(client, REPOSITORY, "fordjent/issue-1", start="main")
        assert (await branches.get(client, REPOSITORY, "fordjent/issue-1")).commit.id == made.commit.id
        names = [branch.name for branch in await branches.list_all(client, REPOSITORY)]
        assert sorted(names) == ["fordjent/issue-1", "main"]
        compared = await branches.compare(client, REPOSITORY, "main", "fordjent/issue-1")
        assert compared.total_commits == 0
        await branches.delete(client, REPOSITORY, "fordjent/issue-1")
        for name, kind in (("fordjent/issue-1", NotFound), ("main", NotAllowed)):
            with pytest.raises(kind):
                await branches.delete(client, REPOSITORY, name)

        assert [entry.path for entry in await contents.list_all(client, REPOSITORY)] == ["README.md"]
        assert (await contents.get(client, REPOSITORY, "README.md", "main")).data == b"# widget\n"
        assert [entry.path for entry in await contents.tree(client, REPOSITORY, "main")] == ["README.md"]
        with pytest.raises(NotFound):
            await contents.get(client, REPOSITORY, "nope.md")
        with pytest.raises(NotOffered):
            await contents.search(client, REPOSITORY, "hello")

    as_bot(forge, use)
    assert [asked for asked in forge.strange if "/code/search" not in asked] == []
    forge.strange.clear()  # Forgejo has no such search


def test_an_empty_repository_has_nothing(forge: StandIn) -> None:
    forge.repository("acme/empty", empty=True, collaborators={"fordjent": "write"})

    async def use(client: Forge) -> None:
        assert (await repositories.get(client, "acme/empty")).empty
        assert await branches.list_all(client, "acme/empty") == []
        assert await contents.list_all(client, "acme/empty") == []
        assert await contents.tree(client, "acme/empty", "main") == []

    as_bot(forge, use)


def test_dependencies(forge: StandIn) -> None:
    bob = forge.api_as("bob")
    for title in ("One", "Two", "Three"):
        bob.open_issue(REPOSITORY, title)

    async def use(client: Forge) -> None:
        await dependencies.add(client, REPOSITORY, 1, on=2)
        await dependencies.add(client, REPOSITORY, 1, on=2)
        await dependencies.add(client, REPOSITORY, 2, on=3)
        assert [one.number for one in await dependencies.list_all(client, REPOSITORY, 1)] == [2]
        assert [one.number for one in await dependencies.list_blocked(client, REPOSITORY, 2)] == [1]
        with pytest.raises(Circular):
            await dependencies.add(client, REPOSITORY, 2, on=1)
        with pytest.raises(Locked):
            await issues.close(client, REPOSITORY, 1)
        await dependencies.remove(client, REPOSITORY, 1, on=2)
        await dependencies.remove(client, REPOSITORY, 1, on=2)
        assert await dependencies.list_all(client, REPOSITORY, 1) == []

    as_bot(forge, use)


def test_hooks_of_an_administrator(forge: StandIn) -> None:
    async def use(client: Forge) -> None:
        made = await hooks.create(client, REPOSITORY, url="http://127.0.0.1:9/a", secret="s3cret")
        assert (made.url, made.active) == ("http://127.0.0.1:9/a", True)
        edited = await hooks.edit(client, REPOSITORY, made.id, url="http://127.0.0.1:9/b", secret="t")
        assert edited.url == "http://127.0.0.1:9/b"
        assert [hook.id for hook in await hooks.list_all(client, REPOSITORY)] == [made.id]
        await hooks.test(client, REPOSITORY, made.id)
        await hooks.delete(client, REPOSITORY, made.id)
        await hooks.delete(client, REPOSITORY, made.id)
        assert await hooks.list_all(client, REPOSITORY) == []

    as_user(forge, "alice", use)


def test_hooks_are_not_for_everybody(forge: StandIn) -> None:
    with pytest.raises(NotAllowed):
        as_bot(forge, lambda client: hooks.list_all(client, REPOSITORY))


@pytest.mark.parametrize("asking", ["alice", "fordjent"])
def test_who_may_do_what(forge: StandIn, asking: str) -> None:
    async def use(client: Forge) -> None:
        for login, rights in (
            ("bob", {"write"}),
            ("fordjent", {"write"}),
            ("eve", {"read"}),
            ("alice", {"admin", "owner"} if asking == "alice" else {"read"}),
        ):
            assert await repositories.permission(client, REPOSITORY, login) in rights
        assert await repositories.permission(client, REPOSITORY, "nosuch") in ("none", "read")

    as_user(forge, asking, use)


def test_repositories_users_and_the_server(forge: StandIn) -> None:
    async def use(client: Forge) -> None:
        got = await repositories.get(client, REPOSITORY)
        assert (got.full_name, got.default_branch, got.empty, got.archived) == (
            REPOSITORY,
            "main",
            False,
            False,
        )
        await repositories.add_collaborator(client, REPOSITORY, "carol", "read")
        names = {user.login for user in await repositories.collaborators(client, REPOSITORY)}
        assert names == {"fordjent", "bob", "eve", "carol"}
        assert "bob" in {user.login for user in await repositories.assignees(client, REPOSITORY)}
        await repositories.list_mine(client)
        assert (await users.me(client)).login == "alice"
        assert (await users.get(client, "bob")).login == "bob"
        assert await server.version(client)
        assert "eyes" in (await server.settings_ui(client)).allowed_reactions
        assert (await server.settings_api(client)).max_response_items == 50
        with pytest.raises(NotAllowed):
            await users.create_token(client, "alice", "x", ["read:issue"])
        made = await users.create_token(client, "alice", "x", ["read:issue"], password="alice-password")
        assert made.sha1

    forge.user("carol")
    as_user(forge, "alice", use)


def test_a_wrong_token_is_not_allowed(forge: StandIn) -> None:
    async def ask() -> None:
        async with Forge(forge.url, "0" * 40) as client:
            await users.me(client)

    with pytest.raises(NotAllowed):
        asyncio.run(ask())


def test_a_narrow_token_may_not_ask_who_it_is_and_is_good_for_the_rest(forge: StandIn) -> None:
    async def ask() -> str:
        async with Forge(forge.url, forge.token("fordjent", ("write:issue", "read:repository"))) as client:
            with pytest.raises(NotAllowed):
                await users.me(client)
            return (await repositories.get(client, REPOSITORY)).full_name

    assert asyncio.run(ask()) == REPOSITORY


def test_who_did_what_is_told_by_the_timeline(forge: StandIn) -> None:
    bob, alice = forge.api_as("bob"), forge.api_as("alice")
    bob.open_issue(REPOSITORY, "One")
    alice.label(REPOSITORY, 1, "ready")
    bob.assign(REPOSITORY, 1, "alice")
    bob.unlabel(REPOSITORY, 1, "ready")
    alice.close(REPOSITORY, 1)

    async def ask(client: Forge) -> list[tuple[str, str, str]]:
        told = await timeline.since(client, REPOSITORY, 1, datetime(2020, 1, 1, tzinfo=UTC))
        return [(one.type, one.user.login, one.label_set) for one in told]

    assert as_bot(forge, ask) == [
        ("label", "alice", "ready"),
        ("assignees", "bob", ""),
        ("label", "bob", ""),
        ("close", "alice", ""),
    ]


def test_an_archived_repository_takes_nothing(forge: StandIn) -> None:
    forge.api_as("bob").open_issue(REPOSITORY, "One")
    forge.api_as("alice").archive(REPOSITORY)
    with pytest.raises(Archived):
        as_bot(forge, lambda client: comments.create(client, REPOSITORY, 1, "x"))


def test_too_many_requests_are_waited_out(forge: StandIn) -> None:
    forge.fail_next("GET", "/version", 429, times=2, retry_after="0")
    assert as_bot(forge, server.version)


def test_a_forge_that_is_down_is_unreachable_and_comes_back(forge: StandIn) -> None:
    forge.down()
    with pytest.raises(Unreachable):
        as_bot(forge, server.version)
    forge.up()
    assert as_bot(forge, server.version)


def test_every_function_was_used_here() -> None:
    """Last of all: what no test of this module calls is not known to be understood by a forge."""
    offered = set()
    for module in pkgutil.iter_modules(fordjent.forge.__path__):
        loaded = importlib.import_module(f"fordjent.forge.{module.name}")
        for name, function in vars(loaded).items():
            if inspect.isfunction(function) and function.__module__ == loaded.__name__:
                takes = list(inspect.signature(function, eval_str=False).parameters)
                if not name.startswith("_") and takes[:1] == ["forge"]:
                    offered.add(f"{module.name}.{name}")
    text = Path(__file__).read_text("utf-8")
    assert {name for name in offered if f"{name}(" not in text and f", {name})" not in text} == set()
    assert len(offered) > 50


def as_bot(forge: StandIn, what: Callable[[Forge], Awaitable[T]]) -> T:
    return as_user(forge, "fordjent", what)


def as_user(forge: StandIn, login: str, what: Callable[[Forge], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Forge(forge.url, forge.token(login), first_wait_seconds=0.01) as client:
            return await what(client)

    return asyncio.run(run())


async def _merge(
    client: Forge, number: int, head: str, style: merging.Style = "merge", patience_seconds: float = 10.0
) -> pulls.Pull:
    return await merging.merge(
        client,
        REPOSITORY,
        number,
        head_commit=head,
        style=style,
        patience_seconds=patience_seconds,
        pause_seconds=0.02,
    )


def _opened(forge: StandIn) -> int:
    """A pull request of the bot."""
    bot = forge.api_as("fordjent")
    bot.push(REPOSITORY, "fordjent/issue-1", {"hello.txt": "hello\n"})
    return bot.open_pull(REPOSITORY, "fordjent/issue-1", "Add a greeting")
