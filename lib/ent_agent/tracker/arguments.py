"""The command line of `ent-agent-ent`, by the rules of entomologist's `ent` (clap's).

Options of the program stand before the command; a free text that begins with a dash
needs `--` before it, save `-` alone and the tag to take away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.errors import EX_OK, BadData

from ent_agent.tracker import format
from ent_agent.tracker.format import DEFAULT_BRANCH
from ent_agent.tracker.model import SHORTEST_PREFIX

EX_WRONG = 2

VERSION = "entomologist 0.1.0"  # whose commands these are; --help says who we are


class Asked(NamedTuple):
    """What to do: a command, its values in order, and whether as JSON."""

    command: str
    values: list[str]
    branch: str = DEFAULT_BRANCH
    json: bool = False


class Answered(Exception):
    """There is nothing to do but to print `text`: help, the version, or what is wrong (exit code 2)."""

    def __init__(self, text: str, exit_code: int = EX_OK) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code


class Command(NamedTuple):
    """`values`: names of the positional arguments, in brackets when they may be left out."""

    about: str
    values: tuple[str, ...]
    notes: str
    example: str
    json: bool = False

    @property
    def usage(self) -> str:
        return " ".join(self.values)

    @property
    def required(self) -> int:
        return sum(name.startswith("<") for name in self.values)


COMMANDS = {
    "list": Command(
        "List issues.",
        ("[FILTER]...",),
        """\
Each FILTER is name=condition; an issue is shown that passes all of them.
  state=A,B          states to show; without it new, backlog, blocked, inprogress
  assignee=A,B       who it is assigned to; an empty item stands for nobody
  tag=A,-B           has any of these tags, and none of those with a dash
  done-time=[S]..[E] done between S and E (RFC 3339); issues without a time pass
Entries that cannot be read are told on standard error.""",
        "list state=done,wontdo assignee=seb,",
        json=True,
    ),
    "new": Command(
        "Create an issue.",
        ("[DESCRIPTION]",),
        "Without DESCRIPTION $EDITOR (else vi) is started.\nThe first line is the title.",
        "new 'The parser drops the last line'",
    ),
    "edit": Command(
        "Edit the description of an issue, or a comment.",
        ("<UUID>",),
        "Starts $EDITOR (else vi). An emptied file changes nothing.",
        "edit 1a2b3c4d",
    ),
    "show": Command("Show an issue and its comments.", ("<ISSUE_ID>",), "", "show 1a2b3c4d", json=True),
    "state": Command(
        "Show the state of an issue, or change it.",
        ("<ISSUE_ID>", "[NEW_STATE]"),
        "The states: new, backlog, blocked, inprogress, done, wontdo.\nWith done the done-time is set to now.",
        "state 1a2b3c4d inprogress",
    ),
    "comment": Command(
        "Comment on an issue.",
        ("<ISSUE_ID>", "[DESCRIPTION]"),
        "Without DESCRIPTION $EDITOR (else vi) is started.",
        "comment 1a2b3c4d 'Stuck: which of the two files is meant?'",
    ),
    "sync": Command(
        "Bring the tracker level with a remote, in both directions.",
        ("[REMOTE]",),
        "REMOTE is origin when it is not given. Changes of both sides are merged by meaning.",
        "sync",
    ),
    "assign": Command(
        "Show who an issue is assigned to, or assign it.",
        ("<ISSUE_ID>", "[NEW_ASSIGNEE]"),
        "",
        "assign 1a2b3c4d seb",
    ),
    "tag": Command(
        "Show the tags of an issue, add one, or take one away.",
        ("<ISSUE_ID>", "[TAG]"),
        "TAG adds a tag, -TAG takes it away.",
        "tag 1a2b3c4d -bug",
    ),
    "done-time": Command(
        "Show when an issue was done, or set it.",
        ("<ISSUE_ID>", "[DONE_TIME]"),
        "DONE_TIME is like 2025-01-31T12:00:00+00:00 (RFC 3339), in the years 1 to 9998.",
        "done-time 1a2b3c4d 2025-01-31T12:00:00Z",
    ),
    "depend": Command(
        "Show what an issue depends on, or add a dependency.",
        ("<ISSUE_ID>", "[DEPENDENCY_ID]"),
        "",
        "depend 1a2b3c4d 5e6f7a8b",
    ),
}


def parse(words: Sequence[str], program: str = "ent") -> Asked:
    """What the words after the program's name ask for.

    Raises:
        Answered: help, the version, or a mistake.
    """
    branch: str | None = None
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            raise Answered(program_help(program))
        if word in ("-V", "--version"):
            raise Answered(VERSION + "\n")
        value = _branch_option(word, rest)
        if value is None:
            asked = _command(word, rest, program)
            return asked if branch is None else asked._replace(branch=branch)
        if branch is not None:
            raise _wrong(
                "the argument '--issues-branch <ISSUES_BRANCH>' cannot be used multiple times", program
            )
        branch = _utf8(value, program)
    raise Answered(program_help(program), EX_WRONG)


def program_help(program: str) -> str:
    listed = "\n".join(f"  {name:<10} {command.about.rstrip('.')}" for name, command in COMMANDS.items())
    return f"""\
