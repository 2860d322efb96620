"""What an agent may do to a tracker: each kind of change, taken or dropped, and trees made to break the guard."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

import pytest

from ent_agent.tracker import admissible, admission
from ent_agent.tracker.guard import Admitted, admit
from harness.git import Git, Person, init_bare
from harness.objects import EXECUTABLE, FILE, GITLINK, SYMLINK, TREE, Entry, Tree, format_tree
from tests.support.histories import read_files, walk, write_files

Files = dict[str, str | bytes]

OWN, OTHER, NEW, COMMENT = "1" * 32, "2" * 32, "3" * 32, "c" * 32
ROBO = Person("Robo", "robo@example.org")
TIME = "2026-01-01T00:00:00+00:00"
BASE: Files = {
    "README.md": "readme",
    "config.toml": "",
    f"{OWN}/description": "Own",
    f"{OWN}/author": "Alice <alice@example.org>",
    f"{OWN}/creation_time": TIME,
    f"{OWN}/state": "inprogress",
    f"{OWN}/assignee": "robo",
    f"{OWN}/tags/old": "",
    f"{OWN}/dependencies/{OTHER}": "",
    f"{OWN}/comments/a/description": "from Alice",
    f"{OWN}/comments/a/author": "Alice <alice@example.org>",
    f"{OWN}/comments/r/description": "of an earlier run",
    f"{OWN}/comments/r/author": str(ROBO),
    f"{OTHER}/description": "Other",
    f"{OTHER}/state": "new",
    f"{OTHER}/comments/b/description": "from Bob",
}


def is_agent(name: str | None) -> bool:
    return name in ("robo", "Robo", str(ROBO))


@dataclass
class Guarded:
    """A repository with the base, and admissions of what agents did on top of it."""

    git: Git
    base: str

    def commit(self, files: Files, *parents: str) -> str:
        tree = write_files(self.git.objects, files)
        return self.git.objects.write_commit(tree, parents, "change", timestamp=1_700_000_100)

    def admit(self, files: Files) -> tuple[Files, dict[str, str]]:
        """What the admitted commit has, and what was dropped: path to reason."""
        return self.result(admit(self.git, self.base, self.commit(files, self.base), OWN, is_agent))

    def admit_root(self, root: Tree) -> tuple[Files, dict[str, str]]:
        """The same of a tree as it is, whatever git thinks of it."""
        tip = self.git.objects.write_commit(self.raw("tree", format_tree(root)), [self.base], "change")
        return self.result(admit(self.git, self.base, tip, OWN, is_agent))

    def result(self, admitted: Admitted) -> tuple[Files, dict[str, str]]:
        objects = self.git.objects
        files: Files = dict(read_files(objects, objects.tree_of(admitted.commit)).items())
        assert all(e.mode == FILE for _, e in walk(objects, objects.tree_of(admitted.commit)))
        return files, {dropped.path: dropped.why for dropped in admitted.dropped}

    def raw(self, kind: str, data: bytes) -> str:
        """Store an object without git's checks."""
        raw = b"%s %d\0" % (kind.encode(), len(data)) + data
        oid = sha1(raw).hexdigest()
        path = self.git.git_dir / "objects" / oid[:2] / oid[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(raw))
        return oid

    def root(self) -> Tree:
        return self.git.objects.tree(self.git.objects.tree_of(self.base))


@pytest.fixture
def guarded(place: Path) -> Guarded:
    init_bare(place / "control.git")
    git = Git(place / "control.git", person=ROBO)
    base = git.objects.write_commit(
        write_files(git.objects, BASE), [], "base", timestamp=1_700_000_000
    )  # fmt: skip
    return Guarded(git, base)


# ---- taken


def comment_of(issue: str, text: str = "Done: it works", author: str = str(ROBO)) -> Files:
    path = f"{issue}/comments/{COMMENT}"
    return {f"{path}/description": text, f"{path}/author": author, f"{path}/creation_time": TIME}


