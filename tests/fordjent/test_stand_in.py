"""The stand-in forge itself: git over HTTP, refusals, faults, webhooks, and what it finds strange."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forge import StandIn
from tests.support.forge.bare import environment
from tests.support.forge.people import Person, Refused
from tests.support.forge.swagger import description, find, strange_value
from tests.support.hook_receiver import HookReceiver, signatures_fit

WIDGET = "acme/widget"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def forge(place: Path) -> Iterator[StandIn]:
    with StandIn.start(place / "forge") as forge:
        forge.user("alice", admin=True)
        forge.user("mallory")
        forge.repository(WIDGET, collaborators={"bob": "write", "fordjent": "write"})
        yield forge


@pytest.fixture
def bob(forge: StandIn) -> Person:
    return forge.api_as("bob")


def git(*arguments: str, token: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """git as a user has it, with a credential helper that knows one token."""
    helper = "credential.helper=!f() { echo username=x; echo password=$TOKEN; }; f"
    identity = ["-c", "user.name=bot", "-c", "user.email=bot@example.org"]
    return subprocess.run(
        ["git", "-c", "credential.helper=", *(["-c", helper] if token else []), *identity, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment({"TOKEN": token, "GIT_TERMINAL_PROMPT": "0"}),
    )


def clone_with_commit(forge: StandIn, place: Path, branch: str) -> Path:
    clone = place / "clone"
    assert git("clone", "-q", forge.clone_url(WIDGET), str(clone)).returncode == 0
    git("switch", "-q", "-c", branch, cwd=clone)
    (clone / "new.txt").write_text("new\n")
    git("add", "new.txt", cwd=clone)
    git("commit", "-q", "-m", "new", cwd=clone)
    return clone


def described(value: object) -> object:
    """Without `username`, which the real server sends and does not describe."""
    if isinstance(value, list):
        return [described(one) for one in value]
    if isinstance(value, dict):
        return {
            name: described(one) for name, one in value.items() if name != "username" or "login" not in value
        }
    return value


def test_a_token_pushes_a_branch_and_the_hook_hears_of_it(forge: StandIn, place: Path) -> None:
    clone = clone_with_commit(forge, place, "fordjent/issue-1")
    with HookReceiver() as receiver:
        forge.hook(WIDGET, receiver.url, "a secret")
        pushed = git("push", "-q", "origin", "HEAD", token=forge.token("fordjent"), cwd=clone)
        assert pushed.returncode == 0, pushed.stderr
        forge.delivered()
        assert [one.event_type for one in receiver.received] == ["create", "push"]
        assert all(signatures_fit(one, "a secret") for one in receiver.received)
        assert receiver.received[1].payload["pusher"]["login"] == "fordjent"
    assert forge.api_as("bob").file(WIDGET, "new.txt", "fordjent/issue-1") == "new\n"


@pytest.mark.parametrize(
    ("who", "branch", "said"),
    [
        ("", "topic", "terminal prompts disabled"),
        ("mallory", "topic", "403"),
        ("fordjent", "main", "Not allowed to push to protected branch main"),
    ],
)
def test_a_push_that_is_not_allowed_changes_nothing(
    forge: StandIn, place: Path, who: str, branch: str, said: str
) -> None:
    forge.api_as("alice").protect(WIDGET, "main")
    clone = clone_with_commit(forge, place, "topic")
    before = forge.world.repositories[WIDGET].bare.refs()
    token = forge.token(who) if who else ""
    pushed = git("push", "-q", "origin", f"HEAD:{branch}", token=token, cwd=clone)
    assert pushed.returncode != 0
    assert said in pushed.stderr
    assert forge.world.repositories[WIDGET].bare.refs() == before


def test_a_private_repository_is_not_there_for_strangers(forge: StandIn) -> None:
    forge.repository("acme/hidden", private=True, collaborators={"bob": "read"})
    assert forge.api_as("mallory").ask("GET", "/repos/acme/hidden").status == 404
    assert forge.api_as("bob").ask("GET", "/repos/acme/hidden").status == 200
    assert git("ls-remote", forge.clone_url("acme/hidden"), token=forge.token("mallory")).returncode != 0
    assert git("ls-remote", forge.clone_url("acme/hidden"), token=forge.token("bob")).returncode == 0


@pytest.mark.parametrize("style", ["merge", "rebase", "rebase-merge", "squash"])
def test_every_style_of_merging_brings_both_sides_together(forge: StandIn, bob: Person, style: str) -> None:
    bob.push(WIDGET, "topic", {"one.txt": "1\n"}, "one")
    bob.push(WIDGET, "topic", {"two.txt": "2\n"}, "two")
    bob.push(WIDGET, "main", {"three.txt": "3\n"}, "three")
    number = bob.open_pull(WIDGET, "topic", "Two files")
    bob.merge(WIDGET, number, style)
    bare = forge.world.repositories[WIDGET].bare
    assert set(bare.git("ls-tree", "--name-only", "main").split()) == {
        "README.md", "one.txt", "two.txt", "three.txt",
    }  # fmt: skip
    new = {"merge": 3, "rebase": 2, "rebase-merge": 3, "squash": 1}[style]
    assert len(bare.commits("main")) == 2 + new
    assert bob.pull(WIDGET, number)["merged"] is True


def test_a_merge_must_wait_until_the_forge_has_checked(forge: StandIn, bob: Person) -> None:
    forge.world.checking_seconds = 3600
    bob.push(WIDGET, "topic", {"one.txt": "1\n"})
    number = bob.open_pull(WIDGET, "topic", "One")
    bob.push(WIDGET, "main", {"other.txt": "o\n"})
    path = f"/repos/{WIDGET}/pulls/{number}"
    assert bob.pull(WIDGET, number)["mergeable"] is False
    refused = bob.ask("POST", f"{path}/merge", {"Do": "merge"})
    assert (refused.status, refused.body["message"]) == (405, "Please try again later")
    forge.settle()
    assert bob.pull(WIDGET, number)["mergeable"] is True
    assert bob.ask("POST", f"{path}/merge", {"Do": "merge"}).status == 200
    assert bob.ask("POST", f"{path}/merge", {"Do": "merge"}).status == 200


def test_the_protection_of_the_base_keeps_a_pull_request_out(forge: StandIn, bob: Person) -> None:
    alice, bot = forge.api_as("alice"), forge.api_as("fordjent")
    alice.protect(
        WIDGET, "main", required_approvals=1, enable_status_check=True, status_check_contexts=["ci"]
    )
    sha = bot.push(WIDGET, "topic", {"one.txt": "1\n"})
    number = bot.open_pull(WIDGET, "topic", "One")
    with pytest.raises(Refused, match="405"):
        bot.merge(WIDGET, number)
    bob.review(WIDGET, number, "request_changes", "no", inline=[("one.txt", 1, "why 1?")])
    bob.review(WIDGET, number, "approve", "yes")
    with pytest.raises(Refused, match="405"):
        bot.merge(WIDGET, number)
    bob.set_status(WIDGET, sha, "ci")
    bot.merge(WIDGET, number)


def test_a_second_reaction_of_the_same_kind_is_200(forge: StandIn, bob: Person) -> None:
    number = bob.open_issue(WIDGET, "An issue")
    path = f"/repos/{WIDGET}/issues/{number}/reactions"
    assert bob.do("GET", path) is None
    assert bob.ask("POST", path, {"content": "eyes"}).status == 201
    assert bob.ask("POST", path, {"content": "eyes"}).status == 200
    assert bob.reactions(WIDGET, number) == [("bob", "eyes")]


def test_what_does_not_exist_is_refused_and_noted(forge: StandIn, bob: Person) -> None:
    assert bob.ask("GET", f"/repos/{WIDGET}/issues/1/emojis").status == 404
    assert bob.ask("GET", f"/repos/{WIDGET}/issues?colour=red").status == 422
    assert bob.ask("GET", f"/repos/{WIDGET}/issues?state=merged").status == 422
    assert bob.ask("POST", f"/repos/{WIDGET}/issues", {"title": "x", "tags": []}).status == 422
    assert [said.split(" ")[0] for said in forge.strange] == ["GET", "GET", "GET", "POST"]
    assert "no query parameter colour" in forge.strange[1]
    assert "no field tags" in forge.strange[3]


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", "issues", {"title": "x", "labels": ["ready"]}, "it is a integer"),
        ("POST", "issues", {"title": 5}, "it is a string"),
        ("GET", "issues?limit=all", None, "limit cannot be 'all'"),
        ("GET", "issues?since=2026-11-30T15:00:00+00:00", None, "since cannot be"),
        ("GET", "issues/1/comments?page=2", None, "no query parameter page"),
        ("POST", "pulls/1/reviews", {"comments": [{"line": 1}]}, "has no field line"),
    ],
)
def test_values_of_another_kind_are_strange_too(
    forge: StandIn, bob: Person, method: str, path: str, body: object, said: str
) -> None:
    assert bob.ask(method, f"/repos/{WIDGET}/{path}", body).status == 422
    assert said in forge.strange[0]


def test_answers_that_were_not_recorded_are_as_the_description_says(forge: StandIn, bob: Person) -> None:
    number = bob.open_issue(WIDGET, "An issue", labels=["ready"])
    comment = bob.comment(WIDGET, number, "A comment")
    bob.depend(WIDGET, bob.open_issue(WIDGET, "Later"), number)
    sha = bob.push(WIDGET, "topic", {"docs/a file.txt": "1\n"})
    pull = bob.open_pull(WIDGET, "topic", "One")
    review = forge.api_as("fordjent").review(WIDGET, pull, "approve", "ok")
    bob.set_status(WIDGET, sha, "ci")
    alice, repository = forge.api_as("alice"), f"/repos/{WIDGET}"
    alice.protect(WIDGET, "main")
    paths = [
        "/settings/ui", "/settings/api", "/users/bob", "/users/search?q=b", "/repos/search?q=wid", "/user/repos",
        "/orgs/acme", f"{repository}/assignees", f"{repository}/reviewers", f"{repository}/branches/topic",
        f"{repository}/branch_protections", f"{repository}/branch_protections/main", f"{repository}/labels/1",
        f"{repository}/collaborators/bob/permission", f"{repository}/issues/comments/{comment}",
        f"{repository}/issues/comments", f"{repository}/issues/{number}/blocks", f"{repository}/issues/{number}/labels",
        f"{repository}/pulls/main/topic", f"{repository}/pulls/{pull}/commits", f"{repository}/pulls/{pull}/reviews/{review}",
        f"{repository}/commits", f"{repository}/commits/topic/statuses", f"{repository}/statuses/{sha}",
        f"{repository}/git/commits/{sha}", f"{repository}/git/refs", f"{repository}/git/refs/heads/topic",
        f"{repository}/contents/docs?ref=topic", f"{repository}/contents/docs/a%20file.txt?ref=topic",
        f"{repository}/milestones", f"{repository}/tags", f"{repository}/issues/{number}/comments",
    ]  # fmt: skip
    for path in paths:
        answer = alice.ask("GET", path)
        operation = find("GET", path.partition("?")[0])
        assert operation
        known = description()["paths"][operation.template]["get"]["responses"]["200"]
        assert (answer.status, strange_value(known, described(answer.body), path)) == (200, None)
        assert answer.body or path.endswith(("user/repos", "milestones", "tags"))
    assert forge.strange == []


def test_a_file_is_changed_by_the_api_only_with_the_id_it_had(forge: StandIn, bob: Person) -> None:
    path = f"/repos/{WIDGET}/contents/README.md"
    content = {"content": "aGVsbG8=", "message": "hello"}
    assert bob.ask("POST", path, content).status == 422
    assert bob.ask("PUT", path, {**content, "sha": "0" * 40}).status == 422
    assert bob.ask("PUT", path, {**content, "sha": bob.do("GET", path)["sha"]}).status == 200
    assert bob.file(WIDGET, "README.md", "main") == "hello"


def test_a_redelivery_has_the_bytes_and_the_id_of_the_first(forge: StandIn, bob: Person) -> None:
    with HookReceiver() as receiver:
        forge.hook(WIDGET, receiver.url, "s", events=("issues",))
        bob.open_issue(WIDGET, "An issue")
        forge.redeliver(forge.delivered()[0])
        forge.delivered()
        first, second = receiver.received
        assert (first.body, first.headers) == (second.body, second.headers)


def test_a_reader_cannot_do_what_a_writer_can(forge: StandIn, bob: Person) -> None:
    mallory, number = forge.api_as("mallory"), bob.open_issue(WIDGET, "An issue")
    mallory.comment(WIDGET, number, "hello")
    for method, path, body in [
        ("POST", f"issues/{number}/labels", {"labels": [1]}),
        ("PATCH", f"issues/{number}", {"state": "closed"}),
        ("POST", "labels", {"name": "x", "color": "#ffffff"}),
        ("GET", "hooks", None),
        ("GET", "collaborators/bob/permission", None),
    ]:
        assert mallory.ask(method, f"/repos/{WIDGET}/{path}", body).status == 403, path
    assert mallory.do("GET", f"/repos/{WIDGET}/collaborators/mallory/permission")["permission"] == "read"


def test_a_token_with_few_scopes_can_do_little(forge: StandIn) -> None:
    narrow = Person(forge.url, forge.token("bob", ("read:issue",)), "bob", forge)
    assert narrow.ask("GET", f"/repos/{WIDGET}/issues").status == 200
    assert narrow.ask("POST", f"/repos/{WIDGET}/issues", {"title": "x"}).status == 403
    assert narrow.ask("GET", f"/repos/{WIDGET}/pulls").status == 403


def test_faults_come_as_often_as_they_were_asked_for(forge: StandIn, bob: Person) -> None:
    forge.fail_next("GET", r"/issues$", 502, times=2)
    forge.fail_next("POST", r"/issues$", "reset")
    statuses = [bob.ask("GET", f"/repos/{WIDGET}/issues").status for _ in range(3)]
    assert statuses == [502, 502, 200]
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        bob.open_issue(WIDGET, "Not made")
    forge.fail_next("POST", r"/issues$", "lost")
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        bob.open_issue(WIDGET, "Made, but the answer was lost")
    titles = [issue["title"] for issue in bob.do("GET", f"/repos/{WIDGET}/issues")]
    assert titles == ["Made, but the answer was lost"]
    forge.fail_next("*", r"/version$", "slow", seconds=0.2)
    begun = time.monotonic()
    assert bob.ask("GET", "/version").status == 200
    assert time.monotonic() - begun >= 0.2


def test_too_many_requests_are_told_when_to_come_again(forge: StandIn, bob: Person) -> None:
    forge.limit_rate(2, per_seconds=30)
    answers = [bob.ask("GET", "/version") for _ in range(3)]
    assert [one.status for one in answers] == [200, 200, 429]
    assert 1 <= int({name.lower(): value for name, value in answers[2].headers.items()}["retry-after"]) <= 30
    forge.limit_rate(0)
    assert bob.ask("GET", "/version").status == 200


def test_a_forge_that_was_down_has_forgotten_nothing(forge: StandIn, bob: Person) -> None:
    number, url = bob.open_issue(WIDGET, "Remember me"), forge.url
    forge.down()
    with pytest.raises(ConnectionRefusedError):
        bob.issue(WIDGET, number)
    forge.up()
    assert forge.url == url
    assert bob.issue(WIDGET, number)["title"] == "Remember me"


def test_a_webhook_is_sent_once_whatever_the_receiver_says(forge: StandIn, bob: Person) -> None:
    with HookReceiver(status=503) as receiver:
        forge.hook(WIDGET, receiver.url, "s")
        bob.comment(WIDGET, bob.open_issue(WIDGET, "An issue"), "A comment")
        forge.delivered()
        assert [one.event_type for one in receiver.received] == ["issues", "issue_comment"]
        assert [one.status for one in forge.deliveries] == [503, 503]
    bob.open_issue(WIDGET, "Nobody listens")
    assert forge.delivered()[-1].status == 0
    assert "ConnectionRefused" in forge.deliveries[-1].error


def test_lists_say_where_the_next_page_is(forge: StandIn, bob: Person) -> None:
    for number in range(3):
        bob.open_issue(WIDGET, f"Issue {number}")
    answer = bob.ask("GET", f"/repos/{WIDGET}/issues?limit=1&page=2")
    headers = {name.lower(): value for name, value in answer.headers.items()}
    assert [issue["title"] for issue in answer.body] == ["Issue 1"]
    assert headers["x-total-count"] == "3"
    assert [part.split("; ")[1] for part in headers["link"].split(",")] == [
        'rel="next"', 'rel="last"', 'rel="first"', 'rel="prev"',
    ]  # fmt: skip


def test_a_forge_for_people_runs_in_the_foreground_until_it_is_ended() -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forge"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'lib'}"},
    )
    assert running.stdout
    said = [running.stdout.readline().split() for _ in range(4)]
    assert [words[0] for words in said] == ["url", "token", "token", "token"]
    connection = http.client.HTTPConnection(said[0][1].removeprefix("http://"), timeout=10)
    connection.request("GET", "/api/v1/user", headers={"Authorization": f"token {said[3][2]}"})
    assert b'"login": "fordjent"' in connection.getresponse().read()
    connection.close()
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=10) == 0
    running.stdout.close()
