"""git: a list of arguments, with the repository's own configuration kept from running anything."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from fordjent import threads
from fordjent.gates.protection import is_protected
from fordjent.tools import paths, programs
from fordjent.tools.ground import Ground
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness import process
from harness.errors import BadData
from harness.git import config_environment, environment
from harness.redaction import without_secrets

TIMEOUT_SECONDS = 120.0
MOST_OVERRIDES = 200

LOOKING = frozenset(
    [
        "blame",
        "cat-file",
        "describe",
        "diff",
        "diff-tree",
        "for-each-ref",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "name-rev",
        "reflog",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "show-branch",
        "status",
        "version",
    ]
)
CHANGING = frozenset(
    [
        "add",
        "am",
        "apply",
        "branch",
        "checkout",
        "cherry-pick",
        "clean",
        "commit",
        "merge",
        "mv",
        "notes",
        "rebase",
        "reset",
        "restore",
        "revert",
        "rm",
        "stash",
        "switch",
        "tag",
    ]
)
NETWORK = frozenset(
    [
        "clone",
        "fetch",
        "fetch-pack",
        "http-fetch",
        "http-push",
        "imap-send",
        "ls-remote",
        "pull",
        "push",
        "receive-pack",
        "remote",
        "request-pull",
        "send-email",
        "send-pack",
        "submodule",
        "svn",
        "p4",
        "upload-pack",
    ]
)
EXTERNAL_DIFF = frozenset(("diff", "log", "show"))

RUNNING = {
    "rebase": re.compile(r"-x.*|-[a-z]*x|--ex.*"),
    "grep": re.compile(r"-O.*|--open.*|--ext-g.*"),
    "cat-file": re.compile(r"--textc.*|--filt.*|--batch.*"),
}
"""Options that start a program, or wait for input; git takes a long one by its beginning."""
RUNNING_ANYWHERE = re.compile(r"--ext-d.*|--upload-p.*|--no-ind.*|--exec-p.*")

# What a repository's configuration could start, and what takes its place.
STANDING_IN = (
    (re.compile(r"(?i)core\.fsmonitor"), "false"),
    (re.compile(r"(?i)filter\..*\.(clean|smudge|process)"), ""),
    (re.compile(r"(?i)filter\..*\.required"), "false"),
    (re.compile(r"(?i)diff\..*\.textconv"), "cat"),
    (re.compile(r"(?i)diff\.external|diff\..*\.command"), ""),
    (re.compile(r"(?i)merge\..*\.driver"), "git merge-file %A %O %B"),
    (re.compile(r"(?i)gpg\.(.*\.)?program"), "false"),
    (re.compile(r"(?i)trailer\..*\.(command|cmd)"), "true"),
    (re.compile(r"(?i)(sequence|core)\.editor|interactive\.difffilter|core\.pager|pager\..*"), "cat"),
    (re.compile(r"(?i)core\.(sshcommand|askpass|gitproxy|alternaterefscommand)|credential\..*"), ""),
)


class Git(Arguments, frozen=True):
    """Run git in the worktree, e.g. {"args": ["commit", "-am", "Add the parser"]}.

    It has no remote and no credentials: forgejo_create_pr pushes and opens the pull request.
    """

    args: Annotated[
        list[str],
        Meta(description="The arguments after `git`, one each, without quotes", min_length=1, max_length=500),
    ]


async def git(scope: Scope, asked: Git) -> Outcome:
    ground = scope.ground
    args = _checked(asked.args, ground)
    verb = args[0]
    if verb == "commit":
        await threads.run(_refuse_protected, ground)
    overrides = await threads.run(quiet, ground)
    if verb in EXTERNAL_DIFF:
        args.insert(1, "--no-ext-diff")
    ran = await programs.run(ground, ["git", *args], scope.redactor, TIMEOUT_SECONDS, overrides)
    return Outcome(ran.told(TIMEOUT_SECONDS), failed=not ran.ok, changed=ran.ok and verb in CHANGING)


TOOLS = (Tool("git", Git, git, again=False),)


def _checked(given: Sequence[str], ground: Ground) -> list[str]:
    """
    Raises:
        BadData: an unknown command, one that reaches a remote, or an option that starts a program.
        Forbidden: a path out of the worktree.
    """
    args = list(given[1:] if given[0] == "git" else given)
    while args and args[0] == "--no-pager":
        args.pop(0)
    verb = args[0] if args else ""
    if verb in NETWORK:
        raise BadData(
            f"git {verb}: nothing here reaches a remote",
            hint="commit your work; forgejo_create_pr pushes the branch and opens the pull request",
        )
    if verb.startswith("-"):
        raise BadData(f"git {verb}: options before the command are not taken", hint="begin with the command")
    if verb not in LOOKING | CHANGING:
        hint = (
            "one argument per item of the list"
            if " " in verb
            else f"there are {', '.join(sorted(LOOKING | CHANGING))}"
        )
        raise BadData(f"git {verb!r}: not a command of this tool", hint=hint)
    for arg in _options(args[1:]):
        if RUNNING_ANYWHERE.fullmatch(arg) or (verb in RUNNING and RUNNING[verb].fullmatch(arg)):
            raise BadData(
                f"git {verb} {arg}: starts a program or leaves the repository", hint="use bash for that"
            )
    for arg in args[1:]:
        _check_path(arg, ground)
    if any("\0" in arg for arg in args):
        raise BadData("args: one holds a NUL")
    return args


def _options(args: Sequence[str]) -> list[str]:
    until = args.index("--") if "--" in args else len(args)
    return [arg for arg in args[:until] if arg.startswith("-")]


def _check_path(arg: str, ground: Ground) -> None:
    """Refuse what names a file outside: git would compare with it, or take a message from it."""
    value = re.sub(r"\A(--[a-z-]+=|-[A-Za-z](?=/|\.\./))", "", arg)
    if "\n" in value or " " in value:  # a message
        return
    if value.startswith("/") or ".." in value.split("/"):
        paths.real(ground.folder, value)


def _refuse_protected(ground: Ground) -> None:
    """
    Raises:
        BadData: HEAD is on a protected branch, which nothing of ours will ever push to.
    """
    found = _read(ground, "symbolic-ref", "--quiet", "--short", "HEAD").strip()
    if is_protected(found, ground.protected, ""):
        raise BadData(
            f"HEAD is on {found}, which is protected", hint="`git switch` to this session's branch first"
        )


def quiet(ground: Ground) -> dict[str, str]:
    """Variables that take the place of what the repository's configuration would start.

    Raises:
        BadData: there is more of it than anybody would write.
    """
    listed = _read(ground, "config", "--list", "--null", "--name-only", "--show-scope").split("\0")
    found: dict[str, str] = {}
    for scope, name in zip(listed[::2], listed[1::2], strict=False):
        stand_in = next((value for pattern, value in STANDING_IN if pattern.fullmatch(name)), None)
        if scope in ("local", "worktree") and stand_in is not None:
            found[name] = stand_in
    if len(found) > MOST_OVERRIDES:
        raise BadData("the repository's git configuration would start hundreds of programs; git is not run")
    return {**_with_config(ground, found), "GIT_SEQUENCE_EDITOR": "true", "GIT_ATTR_NOSYSTEM": "1"}


def _with_config(ground: Ground, more: dict[str, str]) -> dict[str, str]:
    """GIT_CONFIG_* of the ground's environment and of `more`."""
    given = ground.environment
    count = int(given.get("GIT_CONFIG_COUNT", "0"))
    kept = {given[f"GIT_CONFIG_KEY_{n}"]: given[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}
    return config_environment(more | kept)


def _read(ground: Ground, *args: str) -> str:
    """What git knows of the worktree, without running anything of its repository's."""
    inert = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null"}
    env = environment(config=inert, base=without_secrets(os.environ))
    finished = process.run(["git", *args], cwd=ground.folder, env=env, timeout_seconds=30.0)
    return finished.stdout[: 1024 * 1024].decode("utf-8", "replace") if finished.ok else ""
