"""`invoke forge-demo`: Fordjent beside a stand-in forge, from a person's issue to a pull request and back.

The real `fordjent-serve`, real git, real HTTP; forge and model are stand-ins on loopback. What is
printed is what the forge has, asked for like anybody would.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fordjent.marker import unmarked
from tests.support.scripts import call, commit, heard, propose, then, write
from tests.support.served import REPOSITORY, SECRET, Served

FILES = {
    ".gitignore": "__pycache__/\n",
    "README.md": "# Widget\n\nGreets people.\n\nTests: `python3 -m unittest`\n",
    "greeting.py": 'def greet(name: str) -> str:\n    return "Hello!"\n',
}
BETTER = 'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n'
BEST = 'def greet(name: str) -> str:\n    return f"Hello, {name}!" if name else "Hello!"\n'
TEST = """\
import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    def test_it_says_the_name(self) -> None:
        self.assertEqual(greet("Ada"), "Hello, Ada!")
"""
TEST_TOO = (
    TEST
    + """
    def test_nobody_is_greeted_too(self) -> None:
        self.assertEqual(greet(""), "Hello!")
"""
)
CHECK = call("bash", command="python3 -m unittest 2>&1 | tail -3")
BODY = "greet() says the name that it is given.\n\nTested with `python3 -m unittest`.\n\nCloses #1"
SCRIPT = [
    heard(
        "A review, by",
        write(BEST, "greeting.py"),
        write(TEST_TOO, "test_greeting.py"),
        CHECK,
        text="An empty name needs a case of its own, and a test.",
    ),
    then(
        *commit("Greet nobody in particular too"),
        propose("Say the name in the greeting", BODY),
        anywhere=["A review, by"],
    ),
    heard(
        "It was opened",
        call("read_file", path="greeting.py"),
        call("read_file", path="README.md"),
        text="First I look at what is there.",
    ),
    then(
        write(BETTER, "greeting.py"),
        write(TEST, "test_greeting.py"),
        CHECK,
        text="The name is not used. I put it in, with a test.",
    ),
    then(*commit("Say the name in the greeting")),
    then(propose("Say the name in the greeting", BODY)),
]
LOOK_SECONDS = 0.1
PATIENCE_SECONDS = 25.0


def run() -> int:
    """All of it; 0: the pull request is there, with the change that the review asked for."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forge-demo-") as folder, _served(Path(folder)) as served:
        view = View(served)
        _heading("A forge, a model and a server, all on this machine")
        print(f"  forge   {served.forge.url}  (a stand-in, with the repository {REPOSITORY})")
        print("  model   scripted, in place of a provider")
        served.start()
        print(f"  server  {served.url}  (fordjent-serve --config {served.config_path})")
        _heading("bob opens an issue")
        number = served.bob.open_issue(
            REPOSITORY, "The greeting does not say the name", 'greet("Ada") says "Hello!".'
        )
        worked = view.follow(f"issues/{number}")
        pulls = served.bob.pulls(REPOSITORY)
        if not worked or len(pulls) != 1:
            return _failed(served)
        pull = int(pulls[0]["number"])
        _heading(f"bob reviews pull request #{pull}, and asks for a change")
        remark = ("greeting.py", 2, 'greet("") now says "Hello, !".')
        served.bob.review(REPOSITORY, pull, "request_changes", "Nearly.", [remark])
        worked = view.follow(f"pulls/{pull}")
        text = served.bob.file(REPOSITORY, "greeting.py", pulls[0]["head"]["ref"])
        if not worked or text != BEST or len(served.bob.pulls(REPOSITORY)) != 1:
            return _failed(served)
        exit_code = served.stop()
        _heading("What is there now")
        _summary(served, number, pull)
        print(
            f"\n  The server ended with exit code {exit_code}, after {time.monotonic() - began:.0f} s in all."
        )
        return exit_code


def _served(folder: Path) -> Served:
    return Served(folder, SCRIPT, files=FILES)