NEW_ISSUE: Files = {
    f"{NEW}/description": "Found on the way\n\nMore.",
    f"{NEW}/author": str(ROBO),
    f"{NEW}/creation_time": TIME,
    f"{NEW}/state": "backlog",
    f"{NEW}/assignee": "alice",
    f"{NEW}/tags/a,1b": "",
    f"{NEW}/dependencies/{OWN}": "",
}
TAKEN: dict[str, tuple[Files, tuple[str, ...]]] = {
    "a comment on its own issue": (comment_of(OWN), ()),
    "a comment on another issue": (comment_of(OTHER), ()),
    "a new issue": (NEW_ISSUE, ()),
    "a new issue with a comment": ({**NEW_ISSUE, **comment_of(NEW)}, ()),
    "state": ({f"{OWN}/state": "blocked"}, ()),
    "state in odd letters": ({f"{OWN}/state": " Done\n"}, ()),
    "assignee": ({f"{OWN}/assignee": "alice"}, ()),
    "nobody assigned": ({}, (f"{OWN}/assignee",)),
    "description": ({f"{OWN}/description": "Own, and what I found"}, ()),
    "done_time": ({f"{OWN}/done_time": TIME}, ()),
    "a tag": ({f"{OWN}/tags/new": ""}, ()),
    "a tag less": ({}, (f"{OWN}/tags/old",)),
    "a dependency on a new issue": ({**NEW_ISSUE, f"{OWN}/dependencies/{NEW}": ""}, ()),
    "a dependency less": ({}, (f"{OWN}/dependencies/{OTHER}",)),
}


@pytest.mark.parametrize(("changed", "removed"), TAKEN.values(), ids=TAKEN)
def test_taken(guarded: Guarded, changed: Files, removed: tuple[str, ...]) -> None:
    files = {path: text for path, text in {**BASE, **changed}.items() if path not in removed}
    assert guarded.admit(files) == (files, {})


# ---- dropped: what the agent did, and the path and reason that are given

COMMENT_PATH = f"{OWN}/comments/{COMMENT}"
DROPPED: dict[str, tuple[Files, tuple[str, ...], str, str]] = {
    "its own assignment to itself": (
        {f"{OWN}/assignee": " Robo "}, (), f"{OWN}/assignee", "is an assignment to the agent itself"),
    "a state that is none": ({f"{OWN}/state": "in progress"}, (), f"{OWN}/state", "Failed to parse state"),
    "a state that is no text": ({f"{OWN}/state": b"\xff"}, (), f"{OWN}/state", "not UTF-8 (byte 0)"),
    "an issue without its state": ({}, (f"{OWN}/state",), f"{OWN}/state", "is missing"),
    "an assignee of two lines": (
        {f"{OWN}/assignee": "alice\nbob"}, (), f"{OWN}/assignee", "is not one short line"),
    "an assignee without end": ({f"{OWN}/assignee": "a" * 2000}, (), f"{OWN}/assignee", "is not one short line"),
    "a time that is none": (
        {f"{OWN}/done_time": "today"}, (), f"{OWN}/done_time", "premature end of input"),
    "a blank description": ({f"{OWN}/description": " \n"}, (), f"{OWN}/description", "is blank"),
    "an issue without its description": ({}, (f"{OWN}/description",), f"{OWN}/description", "is missing"),
    "the author of its issue": ({f"{OWN}/author": str(ROBO)}, (), f"{OWN}/author", "is not the agent's to change"),
    "when its issue was made": (
        {f"{OWN}/creation_time": "2020-01-01T00:00:00Z"}, (), f"{OWN}/creation_time", "is not the agent's to change"),
    "a file of its own": ({f"{OWN}/notes": "x"}, (), f"{OWN}/notes", "is not the agent's to change"),
    "a tag that cannot be read": (
        {f"{OWN}/tags/a,b": ""}, (), f"{OWN}/tags/a,b", 'invalid escape character "b" in tag file "a,b"'),
    "a tag of two lines": ({f"{OWN}/tags/a\nb": ""}, (), f"{OWN}/tags/a\\nb", "is not a plain tag"),
    "tags as a file": (
        {f"{OWN}/tags": "a"}, (f"{OWN}/tags/old",), f"{OWN}/tags", "is not a folder"),
    "a dependency on itself": (
        {f"{OWN}/dependencies/{OWN}": ""}, (), f"{OWN}/dependencies/{OWN}", "is the issue itself"),
    "a dependency on nothing": (
        {f"{OWN}/dependencies/nope": ""}, (), f"{OWN}/dependencies/nope", "names an issue that is not there"),
    "a person's comment edited": (
        {f"{OWN}/comments/a/description": "Alice agrees"}, (), f"{OWN}/comments/a", "is a comment that was there before"),
    "a person's comment removed": (
        {}, (f"{OWN}/comments/a/description", f"{OWN}/comments/a/author"), f"{OWN}/comments/a",
        "is a comment that was there before"),
    "an earlier comment of the agent edited": (
        {f"{OWN}/comments/r/description": "x"}, (), f"{OWN}/comments/r", "is a comment that was there before"),
    "a comment elsewhere edited": (
        {f"{OTHER}/comments/b/description": "x"}, (), f"{OTHER}/comments/b", "is a comment that was there before"),
    "a file in a comment that was there": (
        {f"{OWN}/comments/a/more": "x"}, (), f"{OWN}/comments/a", "is a comment that was there before"),
    "a comment without text": (
        {f"{COMMENT_PATH}/author": str(ROBO)}, (), COMMENT_PATH, "is missing"),
    "a comment that is a file": ({COMMENT_PATH: "x"}, (), COMMENT_PATH, "is not a folder"),
    "a comment under a strange name": (
        {f"{OWN}/comments/..x/description": "x"}, (), f"{OWN}/comments/..x", "is not a plain id"),
    "another issue's state": ({f"{OTHER}/state": "done"}, (), f"{OTHER}/state", "is not the agent's to change"),
    "another issue's description": (
        {f"{OTHER}/description": "x"}, (), f"{OTHER}/description", "is not the agent's to change"),
    "another issue's assignee": (
        {f"{OTHER}/assignee": "robo"}, (), f"{OTHER}/assignee", "is not the agent's to change"),
    "another issue's tags": ({f"{OTHER}/tags/x": ""}, (), f"{OTHER}/tags", "is not the agent's to change"),
    "the issue of another deleted": (
        {}, tuple(path for path in BASE if path.startswith(OTHER)), OTHER, "was deleted"),
    "its own issue deleted": ({}, tuple(path for path in BASE if path.startswith(OWN)), OWN, "was deleted"),
    "an issue made a file": (
        {OTHER: "x"}, tuple(path for path in BASE if path.startswith(OTHER)), OTHER, "is not an issue"),
    "the readme": ({"README.md": "x"}, (), "README.md", "is not an issue"),
    "the configuration": ({"config.toml": "x = "}, (), "config.toml", "is not an issue"),
    "the readme deleted": ({}, ("README.md",), "README.md", "was deleted"),
    "a stray file": ({"notes.txt": "x"}, (), "notes.txt", "is not an issue"),
    "a folder that is no issue": ({".github/workflows/ci.yml": "x"}, (), ".github", "is not a plain id"),
    "an issue without a description": ({f"{NEW}/state": "new"}, (), NEW, "is missing"),
    "an issue with a blank one": ({f"{NEW}/description": "\n"}, (), NEW, "is blank"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "removed", "path", "why"), DROPPED.values(), ids=DROPPED)
