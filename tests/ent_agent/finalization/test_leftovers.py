"""What a run leaves in its worktree and where it leaves HEAD: saved, and nothing planted runs."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ent_agent import state
from ent_agent.records import ResultSection
from ent_agent.repositories import repositories
from harness import process
from harness.process import Finished
from harness.redaction import Redactor
from harness.worktrees import leftovers, registrations
from harness.worktrees.leftovers import Rules
from tests.support.bench import Bench
from tests.support.planted import Trap
from tests.support.sample import WELSH, Sample, configuration

TITLE = "Greet in Welsh"


@pytest.fixture
def bench(place: Path, sample: Sample) -> Bench:
    made = Bench(sample, configuration(place, sample.url, "[limits]\nmax_file_bytes = 1000\n"))
    made.start(WELSH)
    return made


def finish(bench: Bench, message: str = "Done: it.") -> ResultSection:
    bench.ended(message=message)
    result = bench.finalize().result
    assert result
    return result


def status(bench: Bench) -> str:
    return bench.git("status", "--porcelain=v1", "--branch")


def admin(bench: Bench) -> Path:
    """The worktree's own folder in work.git."""
    [found] = registrations.every(state.of(bench.config).work)
    return found.folder


# ---- files


def test_left_overs_are_committed_under_the_issues_title_by_the_agent(bench: Bench) -> None:
    bench.write("new.txt", "new\n")
    bench.write("greet.sh", "#!/bin/sh\n")
    (bench.worktree / "README.md").unlink()
    finish(bench)
    assert bench.log() == [TITLE]
    assert bench.files() == ["greet.sh", "new.txt"]
    tip = f"refs/heads/{bench.branch}"
    assert bench.sample.git.text("log", "-1", "--format=%an <%ae>|%b", tip) == (
        f"Robo <robo@example.org>|Issue: {WELSH}"
    )
    assert status(bench) == f"## {bench.branch}"


def test_without_a_word_they_are_work_in_progress_and_the_attempt_failed(bench: Bench) -> None:
    bench.write("new.txt")
    result = finish(bench, message="I changed some files.")
    assert result.outcome == "failed" and "neither committed" in result.reason
    assert bench.log() == [f"WIP: {TITLE}"]


def test_ignored_files_stay_where_they_are(bench: Bench) -> None:
    bench.commit(".gitignore", "build/\n*.log\n")
    bench.write("build/out.o")
    bench.write("a.log")
    bench.write("kept.txt")
    finish(bench)
    assert bench.files() == [".gitignore", "README.md", "greet.sh", "kept.txt"]
    assert (bench.worktree / "build/out.o").exists()


def test_names_with_spaces_line_ends_accents_and_bytes_are_committed_as_they_are(bench: Bench) -> None:
    names = ["a b.txt", "-rf", "ünï.txt", 'qu"ote', "line\nend", "*.c", ":(top)x"]
    for name in names:
        bench.write(name)
    raw = os.fsencode(bench.worktree) + b"/\xff\xfe.bin"
    Path(os.fsdecode(raw)).write_bytes(b"x")
    finish(bench)
    listed = bench.sample.git.run("ls-tree", "-r", "-z", "--name-only", bench.branch).stdout.split(b"\0")
    assert {name.encode() for name in names} | {b"\xff\xfe.bin"} <= set(listed)
    assert status(bench) == f"## {bench.branch}"


def test_symbolic_links_are_committed_as_links_and_never_followed(bench: Bench, place: Path) -> None:
    (place / "outside").write_text("secret of the host\n")
    (bench.worktree / "link").symlink_to(place / "outside")
    (bench.worktree / "folder").symlink_to(place)
    (bench.worktree / "dangling").symlink_to("nowhere")
    finish(bench)
    modes = bench.sample.git.lines("ls-tree", "--format=%(objectmode) %(path)", bench.branch)
    assert {"120000 link", "120000 folder", "120000 dangling"} <= set(modes)


def test_a_file_that_became_a_folder_and_a_folder_that_became_a_file(bench: Bench) -> None:
    bench.commit("a/one.txt")
    (bench.worktree / "README.md").unlink()
    bench.write("README.md/inside.txt")
    shutil.rmtree(bench.worktree / "a")
    bench.write("a", "a file now\n")
    finish(bench)
    assert bench.files() == ["README.md/inside.txt", "a", "greet.sh"]


