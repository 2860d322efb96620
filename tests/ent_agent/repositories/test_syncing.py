"""sync: level with origin whatever became of it, and its refusals worded for a person."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ent_agent import sample, state
from ent_agent.config import Config
from ent_agent.doctor.examination import examine
from ent_agent.records import Record, RepositorySection
from ent_agent.repositories import listing, origin, repositories, syncing
from harness import process
from harness.errors import BadConfig, Failure, TryLater
from harness.git import Git, GitFailed, init_bare
from harness.process import Finished
from tests.support.sample import WELSH, Sample, configuration


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    return configuration(place, sample.url)


def sync(config: Config) -> RepositorySection:
    record = syncing.sync(Record(), config)
    assert record.repository
    return record.repository


def refused(config: Config) -> TryLater:
    with pytest.raises(TryLater) as failed:
        syncing.sync(Record(), config)
    assert failed.value.exit_code == 75 and failed.value.retry
    return failed.value


# ---- what origin has


def test_the_first_sync_brings_everything(config: Config, sample: Sample) -> None:
    found = sync(config)
    branches = sample.branches()
    assert (found.default_branch, found.head) == ("main", branches["main"])
    assert found.issues_head == branches["entomologist-data"]
    assert (found.url, found.path) == (sample.url, str(state.of(config).control))


def test_what_changed_on_origin_is_there_after_the_next(config: Config, sample: Sample) -> None:
    sync(config)
    head = sample.commit({"new.txt": b"new\n"})
    data = sample.change({f"{WELSH}/state": b"done"})
    found = sync(config)
    assert (found.head, found.issues_head) == (head, data)


def test_a_branch_that_is_gone_on_origin_is_gone_here(config: Config, sample: Sample) -> None:
    sample.git.update_ref("refs/heads/topic", sample.branches()["main"])
    sync(config)
    sample.git.update_ref("refs/heads/topic", None)
    sync(config)
    for git in (repositories.control(config), repositories.work(config)):
        assert git.resolve("refs/remotes/origin/topic") is None


def test_claims_are_fetched_and_pruned(config: Config, sample: Sample) -> None:
    sample.git.update_ref("refs/ent-agent/claims/1", sample.branches()["main"])
    sync(config)
    assert repositories.control(config).resolve("refs/ent-agent/seen/1")
    sample.git.update_ref("refs/ent-agent/claims/1", None)
    sync(config)
    assert repositories.control(config).resolve("refs/ent-agent/seen/1") is None


def test_our_own_change_of_the_tracker_is_pushed(config: Config, sample: Sample) -> None:
    sync(config)
    git = repositories.control(config)
    ours = sample.change({f"{WELSH}/state": b"blocked"})
    sample.git.update_ref("refs/heads/entomologist-data", f"{ours}~1")
    git.run("fetch", "--quiet", str(sample.origin), ours)
    git.update_ref(config.data_ref, ours)
    assert sync(config).issues_head == ours
    assert sample.branches()["entomologist-data"] == ours


def test_a_repository_without_issues_is_fine_and_gets_no_branch(config: Config, sample: Sample) -> None:
    sample.git.update_ref("refs/heads/entomologist-data", None)
    found = sync(config)
    assert (found.issues_head, found.default_branch) == ("", "main")
    assert set(sample.branches()) == {"main"}


def test_an_empty_origin_is_fine(place: Path) -> None:
    init_bare(place / "empty.git")
    found = sync(configuration(place, str(place / "empty.git")))
    assert (found.default_branch, found.head, found.issues_head) == ("", "", "")


def test_a_first_commit_on_an_empty_origin_is_found(place: Path) -> None:
    init_bare(place / "empty.git")
    config = configuration(place, str(place / "empty.git"))
    sync(config)
    git = Git(place / "empty.git", person=sample.ALICE)
    git.run("symbolic-ref", "HEAD", "refs/heads/trunk")
    head = sample.commit_files(git, "trunk", {"a": b"a\n"}, "First")
    found = sync(config)
    assert (found.default_branch, found.head) == ("trunk", head)


def test_a_renamed_default_branch_is_followed(config: Config, sample: Sample) -> None:
    sync(config)
    sample.git.run("branch", "--move", "main", "trunk")
    found = sync(config)
    assert (found.default_branch, found.head) == ("trunk", sample.branches()["trunk"])
    shown = repositories.work(config).text("symbolic-ref", "refs/remotes/origin/HEAD")
    assert shown == "refs/remotes/origin/trunk"


def test_a_detached_head_on_origin_leaves_the_only_code_branch(config: Config, sample: Sample) -> None:
    sample.git.run("update-ref", "--no-deref", "HEAD", sample.branches()["main"])
    sample.git.update_ref("refs/heads/robo/1", sample.branches()["main"])
    assert sync(config).default_branch == "main"


def test_a_head_that_names_no_branch_leaves_a_usual_name(config: Config, sample: Sample) -> None:
    sample.git.update_ref("refs/heads/topic", sample.branches()["main"])
    sample.git.run("symbolic-ref", "HEAD", "refs/heads/nowhere")
    assert sync(config).default_branch == "main"


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ("ref: refs/heads/main\tHEAD\n" + "a" * 40 + "\tHEAD\n", "main"),
        ("ref: refs/heads/team/main\tHEAD\n" + "a" * 40 + "\tHEAD\n", "team/main"),
        ("a" * 40 + "\tHEAD\n", ""),
        ("ref: refs/heads/unborn\tHEAD\n", ""),
        ("", ""),
    ],
)
def test_the_default_branch_is_what_origin_says(text: str, branch: str) -> None:
    assert listing.parse(text).default_branch == branch


@pytest.mark.parametrize(
    ("branches", "guess"),
    [
        (["work"], "work"),
        (["b", "master"], "master"),
        (["master", "main"], "main"),
        (["a", "b"], ""),
        ([], ""),
    ],
)
def test_else_it_is_guessed_where_only_one_can_be_meant(branches: list[str], guess: str) -> None:
    assert syncing.guess_default(branches) == guess


def test_the_last_sync_is_remembered(config: Config) -> None:
    assert syncing.last(config) is None
    found = sync(config)
    assert syncing.last(config) == found


def test_a_remembered_sync_without_the_repository_is_none(config: Config) -> None:
    sync(config)
    (state.of(config).control).rename(state.of(config).root / "gone.git")
    assert syncing.last(config) is None


def test_where_nothing_changed_origin_is_asked_once_and_nothing_fetched(
    config: Config, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = sample.branches()["main"]
    sample.git.run("tag", "--annotate", "-m", "One", "v1", main)
    sample.git.update_ref("refs/ent-agent/claims/1", main)
    sample.git.update_ref("refs/pull/1/head", main)
    before = sync(config)
    asked = []
    ask = origin.ask
    monkeypatch.setattr(origin, "ask", lambda *words, **more: asked.append(words[2]) or ask(*words, **more))
    assert sync(config).head == before.head
    assert asked == ["ls-remote"]


@pytest.mark.parametrize(
    "change",
    ["refs/heads/new", "refs/tags/v2", "refs/ent-agent/claims/2", "-refs/tags/v1", "-refs/heads/old"],
)
def test_any_change_of_branches_tags_and_claims_is_fetched(
    config: Config, sample: Sample, change: str
) -> None:
    main = sample.branches()["main"]
    for name in ("refs/tags/v1", "refs/heads/old"):
        sample.git.update_ref(name, main)
    sync(config)
    git = repositories.control(config)
    before = git.refs()
    sample.git.update_ref(change.removeprefix("-"), None if change.startswith("-") else main)
    sync(config)
    assert len(git.refs()) == len(before) + (-1 if change.startswith("-") else 1)


def test_two_syncs_at_once_both_succeed(config: Config, sample: Sample) -> None:
    import threading

    sync(config)
    head = sample.commit({"new.txt": b"new\n"})
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(sync(config).head)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [head] * 3


# ---- failures


def test_an_origin_that_is_gone_is_told_and_nothing_is_lost(config: Config, sample: Sample) -> None:
    before = sync(config)
    sample.origin.rename(sample.origin.with_name("gone.git"))
    failed = refused(config)
    assert failed.code == "not_a_repository" and "repo_url" in failed.hint
    assert str(sample.origin) in failed.message
    assert syncing.last(config) == before
    assert repositories.control(config).resolve("refs/remotes/origin/main") == before.head


def test_a_folder_that_is_no_repository_is_told(place: Path) -> None:
    (place / "plain").mkdir()
    assert refused(configuration(place, "plain")).code == "not_a_repository"


def test_a_port_that_nobody_listens_on_is_unreachable(place: Path) -> None:
    for url in ("ssh://git@127.0.0.1:9/x.git", "http://127.0.0.1:9/x.git"):
        failed = refused(configuration(place, url))
        assert failed.code == "git_unreachable"
        assert "127.0.0.1" in failed.message and "onnect" in failed.message


def test_a_protocol_that_nobody_speaks_is_told(place: Path) -> None:
    assert refused(configuration(place, "gopher://example.org/x.git")).code == "not_a_repository"
    assert refused(configuration(place, "ext::touch planted")).code == "not_a_repository"
    assert not (place / "planted").exists()


def test_a_lock_that_another_git_held_for_a_moment_is_waited_for(config: Config, sample: Sample) -> None:
    import threading

    sync(config)
    head = sample.commit({"new.txt": b"new\n"})
    lock = state.of(config).control / "refs/remotes/origin/main.lock"
    lock.touch()
    threading.Timer(0.2, lock.unlink).start()
    assert sync(config).head == head


def test_a_lock_that_stays_is_told_and_gone_when_it_is_old(config: Config, sample: Sample) -> None:
    sync(config)
    head = sample.commit({"new.txt": b"new\n"})
    lock = state.of(config).control / "refs/remotes/origin/main.lock"
    lock.touch()
    assert refused(config).code == "ref_locked"
    os.utime(lock, (0, 0))
    assert sync(config).head == head


def explained(said: str, config: Config, *, timed_out: bool = False) -> Failure:
    finished = Finished(("git", "fetch"), 128, b"", said.encode(), timed_out=timed_out)
    return origin.explain(GitFailed(finished), config)


COULD_NOT = (
    "fatal: Could not read from remote repository.\n\n"
    "Please make sure you have the correct access rights\nand the repository exists.\n"
)


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        ("git@x: Permission denied (publickey).\n" + COULD_NOT, "permission_denied", "publickey"),
        (
            "remote: Forbidden\nfatal: unable to access 'x': The requested URL returned error: 403\n",
            "permission_denied",
            "",
        ),
        (
            "fatal: could not read Username for 'https://x': terminal prompts disabled\n",
            "permission_denied",
            "Username",
        ),
        (
            "remote: Invalid username or token.\nfatal: Authentication failed for 'https://x/'\n",
            "permission_denied",
            "token",
        ),
        ("ERROR: Repository not found.\n" + COULD_NOT, "not_a_repository", "not found"),
        ("fatal: '/x' does not appear to be a git repository\n" + COULD_NOT, "not_a_repository", "/x"),
        ("fatal: repository 'https://x/' not found\n", "not_a_repository", "https://x/"),
        (
            "ssh: Could not resolve hostname x: Name or service not known\n" + COULD_NOT,
            "git_unreachable",
            "resolve",
        ),
        (
            "ssh: connect to host x port 22: Connection timed out\n" + COULD_NOT,
            "git_unreachable",
            "timed out",
        ),
        ("Connection closed by 1.2.3.4 port 22\n" + COULD_NOT, "git_unreachable", "closed"),
        ("fatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n", "git_unreachable", "early EOF"),
        ("Host key verification failed.\n" + COULD_NOT, "host_key_changed", "key"),
        ("error: cannot lock ref 'refs/x': is at 1 but expected 2\n", "ref_locked", ""),
        (
            "remote: error: hook says no\nTo x\n ! [remote rejected] main -> main (pre-receive hook declined)\n",
            "push_refused",
            "hook says no",
        ),
        ("fatal: write error: No space left on device\n", "disk_full", "space"),
        ("fatal: detected dubious ownership in repository at '/srv/x'\n", "permission_denied", "ownership"),
    ],
)
def test_what_git_says_gets_a_code_and_a_hint(config: Config, said: str, code: str, message: str) -> None:
    failed = explained(said, config)
    assert (failed.code, failed.exit_code) == (code, 75)
    assert message in failed.message and "\n" not in failed.message
    assert failed.hint or code == "ref_locked"


def test_the_state_folder_is_its_users_alone_from_the_first_lock_on(config: Config) -> None:
    with repositories.locked(config):
        assert state.of(config).root.stat().st_mode & 0o777 == 0o700
    syncing.sync(Record(), config)
    assert state.of(config).root.stat().st_mode & 0o777 == 0o700


def test_a_repository_with_other_objects_is_for_a_person_to_see_and_its_copy_works(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["git", "init", "--quiet", "--bare", "--object-format=sha256", place / "other.git"]
    assert process.run(words).ok
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@x"]
    tree = process.run([*git, f"--git-dir={place}/other.git", "mktree"]).text.strip()
    oid = process.run([*git, f"--git-dir={place}/other.git", "commit-tree", "-m", "x", tree]).text.strip()
    process.run([*git, f"--git-dir={place}/other.git", "update-ref", "HEAD", oid])
    with pytest.raises(BadConfig) as failed:
        syncing.sync(Record(), configuration(place, "other.git"))
    assert "other.git has SHA-256 objects" in failed.value.message
    findings = list(examine(str(place / "config.toml")))
    assert [one.check for one in findings if one.status == "problem"] == ["origin"]
    commands = failed.value.hint.partition("repo_url: ")[2].replace("URL", "other.git")
    monkeypatch.chdir(place)
    assert process.run(["sh", "-c", commands]).ok
    copied = syncing.sync(Record(), configuration(place, "NEW.git")).repository
    assert copied and copied.default_branch


def test_a_hook_of_origins_that_says_no_is_told(config: Config, sample: Sample) -> None:
    sync(config)
    git = repositories.control(config)
    tip = sample.branches()["entomologist-data"]
    ours = git.objects.write_commit(git.objects.tree_of(tip), [tip], "Ours")
    git.update_ref(config.data_ref, ours)
    hook = sample.origin / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho only by pull request >&2\nexit 1\n")
    hook.chmod(0o755)
    failed = refused(config)
    assert failed.code == "push_refused" and "only by pull request" in failed.message


def test_a_silent_origin_is_unreachable(config: Config) -> None:
    assert explained("", config, timed_out=True).code == "git_unreachable"


def test_without_ssh_the_package_is_named(config: Config) -> None:
    failed = explained("sh: 1: ssh: not found\n" + COULD_NOT, config)
    assert failed.exit_code == 69 and "openssh-client" in failed.hint


def test_the_hint_for_a_refused_key_names_the_one_to_register(config: Config) -> None:
    failed = explained("git@x: Permission denied (publickey).\n" + COULD_NOT, config)
    assert str(config.folder(config.ssh_key_dir) / "id_ed25519.pub") in failed.hint


def test_the_hint_for_a_changed_host_names_the_file_that_knows_the_old_key(config: Config) -> None:
    said = (
        "@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@@@@@\n"
        "Offending ED25519 key in /etc/ssh/ssh_known_hosts:3\n"
        "Host key for example.org has changed and you have requested strict checking.\n"
        "Host key verification failed.\n"
    )
    failed = explained(said + COULD_NOT, config)
    assert failed.code == "host_key_changed"
    assert failed.hint.endswith("ssh-keygen -R example.org -f /etc/ssh/ssh_known_hosts")


def test_a_token_in_what_git_says_is_not_repeated(place: Path) -> None:
    config = configuration(place, "https://s3cret@example.org/x.git")
    failed = explained(
        "fatal: unable to access 'https://s3cret@example.org/x.git/': Could not resolve\n", config
    )
    assert "s3cret" not in failed.message + failed.hint