def test_dropped(guarded: Guarded, changed: Files, removed: tuple[str, ...], path: str, why: str) -> None:
    """Alone it leaves the base as it was; a good comment beside it is taken all the same."""
    files = {name: text for name, text in BASE.items() if name not in removed} | changed
    admitted = admit(guarded.git, guarded.base, guarded.commit(files), OWN, is_agent)
    assert admitted.commit == guarded.base
    assert guarded.result(admitted)[1] == {path: why}
    if path not in (OWN, OTHER, COMMENT_PATH):
        assert guarded.admit({**files, **comment_of(OWN)}) == ({**BASE, **comment_of(OWN)}, {path: why})


def test_of_a_new_issue_the_assignment_to_the_agent_is_dropped_alone(guarded: Guarded) -> None:
    files, dropped = guarded.admit({**BASE, **NEW_ISSUE, f"{NEW}/assignee": "robo", f"{NEW}/done_time": "x"})
    taken = {path: text for path, text in NEW_ISSUE.items() if path != f"{NEW}/assignee"}
    assert files == {**BASE, **taken}
    assert dropped == {
        f"{NEW}/assignee": "is an assignment to the agent itself",
        f"{NEW}/done_time": "premature end of input",
    }


@pytest.mark.parametrize("author", ["Alice <alice@example.org>", "two\nlines", b"\xff", None])
def test_what_is_new_is_in_the_agents_name(guarded: Guarded, author: str | bytes | None) -> None:
    changed = {**comment_of(OWN), **NEW_ISSUE}
    names = [path for path in changed if path.endswith("/author")]
    forged: Files = {path: text for path, text in changed.items() if path not in names}
    if author is not None:
        forged |= dict.fromkeys(names, author)
    files, dropped = guarded.admit({**BASE, **forged})
    assert files == {**BASE, **changed}
    assert set(dropped) == (set(names) if author is not None else set())