def test_an_executable_bit_is_a_change(bench: Bench) -> None:
    (bench.worktree / "README.md").chmod(0o755)
    finish(bench)
    assert "100755" in bench.sample.git.text("ls-tree", bench.branch, "README.md")


def test_files_are_taken_byte_by_byte_whatever_git_is_configured_to_do(
    bench: Bench, clean_environment: Path
) -> None:
    (clean_environment / ".gitconfig").write_text("[core]\n\tautocrlf = true\n\tsafecrlf = true\n")
    bench.write("dos.txt", b"one\r\ntwo\n")
    finish(bench)
    assert bench.sample.git.run("cat-file", "blob", f"{bench.branch}:dos.txt").stdout == b"one\r\ntwo\n"


def test_a_clean_worktree_makes_no_commit(bench: Bench) -> None:
    bench.commit()
    finish(bench)
    assert bench.log() == ["Work"]


def test_staged_but_uncommitted_changes_are_saved_as_the_files_are(bench: Bench) -> None:
    bench.write("staged.txt", "staged\n")
    bench.git("add", "staged.txt")
    bench.write("staged.txt", "and changed\n")
    finish(bench)
    assert bench.sample.read("staged.txt", bench.branch) == "and changed\n"


# ---- what is withheld


@pytest.mark.parametrize(
    ("path", "content", "rule"),
    [
        ("big.bin", "x" * 1001, "over limits.max_file_bytes"),
        (
            "key.pem",
            "-----BEGIN PRIVATE KEY-----\n" + "MIIE" * 16 + "\n-----END PRIVATE KEY-----\n",
            "private key",
        ),
        (".env", "TOKEN=ghp_" + "a1B2" * 9, "GitHub token"),
    ],
)
def test_what_nobody_should_get_is_not_committed_and_goes_to_the_handler(
    bench: Bench, path: str, content: str, rule: str
) -> None:
    bench.write(path, content)
    bench.write("fine.txt")
    result = finish(bench)
    assert result.outcome == "completed"
    assert bench.files() == ["README.md", "fine.txt", "greet.sh"]
    assert [(one.path, one.rule.partition(" [fingerprint")[0]) for one in bench.run.withheld] == [
        (path, rule)
    ]
    assert (bench.worktree / path).read_text() == content


def test_a_secret_in_a_file_that_was_there_leaves_the_committed_one(bench: Bench) -> None:
    bench.write("README.md", "AKIA" + "QWERTYUIOPASDFGH")
    finish(bench)
    assert bench.sample.read("README.md", "main") in (bench.sample.read("README.md", bench.branch), None) or (
        bench.pushed() is None
    )
    assert "AKIA" in (bench.worktree / "README.md").read_text()


def test_a_large_file_in_a_commit_holds_the_push(bench: Bench) -> None:
    bench.commit("big.bin", "x" * 1001)
    finish(bench)
    assert bench.pushed() is None
    assert [(one.path, one.rule) for one in bench.run.withheld] == [("big.bin", "over limits.max_file_bytes")]


def test_nested_repositories_are_left_where_they_are_and_told(bench: Bench) -> None:
    for name in ("nested", "deep/nested"):
        (bench.worktree / name).mkdir(parents=True)
        bench.git("init", "--quiet", name)
        bench.write(f"{name}/file.txt")
    bench.write("fine.txt")
    finish(bench)
    assert "fine.txt" in bench.files() and "nested/file.txt" not in bench.files()
    assert [(one.path, one.rule) for one in bench.run.withheld] == [
        ("deep/nested", "nested repository"),
        ("nested", "nested repository"),
    ]


def test_a_repository_that_was_committed_like_a_file_holds_the_push(bench: Bench) -> None:
    (bench.worktree / "nested").mkdir()
    bench.git("init", "--quiet", "nested")
    bench.write("nested/file.txt")
    bench.git("-C", "nested", "add", "file.txt")
    bench.git("-C", "nested", "commit", "--quiet", "-m", "inside")
    bench.git("add", "nested")
    bench.git("commit", "--quiet", "-m", "Add it")
    finish(bench)
    assert bench.pushed() is None
    assert ("nested", "nested repository") in [(one.path, one.rule) for one in bench.run.withheld]