@dataclass
class View:
    """What anybody sees of the repository on the forge, and what of it is new."""

    served: Served
    began: float = field(default_factory=time.monotonic)
    known: dict[str, str] = field(default_factory=dict)

    def follow(self, key: str) -> bool:
        """Print what changes until the session is over; False: it is not, or failed."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < ends and not self.served.has_ended:
            state = self.served.settled(key)
            self._print_changes()
            if state in ("completed", "failed", "blocked"):
                return state == "completed"
            time.sleep(LOOK_SECONDS)
        return False

    def _print_changes(self) -> None:
        for thing, text in self._look():
            if self.known.get(thing) != text:
                self.known[thing] = text
                if text:
                    print(f"  {time.monotonic() - self.began:5.1f} s  {text}", flush=True)

    def _look(self) -> Iterator[tuple[str, str]]:
        """Name of a thing, and how it looks now."""
        bob = self.served.bob
        for issue in bob.do("GET", f"/repos/{REPOSITORY}/issues?type=issues&state=all") or []:
            yield from self._look_at("issue", issue)
        for branch in bob.do("GET", f"/repos/{REPOSITORY}/branches"):
            if branch["name"] != "main":
                subject = branch["commit"]["message"].splitlines()[0]
                yield f"branch {branch['name']}", f"branch {branch['name']}: {subject}"
        for pull in bob.pulls(REPOSITORY):
            yield from self._look_at("pull request", pull)

    def _look_at(self, kind: str, one: dict[str, Any]) -> Iterator[tuple[str, str]]:
        bob, number = self.served.bob, one["number"]
        name = f"{kind} #{number}"
        yield name, f"{name} by {one['user']['login']}: {one['title']}"
        labels = ", ".join(label["name"] for label in one["labels"])
        yield f"{name} labels", f"{name} is labelled {labels}" if labels else ""
        reactions = ", ".join(content for login, content in bob.reactions(REPOSITORY, number))
        yield f"{name} reactions", f"{name} has the reactions {reactions}" if reactions else ""
        if kind == "pull request":
            for review in bob.do("GET", f"/repos/{REPOSITORY}/pulls/{number}/reviews") or []:
                yield (
                    f"review {review['id']}",
                    f"{name}: review by {review['user']['login']}: {review['body']}",
                )
        for comment in bob.comments(REPOSITORY, number):
            first = unmarked(comment["body"]).splitlines()[0]
            yield f"comment {comment['id']}", f"{name}: {comment['user']['login']} says: {first}"


def _summary(served: Served, number: int, pull: int) -> None:
    shown = served.bob.pull(REPOSITORY, pull)
    branch = shown["head"]["ref"]
    commits = served.bob.do("GET", f"/repos/{REPOSITORY}/pulls/{pull}/commits")
    print(f"  issue #{number}, labelled {', '.join(served.bob.labels(REPOSITORY, number))}")
    print(f"  pull request #{pull}: {branch} to {shown['base']['ref']}, {len(commits)} commits:")
    for one in commits:
        print(f"    {one['sha'][:10]}  {one['commit']['message'].splitlines()[0]}")
    print("  greeting.py on that branch:\n")
    for line in (served.bob.file(REPOSITORY, "greeting.py", branch) or "").splitlines():
        print(f"    | {line}")
    calls = served.row("SELECT count(*), sum(tokens_in), sum(tokens_out) FROM model_calls")[0]
    tools = served.row("SELECT count(*) FROM tool_calls")[0][0]
    deliveries = served.row("SELECT count(*) FROM deliveries")[0][0]
    print(
        f"\n  {deliveries} webhooks, {calls[0]} calls of the model ({calls[1]} tokens in, {calls[2]} out), {tools} of tools."
    )


def _failed(served: Served) -> int:
    print("\nThe demo did not come to its end. The server's log:\n")
    print(served.log.replace(SECRET, "[secret]"))
    return 1


def _heading(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)
