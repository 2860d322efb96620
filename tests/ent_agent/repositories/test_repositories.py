"""The two repositories: made again and again, and work.git read and written without running what is planted in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.config import Config, load
from ent_agent.records import Record
from ent_agent.repositories import identity, mirroring, repositories, syncing
from harness import lock, process
from harness.errors import TryLater
from harness.git import Git, GitFailed, Person
from harness.objects import FILE, Entry
from harness.worktrees import pair
from tests.support.planted import Trap
from tests.support.sample import Sample, configuration, write_config

ADA = Person("Ada", "ada@example.org")


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    return configuration(place, sample.url)


@pytest.fixture
def synced(config: Config) -> Config:
    syncing.sync(Record(), config)
    return config


def plain(git_dir: Path) -> Git:
    """git as an agent uses it: with the repository's own configuration."""
    return Git(git_dir, person=ADA)


def commit(git: Git, parent: str, files: dict[str, bytes]) -> str:
    tree = git.objects.tree(git.objects.tree_of(parent))
    for name, data in files.items():
        tree[name.encode()] = Entry(FILE, git.objects.write("blob", data))
    return git.objects.write_commit(git.objects.write_tree(tree), [parent], "Work")


# ---- set up


def test_control_has_the_remote_and_its_refspecs_and_never_prunes(synced: Config, sample: Sample) -> None:
    git = repositories.control(synced)
    assert git.lines("config", "--get-all", "remote.origin.url") == [sample.url]
    assert git.lines("config", "--get-all", "remote.origin.fetch") == [
        "+refs/heads/*:refs/remotes/origin/*",
        "+refs/tags/*:refs/tags/*",
        "+refs/ent-agent/claims/*:refs/ent-agent/seen/*",
    ]
    assert git.text("config", "gc.pruneExpire") == "never"
    assert set(git.refs("refs/heads/")) == {"refs/heads/entomologist-data"}


def test_work_has_no_remote_and_borrows_controls_objects(synced: Config, sample: Sample) -> None:
    git = plain(state.of(synced).work)
    assert git.lines("remote") == []
    assert git.resolve("refs/remotes/origin/main") == sample.branches()["main"]
    assert not list((state.of(synced).work / "objects").glob("??/*"))
    assert git.objects.tree_of("refs/remotes/origin/main")


def test_the_agents_see_origins_head_and_tags(synced: Config, sample: Sample) -> None:
    sample.git.run("update-ref", "refs/tags/v1", "refs/heads/main")
    syncing.sync(Record(), synced)
    git = plain(state.of(synced).work)
    assert git.text("symbolic-ref", "refs/remotes/origin/HEAD") == "refs/remotes/origin/main"
    assert git.resolve("refs/tags/v1") == sample.branches()["main"]


def test_a_branch_and_a_folder_of_branches_can_change_places(synced: Config, sample: Sample) -> None:
    main = sample.branches()["main"]
    git = plain(state.of(synced).work)
    for names in (["topic"], ["topic/a", "topic/b"], ["topic"]):
        for ref in sample.git.refs("refs/heads/topic"):
            sample.git.update_ref(ref, None)
        for name in names:
            sample.git.update_ref(f"refs/heads/{name}", main)
        syncing.sync(Record(), synced)
        there = {ref.removeprefix("refs/remotes/origin/") for ref in git.refs("refs/remotes/origin/")}
        assert there == {"HEAD", "main", "entomologist-data", *names}


def test_claims_among_the_branches_are_not_shown_to_agents(place: Path, sample: Sample) -> None:
    config = configuration(place, sample.url, claims_prefix="refs/heads/ent-agent-claims/")
    sample.git.update_ref("refs/heads/ent-agent-claims/1", sample.branches()["main"])
    syncing.sync(Record(), config)
    assert repositories.control(config).resolve("refs/ent-agent/seen/1")
    assert set(plain(state.of(config).work).refs("refs/remotes/origin/")) == {
        f"refs/remotes/origin/{name}" for name in ("HEAD", "main", "entomologist-data")
    }


def test_an_address_that_changed_takes_effect_at_the_next_sync(place: Path, sample: Sample) -> None:
    (place / "here").symlink_to(".")
    config = configuration(place, "here/origin.git")
    syncing.sync(Record(), config)
    sample.origin.rename(place / "moved.git")
    (place / "elsewhere").mkdir()
    (place / "moved.git").rename(place / "elsewhere/origin.git")
    (place / "here").unlink()
    (place / "here").symlink_to("elsewhere")
    changed = configuration(place / "elsewhere", "origin.git", state_dir=str(place / "state"))
    repositories.set_up(changed)
    assert repositories.control(changed).text("config", "remote.origin.url") == str(
        place / "elsewhere/origin.git"
    )