def test_pipes_and_sockets_stop_nothing(bench: Bench) -> None:
    os.mkfifo(bench.worktree / "pipe")
    (bench.worktree / "README.md").unlink()
    os.mkfifo(bench.worktree / "README.md")
    server = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(bench.worktree)  # a socket's path must be short
    server.bind("socket")
    os.chdir(here)
    bench.write("fine.txt")
    finish(bench)
    server.close()
    assert "fine.txt" in bench.files()


def test_a_file_that_cannot_be_read_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("closed.txt")
    real = Path.open

    def denied(path: Path, *args: object, **options: object) -> object:
        if path.name == "closed.txt":  # root may read anything, so that permissions alone do not tell here
            raise PermissionError(path)
        return real(path, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", denied)
    finish(bench)
    assert [(one.path, one.rule) for one in bench.run.withheld] == [("closed.txt", "unreadable file")]


def test_what_git_itself_refuses_is_told_and_the_rest_is_taken(bench: Bench) -> None:
    bench.write(".gitattributes", "*.u16 working-tree-encoding=UTF-16\n")
    bench.write("bad.u16", b"\x00\xd8\x00")
    bench.write("fine.txt")
    finish(bench)
    assert "fine.txt" in bench.files()
    assert [(one.path, one.rule) for one in bench.run.withheld] == [("bad.u16", "refused by git")]


def test_the_loops_own_ssh_key_is_withheld_without_its_header_too(bench: Bench) -> None:
    key = Path(bench.record.identity.key).read_text()  # type: ignore[union-attr]
    bench.write("copied.txt", f"x = {key.splitlines()[2]}\n")
    finish(bench)
    assert bench.pushed() is None
    assert [(one.path, one.rule) for one in bench.run.withheld] == [("copied.txt", "known secret")]


def test_a_secret_in_a_files_name_is_withheld_and_not_told(bench: Bench) -> None:
    secret = "ghp_" + "a1B2" * 9
    bench.write(f"notes/{secret}.txt")
    finish(bench)
    assert bench.pushed() is None
    [comment] = bench.comments()
    assert re.search(r"GitHub token \[fingerprint \w+\] in its name", comment) and secret not in comment


def test_of_an_install_without_a_gitignore_the_folder_is_withheld_and_the_work_beside_it_taken(
    bench: Bench, place: Path
) -> None:
    bench.config = configuration(place, bench.sample.url, "[limits]\nmax_left_over_files = 20\n")
    for number in range(60):
        bench.write(f"web/node_modules/p{number // 10}/f{number}.js")
    bench.write("web/src/page.js")
    finish(bench)
    assert "web/src/page.js" in bench.files() and not any("node_modules" in name for name in bench.files())
    [one] = bench.run.withheld
    assert (one.path, one.rule) == (
        "web/node_modules",
        "60 new files, over limits.max_left_over_files",
    )
    assert bench.on_origin()[0] == "blocked"
    assert "`web/node_modules`: 60 new files" in bench.comments()[0]
    assert (bench.worktree / "web/node_modules/p5/f59.js").exists()
    bench.finalize("web/node_modules/")
    assert len([name for name in bench.files() if "node_modules" in name]) == 60
    assert bench.run.withheld == []


def test_the_number_of_programs_does_not_grow_with_the_files(
    bench: Bench, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    real = process.run

    def counted(words: Sequence[str], **options: Any) -> Finished:
        started.append(next(str(word) for word in words[1:] if not str(word).startswith("-")))
        return real(words, **options)

    monkeypatch.setattr(process, "run", counted)
    rules, head = Rules(max_file_bytes=1000, redactor=Redactor()), bench.git("rev-parse", "HEAD")

    def programs(files: int, folder: str) -> int:
        for number in range(files):
            bench.write(f"{folder}/{number}.txt")
        started.clear()
        leftovers.gather(bench.control, bench.worktree, head, place / "index", rules)
        return len(started)

    assert programs(500, "many") == programs(5, "few")
    bench.write(".gitattributes", "*.u16 working-tree-encoding=UTF-16\n")
    bench.write("many/250.u16", b"\x00\xd8\x00")
    assert programs(500, "more") < 40  # refused: halved until it stands alone, of 1,000


# ---- nothing planted runs


def test_nothing_that_an_agent_planted_runs(bench: Bench, place: Path) -> None:
    trap = Trap(place / "trap")
    trap.plant(state.of(bench.config).work)
    bench.write(".gitattributes", "* filter=planted diff=planted merge=planted text\n")
    bench.write("new.txt")
    bench.write("greet.sh", "changed\n")
    trap.plant(admin(bench))
    finish(bench)
    assert bench.files() == [".gitattributes", "README.md", "greet.sh", "new.txt"]
    assert trap.sprung == ""


def test_a_repository_planted_in_place_of_the_git_file_is_neither_used_nor_lost(
    bench: Bench, place: Path
) -> None:
    trap = Trap(place / "trap")
    (bench.worktree / ".git").unlink()
    bench.git("init", "--quiet")
    trap.plant(bench.worktree / ".git")
    bench.write("new.txt")
    finish(bench)
    assert bench.files() == ["README.md", "greet.sh", "new.txt"]
    assert trap.sprung == ""
    assert (state.of(bench.config).run(bench.run.id) / "replaced.git/config").exists()
    assert status(bench) == f"## {bench.branch}"


# ---- HEAD, branches, history


def test_a_detached_head_that_goes_on_from_the_branch_is_taken(bench: Bench) -> None:
    bench.git("checkout", "--quiet", "--detach")
    bench.commit()
    bench.write("left.txt")
    finish(bench)
    assert bench.log() == [TITLE, "Work"]
    assert status(bench) == f"## {bench.branch}"


def test_another_branch_that_goes_on_from_the_branch_is_taken(bench: Bench) -> None:
    bench.commit("one.txt")
    bench.git("checkout", "--quiet", "-b", "feature/x")
    bench.commit("two.txt")
    finish(bench)
    assert bench.files() == ["README.md", "greet.sh", "one.txt", "two.txt"]


def test_a_head_that_does_not_go_on_from_it_is_kept_and_the_branch_stands(bench: Bench) -> None:
    bench.commit("one.txt")
    bench.git("checkout", "--quiet", "-b", "other", "HEAD~1")
    other = bench.commit("two.txt")
    bench.write("left.txt")
    finish(bench)
    assert bench.log() == ["Work"]
    kept = bench.kept()
    assert kept["head"] == other
    assert bench.control.lines("ls-tree", "--name-only", kept["left-overs"]) == [
        "README.md", "greet.sh", "left.txt", "two.txt",
    ]  # fmt: skip
    assert "HEAD was elsewhere" in bench.comments()[0] and "refs/ent-agent/kept/" in bench.comments()[0]
    assert status(bench) == f"## {bench.branch}"


def test_a_head_on_main_with_nothing_new_is_no_work(bench: Bench) -> None:
    bench.commit("one.txt")
    bench.git("checkout", "--quiet", "--detach", "origin/main")
    finish(bench)
    assert bench.log() == ["Work"] and bench.kept() == {}
    assert (bench.worktree / "one.txt").exists()


def test_a_deleted_branch_goes_on_where_it_was(bench: Bench) -> None:
    bench.commit("one.txt")
    bench.git("checkout", "--quiet", "--detach", "HEAD~1")
    bench.git("branch", "--quiet", "-D", bench.branch)
    bench.write("left.txt")
    finish(bench)
    assert bench.log() == [TITLE]


def again(bench: Bench) -> str:
    """Publish one commit, and begin another run on it; returns the commit."""
    published = bench.commit("published.txt")
    bench.ended(exit_code=1)
    bench.finalize()
    bench.start(WELSH)
    return published


def test_a_rewritten_branch_goes_on_top_of_what_was_published(bench: Bench) -> None:
    published = again(bench)
    bench.write("published.txt", "amended\n")
    bench.git("commit", "--quiet", "--all", "--amend", "-m", "Amended")
    amended = bench.git("rev-parse", "HEAD")
    bench.write("left.txt")
    finish(bench)
    tip = f"refs/heads/{bench.branch}"
    assert bench.sample.git.is_ancestor(published, tip) and bench.sample.git.is_ancestor(amended, tip)
    assert bench.sample.read("published.txt", bench.branch) == "amended\n"
    assert "left.txt" in bench.files()
    assert bench.kept()["branch"] == amended
    assert status(bench) == f"## {bench.branch}"


def test_a_branch_that_was_reset_backwards_stays_as_published(bench: Bench) -> None:
    published = again(bench)
    bench.git("reset", "--quiet", "--hard", "HEAD~1")
    finish(bench)
    assert bench.pushed() == published


def test_a_history_without_anything_in_common_is_kept_and_not_taken(bench: Bench) -> None:
    published = again(bench)
    bench.git("checkout", "--quiet", "--orphan", "fresh")
    bench.git("commit", "--quiet", "-m", "Orphan")
    orphan = bench.git("rev-parse", "HEAD")
    bench.git("branch", "--quiet", "-M", "fresh", bench.branch)
    finish(bench)
    assert bench.pushed() == published
    assert orphan in bench.kept().values()


def conflicting(bench: Bench) -> None:
    """Two commits that conflict: one on the branch, one on `side`."""
    bench.git("checkout", "--quiet", "-b", "side")
    bench.commit("clash.txt", "theirs\n", "Theirs")
    bench.git("checkout", "--quiet", bench.branch)
    bench.commit("clash.txt", "ours\n", "Ours")


@pytest.mark.parametrize("verb", ["merge", "rebase", "cherry-pick", "revert"])
def test_what_was_half_way_is_saved_aside_and_aborted(bench: Bench, verb: str) -> None:
    conflicting(bench)
    if verb == "revert":
        bench.commit("clash.txt", "second\n", "Second")
        bench.commit("clash.txt", "third\n", "Third")
        bench.git("revert", "--no-edit", "HEAD~1", check=False)
    else:
        bench.git(verb, "side", check=False)
    marked = bench.worktree / "clash.txt"
    assert "<<<<<<<" in marked.read_text()
    finish(bench)
    assert "<<<<<<<" not in (bench.sample.read("clash.txt", bench.branch) or "")
    assert bench.log()[-1] == "Ours"
    assert "<<<<<<<" in bench.control.text("cat-file", "blob", f"{bench.kept()['left-overs']}:clash.txt")
    assert "half-way" in bench.comments()[0]
    assert status(bench) == f"## {bench.branch}"
    assert "<<<<<<<" not in marked.read_text()
    registration = registrations.Registration(admin(bench))
    assert registration.halfway == []


def test_a_lock_that_was_left_is_in_nobodys_way(bench: Bench) -> None:
    (admin(bench) / "index.lock").write_text("")
    (admin(bench) / "HEAD.lock").write_text("")
    bench.write("left.txt")
    finish(bench)
    assert bench.log() == [TITLE]
    assert status(bench) == f"## {bench.branch}"


def test_a_worktree_that_the_agent_deleted_loses_no_commit(bench: Bench) -> None:
    bench.commit()
    shutil.rmtree(bench.worktree)
    finish(bench)
    assert bench.log() == ["Work"]


def test_an_emptied_worktree_is_not_taken_for_a_deletion_of_everything(bench: Bench) -> None:
    bench.commit()
    shutil.rmtree(bench.worktree)
    bench.worktree.mkdir()
    finish(bench)
    assert bench.log() == ["Work"]


def test_a_registration_that_the_agent_deleted_loses_nothing(bench: Bench) -> None:
    bench.commit()
    bench.write("left.txt")
    shutil.rmtree(admin(bench))
    finish(bench)
    assert bench.log() == [TITLE, "Work"]


def test_objects_that_git_refuses_are_not_taken_and_stay_in_the_agents_repository(bench: Bench) -> None:
    good = bench.commit()
    folder = bench.git("hash-object", "-t", "tree", "-w", "--literally", "/dev/null")
    tree = bench.worktree / "tree.bin"
    tree.write_bytes(b"40000 .git\0" + bytes.fromhex(folder))
    evil = bench.git("hash-object", "-t", "tree", "-w", "--literally", str(tree))
    tree.unlink()
    bad = bench.git("commit-tree", evil, "-p", good, "-m", "Bad")
    bench.git("update-ref", f"refs/heads/{bench.branch}", bad)
    result = finish(bench)
    assert result.outcome == "completed" and bench.pushed() != bad
    assert "holds what git refuses" in bench.comments()[0]
    assert bad in repositories.work(bench.config).refs("refs/ent-agent/kept/").values()


# ---- the unit


def test_gathering_twice_gives_the_same_tree(bench: Bench, place: Path) -> None:
    bench.write("left.txt")
    rules = Rules(max_file_bytes=10, redactor=Redactor())
    head = bench.git("rev-parse", "HEAD")
    first = leftovers.gather(bench.control, bench.worktree, head, place / "index", rules)
    assert first.paths == ("left.txt",)
    assert leftovers.gather(bench.control, bench.worktree, head, place / "index", rules) == first
