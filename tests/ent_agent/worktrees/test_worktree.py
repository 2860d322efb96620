"""The worktree of an issue: the same sound end from whatever a kill, an agent or a person left."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import IssueSection, Record, RepositorySection, WorktreeSection
from ent_agent.repositories import repositories, syncing
from ent_agent.selection import selection
from ent_agent.worktrees import worktree
from harness import process
from harness.errors import BadConfig, Busy, TryLater
from harness.git import Git, init_bare
from harness.worktrees import registrations
from tests.support.planted import Trap
from tests.support.sample import WELSH, Sample, configuration

ISSUE = "1a2b3c"


@dataclass
class Desk:
    """One issue of one agent, looked at from all sides."""

    config: Config
    sample: Sample
    issue: str = ISSUE

    def sync(self) -> RepositorySection:
        found = syncing.sync(Record(), self.config).repository
        assert found
        return found

    def prepare(self) -> WorktreeSection:
        repository = syncing.last(self.config) or self.sync()
        issue = IssueSection(id=self.issue, title="", description="", state="new")
        found = worktree.prepare(Record(issue=issue, repository=repository), self.config).worktree
        assert found and Path(found.path) == self.path
        return found

    @property
    def path(self) -> Path:
        return state.of(self.config).worktree(self.issue)

    @property
    def branch(self) -> str:
        return selection.branch_name(self.config, self.issue)

    @property
    def work(self) -> Git:
        return repositories.work(self.config)

    @property
    def control(self) -> Git:
        return repositories.control(self.config)

    @property
    def main(self) -> str:
        return self.sample.branches()["main"]

    @property
    def registration(self) -> registrations.Registration:
        (found,) = [one for one in registrations.every(state.of(self.config).work) if one.is_at(self.path)]
        return found

    def git(self, *words: str | Path, ok: bool = True, cwd: Path | None = None) -> str:
        """git as the agent uses it, from inside."""
        person = {"NAME": "Robo", "EMAIL": "robo@example.org"}
        env = {
            f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in person.items()
        }
        base = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "GIT_EDITOR": "true"}
        ran = process.run(["git", *words], cwd=cwd or self.path, env={**base, **env})
        assert ran.ok or not ok, ran.error_text
        return ran.text.strip()

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def commit(self, name: str, text: str, message: str = "Work") -> str:
        self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def publish(self, commit: str) -> None:
        """What the hand-back does: push, which moves the tracking ref."""
        repositories.bring_home(self.config, f"+refs/heads/{self.branch}:refs/ent-agent/local/x")
        self.control.run("push", "--quiet", "--force", "origin", f"{commit}:refs/heads/{self.branch}")

    def person(self, files: dict[str, bytes | None], message: str = "By a person") -> str:
        return self.sample.commit(files, self.branch, message)

    def is_sound(self, start: str) -> None:
        """HEAD, branch, index and files are at `start`, and git, from inside, finds nothing to say."""
        assert self.git("symbolic-ref", "HEAD") == f"refs/heads/{self.branch}"
        assert self.git("rev-parse", "HEAD") == start == self.work.resolve(f"refs/heads/{self.branch}")
        assert self.git("status", "--porcelain") == ""
        assert self.git("rev-parse", "--show-toplevel") == str(self.path)
        assert self.git("fsck", "--connectivity-only", "--no-dangling") == ""
        assert not list(self.registration.folder.glob("*.lock"))

    def kept(self, found: WorktreeSection, name: str) -> str:
        """The text of a file in the one kept commit."""
        (ref,) = found.kept
        assert ref.startswith(f"refs/ent-agent/kept/{state.key(self.issue)}/")
        return self.control.run("cat-file", "blob", f"{ref}:{name}").text


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def desk(place: Path, sample: Sample) -> Desk:
    return Desk(configuration(place, sample.url), sample)


# ---- the branch


def test_a_new_issue_gets_a_branch_at_origins_default(desk: Desk) -> None:
    found = desk.prepare()
    assert (found.branch, found.base, found.start) == (f"robo/{ISSUE}", "main", desk.main)
    assert (found.ahead, found.behind, found.created, found.remote_head) == (0, 0, True, "")
    assert (found.kept, found.left_over) == ([], [])
    desk.is_sound(desk.main)
    assert (desk.path / "greet.sh").read_text().startswith("#!/bin/sh")


def test_again_it_is_taken_up_as_it_is(desk: Desk) -> None:
    desk.prepare()
    inode = desk.path.stat().st_ino
    found = desk.prepare()
    assert not found.created and desk.path.stat().st_ino == inode
    desk.is_sound(desk.main)


def test_the_agent_commits_on_its_branch_and_sees_origin(desk: Desk) -> None:
    desk.prepare()
    done = desk.commit("new.txt", "new\n")
    assert desk.work.resolve(f"refs/heads/{desk.branch}") == done
    assert desk.git("log", "--format=%s", "origin/main..HEAD") == "Work"
    assert desk.git("remote") == ""
    found = desk.prepare()
    assert (found.start, found.ahead, found.behind) == (done, 1, 0)
    desk.is_sound(done)


def test_a_base_branch_from_the_configuration_is_where_it_begins(place: Path, sample: Sample) -> None:
    develop = sample.commit({"dev.txt": b"1\n"}, "develop")
    desk = Desk(configuration(place, sample.url, base_branch="develop"), sample)
    found = desk.prepare()
    assert (found.base, found.start) == ("develop", develop)


def test_a_base_branch_that_origin_lacks_is_a_mistake_in_the_configuration(
    place: Path, sample: Sample
) -> None:
    desk = Desk(configuration(place, sample.url, base_branch="nowhere"), sample)
    with pytest.raises(BadConfig, match="base_branch") as failed:
        desk.prepare()
    assert failed.value.exit_code == 78 and not desk.path.exists()


def test_an_empty_origin_has_nothing_to_start_from_yet(place: Path, sample: Sample) -> None:
    init_bare(place / "empty.git")
    desk = Desk(configuration(place, str(place / "empty.git")), sample)
    with pytest.raises(TryLater, match="no default branch"):
        desk.prepare()


def test_it_begins_at_what_the_last_sync_brought_not_at_an_older_state(desk: Desk) -> None:
    desk.prepare()
    newer = desk.sample.commit({"newer.txt": b"1\n"})
    desk.sync()
    found = desk.prepare()
    assert found.start == newer
    desk.is_sound(newer)


def test_a_branch_that_origin_has_is_taken_exactly(desk: Desk) -> None:
    theirs = desk.person({"theirs.txt": b"1\n"})
    desk.sync()
    found = desk.prepare()
    assert (found.start, found.remote_head) == (theirs, theirs)
    desk.is_sound(theirs)


def test_what_was_not_pushed_is_put_on_top_of_a_persons_push(desk: Desk) -> None:
    desk.prepare()
    desk.publish(desk.commit("a.txt", "1\n"))
    desk.commit("b.txt", "unpushed\n", "Ours")
    theirs = desk.person({"c.txt": b"theirs\n"})
    desk.sync()
    found = desk.prepare()
    assert found.remote_head == theirs and found.kept == []
    desk.is_sound(found.start)
    assert desk.git("log", "--format=%s", f"{theirs}..") == "Ours"
    assert {"a.txt", "b.txt", "c.txt"} <= names(desk.path)


def test_on_a_conflict_ours_is_kept_and_told(desk: Desk) -> None:
    desk.prepare()
    desk.publish(desk.commit("a.txt", "1\n"))
    desk.commit("a.txt", "ours\n")
    theirs = desk.person({"a.txt": b"theirs\n"})
    desk.sync()
    found = desk.prepare()
    assert found.start == theirs and desk.kept(found, "a.txt") == "ours\n"
    desk.is_sound(theirs)


def test_a_persons_force_push_stands(desk: Desk) -> None:
    desk.prepare()
    desk.publish(desk.commit("bad.txt", "1\n"))
    desk.sample.git.update_ref(f"refs/heads/{desk.branch}", desk.main)
    better = desk.person({"better.txt": b"1\n"})
    desk.sync()
    found = desk.prepare()
    assert (found.start, found.kept) == (better, [])
    desk.is_sound(better)
    assert not (desk.path / "bad.txt").exists()


def test_a_branch_deleted_on_origin_is_kept_and_begun_anew(desk: Desk) -> None:
    desk.prepare()
    desk.publish(desk.commit("a.txt", "1\n"))
    desk.sync()
    desk.sample.git.update_ref(f"refs/heads/{desk.branch}", None)
    desk.sync()
    found = desk.prepare()
    assert found.start == desk.main and desk.kept(found, "a.txt") == "1\n"
    desk.is_sound(desk.main)
    again = desk.commit("b.txt", "1\n")
    assert desk.prepare().start == again  # and not anew each time


# ---- the folder


def test_a_folder_deleted_by_hand_is_checked_out_again(desk: Desk) -> None:
    desk.prepare()
    done = desk.commit("a.txt", "1\n")
    desk.path.rename(desk.path.with_name("elsewhere"))
    found = desk.prepare()
    assert found.created and found.start == done
    desk.is_sound(done)
    assert len(registrations.every(state.of(desk.config).work)) == 1


def test_an_empty_left_over_folder_is_no_obstacle(desk: Desk) -> None:
    desk.path.mkdir(parents=True)
    desk.prepare()
    desk.is_sound(desk.main)
    assert not state.of(desk.config).quarantine.exists()


def test_a_left_over_folder_with_something_in_it_is_moved_aside_and_that_is_said(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.path.mkdir(parents=True)
    desk.write("precious.txt", "mine\n")
    for _ in range(2):
        desk.prepare()
        desk.is_sound(desk.main)
    (aside,) = state.of(desk.config).quarantine.iterdir()
    assert (aside / "precious.txt").read_text() == "mine\n"
    assert str(aside) in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_what_is_no_folder_is_moved_aside_too(desk: Desk, place: Path, kind: str) -> None:
    desk.path.parent.mkdir(parents=True)
    (place / "target").mkdir()
    (place / "target/precious.txt").write_text("mine\n")
    if kind == "file":
        desk.path.write_text("mine\n")
    else:
        desk.path.symlink_to(place / ("target" if kind == "link" else "nowhere"))
    desk.prepare()
    desk.is_sound(desk.main)
    assert (place / "target/precious.txt").exists() and names(place / "target") == {"precious.txt"}
    assert len(list(state.of(desk.config).quarantine.iterdir())) == 1


def test_a_repository_of_its_own_in_the_folder_is_moved_aside(desk: Desk) -> None:
    desk.prepare()
    (desk.path / ".git").unlink()
    desk.git("init", "-q")
    desk.write("own.txt", "1\n")
    found = desk.prepare()
    assert found.created
    desk.is_sound(desk.main)
    (aside,) = state.of(desk.config).quarantine.iterdir()
    assert (aside / "own.txt").exists() and (aside / ".git").is_dir()


def test_a_lost_git_file_is_written_again(desk: Desk) -> None:
    desk.prepare()
    desk.write("new.txt", "1\n")
    (desk.path / ".git").unlink()
    found = desk.prepare()
    assert not found.created and found.left_over == ["new.txt"]
    assert desk.git("status", "--porcelain") == "?? new.txt"


def test_a_registration_that_was_taken_away_leaves_the_files_in_quarantine(desk: Desk) -> None:
    desk.prepare()
    desk.write("new.txt", "1\n")
    for file in sorted(desk.registration.folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    (state.of(desk.config).work / "worktrees" / ISSUE).rmdir()
    desk.prepare()
    desk.is_sound(desk.main)
    (aside,) = state.of(desk.config).quarantine.iterdir()
    assert (aside / "new.txt").read_text() == "1\n"


def test_a_locked_worktree_on_a_missing_disk_is_told_with_its_reason(desk: Desk) -> None:
    desk.prepare()
    desk.git("worktree", "lock", "--reason", "on the usb disk", desk.path)
    desk.path.rename(desk.path.with_name("unplugged"))
    with pytest.raises(Busy, match="locked: on the usb disk") as failed:
        desk.prepare()
    assert (failed.value.code, failed.value.exit_code) == ("worktree_locked", 75)
    desk.path.with_name("unplugged").rename(desk.path)
    desk.git("worktree", "unlock", desk.path)
    desk.prepare()
    desk.is_sound(desk.main)


def test_a_worktree_that_was_moved_is_left_alone_and_told(desk: Desk, place: Path) -> None:
    desk.prepare()
    process.run(["git", "-C", state.of(desk.config).work, "worktree", "move", desk.path, place / "moved"])
    assert not desk.path.exists() and (place / "moved/greet.sh").exists()
    with pytest.raises(Busy, match=r"checked out at .*moved"):
        desk.prepare()


def test_a_branch_in_somebodys_own_worktree_is_left_alone_and_told(desk: Desk, place: Path) -> None:
    desk.sync()
    desk.work.update_ref(f"refs/heads/{desk.branch}", desk.main)
    mine = place / "my own\nworktree"
    desk.git("worktree", "add", mine, desk.branch, cwd=state.of(desk.config).work)
    with pytest.raises(Busy) as failed:
        desk.prepare()
    assert str(mine) in failed.value.message and failed.value.code == "checked_out_elsewhere"
    assert not desk.path.exists()


def test_a_branch_that_a_rebase_elsewhere_works_on_is_left_alone(desk: Desk, place: Path) -> None:
    desk.prepare()
    desk.commit("a.txt", "1\n")
    first = desk.git("rev-parse", "HEAD~")
    desk.git("switch", "-q", "--detach")
    mine = place / "mine"
    desk.git("worktree", "add", "-q", mine, desk.branch)
    desk.git("rebase", "--exec", "false", first, cwd=mine, ok=False)
    with pytest.raises(Busy, match="mine"):
        desk.prepare()


def test_a_state_folder_behind_a_link_is_the_same_one(place: Path, sample: Sample) -> None:
    (place / "real").mkdir()
    (place / "linked").symlink_to("real")
    desk = Desk(configuration(place, sample.url, state_dir="linked/state"), sample)
    desk.prepare()
    desk.write("new.txt", "1\n")
    desk.git("worktree", "repair", desk.path.resolve(), cwd=state.of(desk.config).work.resolve())
    (desk.registration.folder / "gitdir").write_text(f"{desk.path.resolve()}/.git\n")
    found = desk.prepare()
    assert not found.created and found.left_over == ["new.txt"]


def test_relative_paths_between_worktree_and_repository_are_understood(desk: Desk) -> None:
    desk.prepare()
    folder = desk.registration.folder
    (folder / "gitdir").write_text(os.path.relpath(desk.path / ".git", folder) + "\n")
    (desk.path / ".git").write_text(f"gitdir: {os.path.relpath(folder, desk.path)}\n")
    assert desk.git("status", "--porcelain") == ""
    assert not desk.prepare().created


def test_two_issues_have_two_worktrees(desk: Desk) -> None:
    other = Desk(desk.config, desk.sample, "4d5e6f")
    desk.prepare()
    other.prepare()
    desk.commit("a.txt", "1\n")
    other.is_sound(desk.main)
    assert len(registrations.every(state.of(desk.config).work)) == 2


# ---- what an agent left in it


def test_uncommitted_changes_of_a_killed_run_stay_and_are_told(desk: Desk) -> None:
    desk.prepare()
    desk.write("greet.sh", "changed\n")
    desk.write("sub/new.txt", "new\n")
    (desk.path / "README.md").unlink()
    found = desk.prepare()
    assert (found.start, found.kept) == (desk.main, [])
    assert found.left_over == ["README.md", "greet.sh", "sub/"]
    assert (desk.path / "greet.sh").read_text() == "changed\n"
    assert (desk.path / "sub/new.txt").read_text() == "new\n"


def test_they_move_along_when_the_branch_moves(desk: Desk) -> None:
    desk.prepare()
    desk.write("greet.sh", "changed\n")
    desk.write("new.txt", "new\n")
    newer = desk.sample.commit({"README.md": b"newer\n"})
    desk.sync()
    found = desk.prepare()
    assert (found.start, found.kept, found.left_over) == (newer, [], ["greet.sh", "new.txt"])
    assert (desk.path / "README.md").read_text() == "newer\n"
    assert (desk.path / "greet.sh").read_text() == "changed\n"
    assert desk.git("status", "--porcelain").split() == ["M", "greet.sh", "??", "new.txt"]


def test_where_they_conflict_with_origin_they_are_kept_and_told(desk: Desk) -> None:
    desk.prepare()
    desk.write("greet.sh", "ours\n")
    newer = desk.sample.commit({"greet.sh": b"theirs\n"})
    desk.sync()
    found = desk.prepare()
    assert found.start == newer and desk.kept(found, "greet.sh") == "ours\n"
    desk.is_sound(newer)


@pytest.mark.parametrize("ours", ["new.txt", "new.txt/inside", "ignored.log"])
def test_an_untracked_file_where_origin_now_has_one_is_kept_and_told(desk: Desk, ours: str) -> None:
    desk.sample.commit({".gitignore": b"*.log\n"})
    desk.prepare()
    desk.write(ours, "ours\n")
    theirs = "ignored.log" if ours == "ignored.log" else "new.txt"
    newer = desk.sample.commit({theirs: b"theirs\n"})
    desk.sync()
    found = desk.prepare()
    assert found.start == newer and desk.kept(found, ours) == "ours\n"
    assert (desk.path / theirs).read_text() == "theirs\n"
    desk.is_sound(newer)


def test_a_file_where_origin_now_has_a_folder_is_kept_and_told(desk: Desk) -> None:
    desk.prepare()
    desk.write("thing", "ours\n")
    newer = desk.sample.commit({"thing/inside": b"theirs\n"})
    desk.sync()
    found = desk.prepare()
    assert desk.kept(found, "thing") == "ours\n"
    desk.is_sound(newer)


def test_what_cannot_be_moved_out_of_the_way_takes_the_folder_aside(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole repository stands where origin now has a file."""
    desk.prepare()
    desk.write("thing/own.txt", "1\n")
    desk.git("init", "-q", cwd=desk.path / "thing")
    newer = desk.sample.commit({"thing": b"theirs\n"})
    desk.sync()
    found = desk.prepare()
    assert found.start == newer
    desk.is_sound(newer)
    (aside,) = state.of(desk.config).quarantine.iterdir()
    assert (aside / "thing/own.txt").exists()
    assert str(aside) in capsys.readouterr().err


