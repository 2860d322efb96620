"""What the scripted model says in the tests of whole sessions: a small change, proposed, and changed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Rule = Mapping[str, Any]

GREETING = 'def hello(name: str) -> str:\n    return f"hello, {name}"\n'
POLITE = 'def hello(name: str) -> str:\n    return f"Good day, {name}!"\n'


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def write(text: str = GREETING, path: str = "hello.py") -> dict[str, Any]:
    return call("write_file", path=path, content=text)


def commit(message: str) -> list[dict[str, Any]]:
    return [call("git", args=["add", "-A"]), call("git", args=["commit", "-m", message])]


def propose(title: str, body: str = "") -> dict[str, Any]:
    return call("forgejo_create_pr", title=title, body=body)


def heard(what: str, *calls: dict[str, Any], text: str = "", **more: Any) -> Rule:
    """The answer to what a person said."""
    return {"last_role": "user", "last": what, "tool_calls": list(calls), "text": text, **more}


def then(*calls: dict[str, Any], text: str = "", **more: Any) -> Rule:
    """The answer to what a tool gave."""
    return {"last_role": "tool", "tool_calls": list(calls), "text": text, **more}


ISSUE_TO_PULL: list[Rule] = [
    heard("It was opened", call("read_file", path="hello.py"), text="I look at what is there."),
    then(write(), *commit("Greet by name")),
    then(propose("Greet by name", "Says the name.\n\nCloses #1")),
]

REVIEW_TO_CHANGE: list[Rule] = [
    heard("A review", write(POLITE), *commit("Greet politely"), text="I make it polite."),
    then(propose("Greet by name", "Says the name, politely.\n\nCloses #1"), anywhere=["A review, by"]),
]


def change_of(number: int) -> list[Rule]:
    """An issue's own change, in a file of its own."""
    about = [rf"- Issue: #{number}\n"]
    return [
        heard(
            "It was opened",
            write(path=f"part_{number}.py"),
            *commit(f"Add part {number}"),
            anywhere=about,
            delay="400ms",
        ),
        then(propose(f"Add part {number}", f"Closes #{number}"), anywhere=about),
    ]