def test_a_comment_brings_no_files_of_its_own(guarded: Guarded) -> None:
    path = f"{OWN}/comments/{COMMENT}"
    files, dropped = guarded.admit({**BASE, **comment_of(OWN), f"{path}/state": "done", f"{path}/x/y": "z"})
    assert files == {**BASE, **comment_of(OWN)}
    assert set(dropped) == {f"{path}/state", f"{path}/x"}


# ---- what is no ordinary commit


def test_the_admitted_commit_stands_on_the_base_and_is_the_same_each_time(guarded: Guarded) -> None:
    tip = guarded.commit({**BASE, **comment_of(OWN)}, guarded.base)
    first, second = (admit(guarded.git, guarded.base, tip, OWN, is_agent) for _ in range(2))
    assert first == second
    shown = guarded.git.text("show", "--no-patch", "--format=%P %an %s", first.commit)
    assert shown == f"{guarded.base} Robo take over what Robo did on issue {OWN}"


def test_a_commit_dated_in_the_future_is_admitted_now(guarded: Guarded) -> None:
    tree = write_files(guarded.git.objects, {**BASE, **comment_of(OWN)})
    tip = guarded.git.objects.write_commit(tree, [], "change", timestamp=9_000_000_000)
    admitted = admit(guarded.git, guarded.base, tip, OWN, is_agent)
    written = int(guarded.git.text("show", "--no-patch", "--format=%ct", admitted.commit))
    assert abs(written - time.time()) < 60


def test_nothing_done_is_the_base(guarded: Guarded) -> None:
    assert admit(guarded.git, guarded.base, guarded.base, OWN, is_agent) == Admitted(guarded.base, ())


def test_a_history_that_was_rewritten_counts_by_its_tree(guarded: Guarded) -> None:
    changed = {**BASE, **comment_of(OWN)}
    unrelated = guarded.commit(changed)
    admitted = admit(guarded.git, guarded.base, unrelated, OWN, is_agent)
    assert guarded.result(admitted) == (changed, {})
    assert guarded.git.text("show", "--no-patch", "--format=%P", admitted.commit) == guarded.base


def test_a_tracker_that_was_emptied_loses_nothing(guarded: Guarded) -> None:
    files, dropped = guarded.admit_root({})
    assert files == BASE
    assert set(dropped.values()) == {"was deleted"}


def test_what_is_no_commit_is_dropped_whole(guarded: Guarded) -> None:
    blob = guarded.git.objects.write("blob", b"x")
    tree = guarded.git.objects.tree_of(guarded.base)
    for tip in (blob, tree, "1" * 40, guarded.raw("commit", b"tree " + b"1" * 40 + b"\n\nx")):
        admitted = admit(guarded.git, guarded.base, tip, OWN, is_agent)
        assert admitted.commit == guarded.base
        assert [dropped.path for dropped in admitted.dropped] == [""]


# ---- trees made to break it


def test_links_submodules_and_programs_are_files_or_nothing(guarded: Guarded) -> None:
    objects = guarded.git.objects
    text = objects.write("blob", b"/etc/passwd")
    own = objects.tree(guarded.root()[OWN.encode()].oid)
    own[b"state"] = Entry(SYMLINK, text)
    own[b"assignee"] = Entry(GITLINK, "1" * 40)
    own[b"description"] = Entry(EXECUTABLE, text)
    root = guarded.root() | {
        OWN.encode(): Entry(TREE, objects.write_tree(own)),
        b"link": Entry(SYMLINK, text),
        b"module": Entry(GITLINK, "1" * 40),
    }
    files, dropped = guarded.admit_root(root)
    assert files == {**BASE, f"{OWN}/description": "/etc/passwd"}
    assert dropped == {
        f"{OWN}/state": "is not a file",
        f"{OWN}/assignee": "is not a file",
        "link": "is not an issue",
        "module": "is not an issue",
    }


@pytest.mark.parametrize("name", [b"..", b".", b".git", b".GIT", b"a/b", b"-rf", b"\xff", b"a b", b"x" * 300])
def test_names_that_are_paths_or_worse_are_dropped(guarded: Guarded, name: bytes) -> None:
    issue = write_files(guarded.git.objects, {"description": "x"})
    files, dropped = guarded.admit_root(guarded.root() | {name: Entry(TREE, issue)})
    assert files == BASE
    assert list(dropped.values()) == ["is not a plain id"]