def test_a_detached_head_with_commits_beyond_the_branch_is_gone_on_with(desk: Desk) -> None:
    desk.prepare()
    desk.git("switch", "-q", "--detach")
    done = desk.commit("a.txt", "1\n")
    found = desk.prepare()
    assert (found.start, found.kept) == (done, [])
    desk.is_sound(done)


def test_a_head_that_is_elsewhere_is_kept_and_the_branch_checked_out(desk: Desk) -> None:
    desk.sample.commit({"second.txt": b"1\n"})
    desk.prepare()
    done = desk.commit("a.txt", "1\n")
    desk.git("switch", "-q", "-c", "experiment", "HEAD~2")
    desk.commit("b.txt", "experiment\n")
    desk.write("c.txt", "uncommitted\n")
    found = desk.prepare()
    assert found.start == done and desk.kept(found, "b.txt") == "experiment\n"
    assert desk.git("rev-parse", "HEAD") == done
    assert desk.git("symbolic-ref", "HEAD") == f"refs/heads/{desk.branch}"
    assert desk.git("status", "--porcelain") == "?? c.txt" and found.left_over == ["c.txt"]


def test_a_rebase_half_way_is_kept_and_ended(desk: Desk) -> None:
    desk.prepare()
    desk.commit("greet.sh", "one\n")
    done = desk.commit("a.txt", "1\n")
    desk.git("switch", "-q", "-c", "aside", "HEAD~2")
    onto = desk.commit("greet.sh", "two\n")
    desk.git("switch", "-q", desk.branch)
    desk.git("rebase", onto, ok=False)
    assert "rebase in progress" in desk.git("status")
    found = desk.prepare()
    assert found.start == done
    desk.is_sound(done)
    assert "rebase" not in desk.git("status")
    kept = [desk.control.run("cat-file", "blob", f"{ref}:greet.sh").text for ref in found.kept]
    assert any("<<<<<<<" in text for text in kept)


