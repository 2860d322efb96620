"""What finished issues left goes only with proof that nothing is lost; old runs go by count and age."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.config import Config
from ent_agent.housekeeping import pruning, upkeep
from ent_agent.housekeeping.retention import Removal, Rules, superfluous
from ent_agent.records import AgentSection, IssueSection, Record
from ent_agent.repositories import repositories, syncing
from ent_agent.running import runs
from ent_agent.running.runs import Run
from ent_agent.selection.selection import branch_name
from ent_agent.worktrees import worktree
from harness import atomic, folders, lock
from harness.git import Git
from tests.support.sample import WELSH, Sample, configuration

EVERYTHING = Rules(keep_runs=0, keep_days=0.0)


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    return configuration(place, sample.url)


@pytest.fixture
def worked(config: Config, sample: Sample) -> Path:
    """The worktree of an issue whose commit was pushed and which was handed to alice."""
    record = syncing.sync(
        Record(agent=AgentSection(id="robo", name="Robo", email="robo@example.org")), config
    )
    record.issue = IssueSection(id=WELSH, title="", description="", state="new")
    with lock.held(state.of(config).issue_lock(WELSH)):
        path = Path(worktree.prepare(record, config).worktree.path)  # type: ignore[union-attr]
    commit(path, "work")
    push(config)
    sample.change({f"{WELSH}/assignee": b"alice", f"{WELSH}/state": b"blocked"})
    syncing.sync(Record(), config)
    return path


def commit(path: Path, name: str) -> None:
    """A commit of one more file, as an agent makes it."""
    (path / name).write_text(name)
    in_worktree(path, "add", name)
    in_worktree(path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", name)


def in_worktree(path: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=path, check=True, timeout=30)


def saved(config: Config, run: Run) -> None:
    atomic.write_json(runs.path(config, run.id), run)


def push(config: Config) -> None:
    branch = branch_name(config, WELSH)
    repositories.bring_home(config, f"+refs/heads/{branch}:refs/ent-agent/passing/x")
    repositories.control(config).run("push", "-q", "origin", f"refs/ent-agent/passing/x:refs/heads/{branch}")


def pruned(config: Config, rules: Rules = EVERYTHING, *, dry_run: bool = False) -> list[Removal]:
    syncing.sync(Record(), config)
    return list(pruning.prune(config, rules, dry_run=dry_run))


def the(found: list[Removal], kind: str) -> Removal:
    (one,) = [one for one in found if one.kind == kind]
    return one


def agents(config: Config) -> Git:
    return repositories.work(config)


# ---- worktrees


def test_the_worktree_and_branch_of_a_handed_back_issue_go(config: Config, worked: Path) -> None:
    found = pruned(config)
    assert (
        the(found, "worktree").verdict == "removed"
        and "is assigned to alice" in the(found, "worktree").reason
    )
    assert the(found, "branch").verdict == "removed"
    assert not worked.exists()
    assert agents(config).refs("refs/heads/robo/") == {}
    assert pruned(config) == []


def test_a_dry_run_removes_nothing(config: Config, worked: Path) -> None:
    found = pruned(config, dry_run=True)
    assert [one.verdict for one in found] == ["would_remove", "would_remove"]
    assert worked.is_dir() and agents(config).refs("refs/heads/robo/")


def test_an_issue_that_came_back_to_the_agent_keeps_its_worktree(
    config: Config, worked: Path, sample: Sample
) -> None:
    sample.change({f"{WELSH}/assignee": b"Robo"})
    found = pruned(config)
    assert "the agent's" in the(found, "worktree").reason
    assert worked.is_dir()


def test_a_finished_issue_of_the_agents_lets_its_worktree_go(
    config: Config, worked: Path, sample: Sample
) -> None:
    sample.change({f"{WELSH}/assignee": b"Robo", f"{WELSH}/state": b"wontdo"})
    assert the(pruned(config), "worktree").verdict == "removed"


def test_a_deleted_issue_lets_its_worktree_go_too(config: Config, worked: Path, sample: Sample) -> None:
    sample.change({path: None for path in sample.files() if path.startswith(f"{WELSH}/")})
    saved(config, Run(id="1a", issue=WELSH, phase="finalized"))
    assert "is gone" in the(pruned(config), "worktree").reason
    assert not worked.exists()


def test_an_issue_that_cannot_be_read_keeps_everything(config: Config, worked: Path, sample: Sample) -> None:
    sample.change({f"{WELSH}/state": b"perhaps"})
    found = pruned(config)
    assert the(found, "worktree").verdict == "kept" and the(found, "branch").verdict == "kept"


def test_uncommitted_work_is_kept(config: Config, worked: Path) -> None:
    (worked / "work").write_text("more")
    assert "uncommitted" in the(pruned(config), "worktree").reason
    assert (worked / "work").read_text() == "more"


def test_a_new_file_is_kept_also_where_the_agents_git_ignores_it(config: Config, worked: Path) -> None:
    (worked / "notes").write_text("x")
    (Path(state.of(config).work) / "info").mkdir(exist_ok=True)
    (Path(state.of(config).work) / "info/exclude").write_text("*\n")
    assert the(pruned(config), "worktree").verdict == "kept"
    assert (worked / "notes").exists()


def test_a_commit_that_origin_does_not_have_is_kept(config: Config, worked: Path) -> None:
    commit(worked, "more")
    found = pruned(config)
    assert "origin does not have" in the(found, "worktree").reason
    assert the(found, "branch").verdict == "kept"


def test_a_branch_that_was_deleted_on_origin_is_kept(config: Config, worked: Path, sample: Sample) -> None:
    sample.git.update_ref(f"refs/heads/{branch_name(config, WELSH)}", None)
    assert the(pruned(config), "worktree").verdict == "kept"


def test_a_merged_branch_may_be_gone_from_origin(config: Config, worked: Path, sample: Sample) -> None:
    branch = f"refs/heads/{branch_name(config, WELSH)}"
    sample.git.update_refs([("refs/heads/main", sample.git.resolve(branch)), (branch, None)])
    assert the(pruned(config), "worktree").verdict == "removed"


@pytest.mark.parametrize("undone", [False, True], ids=["", "of which no file is left"])
def test_a_detached_commit_is_kept(config: Config, worked: Path, undone: bool) -> None:
    in_worktree(worked, "switch", "-q", "--detach")
    commit(worked, "detached")
    if undone:
        in_worktree(worked, "-c", "user.name=x", "-c", "user.email=x@x", "revert", "--no-edit", "HEAD")
    assert "not on its branch" in the(pruned(config), "worktree").reason
    assert worked.exists()


def test_the_branch_of_a_worktree_that_is_gone_is_kept_while_origin_lacks_a_commit_of_it(
    config: Config, worked: Path
) -> None:
    commit(worked, "more")
    tip = agents(config).refs("refs/heads/robo/")
    folders.remove(worked)
    found = the(pruned(config), "branch")
    assert (found.verdict, found.reason) == ("kept", "it has commits that origin does not have")
    assert agents(config).refs("refs/heads/robo/") == tip


def test_what_a_dead_run_left_is_kept_until_it_is_finished(config: Config, worked: Path) -> None:
    saved(config, Run(id="1a", issue=WELSH, phase="ran"))
    assert the(pruned(config), "worktree").reason == "run 1a was not finished"
    assert worked.exists()


def test_a_worktree_that_was_deleted_by_hand_leaves_its_registration_and_branch_to_go(
    config: Config, worked: Path
) -> None:
    folders.remove(worked)
    found = pruned(config)
    assert {one.kind: one.verdict for one in found} == {"worktree": "removed", "branch": "removed"}
    assert list((state.of(config).work / "worktrees").iterdir()) == []


def test_a_locked_worktree_is_kept(config: Config, worked: Path) -> None:
    in_worktree(worked, "worktree", "lock", "--reason", "mine", ".")
    assert "locked: mine" in the(pruned(config), "worktree").reason


def test_a_worktree_of_a_run_that_was_not_finished_is_kept(config: Config, worked: Path) -> None:
    run = runs.create(config, WELSH)
    assert run.id in the(pruned(config), "worktree").reason


def test_a_worktree_in_which_a_process_is_at_work_is_kept(config: Config, worked: Path) -> None:
    daemon = subprocess.Popen(["sleep", "60"], cwd=worked)
    try:
        assert f"pid {daemon.pid}" in the(pruned(config), "worktree").reason
    finally:
        daemon.kill()
        daemon.wait()


def test_what_an_issue_in_work_has_is_kept(config: Config, worked: Path) -> None:
    with lock.held(state.of(config).issue_lock(WELSH)):
        found = pruned(config)
    assert "being worked" in the(found, "worktree").reason
    assert "being worked" in the(found, "branch").reason


def test_a_folder_that_belongs_to_no_issue_is_kept(config: Config, worked: Path) -> None:
    (state.of(config).worktrees / "left over").mkdir()
    kept = [one for one in pruned(config) if "left over" in one.name]
    assert [(one.verdict, one.reason) for one in kept] == [("kept", "no issue is known by that name")]


# ---- runs


def run_of(number: int, issue: str, days_ago: float, phase: str = "finalized") -> Run:
    at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(NOW - days_ago * 86400))
    return Run(id=f"{number:04x}", issue=issue, phase=phase, created_at=at)  # type: ignore[arg-type]


NOW = 1_800_000_000.0


def test_runs_go_beyond_the_count_and_the_age_together() -> None:
    old, young = [run_of(n, "a", 40) for n in range(5)], [run_of(n, "a", 3) for n in range(5, 10)]

    def gone(keep_runs: int, keep_days: float) -> list[str]:
        return [
            run.id
            for run in superfluous([*old, *young], Rules(keep_runs=keep_runs, keep_days=keep_days), NOW)
        ]

    assert gone(3, 30) == ["0000", "0001", "0002", "0003", "0004"]
    assert gone(8, 30) == ["0000", "0001"]
    assert gone(3, 0) == ["0000", "0001", "0002", "0003", "0004", "0005", "0006"]
    assert gone(20, 0) == []


def test_the_newest_run_of_each_issue_and_unfinished_ones_stay() -> None:
    found = [
        run_of(1, "a", 50),
        run_of(2, "a", 49),
        run_of(3, "b", 48),
        run_of(4, "c", 47, "ran"),
        run_of(5, "c", 1),
    ]
    assert [run.id for run in superfluous(found, EVERYTHING, NOW)] == ["0001"]


def test_a_run_goes_with_its_folder_and_its_private_line(config: Config) -> None:
    syncing.sync(Record(), config)
    for number in (1, 2):
        saved(
            config,
            Run(
                id=f"a{number}",
                issue=WELSH,
                phase="finalized",
                created_at=f"2026-01-0{number}T00:00:00+00:00",
            ),
        )
        (state.of(config).run(f"a{number}") / "agent/tmp").mkdir(parents=True)
    control = repositories.control(config)
    for git in (control, agents(config)):
        git.update_ref("refs/ent-agent/runs/a1", control.resolve("refs/heads/entomologist-data"))
    (state.of(config).run("a1") / "agent").chmod(0o500)
    found = pruned(config)
    assert [one.name for one in found if one.kind == "run"] == ["a1"]
    assert {
        one.kind for one in found if "refs/ent-agent/runs/a1" in one.name and one.verdict == "removed"
    } == {"run_ref"}
    assert control.refs("refs/ent-agent/runs/") == agents(config).refs("refs/ent-agent/runs/") == {}
    assert sorted(path.name for path in state.of(config).runs.iterdir()) == ["a2"]


def test_the_private_line_of_an_unfinished_run_stays(config: Config) -> None:
    syncing.sync(Record(), config)
    saved(config, Run(id="a1", issue=WELSH, phase="running"))
    control = repositories.control(config)
    control.update_ref("refs/ent-agent/runs/a1", control.resolve("refs/heads/entomologist-data"))
    pruned(config)
    assert control.refs("refs/ent-agent/runs/")


# ---- what was put aside


def test_what_was_put_aside_goes_only_when_that_is_asked_for(config: Config) -> None:
    syncing.sync(Record(), config)
    git = repositories.control(config)
    ref = "refs/ent-agent/kept/x/head"
    git.update_ref(
        ref, git.objects.write_commit(git.objects.write_tree({}), [], "x", timestamp=1_700_000_000)
    )
    aside = state.of(config).quarantine / "old"
    aside.mkdir(parents=True)
    found = pruned(config)
    assert [(one.name, one.verdict) for one in found] == [(ref, "kept"), (str(aside), "kept")]
    assert not any(one.verdict == "removed" for one in pruned(config, Rules(kept_days=1.0)))
    os.utime(git.git_dir / ref, (0, 0))
    found = pruned(config, Rules(kept_days=1.0))
    assert [(one.name, one.verdict) for one in found] == [(ref, "removed"), (str(aside), "kept")]
    assert pruned(config, Rules(kept_days=-1.0))[0].verdict == "removed"
    assert not aside.exists()


# ---- packing


def test_many_loose_objects_are_packed_and_none_is_dropped(
    config: Config, worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = repositories.control(config)
    unreachable = [git.objects.write("blob", f"nobody needs {n}".encode()) for n in range(300)]
    theirs = agents(config).resolve(f"refs/heads/{branch_name(config, WELSH)}")
    monkeypatch.setattr(upkeep, "MOST_LOOSE", 0)
    packed = list(upkeep.pack(config))
    assert [one.reason for one in packed] == ["packed together", "packed together"]
    assert git.text("count-objects").startswith("0 objects")
    assert list(git.objects.read_many(unreachable)) == [f"nobody needs {n}".encode() for n in range(300)]
    assert theirs and agents(config).objects.read(theirs)
    in_worktree(worked, "fsck", "--connectivity-only")


def test_many_packs_become_few_and_no_object_is_dropped(
    config: Config, worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MOST_LOOSE", 0)
    kept: list[tuple[Git, list[str]]] = [(repositories.control(config), []), (agents(config), [])]
    for round_ in range(3):
        for git, oids in kept:
            oids += [
                git.objects.write("blob", f"{git.git_dir.name} {round_} {n}".encode()) for n in range(20)
            ]
        list(upkeep.pack(config))
    monkeypatch.setattr(upkeep, "MOST_PACKS", 0)
    assert [one.reason for one in upkeep.pack(config)] == ["packed together", "packed together"]
    for git, oids in kept:
        assert len(list((git.git_dir / "objects/pack").glob("*.pack"))) < 3
        assert len(set(git.objects.read_many(oids))) == 60


def test_nothing_is_packed_while_an_agent_is_at_work(
    config: Config, worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MOST_LOOSE", 0)
    runs.create(config, WELSH)
    with lock.held(state.of(config).issue_lock(WELSH)):
        assert [one.reason for one in upkeep.pack(config)] == ["an agent is at work"] * 2


def test_few_loose_objects_are_left_alone(config: Config, worked: Path) -> None:
    assert list(upkeep.pack(config)) == []
