"""Makes a repository with a large tracker, for benchmarks: `PYTHONPATH=lib python tests/support/big_tracker.py FOLDER [ISSUES]`.

Every issue has three comments; states, assignees, tags and dependencies are mixed as in
a tracker of some age. The same folder and number give the same commits.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from harness.objects import FILE, TREE, Entry, Tree, format_tree
from harness.packing import object_id, pack

STATES = ("", "backlog", "backlog", "blocked", "inprogress", "done", "done", "done", "wontdo", "backlog")
PEOPLE = ("alice", "bob", "carol", "dave", "hermes", "seb", "zoe", "03", "", "")
START = 1_700_000_000
AT_ONCE = 5_000
"""Issues of a pack: a hundred thousand of them are two million objects."""

Objects = dict[str, tuple[str, bytes]]
"""What is to be stored, by its id: kind and content."""


def make(folder: Path, issues: int = 10_000) -> Path:
    """A repository in `folder` with a code branch `main` and the data branch, all in one pack."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment = {**plain, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*args: str, stdin: bytes = b"") -> None:
        subprocess.run(["git", "-C", str(folder), *args], input=stdin, check=True, env=environment)

    git("init", "--quiet", "--initial-branch=main")
    git("config", "user.name", "Ada Lovelace")
    git("config", "user.email", "ada@example.org")
    root: Tree = {}
    for start in range(0, issues, AT_ONCE):
        made: Objects = {}
        for number in range(start, min(start + AT_ONCE, issues)):
            root[issue_id(number).encode()] = Entry(TREE, _tree(made, _issue(number)))
        git("index-pack", "--stdin", stdin=pack(made.values()))
    made = {}
    root[b"README.md"] = Entry(
        FILE, _put(made, "blob", b"This branch is used by entomologist to track issues.")
    )
    tree = _put(made, "tree", format_tree(root))
    git("unpack-objects", "-q", stdin=pack(made.values()))
    git("fast-import", "--quiet", stdin=_commits(tree))
    git("reset", "--quiet", "--hard", "main")
    git("repack", "-adq")
    git("pack-refs", "--all")
    return folder


def issue_id(number: int) -> str:
    return hashlib.md5(b"issue %d" % number).hexdigest()


def _commits(data_tree: str) -> bytes:
    """For fast-import. It would take the files too, but looks through a folder of N entries for each of them."""
    code = b'M 100644 inline "README.md"\ndata 12\n# A program\n\n'
    data = f'M 040000 {data_tree} ""\n'.encode()
    started = _commit("entomologist-data", "create entomologist issue branch")
    return _commit("main", "first") + code + started + data + b"done\n"


def _tree(made: Objects, files: dict[str, str]) -> str:
    """The id of a folder with these files, path to content; all of it goes to `made`."""
    entries: Tree = {}
    folders: dict[str, dict[str, str]] = {}
    for path, content in files.items():
        name, _, inner = path.partition("/")
        if inner:
            folders.setdefault(name, {})[inner] = content
        else:
            entries[name.encode()] = Entry(FILE, _put(made, "blob", content.encode()))
    for name, inside in folders.items():
        entries[name.encode()] = Entry(TREE, _tree(made, inside))
    return _put(made, "tree", format_tree(entries))


def _put(made: Objects, kind: str, data: bytes) -> str:
    oid = object_id(kind, data)
    made[oid] = (kind, data)
    return oid


def _issue(number: int) -> dict[str, str]:
    mix = hashlib.md5(b"mix %d" % number).digest()
    state, assignee = STATES[mix[0] % 10], PEOPLE[mix[1] % 10]
    files = {
        "author": f"{PEOPLE[number % 7]} <{PEOPLE[number % 7]}@example.org>",
        "creation_time": f"{_time(number * 1009)}",
        "description": f"Issue number {number} about part {number % 97}\n\n{_words(number, 40)}\n",
    }
    if state:
        files["state"] = state
    if assignee:
        files["assignee"] = assignee
    if state == "done":
        files["done_time"] = _time(number * 1009 + 86400)
    if number % 3 == 0:
        files[f"tags/part,1{number % 5}"] = ""
    if number % 11 == 5:
        files[f"dependencies/{issue_id(number - 3)}"] = ""
    for index in range(3):
        comment = f"comments/{hashlib.md5(b'comment %d %d' % (number, index)).hexdigest()}"
        files[f"{comment}/author"] = f"{PEOPLE[index]} <{PEOPLE[index]}@example.org>"
        files[f"{comment}/creation_time"] = _time(number * 1009 + index * 60 + 60)
        files[f"{comment}/description"] = f"Comment {index} on {number}: {_words(number + index, 25)}\n"
    return files


def _time(offset: int) -> str:
    days, seconds = divmod(offset, 86400)
    year, day = divmod(days, 336)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{2015 + year:04}-{day // 28 + 1:02}-{day % 28 + 1:02}T{clock}.{offset % 1000:09}+00:00"


def _words(seed: int, count: int) -> str:
    digest = hashlib.sha256(b"%d" % seed).hexdigest()
    return " ".join(digest[index % 60 : index % 60 + 4] for index in range(count))


def _commit(branch: str, message: str) -> bytes:
    person = f"Ada Lovelace <ada@example.org> {START} +0000"
    return (
        f"commit refs/heads/{branch}\nauthor {person}\ncommitter {person}\ndata {len(message)}\n{message}\n"
    ).encode()


if __name__ == "__main__":
    print(make(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 10_000))
