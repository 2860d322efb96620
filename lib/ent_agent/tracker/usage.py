"""The commands of `ent-agent-ent`, and the help that it prints about them."""

from __future__ import annotations

from typing import NamedTuple

from ent_agent.tracker.format import DEFAULT_BRANCH
from ent_agent.tracker.model import SHORTEST_PREFIX


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
        "REMOTE is origin when it is not given. Changes of both sides are merged by meaning.\n"
        "git cannot ask for a password here: use ssh-agent or a credential helper.",
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
