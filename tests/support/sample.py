"""The sample repository as a test uses it: a person's changes on origin, and a configuration for it.

As a program (`sample.py FOLDER`) it makes both below a folder, for bats.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from ent_agent import sample as shipped
from ent_agent.config import Config, load
from ent_agent.tracker.model import Issue
from harness.git import Git, Person

WELSH, GOODBYE, SPELLING, BY_NAME, KLINGON, BANNER, NOBODYS = (issue.id for issue in shipped.ISSUES)
BROKEN = "8" * 32


@dataclass
class Sample:
    """A bare origin with a code branch and an entomologist branch."""

    origin: Path
    git: Git

    @property
    def url(self) -> str:
        return str(self.origin)

    def change(
        self, files: dict[str, bytes | None], message: str = "Change issues", person: Person = shipped.ALICE
    ) -> str:
        """A person's push to the data branch: path to content, None deletes."""
        return shipped.commit_files(self.git, shipped.DATA, files, message, person=person)

    def commit(
        self, files: dict[str, bytes | None], branch: str = shipped.CODE, message: str = "Change code"
    ) -> str:
        """A person's push to a code branch."""
        return shipped.commit_files(self.git, branch, files, message)

    def add(self, *issues: Issue) -> None:
        """More issues on the data branch; one with the id of another replaces what it names."""
        for issue in issues:
            self.change(shipped.issue_files(issue), f"create new issue {issue.id}")

    def read(self, path: str, branch: str = shipped.DATA) -> str | None:
        """The text of a file on a branch of origin; None: not there."""
        found = self.git.run("cat-file", "blob", f"refs/heads/{branch}:{path}", check=False)
        return found.text if found.ok else None

    def files(self, branch: str = shipped.DATA) -> list[str]:
        """The paths that a branch of origin holds."""
        return self.git.lines("ls-tree", "-r", "--name-only", f"refs/heads/{branch}")

    def comments(self, issue_id: str) -> list[str]:
        """The texts of an issue's comments on origin, in order of their ids."""
        paths = [path for path in self.files() if path.startswith(f"{issue_id}/comments/")]
        return [self.read(path) or "" for path in paths if path.endswith("/description")]

    def branches(self) -> dict[str, str]:
        """Branch name to commit, of origin."""
        return {ref.removeprefix("refs/heads/"): oid for ref, oid in self.git.refs("refs/heads/").items()}


def make(folder: Path) -> Sample:
    """The sample repository at `folder`/origin.git."""
    origin = folder / "origin.git"
    return Sample(origin, shipped.make(origin))


def write_config(folder: Path, repo_url: str, extra: str = "", **keys: str) -> Path:
    """A config.toml in `folder` for `repo_url`, everything of it below `folder`.

    `keys` replace or add top-level strings, `extra` is appended (tables).
    """
    values = {
        "ssh_key_dir": "identity",
        "repo_url": repo_url,
        "agent_name": "Robo",
        "agent_email": "robo@example.org",
        "agent_type": "demo",
        "agent_config_dir": "agent home",
        "state_dir": "state",
        **keys,
    }
    path = folder / "config.toml"
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    path.write_text("\n".join(lines) + "\n" + extra, encoding="utf-8")
    return path


def configuration(folder: Path, repo_url: str, extra: str = "", **keys: str) -> Config:
    """`write_config`, loaded."""
    return load(str(write_config(folder, repo_url, extra, **keys)))


if __name__ == "__main__":
    where = Path(sys.argv[1])
    write_config(where, make(where).url)
