"""What is about to be pushed, looked through before it is: every file and message that origin does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.git import Git
from harness.objects import parse_tree
from harness.worktrees import lfs, published
from harness.worktrees.leftovers import LARGE, NESTED, Rules, Withheld, may_pass, shown


def look_through(git: Git, tip: str, had: Sequence[str], rules: Rules) -> list[Withheld]:
    """What in the commits up to `tip` must not be pushed, each file once. `had`: what origin has (`on_origin`)."""
    found: dict[str, str] = {}
    for path, rule in _objections(git, tip, had, rules):
        if not may_pass(path, rule, rules):
            found.setdefault(path, rule)
    return [Withheld(path=path, rule=rule) for path, rule in found.items()]


def commits(git: Git, tip: str, had: Sequence[str]) -> list[str]:
    """The commits that origin has not had, oldest first."""
    return git.lines("rev-list", "--reverse", "--topo-order", tip, "--not", *had)


def on_origin(namespace: str, branch: str) -> tuple[str, ...]:
    """For rev-list: what origin has, and what it has had on a branch of ours."""
    return ("--remotes=origin", f"--glob={published.place(namespace, branch)}/*")


def _objections(git: Git, tip: str, had: Sequence[str], rules: Rules) -> Iterator[tuple[str, str]]:
    listed = git.run("rev-list", "--objects", "--topo-order", tip, "--not", *had).stdout.split(b"\n")[:-1]
    oids = [line[: line.find(b" ")].decode() if b" " in line else line.decode() for line in listed]
    new: list[str] = []
    readable: list[tuple[str, str, str]] = []
    for line, oid, about in zip(listed, oids, git.objects.about_many(oids), strict=True):
        kind, size = about or ("object", 0)
        path = line[len(oid) + 1 :]
        if kind == "commit":
            new.append(oid)
        if kind == "blob" and size > rules.max_file_bytes and shown(path) not in rules.allowed:
            yield shown(path), LARGE
        else:
            readable.append((oid, kind, _where(kind, oid, path)))
    found = git.objects.read_many(name for name, _, _ in readable)
    for (name, kind, where), data in zip(readable, found, strict=True):
        if lfs.is_pointer(data):
            yield where, lfs.NOT_UPLOADED
        text = b"\n".join(parse_tree(data, len(name) // 2)) if kind == "tree" else data
        if objection := rules.redactor.objection(text):
            yield where, objection
    yield from ((path, NESTED) for path in _embedded(git, tip, new[::-1]))


def _where(kind: str, oid: str, path: bytes) -> str:
    """What a finding in an object is told by."""
    if kind == "tree":
        return f"file names in {shown(path) or '.'}"
    return shown(path) if kind == "blob" else f"{kind} {oid[:12]}"


def _embedded(git: Git, tip: str, new: Sequence[str]) -> Iterator[str]:
    """Repositories that were added like files in `new` commits: links that .gitmodules does not name."""
    if not new:
        return
    [told] = git.objects.find_many([f"{tip}:.gitmodules"])
    text = (told or b"").decode("utf-8", "replace")
    modules = set(re.findall(r"^\s*path\s*=\s*(.*?)\s*$", text, re.MULTILINE))
    words = ("diff-tree", "-r", "-m", "-z", "--root", "--raw", "--no-renames", "--no-commit-id", "--stdin")
    fields = git.run(*words, stdin="".join(f"{commit}\n" for commit in new).encode()).stdout.split(b"\0")
    for about, path in zip(fields[::2], fields[1::2], strict=False):
        old, mode = about.lstrip(b":").split(b" ")[:2]
        if mode == b"160000" and old != mode and shown(path) not in modules:
            yield shown(path)