Usage: {program} [OPTIONS] <COMMAND>

Commands:
{listed}
  help       Print this, or the help of a command

Options:
  -b, --issues-branch <ISSUES_BRANCH>  Branch that has the issues [default: {DEFAULT_BRANCH}]
  -h, --help                           Print help
  -V, --version                        Print the version that this is compatible with

This is ent-agent-ent: entomologist's `ent` as far as a person or a script would notice,
without a checkout. An issue's id may be shortened to {SHORTEST_PREFIX} characters or more.

Example:
  {program} list assignee=seb
"""


def command_help(name: str, program: str) -> str:
    command = COMMANDS[name]
    notes = f"\n{command.notes}\n" if command.notes else ""
    json = "      --json  Print JSON, one object a line\n" if command.json else ""
    return f"""\
{command.about}

Usage: {program} {name} {command.usage}
{notes}
Options:
{json}  -h, --help  Print help

Example:
  {program} {command.example}
"""


def _branch_option(word: str, rest: list[str]) -> str | None:
    """The value when `word` is the option for the branch; takes it from `rest` where it is the next word."""
    for option in ("--issues-branch=", "-b"):
        if word.startswith(option) and word != "-b":
            return word.removeprefix(option).removeprefix("=" if option == "-b" else "")
    if word not in ("-b", "--issues-branch"):
        return None
    if not rest or (rest[0].startswith("-") and rest[0] != "-"):
        raise Answered(
            "error: a value is required for '--issues-branch <ISSUES_BRANCH>' but none was supplied\n\n"
            "For more information, try '--help'.\n",
            EX_WRONG,
        )
    return rest.pop(0)


def _command(name: str, words: list[str], program: str) -> Asked:
    if name == "help":
        raise _help(words, program)
    if name.startswith("-") and name != "-":
        raise _wrong(f"unexpected argument '{words[0] if name == '--' and words else name}' found", program)
    if name not in COMMANDS:
        raise _wrong(f"unrecognized subcommand '{_shown(name)}'", program)
    values, json = _values(name, words, program)
    command = COMMANDS[name]
    if len(values) < command.required:
        missing = "".join(f"  {value}\n" for value in command.values[len(values) : command.required])
        raise _wrong(
            f"the following required arguments were not provided:\n{missing}".rstrip("\n"), program, name
        )
    if name == "state" and len(values) == 2:
        try:
            values[1] = format.state_named(values[1])
        except BadData as error:
            raise Answered(
                f"error: invalid value '{values[1]}' for '[NEW_STATE]': {error.message}\n\n"
                "For more information, try '--help'.\n",
                EX_WRONG,
            ) from error
    return Asked(name, values, json=json)


def _values(name: str, words: list[str], program: str) -> tuple[list[str], bool]:
    """The positional values of a command, and whether --json is among the words."""
    command = COMMANDS[name]
    values: list[str] = []
    json = free = False
    for word in words:
        if not free and word == "--":
            free = True
            continue
        if not free and word.startswith("-") and word != "-":
            if word in ("-h", "--help") or (word.startswith("-h") and not word.startswith("--")):
                raise Answered(command_help(name, program))
            if word == "--json" and command.json:
                json = True
                continue
            if not (name == "tag" and len(values) == 1):
                tip = f"\n\n  tip: to pass '{word}' as a value, use '-- {word}'"
                raise _wrong(f"unexpected argument '{_shown(word)}' found{tip}", program, name)
        if len(values) == len(command.values) and name != "list":
            raise _wrong(f"unexpected argument '{_shown(word)}' found", program, name)
        values.append(_utf8(word, program, name))
    return values, json


def _help(words: list[str], program: str) -> Answered:
    if not words or words == ["help"]:
        return Answered(program_help(program))
    if words[0] not in COMMANDS:
        return _wrong(f"unrecognized subcommand '{_shown(words[0])}'", program)
    if words[1:]:
        return _wrong(f"unrecognized subcommand '{_shown(words[1])}'", program, words[0])
    return Answered(command_help(words[0], program))


def _wrong(message: str, program: str, command: str = "") -> Answered:
    usage = f"{program} {command} {COMMANDS[command].usage}" if command else f"{program} [OPTIONS] <COMMAND>"
    return Answered(f"error: {message}\n\nUsage: {usage}\n\nFor more information, try '--help'.\n", EX_WRONG)


def _utf8(word: str, program: str, command: str = "") -> str:
    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise _wrong("invalid UTF-8 was detected in one or more arguments", program, command) from error
    return word


def _shown(word: str) -> str:
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
