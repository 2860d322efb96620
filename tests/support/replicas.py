"""Three replicas of one tracker, with clocks that differ: edits and syncs in any order, and what must hold after.

`Replicas` keeps book of what was written by whom with sight of what, so that `check`
can say what may be missing in the end and what may not.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field

from ent_agent.tracker.format import decode, parse_state, parse_time, trim, unescape_tag
from harness.errors import BadData
from harness.objects import FILE, TREE, Entry, Tree
from tests.support.histories import BEGINNING, History, at, walk

ISSUES = ("i1", "i2", "i3")
TIME = "2025-01-01T00:00:00+00:00"
MARKERS = (b"<<<<<<<", b"=======", b">>>>>>>")


@dataclass
class Write:
    """A value somebody gave a path; `text` is in it, where there is one."""

    commit: str
    path: str
    value: Entry | None
    text: str = ""


@dataclass
class Replicas:
    """`tips` has the commit that each replica is at."""

    history: History
    related: bool
    malformed: bool = False
    tips: list[str] = field(default_factory=list)
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    removed: list[tuple[str, str]] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    now: int = BEGINNING
    counter: int = 0

    def __post_init__(self) -> None:
        self._objects = self.history.objects
        if self.related:
            self.tips = [self._first_commit(ISSUES[:2])] * 3
        else:
            self.tips = [self._first_commit(issues) for issues in (ISSUES[:2], ISSUES[1:], ())]

    def _first_commit(self, issues: tuple[str, ...]) -> str:
        self.now += 1
        root: Tree = {name.encode(): self._new_issue(name) for name in issues}
        if issues:
            root[b"README.md"] = self._file("readme")
        return self.history.commit(self._objects.write_tree(root), [], self.now, "A <a@x>")

    # ---- what happens

    def edit(self, replica: int, skew: int, kind: str, issue: str, argument: int) -> None:
        """One commit on a replica, whose clock is `skew` seconds off. What cannot be done is left."""
        self.now += 1
        self.counter += 1
        before = self._objects.tree(self.history.tree_of(self.tips[replica]))
        changed = dict(before)
        done = self._edit_top(changed, kind, issue, argument) or self._edit_issue(
            changed, kind, issue, argument
        )
        if done is None or changed == before:
            return
        tree = self._objects.write_tree(changed)
        commit = self.history.commit(
            tree, [self.tips[replica]], self.now + skew, f"r{replica} <r{replica}@x>"
        )
        self.tips[replica] = commit
        self._note(commit, tree, kind, *done)

    def sync(self, one: int, other: int, both: bool) -> None:
        """`one` takes what `other` has; with `both`, the other way round too."""
        ours, theirs = self.tips[one], self.tips[other]
        if ours in self.history.ancestors(theirs):
            self.tips[one] = theirs
        elif theirs in self.history.ancestors(ours):
            self.tips[other] = ours if both else theirs
        else:
            self.tips[one] = self._merge(ours, theirs, one)
            if both:
                self.tips[other] = self.tips[one]

    def join(self) -> str:
        """Sync until all are level; the commit they share."""
        for one, other in ((0, 1), (1, 2), (0, 2), (0, 1), (1, 2)):
            self.sync(one, other, True)
        assert len(set(self.tips)) == 1
        return self.tips[0]

    # ---- edits

    def _edit_top(self, root: Tree, kind: str, issue: str, n: int) -> tuple[str, str] | None:
        key = issue.encode()
        match kind:
            case "delete issue" if key in root:
                del root[key]
                return issue, ""
            case "new issue" if key not in root:
                root[key] = self._new_issue(issue)
                return issue, ""
            case "top file":
                name = ("README.md", "config.toml", "notes.txt", "thing")[n % 4]
                text = f"k{self.counter} = {self.counter}\n"
                root[name.encode()] = self._file(text)
                return name, text
            case "top removal":
                name = ("README.md", "config.toml", "notes.txt", "thing")[n % 4]
                root.pop(name.encode(), None)
                return name, ""
            case "top issue":
                root[b"thing"] = self._new_issue("thing")
                return "thing", ""
        return None

    def _edit_issue(self, root: Tree, kind: str, issue: str, n: int) -> tuple[str, str] | None:
        entry = root.get(issue.encode())
        if entry is None or not entry.is_tree:
            return None
        files = self._objects.tree(entry.oid)
        done = self._edit_field(files, kind, n) or self._edit_comment(files, kind, n)
        if done is None:
            return None
        root[issue.encode()] = Entry(TREE, self._objects.write_tree(files))
        return f"{issue}/{done[0]}", done[1]

    def _edit_field(self, files: Tree, kind: str, n: int) -> tuple[str, str] | None:
        text = f"{kind} {self.counter}"
        match kind:
            case "state":
                words = ("new", "backlog", "blocked", "inprogress", "done", "wontdo")
                files[b"state"] = self._file(words[n % 6])
                return "state", ""
            case "assignee":
                files[b"assignee"] = self._file(("agent", "alice", "")[n % 3])
                return "assignee", ""
            case "unassign":
                files.pop(b"assignee", None)
                return "assignee", ""
            case "description":
                files[b"description"] = self._file(text)
                return "description", text
            case "done_time":
                files[b"done_time"] = self._file(f"2025-01-{1 + n % 28:02} {n % 24:02}:00:00+0{n % 9}:00")
                return "done_time", ""
            case "tags" | "dependencies":
                name = (b"a", b"b,0", b"i1")[n % 3]
                self._toggle(files, kind.encode(), name)
                return f"{kind}/{name.decode()}", ""
            case "attachment":
                files[b"file"] = self._file(text)
                return "file", text
            case "attached folder":
                names = self._objects.write_tree({b"ab"[n % 2 : n % 2 + 1]: self._file(text)})
                files[b"file"] = Entry(TREE, names)
                return "file", text
            case "no attachment":
                files.pop(b"file", None)
                return "file", ""
            case "malformed" if self.malformed:
                name = (b"state", b"done_time", b"assignee", b"description", b"tags", b"comments")[n % 6]
                files[name] = self._file(b"<<<<<<< ours\n\xff %d" % self.counter)
                return name.decode(), ""
            case "no description" if self.malformed:
                files.pop(b"description", None)
                return "description", ""
        return None

    def _edit_comment(self, files: Tree, kind: str, n: int) -> tuple[str, str] | None:
        folder = files.get(b"comments")
        comments = self._objects.tree(folder.oid) if folder and folder.is_tree else {}
        text = f"{kind} {self.counter}"
        if kind == "comment":
            name = f"c{self.counter}"
            comments[name.encode()] = self._item(text)
        elif kind in ("comment edit", "comment removal") and comments:
            key = sorted(comments)[n % len(comments)]
            name = key.decode()
            if kind == "comment removal":
                del comments[key]
            else:
                item = self._objects.tree(comments[key].oid)
                item[b"description"] = self._file(text)
                comments[key] = Entry(TREE, self._objects.write_tree(item))
        else:
            return None
        files.pop(b"comments", None)
        if comments:
            files[b"comments"] = Entry(TREE, self._objects.write_tree(comments))
        return f"comments/{name}", text

    def _toggle(self, files: Tree, folder: bytes, name: bytes) -> None:
        entry = files.pop(folder, None)
        names = self._objects.tree(entry.oid) if entry and entry.is_tree else {}
        if not names.pop(name, None):
            names[name] = self._file("")
        if names:
            files[folder] = Entry(TREE, self._objects.write_tree(names))

    def _file(self, content: str | bytes) -> Entry:
        data = content.encode() if isinstance(content, str) else content
        return Entry(FILE, self._objects.write("blob", data))

    def _item(self, text: str) -> Entry:
        parts = {b"description": text, b"author": "A <a@x>", b"creation_time": TIME}
        return Entry(TREE, self._objects.write_tree({name: self._file(part) for name, part in parts.items()}))

    def _new_issue(self, name: str) -> Entry:
        self.counter += 1
        return self._item(f"issue {self.counter} {name}")

    def _note(self, commit: str, tree: str, kind: str, path: str, text: str) -> None:
        instead_of_folder = kind in ("top file", "top removal", "malformed")
        if kind in ("delete issue", "comment removal") or instead_of_folder:
            self.removed.append((commit, path))
        if kind == "comment":
            issue, _, comment = path.split("/")
            self.comments[issue, comment] = commit
        if kind not in ("delete issue", "new issue", "comment removal"):
            self.writes.append(Write(commit, path, at(self._objects, tree, path.encode()), text))

    # ---- what must hold of each merge

    def _merge(self, ours: str, theirs: str, replica: int) -> str:
        merged = self.history.merged(ours, theirs)
        assert merged == self.history.merged(theirs, ours), "not the same from both sides"
        self._one_sided(ours, theirs, merged)
        self._not_less_readable(ours, theirs, merged)
        commit = self.history.commit(merged, sorted((ours, theirs)), self.now, f"r{replica} <r{replica}@x>")
        for again in (commit, ours, theirs):
            assert self.history.merged(commit, again) == merged, "not idempotent"
            assert self.history.merged(again, commit) == merged, "not idempotent"
        return commit

    def _one_sided(self, ours: str, theirs: str, merged: str) -> None:
        bases = self.history.bases(ours, theirs)
        if len(bases) != 1:
            return
        base, mine, other, result = (
            self._objects.tree(tree)
            for tree in (*map(self.history.tree_of, (bases[0], ours, theirs)), merged)
        )
        for name in base.keys() | mine.keys() | other.keys():
            if base.get(name) == mine.get(name):
                assert result.get(name) == other.get(name), (name, "what one side changed is not there")
            elif base.get(name) == other.get(name):
                assert result.get(name) == mine.get(name), (name, "what one side changed is not there")

    def _not_less_readable(self, ours: str, theirs: str, merged: str) -> None:
        bases = self.history.bases(ours, theirs)
        trees = [self.history.tree_of(commit) for commit in (*bases, ours, theirs)]
        for name, entry in self._objects.tree(merged).items():
            *before, mine, other = (at(self._objects, tree, name) for tree in trees)
            if not (len(bases) == 1 and entry.is_tree and mine and mine.is_tree and other and other.is_tree):
                continue
            inside = [self._objects.tree(issue.oid) for issue in (mine, other)]
            result = self._objects.tree(entry.oid)
            if mine not in before and other not in before and any(b"description" in side for side in inside):
                assert b"description" in result, (name, "a description vanished")
            if all(self._is_state(side.get(b"state")) for side in inside):
                assert self._is_state(result.get(b"state")), (name, "a state became unreadable")

    def _is_state(self, entry: Entry | None) -> bool:
        try:
            return entry is None or bool(parse_state(self._objects.read(entry.oid)))
        except BadData:
            return False

    # ---- what must hold in the end

    def check(self) -> None:
        """Join all replicas, and see that nothing is missing that nobody knowingly removed."""
        end = self.join()
        tree = self.history.tree_of(end)
        seen = self.history.ancestors(end)
        self._comments_are_there(tree, seen)
        if self.malformed:
            return
        assert problems(self._objects, tree) == []
        contents = [self._objects.read(entry.oid) for _, entry in walk(self._objects, tree)]
        assert not [data for data in contents if any(marker in data for marker in MARKERS)]
        self._texts_are_there(b"\n".join(contents), seen)
        if self.related:
            self._last_words_stand(tree, seen)

    def _comments_are_there(self, tree: str, seen: set[str]) -> None:
        for (issue, comment), commit in self.comments.items():
            if commit in seen and not self._removed(f"{issue}/comments/{comment}", commit):
                assert at(self._objects, tree, f"{issue}/comments/{comment}".encode()), (
                    issue,
                    comment,
                    "lost",
                )

    def _texts_are_there(self, contents: bytes, seen: set[str]) -> None:
        """A text is there, or somebody who had seen it replaced or removed it."""
        for write in self.writes:
            if not write.text or write.commit not in seen or write.text.encode() in contents:
                continue
            if write.path in ("README.md", "config.toml"):
                continue
            replaced = any(
                other.path in (write.path, *_parents(write.path)) or _is_kept_text(other.path)
                for other in self.writes
                if other is not write and write.commit in self.history.ancestors(other.commit)
            )
            assert replaced or self._removed(write.path, write.commit), (write, "text lost")

    def _last_words_stand(self, tree: str, seen: set[str]) -> None:
        """A write that had seen all others of its field is what stands."""
        deleted = {path for _, path in self.removed}
        for path in {write.path for write in self.writes}:
            top = path.split("/")[0]
            writes = [write for write in self.writes if write.path == path and write.commit in seen]
            if not writes or top in deleted or top not in ISSUES[:2] or path.startswith(f"{top}/comments"):
                continue
            last = writes[-1]
            if all(write.commit in self.history.ancestors(last.commit) for write in writes):
                assert at(self._objects, tree, path.encode()) == last.value, (path, last)

    def _removed(self, path: str, since: str) -> bool:
        """Whether somebody who had seen `since` removed the path, or what holds it."""
        above = (path, *_parents(path))
        return any(
            since in self.history.ancestors(commit)
            for commit, where in self.removed
            if where in above or _is_kept_text(where)
        )


def _is_kept_text(path: str) -> bool:
    """Whether it is a comment that a merge made of a text that had lost."""
    return len(path.split("/")[-1]) == 32


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def problems(objects: History | object, root: str) -> list[str]:
    """What a strict reader (the real `ent`) would refuse in a tracker, by path."""
    found: list[str] = []
    tree = objects.tree  # type: ignore[union-attr]
    for name, entry in tree(root).items():
        where = name.decode()
        if entry.is_tree:
            found += [f"{where}/{problem}" for problem in _issue_problems(objects, tree(entry.oid))]
        elif where == "config.toml":
            found += _file_problems(objects, where, entry, lambda data: tomllib.loads(data.decode()))
    return found


def _issue_problems(objects, files: Tree) -> list[str]:  # type: ignore[no-untyped-def]
    found = _item_problems(objects, files)
    found += _file_problems(objects, "state", files.get(b"state"), parse_state)
    found += _file_problems(objects, "assignee", files.get(b"assignee"), decode)
    found += _file_problems(objects, "done_time", files.get(b"done_time"), _parse_time)
    tags = files.get(b"tags")
    if tags and not tags.is_tree:
        found.append("tags")
    for name in objects.tree(tags.oid) if tags and tags.is_tree else ():
        unescape_tag(name.decode())
    comments = files.get(b"comments")
    for name, entry in (objects.tree(comments.oid) if comments and comments.is_tree else {}).items():
        below = _item_problems(objects, objects.tree(entry.oid)) if entry.is_tree else ["is no folder"]
        found += [f"comments/{name.decode()}/{problem}" for problem in below]
    return found


def _item_problems(objects, files: Tree) -> list[str]:  # type: ignore[no-untyped-def]
    """What issues and comments have in common."""
    found = [] if b"description" in files else ["description is missing"]
    for name, parse in (("description", decode), ("author", decode), ("creation_time", _parse_time)):
        found += _file_problems(objects, name, files.get(name.encode()), parse)
    return found


def _file_problems(objects, name: str, entry: Entry | None, parse) -> list[str]:  # type: ignore[no-untyped-def]
    if entry is None:
        return []
    if not entry.is_file:
        return [f"{name} is no file"]
    try:
        parse(objects.read(entry.oid))
    except (BadData, ValueError):
        return [name]
    return []


def _parse_time(data: bytes) -> object:
    return parse_time(trim(decode(data)))
