"""Writing a tracker: exact files and messages, nothing lost, nobody's checkout touched."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ent_agent.tracker import exclusion
from ent_agent.tracker.format import Instant, parse_time
from ent_agent.tracker.model import NotFound
from ent_agent.tracker.reader import Tracker
from ent_agent.tracker.writer import (
    AddComment,
    AddDependency,
    AddTag,
    Change,
    EditComment,
    NewIssue,
    RemoveTag,
    SetAssignee,
    SetDescription,
    SetDoneTime,
    SetState,
    commit,
    update,
)
from harness.errors import BadConfig, BadData, Busy
from harness.git import Git, GitFailed, Person
from tests.support.trackers import BRANCH, ROOT, A, B, C, Content, Repository, issue, tree

REF = f"refs/heads/{BRANCH}"
ADA = Person("Ada Lovelace", "ada@example.org")
ZOE = Person("Zoë", "zoe@example.org")
NEW_YEAR = parse_time("2025-01-01T00:00:00.5Z")


def write(git: Git, *changes: Change, message: str = "") -> str:
    return update(git, REF, lambda tip: commit(git, tip, changes, message=message))


# ---- what each change writes

CHANGES: list[tuple[Change, dict[str, str | None], str]] = [
    (SetState(A, "inprogress"), {"state": "inprogress"}, f"change state of issue {A}, new -> inprogress"),
    (SetState(B, "wontdo"), {}, f"change state of issue {B}, blocked -> wontdo"),
    (SetAssignee(A, " seb "), {"assignee": " seb "}, f"change assignee of issue {A}, None ->  seb"),
    (SetAssignee(A, ""), {"assignee": ""}, f"change assignee of issue {A}, None ->"),
    (SetAssignee(B, None), {}, f"change assignee of issue {B}, old -> None"),
    (SetDescription(A, "new\n"), {"description": "new\n"}, f"edit description of issue {A}"),
    (
        SetDoneTime(A, NEW_YEAR),
        {"done_time": "2025-01-01T00:00:00.500+00:00"},
        f"set done-time of issue {A} to 2025-01-01 00:00:00.500 +00:00",
    ),
    (
        AddComment(issue=A, text="hello", author=ZOE, id="k1", time=NEW_YEAR),
        {
            "comments/k1/author": "Zoë <zoe@example.org>",
            "comments/k1/creation_time": "2025-01-01T00:00:00.500+00:00",
            "comments/k1/description": "hello",
        },
        f"add comment k1 on issue {A}",
    ),
    (EditComment(B, "k", "other"), {}, "edit comment k on issue FIXME"),
    (AddTag(A, "a,b/c"), {"tags/a,0b,1c": ""}, f"issue {A} add tag a,b/c"),
    (RemoveTag(B, "t"), {}, f"issue {B} remove tag t"),
    (AddDependency(A, B), {f"dependencies/{B}": ""}, f"add dep {B} to issue {A}"),
]


@pytest.fixture
def planted(repository: Repository) -> Repository:
    repository.plant(
        tree(
            A=issue(),
            B=issue(
                "b",
                state=" Blocked\n",
                assignee="old\n",
                **{
                    "tags/t": "x",
                    "tags/u": "content",
                    f"dependencies/{A}": "",
                    "comments/k/description": "k",
                    "odd/file": "stays",
                },
            ),
        )
        | {"README.md": "r", "stray": ("100755", "x")}
    )
    return repository


@pytest.mark.parametrize(("change", "files", "message"), CHANGES)
def test_a_change_is_one_commit_of_its_files(
    planted: Repository, git: Git, change: Change, files: dict[str, str | None], message: str
) -> None:
    before, tip = planted.files(), planted.tip()
    new = write(git, change)
    assert planted.tip() == new
    assert planted.git("rev-list", f"{tip}..{new}").out.split() == [new]
    assert planted.git("log", "-1", "--format=%B", new).out == message + "\n\n"
    if files:
        assert planted.files() == before | {f"{A}/{path}": content for path, content in files.items()}
    assert planted.git("fsck", "--strict").err == ""
    assert planted.git("ls-tree", new, "stray").out.startswith("100755")


def test_what_is_taken_away_is_gone_and_the_rest_stays(planted: Repository, git: Git) -> None:
    write(git, SetAssignee(B, None), RemoveTag(B, "t"), EditComment(B, "k", "new"))
    assert {
        path.removeprefix(B + "/"): text for path, text in planted.files().items() if path.startswith(B)
    } == {
        "author": "A <a@x>",
        "creation_time": "2025-01-01T00:00:00+00:00",
        "description": "b",
        "state": " Blocked\n",
        "tags/u": "",
        "comments/k/description": "new",
        f"dependencies/{A}": "",
        "odd/file": "stays",
    }


def test_done_is_two_commits_and_refreshes_the_time(planted: Repository, git: Git) -> None:
    write(git, SetState(A, "done"))
    first = planted.files()[f"{A}/done_time"]
    assert planted.log()[:2] == [
        f"set done-time of issue {A} to {first.replace('T', ' ').replace('+', ' +')}",
        f"change state of issue {A}, new -> done",
    ]
    write(git, SetState(A, "done"))
    assert planted.files()[f"{A}/done_time"] > first
    assert planted.log()[1].startswith("set done-time")


def test_several_changes_are_several_commits_or_one_with_a_message(planted: Repository, git: Git) -> None:
    write(git, SetState(A, "backlog"), AddTag(A, "x"))
    assert planted.log()[:2] == [f"issue {A} add tag x", f"change state of issue {A}, new -> backlog"]
    write(git, SetState(A, "done"), AddTag(A, "y"), message="Hand back  \n\n\nall of it")
    assert planted.log()[:2] == ["Hand back", f"issue {A} add tag x"]
    assert planted.files()[f"{A}/state"] == "done" and f"{A}/done_time" in planted.files()


def test_a_change_that_changes_nothing_is_no_commit(planted: Repository, git: Git) -> None:
    tip = planted.tip()
    same = [AddTag(B, "t"), SetDescription(A, "issue"), SetAssignee(A, None)]
    assert commit(git, tip, same) == tip
    assert commit(git, tip, same, message="all") == tip
    assert write(git) == tip


def test_a_new_issue_has_three_files_and_what_is_asked_for(planted: Repository, git: Git) -> None:
    plain = NewIssue(text="T\n\nB\n", author=ADA)
    full = NewIssue(
        text="x", author=ADA, id=C, state="backlog", assignee="zoe", tags=("b", "a/c"), dependencies=(A,)
    )
    write(git, plain, full)
    assert len(plain.id) == 32 and int(plain.id, 16) >= 0
    assert {path.split("/", 1)[1] for path in planted.files() if path.startswith(plain.id)} == {
        "author",
        "creation_time",
        "description",
    }
    found = Tracker(git, planted.tip()).issue(C)
    assert (found.state, found.assignee, found.tags, found.dependencies) == (
        "backlog",
        "zoe",
        ("a/c", "b"),
        (A,),
    )
    assert planted.log()[0] == f"create new issue {C}"


def test_a_branch_that_is_not_there_is_begun(repository: Repository, git: Git) -> None:
    write(git, NewIssue(text="x", author=ADA, id=A))
    assert repository.log() == [f"create new issue {A}", "create entomologist issue branch"]
    assert repository.git("ls-tree", f"{BRANCH}~1").out == (
        "100644 blob 2bd9d234cdbcebef0d0755c4b6ed4b24a2cb1d3d\tREADME.md\n"
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (SetState("nope", "done"), NotFound, "issue nope not found"),
        (SetState("", "done"), NotFound, "issue  not found"),
        (SetState("README.md", "done"), NotFound, "issue README.md not found"),
        (AddComment(issue="nope", text="x", author=ADA), NotFound, "issue nope not found"),
        (AddComment(issue=A, text="", author=ADA), BadData, "supplied description is empty"),
        (AddComment(issue=B, text="x", author=ADA, id="k"), BadData, "comment k is there already"),
        (EditComment(B, "nope", "x"), NotFound, "comment nope not found"),
        (NewIssue(text="x", author=ADA, id=A), BadData, f"issue {A} is there already"),
        (NewIssue(text="x", author=ADA, id="../x"), BadData, "cannot be a file name"),
        (NewIssue(text="x", author=ADA, id=".git"), BadData, "cannot be a file name"),
        (RemoveTag(B, "nope"), NotFound, "tag nope not found"),
        (AddTag(A, ""), BadData, "invalid zero-length tag"),
        (AddTag(A, ".."), BadData, "Is a directory"),
        (AddTag(A, "x" * 256), BadData, "File name too long"),
        (AddDependency(A, "nope"), NotFound, "dependency nope not found"),
        (AddDependency("nope", A), NotFound, "issue nope not found"),
        (AddDependency(A, A), BadData, "Self-dependency not allowed"),
        (AddDependency(B, A), BadData, "Dependency already exists"),
        (SetDoneTime(A, parse_time("0000-01-01T00:00:00Z")), BadData, "year 0"),
        (SetDoneTime(A, Instant(253402300799)), BadData, "year 9999"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    planted: Repository, git: Git, change: Change, error: type[BadData], message: str
) -> None:
    tip = planted.tip()
    with pytest.raises(error, match=message):
        write(git, change)
    assert planted.tip() == tip


def test_a_malformed_state_is_mended_by_setting_it(repository: Repository, git: Git) -> None:
    repository.plant(tree(A=issue(state="in progress")))
    write(git, SetState(A, "new"))
    assert repository.log()[0] == f"change state of issue {A}, unreadable -> new"
    assert Tracker(git, repository.tip()).issue(A).state == "new"


@pytest.mark.parametrize("files", [{"comments": "a file"}, {"tags": "a file"}])
def test_a_file_in_the_way_of_a_folder_is_not_overwritten(
    repository: Repository, git: Git, files: dict[str, Content]
) -> None:
    repository.plant(tree(A={**issue(), **files}))
    with pytest.raises(BadData, match="is not a folder"):
        write(git, AddComment(issue=A, text="x", author=ADA) if "comments" in files else AddTag(A, "x"))


def test_time_does_not_run_backwards_in_the_history(planted: Repository, git: Git) -> None:
    ahead = int(time.time()) + 5000
    planted.git(
        "update-ref", REF,
        planted.git("commit-tree", "-p", BRANCH, "-m", "ahead", f"{BRANCH}^{{tree}}",
                    GIT_COMMITTER_DATE=f"@{ahead} +0000", GIT_AUTHOR_DATE=f"@{ahead} +0000").out.strip(),
    )  # fmt: skip
    write(git, SetState(A, "backlog"))
    assert int(planted.git("log", "-1", "--format=%ct", BRANCH).out) == ahead


def test_the_identity_is_gits(planted: Repository, git: Git) -> None:
    write(Git(planted.git_dir, person=ZOE), SetState(A, "backlog"))
    assert planted.git("log", "-1", "--format=%an <%ae> %cn", BRANCH).out == "Zoë <zoe@example.org> Zoë\n"
    write(Git(planted.git_dir), SetState(A, "new"))
    assert planted.git("log", "-1", "--format=%an %cn", BRANCH).out == "Ada Lovelace Ada Lovelace\n"


# ---- where it is done


def test_a_persons_index_head_and_files_are_not_touched(planted: Repository, git: Git) -> None:
    (planted.path / "code.txt").write_text("changed\n")
    planted.git("add", "code.txt")
    before = [planted.git("status", "--porcelain").out, planted.git("symbolic-ref", "HEAD").out]
    index = (planted.git_dir / "index").read_bytes()
    write(git, SetState(A, "backlog"))
    assert [planted.git("status", "--porcelain").out, planted.git("symbolic-ref", "HEAD").out] == before
    assert (planted.git_dir / "index").read_bytes() == index
    assert planted.git("worktree", "list").out.count("\n") == 1


def test_a_bare_repository_will_do_even_with_head_on_the_branch(planted: Repository, place: Path) -> None:
    planted.git("clone", "--quiet", "--bare", ".", str(place / "bare.git"))
    bare = Git(place / "bare.git", person=ADA)
    bare.run("symbolic-ref", "HEAD", REF)
    write(bare, SetState(A, "done"))
    assert bare.text("show", f"{BRANCH}:{A}/state") == "done"


def test_from_a_linked_worktree_the_shared_repository_is_locked(planted: Repository, place: Path) -> None:
    planted.git("worktree", "add", "--quiet", str(place / "linked"), "-b", "other")
    linked = Git(planted.git_dir / "worktrees/linked", person=ADA)
    assert exclusion.common_folder(linked.git_dir) == planted.git_dir
    with exclusion.alone(linked, REF):
        assert (planted.git_dir / "worktrees" / exclusion.NAME / "HEAD").exists()
    write(linked, SetState(A, "done"))
    assert planted.files()[f"{A}/state"] == "done"


def test_another_ref_than_a_branch_needs_no_claim(planted: Repository, git: Git) -> None:
    ref = "refs/ent-agent/runs/x"
    git.update_ref(ref, planted.tip())
    with exclusion.alone(git, ref):
        assert not (planted.git_dir / "worktrees").exists()
    new = update(git, ref, lambda tip: commit(git, tip, [SetState(A, "blocked")]))
    assert git.resolve(ref) == new != planted.tip()


def test_a_folder_that_may_not_be_written_is_said(planted: Repository, git: Git) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    planted.git_dir.chmod(0o500)
    try:
        with pytest.raises(BadConfig, match="no permission"):
            write(git, SetState(A, "done"))
    finally:
        planted.git_dir.chmod(0o700)


# ---- with others at the same time


def comment_eight_times(git_dir: Path, number: int) -> None:
    git = Git(git_dir, person=ADA)
    for count in range(8):
        write(git, AddComment(issue=A, text=f"{number}.{count}", author=ADA))


def test_eight_processes_with_eight_comments_each_give_sixty_four(planted: Repository, git: Git) -> None:
    fork = multiprocessing.get_context("fork")
    writers = [
        fork.Process(target=comment_eight_times, args=(planted.git_dir, number)) for number in range(8)
    ]
    for process in writers:
        process.start()
    for process in writers:
        process.join(60)
    assert [process.exitcode for process in writers] == [0] * 8
    found = Tracker(git, planted.tip()).issue(A)
    assert {comment.description for comment in found.comments} == {
        f"{number}.{count}" for number in range(8) for count in range(8)
    }
    assert planted.git("rev-list", "--count", BRANCH).out.strip() == "65"


def test_a_writer_killed_in_the_middle_holds_nobody_up(planted: Repository, git: Git) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'lib')!r}); from pathlib import Path;"
        "from harness.git import Git; from ent_agent.tracker import exclusion; import os, signal\n"
        f"with exclusion.alone(Git(Path({str(planted.git_dir)!r})), {REF!r}):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert (planted.git_dir / "worktrees" / exclusion.NAME).exists()
    before = time.monotonic()
    write(git, SetState(A, "done"))
    assert time.monotonic() - before < 15
    assert not (planted.git_dir / "worktrees" / exclusion.NAME).exists()
    assert planted.git("worktree", "list").out.count("\n") == 1


def test_while_we_write_git_refuses_to_check_the_branch_out(
    planted: Repository, git: Git, place: Path
) -> None:
    with exclusion.alone(git, REF):
        refused = planted.git("worktree", "add", str(place / "x"), BRANCH, check=False)
    assert refused.exit_code != 0 and "already" in refused.err and "ent-agent-is-writing" in refused.err
    planted.git("worktree", "add", "--quiet", str(place / "x"), BRANCH)


def test_we_wait_for_an_ent_that_has_the_branch_checked_out(
    planted: Repository, git: Git, place: Path
) -> None:
    path = place / ".tmpAbC123"
    planted.git("worktree", "add", "--quiet", str(path), BRANCH)

    def finish() -> None:
        (path / B / "state").write_text("inprogress")
        subprocess.run(["git", "-C", path, "commit", "-qam", "theirs"], check=True)
        planted.git("worktree", "remove", "--force", str(path))

    timer = threading.Timer(0.4, finish)
    timer.start()
    write(git, SetAssignee(A, "zoe"))
    timer.join()
    assert planted.log()[:2] == [f"change assignee of issue {A}, None -> zoe", "theirs"]
    assert planted.files()[f"{B}/state"] == "inprogress" and planted.files()[f"{A}/assignee"] == "zoe"


def test_an_entry_that_git_is_taking_away_is_waited_for(
    planted: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = planted.git_dir / "worktrees/-tmpAbC123"
    entry.mkdir(parents=True)
    timer = threading.Timer(0.2, entry.rmdir)
    timer.start()
    write(git, SetState(A, "done"))
    timer.join()
    monkeypatch.setattr(exclusion, "STALE_SECONDS", 0.1)
    entry.mkdir()
    write(git, SetState(A, "new"))
    assert not entry.exists()


def test_an_ent_that_does_not_end_is_named(planted: Repository, git: Git, place: Path) -> None:
    path = place / ".tmpAbC123"
    planted.git("worktree", "add", "--quiet", str(path), BRANCH)
    with (
        pytest.raises(Busy, match=r"already checked out at .*\.tmpAbC123"),
        exclusion.alone(git, REF, timeout_seconds=0.3),
    ):
        pytest.fail("we are not alone")
    assert path.exists()
    assert not (planted.git_dir / "worktrees" / exclusion.NAME).exists()


def test_a_persons_own_checkout_of_the_branch_is_not_waited_for(
    planted: Repository, git: Git, place: Path
) -> None:
    planted.git("worktree", "add", "--quiet", str(place / "data"), BRANCH)
    before = time.monotonic()
    with pytest.raises(Busy, match="already checked out"):
        write(git, SetState(A, "done"))
    planted.git("worktree", "remove", str(place / "data"))
    planted.git("switch", "--quiet", BRANCH)
    with pytest.raises(Busy, match="repo sitory"):
        write(git, SetState(A, "done"))
    assert time.monotonic() - before < 15


def test_the_left_over_entry_of_a_killed_ent_is_cleared_away(
    planted: Repository, git: Git, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusion, "STALE_SECONDS", 0.1)
    path = place / ".tmpAbC123"
    planted.git("worktree", "add", "--quiet", str(path), BRANCH)
    subprocess.run(["rm", "-r", path], check=True)
    write(git, SetState(A, "done"))
    assert planted.files()[f"{A}/state"] == "done"
    assert planted.git("worktree", "list").out.count("\n") == 1


def test_a_branch_that_is_reset_under_us_is_written_again(planted: Repository, git: Git) -> None:
    """What a `git worktree add` that began before us does at its end."""
    tip, calls = planted.tip(), []

    def build(now: str | None) -> str:
        calls.append(now)
        made = commit(git, now, [SetState(A, "blocked")])
        if len(calls) == 1:
            planted.git("commit-tree", "-p", tip, "-m", "x", f"{tip}^{{tree}}")
            other = planted.git("commit-tree", "-p", tip, "-m", "theirs", f"{tip}^{{tree}}").out.strip()
            planted.git("update-ref", REF, other)
        return made

    update(git, REF, build)
    assert planted.log()[:2] == [f"change state of issue {A}, new -> blocked", "theirs"]
    assert len(calls) == 2


def test_a_branch_that_never_stands_still_is_given_up(planted: Repository, git: Git) -> None:
    def build(now: str | None) -> str:
        other = planted.git("commit-tree", "-p", BRANCH, "-m", "theirs", f"{BRANCH}^{{tree}}").out.strip()
        planted.git("update-ref", REF, other)
        return commit(git, now, [SetState(A, "blocked")])

    with pytest.raises(Busy, match="changed 5 times"):
        update(git, REF, build)


def test_a_ref_that_cannot_be_written_is_said_in_gits_words(planted: Repository, git: Git) -> None:
    (planted.git_dir / f"{REF}.lock").touch()
    with pytest.raises(GitFailed, match=r"entomologist-data\.lock"):
        write(git, SetState(A, "done"))


def test_a_repository_of_sha256_is_written(place: Path) -> None:
    repository = Repository(place / "sha256")
    repository.path.mkdir()
    repository.git("init", "--quiet", "--object-format=sha256")
    git = Git(repository.git_dir, person=ADA)
    write(git, NewIssue(text="x", author=ADA, id=A))
    write(git, SetState(A, "done"), AddTag(A, "t"))
    assert Tracker(git, repository.tip()).issue(A).tags == ("t",)
    assert "error" not in repository.git("fsck", "--strict").err


@pytest.fixture
def without_ref_files(planted: Repository) -> Repository:
    """How a repository with reftables is told; here its refs are files all the same."""
    (planted.git_dir / "reftable").mkdir()
    return planted


def test_where_refs_are_not_files_git_makes_the_claim(
    without_ref_files: Repository, git: Git, place: Path
) -> None:
    with exclusion.alone(git, REF):
        refused = without_ref_files.git("worktree", "add", str(place / "x"), BRANCH, check=False)
        assert refused.exit_code != 0
    write(git, SetState(A, "done"))
    assert without_ref_files.files()[f"{A}/state"] == "done"
    assert without_ref_files.git("worktree", "list").out.count("\n") == 1


def test_there_too_left_overs_are_cleared_and_others_waited_for(
    without_ref_files: Repository, git: Git, place: Path
) -> None:
    for path in (place / exclusion.NAME, place / ".tmpAbC123"):
        without_ref_files.git("worktree", "add", "--quiet", "--force", "--no-checkout", str(path), BRANCH)
    subprocess.run(["rm", "-r", place / ".tmpAbC123"], check=True)
    write(git, SetState(A, "done"))
    assert without_ref_files.git("worktree", "list").out.count("\n") == 1
    without_ref_files.git("worktree", "add", "--quiet", str(place / "data"), BRANCH)
    with pytest.raises(Busy, match="already checked out"), exclusion.alone(git, REF, timeout_seconds=0.2):
        pytest.fail("we are not alone")
    assert (place / "data").exists()


def test_a_failing_hook_or_ignore_rule_does_not_matter(planted: Repository, git: Git) -> None:
    for name in ("pre-commit", "commit-msg", "post-checkout", "reference-transaction"):
        hook = planted.git_dir / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    (planted.git_dir / "info/exclude").write_text("tags\nstate\ncomments/\n")
    planted.git("config", "core.autocrlf", "true")
    planted.git("sparse-checkout", "set", "--no-cone", "nothing")
    write(
        git, AddTag(A, "x"), SetState(A, "blocked"), AddComment(issue=A, text="a\r\nb\n", author=ADA, id="k")
    )
    blob = git.objects.read(f"{BRANCH}:{A}/comments/k/description")
    assert blob == b"a\r\nb\n" and f"{A}/tags/x" in planted.files()


def test_many_writes_leave_nothing_but_objects(planted: Repository, git: Git) -> None:
    names = {path.name for path in planted.git_dir.iterdir()}
    for number in range(3):
        write(git, AddTag(A, str(number)))
    assert {path.name for path in planted.git_dir.iterdir()} - names == {"ent-agent.lock", "worktrees"}
    assert list((planted.git_dir / "worktrees").iterdir()) == []