@pytest.mark.parametrize(
    ("url", "taken_as"),
    [
        ("git@example.org:team/project.git", "git@example.org:team/project.git"),
        ("ssh://git@example.org:22/a b.git", "ssh://git@example.org:22/a b.git"),
        ("https://example.org/x.git", "https://example.org/x.git"),
        ("file:///srv/x.git", "file:///srv/x.git"),
        ("/srv/ü x.git", "/srv/ü x.git"),
        ("../x.git", "{place}/../x.git"),
        ("./a:b.git", "{place}/a:b.git"),
        ("~/x.git", "{home}/x.git"),
    ],
)
def test_a_local_path_is_made_absolute_and_nothing_else(
    place: Path, clean_environment: Path, url: str, taken_as: str
) -> None:
    config = configuration(place, url)
    assert repositories.origin_url(config) == taken_as.format(place=place, home=clean_environment)


def test_a_token_in_the_address_is_not_shown(place: Path) -> None:
    config = configuration(place, "https://token@example.org/x.git")
    assert repositories.shown_url(config) == "https://example.org/x.git"


def test_half_made_repositories_are_completed(config: Config, sample: Sample) -> None:
    folder = state.of(config)
    syncing.sync(Record(), config)
    for missing in (
        folder.control / "config",
        folder.work / "config",
        folder.work / "HEAD",
        folder.work / "objects/info/alternates",
        folder.work_view / "refs",
        folder.work_view / "config",
    ):
        missing.unlink()
        syncing.sync(Record(), config)
        assert plain(folder.work).resolve("refs/remotes/origin/main") == sample.branches()["main"]


def test_killed_at_any_moment_of_the_first_sync_the_next_one_comes_to_the_same_end(
    config: Config, sample: Sample
) -> None:
    program = (
        "from ent_agent import config, records\n"
        "from ent_agent.repositories import syncing\n"
        f"syncing.sync(records.Record(), config.load({str(config.path)!r}))"
    )
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    for delay in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
        child = subprocess.Popen([sys.executable, "-c", program], env=env, start_new_session=True)
        time.sleep(delay)
        process.kill_group(child.pid, signal.SIGKILL)
        child.wait()
    for left in state.of(config).root.rglob("*.lock"):
        os.utime(left, (0, 0))  # as if a while had passed
    record = syncing.sync(Record(), config)
    assert record.repository and record.repository.head == sample.branches()["main"]
    assert plain(state.of(config).work).resolve("refs/remotes/origin/main") == sample.branches()["main"]


# ---- what is planted in work.git never runs


@pytest.fixture
def trap(place: Path) -> Trap:
    return Trap(place / "träp")


def test_the_trap_is_one(synced: Config, trap: Trap) -> None:
    """git used there as anybody would springs it: else the next tests would prove nothing."""
    work = state.of(synced).work
    trap.plant(work)
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    process.run(["git", "-C", work, "update-ref", "refs/heads/bait", "refs/remotes/origin/main"], env=env)
    assert "reference-transaction" in trap.sprung
    process.run(["git", "-C", work, "ls-remote", "origin"], env=env, timeout_seconds=2)
    assert "spring.sh" in trap.sprung


def test_a_work_git_that_is_made_useless_is_mended(synced: Config) -> None:
    folder = state.of(synced)
    (folder.work / "config").write_text("[core]\n\tbare = maybe\n[core\n")
    (folder.work / "HEAD").unlink()
    (folder.work / "HEAD").mkdir()
    (folder.work / "objects/info/alternates").write_text("/nowhere\n")
    syncing.sync(Record(), synced)
    assert plain(folder.work).objects.tree_of("refs/remotes/origin/main")


def test_reading_writing_and_fetching_from_work_runs_nothing_planted(synced: Config, trap: Trap) -> None:
    folder = state.of(synced)
    main = repositories.control(synced).resolve("refs/remotes/origin/main")
    assert main
    done = commit(plain(folder.work), main, {".gitattributes": b"* filter=planted merge=planted\n"})
    plain(folder.work).update_ref("refs/heads/robo/1", done)
    trap.plant(folder.work)

    work = repositories.work(synced)
    assert work.resolve("refs/heads/robo/1") == done
    assert work.refs("refs/heads/") == {"refs/heads/robo/1": done}
    assert work.update_ref("refs/heads/robo/2", main, "")
    assert work.update_ref("refs/heads/robo/2", None)
    work.update_refs([("refs/heads/robo/3", main)])
    assert work.is_ancestor(main, done) and work.ahead_behind(done, main) == (1, 0)
    assert b"planted" in work.objects.read(f"{done}:.gitattributes")
    work.run("worktree", "list", "--porcelain", "-z")
    work.run("log", "-1", "--patch", done)
    work.run("gc", "--quiet")
    repositories.bring_home(synced, "+refs/heads/robo/1:refs/ent-agent/local/1")
    mirroring.mirror(synced)

    assert repositories.control(synced).resolve("refs/ent-agent/local/1") == done
    assert trap.sprung == ""