@pytest.mark.parametrize("command", ["merge", "cherry-pick", "revert"])
def test_a_merge_or_pick_half_way_is_kept_and_ended(desk: Desk, command: str) -> None:
    desk.prepare()
    first = desk.commit("greet.sh", "one\n")
    desk.git("switch", "-q", "-c", "aside", "HEAD~")
    other = desk.commit("greet.sh", "two\n")
    desk.git("switch", "-q", desk.branch)
    done = desk.commit("greet.sh", "three\n")
    desk.git(
        command,
        *(["--no-edit"] if command != "cherry-pick" else []),
        first if command == "revert" else other,
        ok=False,
    )
    assert "UU" in desk.git("status", "--porcelain")
    found = desk.prepare()
    assert found.start == done and "<<<<<<<" in desk.kept(found, "greet.sh")
    desk.is_sound(done)


def test_a_branch_that_the_agent_deleted_is_made_again(desk: Desk) -> None:
    desk.prepare()
    desk.git("switch", "-q", "--detach")
    done = desk.commit("a.txt", "1\n")
    desk.git("branch", "-q", "-D", desk.branch)
    found = desk.prepare()
    assert desk.kept(found, "a.txt") == "1\n" if found.start != done else True
    assert desk.git("symbolic-ref", "HEAD") == f"refs/heads/{desk.branch}"


