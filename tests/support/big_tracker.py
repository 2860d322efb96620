"""Makes a repository with a large tracker, for benchmarks: `python tests/support/big_tracker.py FOLDER [ISSUES]`.

Every issue has three comments; states, assignees, tags and dependencies are mixed as in
a tracker of some age. The same folder and number give the same commits.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

STATES = ("", "backlog", "backlog", "blocked", "inprogress", "done", "done", "done", "wontdo", "backlog")
PEOPLE = ("alice", "bob", "carol", "dave", "hermes", "seb", "zoe", "03", "", "")
START = 1_700_000_000


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
    git("fast-import", "--quiet", stdin=b"".join(_stream(issues)))
    git("reset", "--quiet", "--hard", "main")
    git("repack", "-adq")
    git("pack-refs", "--all")
    return folder


def issue_id(number: int) -> str:
    return hashlib.md5(b"issue %d" % number).hexdigest()


def _stream(issues: int) -> Iterator[bytes]:
    yield _commit("main", "first") + _file("README.md", "# A program\n")
    yield _commit("entomologist-data", "create entomologist issue branch")
    yield _file("README.md", "This branch is used by entomologist to track issues.")
    for number in range(issues):
        folder = issue_id(number)
        for path, content in _issue(number).items():
            yield _file(f"{folder}/{path}", content)
    yield b"done\n"


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


def _file(path: str, content: str) -> bytes:
    data = content.encode()
    return f'M 100644 inline "{path}"\ndata {len(data)}\n'.encode() + data + b"\n"


if __name__ == "__main__":
    print(make(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 10_000))