def test_objects_that_are_missing_or_of_another_kind_are_dropped(guarded: Guarded) -> None:
    own = guarded.git.objects.tree(guarded.root()[OWN.encode()].oid)
    missing, tree = "1" * 40, guarded.git.objects.tree_of(guarded.base)
    own |= {b"state": Entry(FILE, missing), b"description": Entry(FILE, tree), b"tags": Entry(TREE, missing)}
    new = Entry(TREE, own[b"author"].oid)  # a folder that is a file
    root = guarded.root() | {
        OWN.encode(): Entry(TREE, guarded.raw("tree", format_tree(own))),
        b"n": new,
        b"m": Entry(TREE, missing),
    }
    files, dropped = guarded.admit_root(root)
    assert files == BASE
    assert set(dropped) == {f"{OWN}/state", f"{OWN}/description", f"{OWN}/tags", "n", "m"}
    assert guarded.git.run("fsck", "--connectivity-only", guarded.base).ok


def test_trees_that_are_garbage_are_dropped(guarded: Guarded) -> None:
    for garbage in (b"garbage", b"100644 x\0short", b"99999 state\0" + b"x" * 20, b"\0" * 100):
        broken = Entry(TREE, guarded.raw("tree", garbage))
        files, dropped = guarded.admit_root(guarded.root() | {b"new": broken, OWN.encode(): broken})
        assert files == BASE
        assert set(dropped) == {"new", OWN}


def test_huge_files_are_not_even_read(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = "x" * (admissible.MAX_TEXT_BYTES + 1)
    changed = {**comment_of(OWN, huge), f"{NEW}/description": huge, f"{OWN}/state": huge}
    tip = guarded.commit({**BASE, **changed})
    read: list[int] = []
    plain = type(guarded.git.objects).read

    def noting(self: object, oid: str) -> bytes:
        data = plain(guarded.git.objects, oid)
        read.append(len(data))
        return data

    monkeypatch.setattr(type(guarded.git.objects), "read", noting)
    admitted = admit(guarded.git, guarded.base, tip, OWN, is_agent)
    assert max(read) < admissible.MAX_TEXT_BYTES
    monkeypatch.undo()
    assert guarded.result(admitted)[1] == {
        path: "is larger than 1 MiB" for path in (COMMENT_PATH, NEW, f"{OWN}/state")
    }


def test_texts_are_limited_in_all(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admissible, "MAX_ALL_TEXTS_BYTES", 20_000)
    texts = {f"{OWN}/comments/{n:032}/description": str(n) * 5_000 for n in range(8)}
    files, dropped = guarded.admit({**BASE, **texts})
    assert len(files) - len(BASE) == 2 * (20_000 // 5_000)
    assert len(dropped) == 4 and "is one text too many" in dropped[f"{OWN}/comments/{7:032}"]


def test_thousands_of_changes_are_looked_at_up_to_a_limit_and_counted(guarded: Guarded) -> None:
    objects = guarded.git.objects
    issue = Entry(TREE, write_files(objects, {"description": "flood"}))
    comment = Entry(TREE, write_files(objects, {"description": "flood"}))
    own = objects.tree(guarded.root()[OWN.encode()].oid)
    before = objects.tree(own[b"comments"].oid)
    many = {b"%032d" % n: comment for n in range(3000)}
    own[b"comments"] = Entry(TREE, objects.write_tree({**before, **many}))
    own[b"state"] = Entry(FILE, objects.write("blob", b"blocked"))
    root = guarded.root() | {OWN.encode(): Entry(TREE, objects.write_tree(own))}
    root |= {b"0n%05d" % n: issue for n in range(20_000)}
    tip = objects.write_commit(objects.write_tree(root), [guarded.base], "flood")
    started = time.monotonic()
    admitted = admit(guarded.git, guarded.base, tip, OWN, is_agent)
    assert time.monotonic() - started < 20
    files = guarded.git.lines("ls-tree", "-r", "--name-only", admitted.commit)
    assert len([f for f in files if "/comments/0" in f]) == 2 * admission.MAX_NEW_COMMENTS
    assert len([f for f in files if f.startswith("0n")]) == 2 * admission.MAX_NEW_ISSUES
    assert guarded.git.text("cat-file", "blob", f"{admitted.commit}:{OWN}/state") == "blocked"
    assert len(admitted.dropped) == admission.MAX_DROPPED + 1
    assert admitted.dropped[-1].why.endswith(" more changes")
