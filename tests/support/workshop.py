"""A repository of a forge on this disk, a person who pushes to it, and Fordjent's workspaces before it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fordjent.config import Config, Forgejo, Provider, State, Webhook
from fordjent.session_key import SessionKey
from fordjent.workspaces.place import Place
from fordjent.workspaces.workspaces import Workspaces
from harness import process
from harness.git import Git, environment, init_bare

TOKEN = "t0ken-of-the-bot-0123456789abcdef"
ISSUE = SessionKey("acme/widget", "issues", 1)
PERSON = {
    "GIT_AUTHOR_NAME": "Alice",
    "GIT_AUTHOR_EMAIL": "alice@example.org",
    "GIT_COMMITTER_NAME": "Alice",
    "GIT_COMMITTER_EMAIL": "alice@example.org",
}
BOT = {
    "GIT_AUTHOR_NAME": "Fordjent",
    "GIT_AUTHOR_EMAIL": "fordjent@noreply.invalid",
    "GIT_COMMITTER_NAME": "Fordjent",
    "GIT_COMMITTER_EMAIL": "fordjent@noreply.invalid",
}


def config(folder: Path, url: str = "http://127.0.0.1:9", token: str = TOKEN, **tables: object) -> Config:
    made = Config(
        webhook=Webhook(secret="s3cret-for-tests"),
        forgejo=Forgejo(url=url, token=token),
        providers={"main": Provider(base_url="scripted:none", model="scripted")},
        state=State(dir=str(folder / "state")),
        **tables,  # type: ignore[arg-type]
    )
    made.__dict__["path"] = folder / "config.toml"
    return made


@dataclass
class Workshop:
    """`folder/forge/acme/widget.git` stands in for the forge's repository."""

    folder: Path

    @property
    def origin(self) -> Git:
        return Git(self.folder / "forge/acme/widget.git")

    @property
    def workspaces(self) -> Workspaces:
        return Workspaces(config(self.folder), str(self.folder / "forge"), TOKEN)

    def begin(self, files: dict[str, str] | None = None) -> None:
        self.origin.git_dir.parent.mkdir(parents=True, exist_ok=True)
        init_bare(self.origin.git_dir)
        self.origin.run("symbolic-ref", "HEAD", "refs/heads/trunk")
        if files is not None:
            self.push("trunk", files, "Begin")

    def push(self, branch: str, files: dict[str, str | None], message: str = "A change") -> str:
        """A person's commit on a branch of the forge (from the default one where it is new)."""
        head = self.head(branch) or self.head("trunk")
        with_index = {"GIT_INDEX_FILE": str(self.folder / "person.index"), **PERSON}
        self.origin.run("read-tree", *([head] if head else ["--empty"]), env=with_index)
        for name, text in files.items():
            if text is None:
                self.origin.run("update-index", "--force-remove", name, env=with_index)
                continue
            blob = self.origin.text("hash-object", "-w", "--stdin", stdin=text.encode())
            self.origin.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", env=with_index)
        tree = self.origin.run("write-tree", env=with_index).text.strip()
        parents = ["-p", head] if head else []
        commit = self.origin.run("commit-tree", tree, *parents, "-m", message, env=with_index).text.strip()
        self.origin.update_ref(f"refs/heads/{branch}", commit)
        return commit

    def head(self, branch: str) -> str:
        return self.origin.resolve(f"refs/heads/{branch}") or ""

    def files(self, branch: str) -> dict[str, str]:
        names = self.origin.lines("ls-tree", "-r", "--name-only", self.head(branch))
        return {name: self.origin.text("show", f"{self.head(branch)}:{name}") for name in names}

    def prepare(self, key: SessionKey = ISSUE, branch: str = "") -> Place:
        return self.workspaces.prepare(key, branch)


def agent(place: Place, *words: str, check: bool = True) -> str:
    """git as an agent runs it in its worktree."""
    done = process.run(["git", *words], cwd=place.path, env=environment() | BOT | {"GIT_EDITOR": "true"})
    assert done.ok or not check, done.error_text
    return done.text.strip()


def commit(place: Place, files: dict[str, str], message: str = "[agent-automation] Work") -> str:
    """What an agent writes and commits."""
    for name, text in files.items():
        (place.path / name).parent.mkdir(parents=True, exist_ok=True)
        (place.path / name).write_text(text)
        agent(place, "add", "--", name)
    agent(place, "commit", "-q", "-m", message)
    return agent(place, "rev-parse", "HEAD")