def test_locks_that_a_killed_git_of_the_agents_left_are_removed(desk: Desk) -> None:
    desk.prepare()
    (desk.registration.folder / "index.lock").touch()
    stale = state.of(desk.config).work / f"refs/heads/{desk.branch}.lock"
    stale.touch()
    os.utime(stale, (time.time() - 600, time.time() - 600))
    newer = desk.sample.commit({"newer.txt": b"1\n"})
    desk.sync()
    desk.prepare()
    desk.is_sound(newer)


def test_an_index_that_is_gone_or_damaged_is_made_anew(desk: Desk) -> None:
    desk.prepare()
    (desk.registration.folder / "index").unlink()
    state.of(desk.config).index(ISSUE).write_bytes(b"damaged")
    desk.prepare()
    desk.is_sound(desk.main)


def test_a_branch_whose_objects_are_damaged_is_set_aside_and_the_files_stay(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a power cut leaves it: git had not written everything through."""
    desk.prepare()
    done = desk.commit("a.txt", "precious\n")
    blob = desk.git("rev-parse", "HEAD:a.txt")
    (state.of(desk.config).work / "objects" / blob[:2] / blob[2:]).unlink()
    found = desk.prepare()
    assert (found.start, found.left_over) == (desk.main, ["a.txt"])
    assert (desk.path / "a.txt").read_text() == "precious\n"
    refused = f"refs/ent-agent/refused/{ISSUE}/{done[:12]}"
    assert desk.work.refs("refs/ent-agent/refused/") == {refused: done}
    assert refused in capsys.readouterr().err


def test_a_branch_with_what_git_refuses_does_not_come_home(desk: Desk) -> None:
    desk.prepare()
    git = Git(state.of(desk.config).work, person=desk.config.person)
    blob = git.objects.write("blob", b"[core]\n\tfsmonitor = evil\n")
    inner = git.text("mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    data = b"40000 .git\0" + bytes.fromhex(inner)
    tree = git.text("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=data)
    bad = git.text("commit-tree", "-p", desk.main, "-m", "bad", tree)
    git.update_ref(f"refs/heads/{desk.branch}", bad)
    found = desk.prepare()
    assert found.start == desk.main and desk.control.resolve(f"{bad}^{{commit}}") is None
    assert list(desk.work.refs("refs/ent-agent/refused/").values()) == [bad]
    assert desk.git("rev-parse", "HEAD") == desk.main


# ---- names


def test_a_branch_of_origin_named_like_our_prefix_is_a_mistake_in_the_configuration(desk: Desk) -> None:
    desk.sample.git.update_ref("refs/heads/robo", desk.main)
    desk.sync()
    with pytest.raises(BadConfig, match="the branch robo of origin") as failed:
        desk.prepare()
    assert (failed.value.code, failed.value.exit_code) == ("branch_in_the_way", 78)
    assert "agent_id" in failed.value.hint


def test_a_branch_of_origin_below_ours_is_too(desk: Desk) -> None:
    desk.sample.git.update_ref(f"refs/heads/{desk.branch}/part", desk.main)
    desk.sync()
    with pytest.raises(BadConfig, match=f"{ISSUE}/part of origin"):
        desk.prepare()


@pytest.mark.parametrize("name", ["robo", f"robo/{ISSUE}/part"])
def test_one_that_an_agent_made_is_kept_out_of_the_way(desk: Desk, name: str) -> None:
    desk.sync()
    git = Git(state.of(desk.config).work, person=desk.config.person)
    tree = git.objects.tree_of(desk.main)
    odd = git.objects.write_commit(tree, [desk.main], "Odd")
    desk.git("branch", name, odd, cwd=git.git_dir)
    found = desk.prepare()
    assert desk.control.resolve(found.kept[0]) == odd
    desk.is_sound(desk.main)
    desk.commit("a.txt", "1\n")  # its reflog is not in the way either


def test_one_that_a_worktree_has_checked_out_is_told(desk: Desk, place: Path) -> None:
    desk.sync()
    work = state.of(desk.config).work
    desk.git("worktree", "add", "-q", "-b", "robo", place / "mine", "origin/main", cwd=work)
    with pytest.raises(BadConfig, match="mine"):
        desk.prepare()


@pytest.mark.parametrize(
    "issue", ["A/1", "A_1", "a_1", "é x", "..", "x.lock", "-rf", "@{u}", "a\nb", "x" * 300, "HEAD", "1?*[~^:"]
)
def test_an_issue_of_any_name_has_a_worktree(place: Path, sample: Sample, issue: str) -> None:
    desk = Desk(configuration(place, sample.url), sample, issue)
    found = desk.prepare()
    assert found.branch.startswith("robo/")
    desk.is_sound(desk.main)


def test_ids_that_differ_in_little_differ_in_their_branches(desk: Desk) -> None:
    names = {
        selection.branch_name(desk.config, issue).casefold() for issue in ("A/1", "A_1", "a_1", "A-1", "a-1")
    }
    assert len(names) == 5


# ---- what a repository can have in it


def test_nothing_planted_runs_and_filters_of_the_repository_do_not_apply(desk: Desk, place: Path) -> None:
    trap = Trap(place / "träp")
    desk.sample.commit({".gitattributes": b"* filter=planted diff=planted merge=planted\n"})
    desk.prepare()
    desk.commit("a.txt", "1\n")
    desk.write("greet.sh", "changed\n")
    desk.write("nested/x", "1\n")
    desk.git("init", "-q", cwd=desk.path / "nested")
    trap.plant(desk.path / "nested/.git")
    trap.plant(state.of(desk.config).work)
    (desk.registration.folder / "config.worktree").write_text(
        (state.of(desk.config).work / "config").read_text()
    )
    newer = desk.sample.commit({"README.md": b"newer\n"})
    desk.sync()
    desk.prepare()
    for file in ("README.md", "greet.sh"):
        assert (desk.path / file).exists()
    desk.sample.git.update_ref(f"refs/heads/{desk.branch}", newer)
    desk.sync()
    desk.prepare()
    worktree.release(desk.config, ISSUE)
    assert trap.sprung == ""


def test_large_files_stay_pointers_without_git_lfs(desk: Desk, clean_environment: Path) -> None:
    (clean_environment / ".gitconfig").write_text(
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n'
        "\tprocess = git-lfs filter-process\n\trequired = true\n"
    )
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 3\n"
    desk.sample.commit({".gitattributes": b"*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": pointer})
    found = desk.prepare()
    assert (desk.path / "a.bin").read_bytes() == pointer
    assert desk.prepare().left_over == [] and found.start == desk.main


def test_submodules_are_empty_folders_and_their_repositories_are_not_entered(desk: Desk, place: Path) -> None:
    trap = Trap(place / "träp")
    git = desk.sample.git
    entry = f"160000 commit {desk.main}\tsub\n100644 blob {git.resolve('refs/heads/main:README.md')}\t.gitmodules\n"
    tree = git.text("mktree", stdin=entry.encode())
    git.update_ref("refs/heads/main", git.objects.write_commit(tree, [desk.main], "Submodule"))
    desk.sync()
    desk.prepare()
    assert list((desk.path / "sub").iterdir()) == []
    desk.git("init", "-q", cwd=desk.path / "sub")
    desk.git("commit", "-q", "--allow-empty", "-m", "x", cwd=desk.path / "sub")
    trap.plant(desk.path / "sub/.git")
    found = desk.prepare()
    assert found.left_over == ["sub"] and trap.sprung == ""


def test_links_and_executables_are_what_they_are(desk: Desk) -> None:
    git = desk.sample.git
    script, target = (git.objects.write("blob", data) for data in (b"#!/bin/sh\n", b"../../outside"))
    listing = f"100755 blob {script}\trun\n120000 blob {target}\tlink\n"
    tree = git.text("mktree", stdin=listing.encode())
    git.update_ref("refs/heads/main", git.objects.write_commit(tree, [desk.main], "Modes"))
    desk.prepare()
    assert os.access(desk.path / "run", os.X_OK) and (desk.path / "link").readlink() == Path("../../outside")
    desk.is_sound(desk.main)


def test_names_of_files_may_be_anything(desk: Desk) -> None:
    odd = {"ü é.txt": b"1\n", "new\nline": b"1\n", 'quo"te': b"1\n", "-dash": b"1\n", "sp ace/x": b"1\n"}
    desk.sample.commit(dict(odd))
    desk.prepare()
    desk.is_sound(desk.main)
    for name in odd:
        desk.write(name, "changed\n")
    assert set(desk.prepare().left_over) == set(odd)


def test_line_ends_and_sparse_settings_of_the_user_do_not_matter(desk: Desk, clean_environment: Path) -> None:
    (clean_environment / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n\tsplitIndex = true\n\tsparseCheckout = true\n[feature]\n\tmanyFiles = true\n"
    )
    desk.sample.commit({"unix.txt": b"1\n2\n"})
    desk.prepare()
    assert (desk.path / "unix.txt").read_bytes() == b"1\n2\n"
    assert desk.prepare().left_over == []


# ---- killed between any two steps

STEPS = [
    "worktree-decided",
    "worktree-filled",
    "worktree-registered",
    "worktree-placed",
    "worktree-branch-set",
    "worktree-left-overs-kept",
    "worktree-files-moved",
    "worktree-unregistered",
    "worktree-quarantined",
]


def killed_at(desk: Desk, step: str) -> bool:
    program = (
        "from ent_agent import config, records\n"
        "from ent_agent.repositories import syncing\n"
        "from ent_agent.worktrees import worktree\n"
        f"c = config.load({str(desk.config.path)!r})\n"
        f"issue = records.IssueSection(id={desk.issue!r}, title='', description='', state='new')\n"
        "worktree.prepare(records.Record(issue=issue, repository=syncing.last(c)), c)"
    )
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path), "ENT_AGENT_STOP_AT": step}
    ran = process.run([sys.executable, "-c", program], env=env)
    assert ran.exit_code in (0, -signal.SIGKILL), ran.error_text
    return ran.exit_code != 0


@pytest.mark.parametrize("step", STEPS[:5])
def test_killed_while_a_worktree_is_made_the_next_call_makes_it(desk: Desk, step: str) -> None:
    desk.sync()
    assert killed_at(desk, step)
    found = desk.prepare()
    assert (found.start, found.kept, found.left_over) == (desk.main, [], [])
    desk.is_sound(desk.main)
    assert len(registrations.every(state.of(desk.config).work)) == 1
    assert not state.of(desk.config).quarantine.exists()
    assert not list(state.of(desk.config).worktrees.glob(".*"))


@pytest.mark.parametrize("step", ["worktree-decided", *STEPS[4:7]])
def test_killed_while_a_worktree_is_moved_the_next_call_comes_to_the_same_end(desk: Desk, step: str) -> None:
    desk.prepare()
    desk.publish(desk.commit("a.txt", "1\n"))
    desk.commit("b.txt", "unpushed\n")
    desk.write("greet.sh", "changed\n")
    desk.write("new.txt", "new\n")
    theirs = desk.person({"README.md": b"theirs\n", "c.txt": b"theirs\n"})
    desk.sync()
    assert killed_at(desk, step)
    found = desk.prepare()
    assert found.remote_head == theirs and found.kept == []
    assert found.left_over == ["greet.sh", "new.txt"]
    assert desk.git("log", "--format=%s", f"{theirs}..") == "Work"
    assert desk.git("rev-parse", "HEAD") == found.start
    assert desk.git("status", "--porcelain").split() == ["M", "greet.sh", "??", "new.txt"]
    assert (desk.path / "README.md").read_text() == "theirs\n"


@pytest.mark.parametrize("step", ["worktree-unregistered", "worktree-quarantined", *STEPS[:5]])
def test_killed_while_a_ruin_is_cleared_nothing_is_lost(desk: Desk, step: str) -> None:
    desk.prepare()
    done = desk.commit("a.txt", "1\n")
    (desk.path / ".git").write_text("gitdir: /nowhere\n")
    desk.write("precious.txt", "mine\n")
    assert killed_at(desk, step)
    desk.prepare()
    desk.is_sound(done)
    (aside,) = state.of(desk.config).quarantine.iterdir()
    assert (aside / "precious.txt").exists()


# ---- release


def test_a_finished_worktree_is_removed_when_origin_has_all_of_it(desk: Desk) -> None:
    desk.prepare()
    desk.publish(desk.commit("a.txt", "1\n"))
    desk.sync()
    assert worktree.release(desk.config, ISSUE) == ""
    assert not desk.path.exists() and registrations.every(state.of(desk.config).work) == []
    assert worktree.release(desk.config, ISSUE) == ""
    desk.prepare()
    assert (desk.path / "a.txt").exists()


def test_it_stays_while_something_is_only_here(desk: Desk) -> None:
    desk.prepare()
    desk.write("new.txt", "1\n")
    assert "uncommitted" in worktree.release(desk.config, ISSUE)
    desk.commit("new.txt", "1\n")
    assert "commits that origin does not have" in worktree.release(desk.config, ISSUE)
    desk.git("switch", "-q", "--detach")
    assert "not on its branch" in worktree.release(desk.config, ISSUE)
    desk.git("worktree", "lock", desk.path)
    assert "locked" in worktree.release(desk.config, ISSUE)
    assert (desk.path / "new.txt").exists()


def test_what_a_removal_that_was_killed_left_goes_with_the_next(desk: Desk) -> None:
    desk.prepare()
    desk.path.rename(desk.path.with_name(f".gone-{ISSUE}"))
    assert worktree.release(desk.config, ISSUE) == ""
    assert registrations.every(state.of(desk.config).work) == []
    assert not desk.path.with_name(f".gone-{ISSUE}").exists()
    desk.prepare()
    desk.is_sound(desk.main)


def test_the_issue_of_the_sample_can_be_worked(desk: Desk) -> None:
    other = Desk(desk.config, desk.sample, WELSH)
    assert other.prepare().branch == f"robo/{WELSH}"
