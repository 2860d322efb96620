"""Where the work on a branch begins: published history stands, ours is put on top, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.repositories import repositories, syncing
from ent_agent.repositories.repositories import NAMESPACE
from harness.git import Git
from harness.objects import FILE, Entry
from harness.worktrees import branches, published
from harness.worktrees.branches import Beginning
from tests.support.sample import Sample, configuration

BRANCH = "robo/1"
TRACKING = f"refs/remotes/origin/{BRANCH}"


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    config = configuration(place, sample.url)
    syncing.sync(Record(), config)
    return config


@pytest.fixture
def git(config: Config) -> Git:
    return repositories.control(config)


@pytest.fixture
def main(git: Git) -> str:
    found = git.resolve("refs/remotes/origin/main")
    assert found
    return found


def commit(git: Git, parents: str | list[str], files: dict[str, str | None], message: str = "Work") -> str:
    known = [parents] if isinstance(parents, str) else parents
    tree = git.objects.tree(git.objects.tree_of(known[0])) if known else {}
    for name, text in files.items():
        tree.pop(name.encode(), None)
        if text is not None:
            tree[name.encode()] = Entry(FILE, git.objects.write("blob", text.encode()))
    return git.objects.write_commit(git.objects.write_tree(tree), known, message)


def publish(git: Git, config: Config, commit: str | None) -> None:
    """As if origin had the branch there, and a fetch had shown it."""
    git.update_ref(TRACKING, commit)
    published.remember(git, NAMESPACE, f"{config.id}/")


def files(git: Git, commit: str) -> dict[str, str]:
    names = git.lines("ls-tree", "--name-only", commit)
    return {name: git.objects.read(f"{commit}:{name}").decode() for name in names if name != "README.md"}


def begin(git: Git, base: str, remote: str | None, local: str | None) -> Beginning:
    return branches.beginning(
        git, base=base, remote=remote, local=local, once=published.heads(git, NAMESPACE, BRANCH)
    )


def test_a_new_branch_begins_at_the_base(git: Git, main: str) -> None:
    assert begin(git, main, None, None) == Beginning(main)


def test_one_without_commits_of_its_own_follows_the_base(git: Git, main: str) -> None:
    newer = commit(git, main, {"other": "1"})
    assert begin(git, newer, None, main) == Beginning(newer)


def test_commits_that_were_never_pushed_are_gone_on_with(git: Git, main: str) -> None:
    ours = commit(git, main, {"ours": "1"})
    newer = commit(git, main, {"other": "1"})
    assert begin(git, newer, None, ours) == Beginning(ours)


def test_origins_branch_is_taken_exactly(git: Git, config: Config, main: str) -> None:
    theirs = commit(git, main, {"theirs": "1"})
    publish(git, config, theirs)
    assert begin(git, main, theirs, None) == Beginning(theirs)
    assert begin(git, main, theirs, main) == Beginning(theirs)
    assert begin(git, main, theirs, theirs) == Beginning(theirs)


def test_what_we_have_beyond_origin_stays_as_it_is(git: Git, config: Config, main: str) -> None:
    theirs = commit(git, main, {"theirs": "1"})
    ours = commit(git, theirs, {"ours": "1"})
    publish(git, config, theirs)
    assert begin(git, main, theirs, ours) == Beginning(ours)


def test_what_was_not_pushed_is_put_on_top_of_a_persons_push(git: Git, config: Config, main: str) -> None:
    first = commit(git, main, {"a": "1"})
    publish(git, config, first)
    ours = commit(git, commit(git, first, {"b": "1"}, "One\n\nof two"), {"b": "2"}, "Two")
    theirs = commit(git, first, {"c": "1"})
    publish(git, config, theirs)
    found = begin(git, main, theirs, ours)
    assert found.kept == () and git.is_ancestor(theirs, found.start)
    assert files(git, found.start) == {"greet.sh": files(git, main)["greet.sh"], "a": "1", "b": "2", "c": "1"}
    assert git.text("log", "--format=%B", f"{theirs}..{found.start}").split() == ["Two", "One", "of", "two"]
    assert begin(git, main, theirs, ours) == found  # the same commits again


def test_on_a_conflict_ours_is_kept_and_origins_stands(git: Git, config: Config, main: str) -> None:
    first = commit(git, main, {"a": "1"})
    publish(git, config, first)
    ours = commit(git, first, {"a": "ours"})
    theirs = commit(git, first, {"a": "theirs"})
    publish(git, config, theirs)
    assert begin(git, main, theirs, ours) == Beginning(theirs, kept=(ours,))


def test_a_persons_force_push_stands_and_what_it_took_away_does_not_come_back(
    git: Git, config: Config, main: str
) -> None:
    good = commit(git, main, {"good": "1"})
    bad = commit(git, good, {"bad": "1"})
    publish(git, config, bad)
    ours = commit(git, bad, {"ours": "1"})
    publish(git, config, good)
    found = begin(git, main, good, ours)
    assert git.lines("log", "--format=%s", f"{good}..{found.start}") == ["Work"]
    assert "bad" not in files(git, found.start) and files(git, found.start)["ours"] == "1"


def test_a_force_push_with_nothing_of_ours_unpushed_is_taken_exactly(
    git: Git, config: Config, main: str
) -> None:
    before = commit(git, main, {"a": "1"})
    publish(git, config, before)
    rewritten = commit(git, main, {"a": "2"})
    publish(git, config, rewritten)
    assert begin(git, main, rewritten, before) == Beginning(rewritten)


def test_a_branch_deleted_on_origin_begins_anew_and_is_kept(git: Git, config: Config, main: str) -> None:
    pushed = commit(git, main, {"a": "1"})
    publish(git, config, pushed)
    ours = commit(git, pushed, {"b": "1"})
    publish(git, config, None)
    assert begin(git, main, None, ours) == Beginning(main, kept=(ours, pushed), anew=True)


def test_a_branch_that_was_merged_and_deleted_leaves_nothing_to_keep(
    git: Git, config: Config, main: str
) -> None:
    pushed = commit(git, main, {"a": "1"})
    publish(git, config, pushed)
    publish(git, config, None)
    merged = commit(git, [main, pushed], {"a": "1"})
    assert begin(git, merged, None, pushed) == Beginning(merged, anew=True)


def test_after_that_new_work_counts_as_unpushed(git: Git, config: Config, main: str) -> None:
    publish(git, config, commit(git, main, {"a": "1"}))
    publish(git, config, None)
    published.forget(git, NAMESPACE, BRANCH)
    ours = commit(git, main, {"b": "1"})
    assert begin(git, main, None, ours) == Beginning(ours)


def test_a_change_that_origin_has_already_is_not_made_again(git: Git, config: Config, main: str) -> None:
    first = commit(git, main, {"a": "1"})
    publish(git, config, first)
    ours = commit(git, commit(git, first, {"b": "1"}), {"c": "1"})
    theirs = commit(git, commit(git, first, {"b": "1"}, "The same, by a person"), {"d": "1"})
    publish(git, config, theirs)
    found = begin(git, main, theirs, ours)
    assert git.text("rev-list", "--count", f"{theirs}..{found.start}") == "1"
    assert set(files(git, found.start)) == {"greet.sh", "a", "b", "c", "d"}


def test_a_merge_of_ours_keeps_its_second_parent_and_its_resolution(
    git: Git, config: Config, main: str
) -> None:
    first = commit(git, main, {"a": "1"})
    publish(git, config, first)
    newer = commit(git, main, {"a": "main's"})
    git.update_ref("refs/remotes/origin/main", newer)
    ours = commit(git, [commit(git, first, {"b": "1"}), newer], {"a": "resolved"}, "Merge main")
    theirs = commit(git, first, {"c": "1"})
    publish(git, config, theirs)
    found = begin(git, newer, theirs, ours)
    assert found.kept == ()
    assert files(git, found.start)["a"] == "resolved" and files(git, found.start)["c"] == "1"
    assert git.is_ancestor(newer, found.start) and git.is_ancestor(theirs, found.start)


def test_a_rebase_of_published_commits_does_not_rewrite_them(git: Git, config: Config, main: str) -> None:
    pushed = commit(git, main, {"a": "1"}, "Pushed")
    publish(git, config, pushed)
    newer = commit(git, main, {"m": "1"})
    git.update_ref("refs/remotes/origin/main", newer)
    ours = commit(git, commit(git, newer, {"a": "1"}, "Pushed"), {"b": "1"}, "New")
    found = begin(git, newer, pushed, ours)
    assert git.lines("log", "--format=%s", f"{pushed}..{found.start}") == ["New"]


def test_renames_and_deletions_are_carried_over(git: Git, config: Config, main: str) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    first = commit(git, main, {"a": text, "gone": "1"})
    publish(git, config, first)
    ours = commit(git, first, {"a": None, "b": text, "gone": None})
    theirs = commit(git, first, {"a": text + "their line\n"})
    publish(git, config, theirs)
    found = begin(git, main, theirs, ours)
    assert files(git, found.start)["b"].endswith("their line\n")
    assert not {"a", "gone"} & set(files(git, found.start))


def test_an_unrelated_history_is_put_on_top_or_kept(git: Git, config: Config, main: str) -> None:
    theirs = commit(git, main, {"a": "1"})
    publish(git, config, theirs)
    unrelated = commit(git, [], {"z": "1"}, "Root")
    found = begin(git, main, theirs, unrelated)
    assert found.kept == (unrelated,) or git.is_ancestor(theirs, found.start)


def test_author_times_and_message_of_a_commit_stay(git: Git, config: Config, main: str) -> None:
    first = commit(git, main, {"a": "1"})
    publish(git, config, first)
    raw = git.objects.read(commit(git, first, {"b": "1"}))
    header, _, _ = raw.partition(b"\n\n")
    odd = (
        header.replace(b"Robo <robo@example.org>", "Zoë <z@x>".encode())
        + b"\nencoding latin1\n\nGr\xfc\xdfe  \n\n\n# x"
    )
    ours = git.objects.write("commit", odd)
    theirs = commit(git, first, {"c": "1"})
    publish(git, config, theirs)
    found = git.objects.read(begin(git, main, theirs, ours).start)
    assert found.endswith(b"\n\nGr\xfc\xdfe  \n\n\n# x") and "author Zoë <z@x>".encode() in found


def test_published_heads_are_few(git: Git, config: Config, main: str) -> None:
    tip = main
    for number in range(5):
        tip = commit(git, tip, {"a": str(number)})
        publish(git, config, tip)
    assert published.heads(git, NAMESPACE, BRANCH) == [tip]
    other = commit(git, main, {"b": "1"})
    publish(git, config, other)
    assert set(published.heads(git, NAMESPACE, BRANCH)) == {tip, other}


def test_a_driver_that_the_repository_asks_for_does_not_run(
    git: Git, config: Config, main: str, place: Path
) -> None:
    first = commit(git, main, {"a": "1\n", ".gitattributes": "* merge=planted filter=planted\n"})
    publish(git, config, first)
    ours, theirs = commit(git, first, {"a": "ours\n"}), commit(git, first, {"a": "theirs\n"})
    publish(git, config, theirs)
    assert begin(git, main, theirs, ours).kept == (ours,)
