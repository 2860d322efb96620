"""The command line of `ent-agent-ent`, by the rules of entomologist's `ent` (clap's).

Options of the program stand before the command; a free text that begins with a dash
needs `--` before it, save `-` alone and the tag to take away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ent_agent.tracker import format
from ent_agent.tracker.format import DEFAULT_BRANCH
from ent_agent.tracker.usage import COMMANDS, command_help, program_help
from harness.errors import EX_OK, BadData

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