def test_a_sync_puts_works_configuration_back_and_runs_nothing_of_it(synced: Config, trap: Trap) -> None:
    folder = state.of(synced)
    before = (folder.work / "config").read_bytes()
    trap.plant(folder.work)
    syncing.sync(Record(), synced)
    assert trap.sprung == ""
    assert (folder.work / "config").read_bytes() == before


def test_objects_that_git_refuses_do_not_come_home(synced: Config) -> None:
    """A tree that would write into .git at its next checkout."""
    git = plain(state.of(synced).work)
    main = git.resolve("refs/remotes/origin/main")
    assert main
    blob = git.objects.write("blob", b"[core]\n\tfsmonitor = evil\n")
    inner = git.text("mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    data = b"40000 .git\0" + bytes.fromhex(inner)
    tree = git.text("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=data)
    bad = git.text("commit-tree", "-p", main, "-m", "bad", tree)
    git.update_ref("refs/heads/robo/1", bad)
    with pytest.raises(GitFailed):
        repositories.bring_home(synced, "+refs/heads/robo/1:refs/ent-agent/local/1")
    assert repositories.control(synced).resolve("refs/ent-agent/local/1") is None


def test_links_planted_among_the_refs_are_removed(
    synced: Config, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = state.of(synced)
    target = place / "elsewhere"
    target.mkdir()
    (folder.work / "refs/heads/robo").symlink_to(target)
    main = repositories.control(synced).resolve("refs/remotes/origin/main")
    repositories.mend_work(synced)
    assert repositories.work(synced).update_ref("refs/heads/robo/1", main, "")
    assert list(target.iterdir()) == []
    assert "is not as git makes it" in capsys.readouterr().err


def test_replacement_objects_of_an_agent_deceive_nobody(synced: Config) -> None:
    folder = state.of(synced)
    git = plain(folder.work)
    main = git.resolve("refs/remotes/origin/main")
    assert main
    other = commit(git, main, {"evil": b"1\n"})
    git.update_ref(f"refs/replace/{main}", other)
    assert b"evil" not in repositories.work(synced).run("ls-tree", main).stdout


def test_lock_files_of_a_killed_git_are_removed_when_they_are_old(synced: Config) -> None:
    git_dir = state.of(synced).control
    old, fresh = git_dir / "refs/remotes/origin/main.lock", git_dir / "packed-refs.lock"
    old.touch()
    fresh.touch()
    os.utime(old, (time.time() - 100, time.time() - 100))
    assert repositories.clear_stale_locks(git_dir) == [old]
    assert not old.exists() and fresh.exists()


def test_the_repository_is_used_by_one_at_a_time(synced: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "LOCK_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(pair, "QUEUE_SECONDS", 0.1)
    held = lock.held(repositories.pair(synced).root / "repository.lock")
    with held, pytest.raises(TryLater, match="in use by another process"):
        syncing.sync(Record(), synced)
    with repositories.locked(synced), pytest.raises(TryLater, match="in use"):
        syncing.sync(Record(), synced)


def test_the_users_own_settings_do_not_change_what_we_check_out(
    place: Path, sample: Sample, clean_environment: Path
) -> None:
    (clean_environment / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n\tsplitIndex = true\n\tsparseCheckout = true\n\tfsmonitor = true\n"
        "[submodule]\n\trecurse = true\n[feature]\n\tmanyFiles = true\n[push]\n\tgpgSign = true\n"
        "[protocol]\n\tallow = never\n"
    )
    config = configuration(place, sample.url)
    assert syncing.sync(Record(), config).repository
    shown = repositories.control(config).lines("config", "--get-all", "core.autocrlf")
    assert shown[-1] == "false"


def test_a_signature_is_made_with_the_agents_key(place: Path, sample: Sample) -> None:
    path = write_config(place, sample.url)
    path.write_text("sign_commits = true\n" + path.read_text())
    config = load(str(path))
    made = identity.ensure(config)
    syncing.sync(Record(), config)
    git = repositories.control(config)
    main = git.resolve("refs/remotes/origin/main")
    assert main
    signed = git.objects.write_commit(git.objects.tree_of(main), [main], "Signed", sign=True)
    allowed = place / "allowed"
    allowed.write_text(f"robo@example.org {made.public_key}\n")
    checked = git.with_config(gpg__ssh__allowedSignersFile=str(allowed)).run("verify-commit", signed)
    assert "Good" in checked.error_text
