"""The end of a run: what comes to origin, who gets the issue, and what stays."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from ent_agent.claims.claims import Claim
from ent_agent.claims.heartbeat import Heartbeat
from ent_agent.config import Config, load
from ent_agent.finalization import finalization, publication
from ent_agent.records import ErrorSection, Usage
from ent_agent.repositories import looking, repositories
from ent_agent.running import runs
from ent_agent.sample import ALICE, DATA, commit_files
from ent_agent.selection import attempts
from ent_agent.tracker.writer import AddTag, NewIssue, SetState
from harness.clock import timestamp
from harness.config import SecretScan
from harness.errors import BadData, NotLoggedIn, TryLater
from harness.redaction import Redactor
from tests.support.bench import Bench
from tests.support.sample import SPELLING, WELSH, Sample, configuration

KEY = "AKIA" + "QWERTYUIOPASDFGH"


@pytest.fixture
def bench(place: Path, sample: Sample) -> Bench:
    return Bench(sample, configuration(place, sample.url))


def reconfigured(bench: Bench, place: Path, extra: str = "", **keys: str) -> Bench:
    bench.config = configuration(place, bench.sample.url, extra, **keys)
    return bench


# ---- finished


def test_finished_work_is_pushed_and_handed_to_the_author_with_what_there_is_to_know(bench: Bench) -> None:
    bench.start(WELSH)
    work = bench.commit("welsh.txt", "Helo\n")
    bench.ended(usage=Usage(input_tokens=1200, output_tokens=34, cost_usd=0.126))
    result = bench.finalize().result
    assert result and (result.outcome, result.pushed, result.commits) == ("completed", True, [work])
    assert bench.pushed() == work
    assert bench.on_origin() == ("blocked", str(ALICE))
    [comment] = bench.comments()
    assert f"1 commit on `robo/{WELSH}`, for `main`: 1 file changed, 1 insertion(+)." in comment
    assert f"git fetch && git switch robo/{WELSH}" in comment
    assert "Spent: 1 min 15 s, 1,200 tokens in, 34 tokens out, 0.13 USD." in comment
    assert bench.claims() == {}
    assert bench.run.phase == "finalized"


def test_an_agent_that_handed_over_itself_is_not_talked_over(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.hand_over("carol")
    bench.ended()
    result = bench.finalize().result
    assert result and result.handed_to == "carol" and result.comment is None
    assert bench.on_origin() == ("blocked", "carol")
    assert bench.comments() == ["Done: all of it."]


def test_the_state_is_blocked_whatever_the_agent_wrote(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.ent(SetState(WELSH, "done"))
    bench.ended()
    bench.finalize()
    assert bench.on_origin() == ("blocked", str(ALICE))


def test_done_without_a_commit_is_an_answer_too(bench: Bench) -> None:
    bench.start(WELSH)
    bench.comment("Done: it is there already.")
    bench.ended()
    result = bench.finalize().result
    assert result and (result.outcome, result.pushed) == ("completed", False)
    assert bench.pushed() is None
    assert "There are no commits" in "".join(bench.comments())


def test_last_words_count_where_the_agent_has_no_tracker_and_are_quoted(bench: Bench) -> None:
    bench.start(WELSH)
    bench.write("welsh.txt")
    bench.ended(message="Done: wrote it.\nRun it with care.")
    assert bench.finalize().result.outcome == "completed"  # type: ignore[union-attr]
    [comment] = bench.comments()
    assert "> Done: wrote it.\n> Run it with care." in comment
    assert bench.log() == ["Greet in Welsh"]


def test_stuck_goes_to_the_handler(bench: Bench) -> None:
    bench.sample.change({f"{WELSH}/description": b"Greet\n\nHandler: bob\nReviewer: carol"})
    bench.start(WELSH)
    bench.comment("Stuck: which Welsh?")
    bench.ended()
    result = bench.finalize().result
    assert result and (result.outcome, result.handed_to) == ("stuck", "bob")
    assert bench.on_origin() == ("blocked", "bob")


def test_where_nobody_is_left_the_issue_is_nobodys_and_that_is_said(bench: Bench) -> None:
    bench.sample.change({f"{WELSH}/author": b"Robo <robo@example.org>"})
    bench.start(WELSH)
    bench.commit()
    bench.ended()
    result = bench.finalize().result
    assert result and result.handed_to is None
    assert bench.on_origin() == ("blocked", None)
    assert "Nobody was found to hand this to" in bench.comments()[0]


def test_a_second_finalize_changes_nothing_and_says_the_same(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    ran = bench.ended()
    first = bench.finalize().result
    before = bench.sample.git.refs()
    bench.record = ran
    assert bench.finalize().result == first
    assert bench.sample.git.refs() == before


def test_a_record_that_has_nothing_to_finish_passes(bench: Bench) -> None:
    record = bench.record
    assert finalization.finalize(record, bench.config) is record


# ---- not finished


def test_nothing_done_and_nothing_said_is_a_failed_attempt_whatever_the_exit_code(bench: Bench) -> None:
    result = bench.whole(WELSH, exit_code=0).result
    assert result and (result.outcome, result.handed_to) == ("failed", None)
    known = attempts.of_issue(bench.config, WELSH)
    assert known.failed_attempts == 1 and known.not_before
    assert bench.on_origin() == ("inprogress", "Robo")
    assert bench.claims() == {} and bench.comments() == []


def test_after_the_last_attempt_the_handler_gets_it_with_the_end_of_the_output_without_secrets(
    bench: Bench, place: Path
) -> None:
    bench.sample.change({f"{WELSH}/description": b"Greet\n\nHandler: bob"})
    log = place / "transcript.log"
    log.write_text(f"starting\nthe key is {KEY}\nTraceback: it broke\n")
    for number in (1, 2, 3):
        result = bench.whole(WELSH, exit_code=1, transcript=str(log)).result
        assert result and result.outcome == "failed"
        assert result.handed_to == ("bob" if number == 3 else None)
    [comment] = bench.comments()
    assert (
        "Not done after 3 failed attempts; the last one (failed): the agent ended with exit code 1."
        in comment
    )
    assert "    Traceback: it broke" in comment and "[redacted]" in comment and KEY not in comment


def test_commits_of_a_timeout_are_pushed_and_the_attempt_counts(bench: Bench) -> None:
    bench.start(WELSH)
    work = bench.commit()
    bench.write("half.txt")
    bench.ended(ended_by="timeout", exit_code=None, signal="KILL")
    result = bench.finalize().result
    assert result and result.outcome == "timeout"
    assert bench.log() == ["WIP: Greet in Welsh", "Work"]
    assert bench.sample.git.is_ancestor(work, f"refs/heads/{bench.branch}")
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 1


def test_a_change_by_a_person_resets_the_count(bench: Bench) -> None:
    for _ in range(2):
        bench.whole(WELSH)
    bench.sample.change({f"{WELSH}/description": b"Greet in Welsh, please\n"})
    bench.whole(WELSH)
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 1
    assert bench.on_origin() == ("inprogress", "Robo")


def test_a_change_by_a_person_during_the_run_resets_the_count_too(bench: Bench) -> None:
    for _ in range(2):
        bench.whole(WELSH)
    bench.start(WELSH)
    bench.sample.change({f"{WELSH}/tags/urgent": b""})
    bench.ended()
    bench.finalize()
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 1
    assert bench.on_origin() == ("inprogress", "Robo")


def test_a_used_up_quota_pauses_the_agent_and_gives_the_attempt_back(bench: Bench) -> None:
    until = timestamp(time.time() + 3000)
    bench.start(WELSH)
    bench.ended(reported="quota", exit_code=1, resume_at=until)
    with pytest.raises(TryLater) as failure:
        bench.finalize()
    assert (failure.value.code, failure.value.exit_code, failure.value.resume_at) == (
        "agent_quota",
        75,
        until,
    )
    assert bench.record.result and bench.record.result.outcome == "quota"
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 0
    assert attempts.of_agent(bench.config).paused == "quota"
    assert bench.claims() == {} and bench.on_origin() == ("inprogress", "Robo")


def test_an_agent_that_is_not_logged_in_stops_the_loop_not_the_issue(bench: Bench) -> None:
    bench.start(WELSH)
    bench.ended(reported="auth", exit_code=1)
    with pytest.raises(NotLoggedIn) as failure:
        bench.finalize()
    assert failure.value.exit_code == 77
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 0
    assert attempts.of_agent(bench.config).paused == "auth"


def test_a_run_that_was_told_to_stop_keeps_its_work_and_does_not_count(bench: Bench) -> None:
    bench.start(WELSH)
    bench.write("half.txt")
    bench.ended(ended_by="interrupted", exit_code=None, signal="TERM")
    result = bench.finalize().result
    assert result and result.outcome == "cancelled"
    assert bench.log() == ["WIP: Greet in Welsh"]
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 0


def test_a_run_step_that_failed_is_still_saved_and_its_error_goes_on(bench: Bench) -> None:
    bench.start(WELSH)
    runs.update(bench.config, bench.run, phase="claimed")
    bench.write("half.txt")
    bench.record.error = ErrorSection(code="program_missing", message="hermes is not installed", exit_code=69)
    done = bench.finalize()
    assert done.error and done.error.code == "program_missing"
    assert done.result and "hermes is not installed" in done.result.reason
    assert bench.log() == ["WIP: Greet in Welsh"] and bench.claims() == {}
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 0


# ---- people in between


def test_what_a_person_took_back_stays_taken_back_with_the_commits_pushed(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.hand_over("carol")
    bench.sample.change({f"{WELSH}/assignee": b"alice", f"{WELSH}/state": b"backlog"})
    bench.ended()
    result = bench.finalize().result
    assert result and (result.outcome, result.handed_to) == ("cancelled", None)
    assert "is assigned to alice" in result.reason
    assert bench.on_origin() == ("backlog", "alice")
    assert bench.comments() == ["Done: all of it."]
    assert bench.log() == ["Work"] and bench.claims() == {}
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 0


@pytest.mark.parametrize("seen", [False, True], ids=["before the first beat", "after it"])
@pytest.mark.parametrize("late", [0, 3600], ids=["", "by a clock that is an hour behind"])
@pytest.mark.parametrize("state", ["backlog", "new"])
def test_finished_work_of_an_issue_that_a_person_put_off_meanwhile_stays_put_off(
    bench: Bench, state: str, seen: bool, late: int
) -> None:
    issue = SPELLING if state == "new" else WELSH  # begins blocked or new: the word is another than that
    bench.start(issue)
    if seen:
        Heartbeat(Claim.resume(bench.config, bench.control, bench.run), bench.config).watch()
    put_off(bench, issue, state, late)
    bench.commit()
    bench.ended()
    result = bench.finalize().result
    assert result and result.outcome == "completed"
    assert bench.on_origin()[0] == state and result.handed_to == bench.on_origin()[1] != "Robo"
    assert any("Handed back for review" in comment for comment in bench.comments())


@pytest.mark.parametrize("late", [0, 3600], ids=["", "by a clock that is an hour behind"])
def test_what_needs_a_person_is_blocked_and_what_is_tried_again_is_as_the_person_set_it(
    bench: Bench, late: int
) -> None:
    bench.start(WELSH)
    put_off(bench, WELSH, "backlog", late)
    bench.ended(exit_code=1)
    bench.finalize()
    assert bench.on_origin() == ("backlog", "Robo")
    bench.start(WELSH)
    put_off(bench, WELSH, "new", late)
    bench.comment("Stuck: which Welsh?")
    bench.ended()
    bench.finalize()
    assert bench.on_origin() == ("blocked", str(ALICE))


def test_a_finished_issue_that_a_person_said_to_be_in_progress_waits_for_review_all_the_same(
    bench: Bench,
) -> None:
    bench.start(WELSH)
    bench.sample.change({f"{WELSH}/state": b"inprogress"})
    bench.commit()
    bench.ended()
    bench.finalize()
    assert bench.on_origin() == ("blocked", str(ALICE))


def test_tags_that_a_person_changed_during_the_run_stay_changed_beside_the_agents_own(bench: Bench) -> None:
    bench.sample.change({f"{WELSH}/tags/priority%2Flow": b""})
    bench.start(WELSH)
    bench.ent(AddTag(WELSH, "needs-translator"))
    bench.sample.change({f"{WELSH}/tags/priority%2Flow": None, f"{WELSH}/tags/priority%2Fhigh": b""})
    bench.commit()
    bench.ended()
    bench.finalize()
    tags = [path.rpartition("/")[2] for path in bench.sample.files() if path.startswith(f"{WELSH}/tags/")]
    assert sorted(tags) == ["needs-translator", "priority%2Fhigh"]


def put_off(bench: Bench, issue: str, state: str, late: int = 0) -> None:
    """A person sets the state; their clock is `late` seconds behind."""
    when = int(time.time()) - late
    content: dict[str, bytes | None] = {f"{issue}/state": state.encode()}
    commit_files(bench.sample.git, DATA, content, "Set the state", timestamp=when)


def test_a_persons_comment_and_description_during_the_run_stay(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    path = f"{WELSH}/comments/{'d' * 32}"
    bench.sample.change(
        {f"{path}/description": b"By the way", f"{WELSH}/description": b"Greet\n\nReviewer: dave"}
    )
    bench.ended()
    bench.finalize()
    assert "By the way" in bench.comments()
    assert bench.on_origin() == ("blocked", "dave")


def test_an_issue_that_a_person_deleted_is_not_brought_back(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.comment("Done: it.")
    gone: dict[str, bytes | None] = {path: None for path in bench.sample.files() if path.startswith(WELSH)}
    bench.sample.change(gone)
    bench.ended()
    result = bench.finalize().result
    assert result and result.outcome == "cancelled"
    assert not [path for path in bench.sample.files() if path.startswith(WELSH)]
    assert bench.log() == ["Work"]


def test_commits_go_on_top_of_what_a_person_pushed_to_the_branch_meanwhile(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit("one.txt")
    bench.ended(exit_code=1)
    bench.finalize()
    bench.start(WELSH)
    bench.commit("two.txt")
    theirs = bench.sample.commit({"theirs.txt": b"mine\n"}, bench.branch, "A person's")
    bench.ended()
    result = bench.finalize().result
    assert result and result.outcome == "completed"
    assert bench.sample.git.is_ancestor(theirs, f"refs/heads/{bench.branch}")
    assert {"one.txt", "two.txt", "theirs.txt"} <= set(bench.files())


def test_where_a_persons_push_conflicts_theirs_stands_ours_is_kept_and_the_handler_is_told(
    bench: Bench,
) -> None:
    bench.start(WELSH)
    bench.commit("one.txt")
    bench.ended(exit_code=1)
    bench.finalize()
    bench.start(WELSH)
    ours = bench.commit("one.txt", "ours\n")
    theirs = bench.sample.commit({"one.txt": b"theirs\n"}, bench.branch, "A person's")
    bench.ended()
    result = bench.finalize().result
    assert result and not result.pushed
    assert bench.pushed() == theirs
    assert bench.kept()["work"] == ours
    assert f"- `{bench.run.kept_ref('work')}`" in "".join(bench.comments())
    assert bench.on_origin()[0] == "blocked"
    assert "conflict" in "".join(bench.comments())


def test_a_tracker_that_moves_with_every_look_is_merged_with_until_it_stands_still(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.ended()
    real, moved = looking.look, []

    def look(config: Config, git: object) -> None:
        real(config, git)  # type: ignore[arg-type]
        if len(moved) < 4:
            moved.append(bench.sample.change({f"{SPELLING}/tags/t{len(moved)}": b""}))

    monkeypatch.setattr(looking, "look", look)
    bench.finalize()
    assert len(moved) == 4
    assert bench.on_origin() == ("blocked", str(ALICE))
    assert len(bench.comments()) == 1
    assert bench.sample.read(f"{SPELLING}/tags/t3") is not None


# ---- what an agent may do to the tracker


def test_new_issues_and_comments_anywhere_are_taken_the_rest_is_dropped_and_said(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.comment("Seen while at it.", SPELLING)
    bench.ent(
        NewIssue(text="Found a bug", author=bench.config.person, id="e" * 32), SetState(SPELLING, "done")
    )
    bench.hand_over("carol")
    bench.ended()
    bench.finalize()
    assert "Seen while at it." in bench.sample.comments(SPELLING)
    assert bench.sample.read("e" * 32 + "/description") == "Found a bug"
    assert bench.on_origin(SPELLING)[0] == "blocked"
    assert any("Not taken over" in text and f"{SPELLING}/state" in text for text in bench.comments())
    assert bench.control.text("cat-file", "blob", f"{bench.kept()['tracker']}:{SPELLING}/state") == "done"


@pytest.mark.parametrize("how", ["deleted", "set back"])
def test_what_was_public_of_an_agents_line_stays_when_it_is_taken_away(bench: Bench, how: str) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.comment("Half of it is there.")
    beating = Heartbeat(Claim.resume(bench.config, bench.control, bench.run), bench.config)
    assert beating.watch() is None
    assert bench.comments() == ["Half of it is there."]
    back = None if how == "deleted" else bench.run.tracker_start
    repositories.work(bench.config).update_ref(bench.run.line_ref, back)
    if how == "set back":
        bench.comment("Done: the other half too.")
    bench.ended()
    bench.finalize()
    assert "Half of it is there." in bench.comments()
    assert ("Done: the other half too." in bench.comments()) is (how == "set back")


def test_secrets_in_comments_are_taken_out_before_anything_is_public(bench: Bench) -> None:
    bench.start(WELSH)
    bench.comment(f"Done: the key is {KEY}")
    bench.ended(message=f"It worked with {KEY}")
    bench.finalize()
    assert "the key is [redacted]" in "".join(bench.comments())
    assert KEY not in bench.sample.git.text("log", "-p", "entomologist-data")


def test_an_agent_that_deleted_its_tracker_line_has_written_nothing(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    repositories.work(bench.config).update_ref(bench.run.line_ref, None)
    bench.ended()
    assert bench.finalize().result.outcome == "completed"  # type: ignore[union-attr]
    assert bench.on_origin() == ("blocked", str(ALICE))


# ---- withheld


def test_a_left_over_secret_goes_to_the_handler_by_file_and_rule_never_by_value(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit("fine.txt")
    bench.write("config/settings.py", f"KEY = '{KEY}'\n")
    bench.hand_over("carol")
    bench.ended()
    result = bench.finalize().result
    assert result and result.handed_to == str(ALICE)
    assert bench.files() == ["README.md", "fine.txt", "greet.sh"]
    told = "".join(bench.comments())
    assert "- `config/settings.py`: AWS access key" in told and KEY not in told
    assert f"ent-agent-finalize --issue {WELSH} --allow 'config/settings.py'" in told
    (finding,) = Redactor().scan(KEY.encode())
    assert finding.fingerprint in told and "`secret_scan.allow` of config.toml" in told
    assert (bench.worktree / "config/settings.py").read_text() == f"KEY = '{KEY}'\n"
    assert KEY.encode() not in b"".join(
        path.read_bytes() for path in bench.sample.origin.rglob("*") if path.is_file()
    )


def test_what_a_person_allows_is_pushed_and_goes_to_the_reviewer(bench: Bench) -> None:
    bench.sample.change({f"{WELSH}/description": b"Greet\n\nHandler: bob\nReviewer: carol"})
    bench.start(WELSH)
    bench.write("example.key", f"{KEY}\n")
    bench.write("other.key", f"{KEY}\n")
    bench.comment("Done: it.")
    bench.ended()
    assert bench.finalize().result.handed_to == "bob"  # type: ignore[union-attr]
    bench.record = finalization.withholding(bench.config, WELSH[:6])
    with pytest.raises(BadData, match=r"withheld still: other\.key \(AWS access key \["):
        bench.finalize("example.key")
    result = bench.finalize("example.key", "other.key").result
    assert result and (result.pushed, result.handed_to) == (True, "carol")
    assert "example.key" in bench.files()
    assert bench.on_origin() == ("blocked", "carol")


def test_a_secret_in_a_commit_holds_the_whole_push(bench: Bench) -> None:
    bench.start(WELSH)
    work = bench.commit("settings.py", f"KEY = '{KEY}'\n")
    bench.git("rm", "--quiet", "settings.py")
    bench.git("commit", "--quiet", "-m", "Take it out again")
    bench.ended()
    result = bench.finalize().result
    assert result and (result.pushed, result.handed_to) == (False, str(ALICE))
    assert bench.pushed() is None
    assert bench.control.is_ancestor(work, bench.control.resolve(bench.run.agents_ref("work")) or "")
    assert "- `settings.py`: AWS access key" in bench.comments()[0]
    bench.record = finalization.withholding(bench.config, WELSH)
    assert bench.finalize("settings.py").result.pushed  # type: ignore[union-attr]
    assert bench.log() == ["Take it out again", "Work"]


def test_known_secrets_are_found_whatever_they_look_like(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_TOKEN", "correct-horse-battery")
    bench.start(WELSH)
    bench.commit("notes.txt", "it is correct-horse-battery\n")
    bench.ended()
    bench.finalize()
    assert bench.pushed() is None and "`notes.txt`: known secret" in bench.comments()[0]
    assert "--allow" not in bench.comments()[0] and "never passes" in bench.comments()[0]


@pytest.mark.parametrize("how", ["committed", "left over", "committed, too large", "left over, too large"])
def test_a_known_secret_passes_by_no_word_of_a_person(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Be it beside something that may pass, and before it in the file."""
    monkeypatch.setenv("FORGE_TOKEN", "correct-horse-battery")
    large = "x" * 3000 if "large" in how else ""
    if large:
        bench.config = replace(bench.config, limits=replace(bench.config.limits, max_file_bytes=2000))
    bench.start(WELSH)
    bench.commit("fine.txt")
    text = f"{KEY}\n{large}\nit is correct-horse-battery\n"
    if "left over" in how:
        bench.write("notes.txt", text)
    else:
        bench.commit("notes.txt", text)
    bench.comment("Done: it.")
    bench.ended()
    bench.finalize()
    bench.record = finalization.withholding(bench.config, WELSH)
    with pytest.raises(BadData, match=r"notes\.txt \(known secret") as failed:
        bench.finalize("notes.txt")
    assert "never passes" in failed.value.hint
    assert "notes.txt" not in (bench.files() if bench.pushed() else [])


def test_what_config_toml_allows_by_its_fingerprint_is_pushed(bench: Bench) -> None:
    (finding,) = Redactor().scan(KEY.encode())
    bench.config = replace(bench.config, secret_scan=SecretScan(allow=[finding.fingerprint]))
    bench.start(WELSH)
    bench.commit("settings.py", f"KEY = '{KEY}'\n")
    bench.write("left.py", f"KEY = '{KEY}'\n")
    bench.comment("Done: it.")
    bench.ended()
    assert bench.finalize().result.pushed  # type: ignore[union-attr]
    assert {"settings.py", "left.py"} <= set(bench.files())


# ---- origins that take less


def test_without_atomic_pushes_the_branch_comes_first(bench: Bench, place: Path) -> None:
    bench.sample.git.run("config", "receive.advertiseAtomic", "false")
    hook = bench.sample.origin / "hooks/post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\ncat >> "{place}/pushes"\n')
    hook.chmod(0o755)
    bench.start(WELSH)
    bench.commit()
    bench.ended()
    bench.finalize()
    assert bench.on_origin() == ("blocked", str(ALICE)) and bench.log() == ["Work"]
    assert bench.claims() == {}
    pushed = [line.split()[2] for line in (place / "pushes").read_text().splitlines()]
    assert pushed.index(f"refs/heads/{bench.branch}") < pushed.index("refs/heads/entomologist-data")


def test_without_atomic_pushes_nothing_is_handed_back_while_the_branch_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "SAME_REFUSALS", 1)
    bench.sample.git.run("config", "receive.advertiseAtomic", "false")
    hook = bench.sample.origin / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/robo/*) exit 1;; esac\n')
    hook.chmod(0o755)
    bench.start(WELSH)
    bench.commit()
    bench.ended()
    with pytest.raises(TryLater):
        bench.finalize()
    assert bench.on_origin()[1] == "Robo" and bench.comments() == []
    hook.unlink()
    bench.finalize()
    assert bench.log() == ["Work"] and bench.on_origin() == ("blocked", str(ALICE))


def test_where_claims_are_refused_one_host_works_all_the_same(bench: Bench) -> None:
    hook = bench.sample.origin / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/ent-agent/*) exit 1;; esac\n')
    hook.chmod(0o755)
    bench.start(WELSH)
    bench.commit()
    bench.ended()
    assert bench.finalize().result.pushed  # type: ignore[union-attr]
    assert bench.on_origin() == ("blocked", str(ALICE))


def test_claims_below_heads_that_may_not_be_deleted_end_with_a_last_word(bench: Bench, place: Path) -> None:
    bench.sample.git.run("config", "receive.denyDeletes", "true")
    prefix = "refs/heads/ent-agent-claims/"
    reconfigured(bench, place, claims_prefix=prefix)
    bench.start(WELSH)
    bench.commit()
    bench.ended()
    assert bench.finalize().result.pushed  # type: ignore[union-attr]
    [claim] = bench.sample.git.refs(prefix).values()
    assert '"released":true' in bench.sample.git.text("log", "-1", "--format=%B", claim)


def test_a_push_that_origin_refuses_leaves_all_of_it_for_the_next_call(bench: Bench) -> None:
    hook = bench.sample.origin / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/*) echo "frozen" >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    bench.start(WELSH)
    bench.commit()
    bench.ended()
    with pytest.raises(TryLater, match="though nothing moved"):
        bench.finalize()
    assert bench.run.phase == "ran"
    hook.unlink()
    [record] = finalization.pending(bench.config)
    bench.record = record
    assert bench.finalize().result.outcome == "completed"  # type: ignore[union-attr]
    assert bench.log() == ["Work"] and len(bench.comments()) == 1


def test_a_dead_remote_leaves_all_of_it_for_the_next_call(bench: Bench, place: Path) -> None:
    bench.start(WELSH)
    bench.write("left.txt")
    bench.comment("Done: it.")
    bench.ended()
    bench.sample.origin.rename(place / "away")
    with pytest.raises(TryLater):
        bench.finalize()
    (place / "away").rename(bench.sample.origin)
    [bench.record] = finalization.pending(bench.config)
    bench.finalize()
    assert bench.log() == ["Greet in Welsh"]
    assert bench.on_origin() == ("blocked", str(ALICE))


# ---- lost claims, dead runs


def test_a_run_whose_claim_was_taken_over_publishes_nothing_and_keeps_everything(bench: Bench) -> None:
    bench.start(WELSH)
    work = bench.commit()
    bench.comment("Done: it.")
    bench.sample.git.update_ref(f"refs/ent-agent/claims/{WELSH}", bench.sample.git.resolve("refs/heads/main"))
    before = bench.sample.git.refs()
    bench.ended()
    result = bench.finalize().result
    assert result and result.outcome == "cancelled" and "lost" in result.reason
    assert bench.sample.git.refs() == before
    assert bench.kept()["work"] == work
    assert "Done: it." in bench.control.text("log", "-p", "--format=", bench.kept()["tracker"])


def test_what_a_killed_run_left_is_saved_its_attempt_given_back_and_nothing_handed_over(bench: Bench) -> None:
    bench.start(WELSH)
    bench.commit()
    bench.write("half.txt")
    bench.hand_over("carol", "Half of it is there.")
    [record] = finalization.pending(bench.config)
    bench.record = record
    result = bench.finalize().result
    assert result and (result.outcome, result.handed_to) == ("cancelled", None)
    assert bench.log() == ["WIP: Greet in Welsh", "Work"]
    assert bench.comments() == ["Half of it is there."]
    assert bench.on_origin() == ("inprogress", "Robo")
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 0
    assert list(finalization.pending(bench.config)) == []


def test_a_run_that_is_at_work_is_not_touched(bench: Bench) -> None:
    bench.start(WELSH)
    with bench.locked(WELSH):
        assert list(finalization.pending(bench.config)) == []


def test_a_claim_without_a_run_is_left_to_be_taken_up_or_let_go_when_the_issue_is_a_persons(
    bench: Bench,
) -> None:
    bench.start(WELSH)
    runs.update(bench.config, bench.run, phase="claimed")
    assert list(finalization.pending(bench.config)) == [] and bench.claims()
    bench.sample.change({f"{WELSH}/assignee": b"alice"})
    bench.control.run("fetch", "--quiet", "origin")
    assert list(finalization.pending(bench.config)) == [] and bench.claims() == {}
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 0


# ---- notices


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"reported": "auth"}, "login_needed"),
        ({"reported": "quota"}, "quota"),
        ({"message": "Stuck: on it."}, "handed_over"),
    ],
)
def test_what_needs_a_person_is_told_to_the_users_own_command(
    bench: Bench, place: Path, facts: dict[str, str], kind: str
) -> None:
    command = json.dumps(["sh", "-c", f"cat > '{place}/notice'"])
    reconfigured(bench, place, f"[notify]\ncommand = {command}\n")
    bench.start(WELSH)
    bench.ended(**facts)
    with contextlib.suppress(TryLater, NotLoggedIn):
        bench.finalize()
    told = json.loads((place / "notice").read_text())
    assert told["notice"] == kind and told["issue"]["id"] == WELSH
    assert bench.run.notice == ""


def test_a_notify_command_that_fails_stops_nothing(
    bench: Bench, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reconfigured(bench, place, '[notify]\ncommand = ["not-there-at-all"]\n')
    bench.start(WELSH)
    bench.ended(message="Stuck: on it.")
    assert bench.finalize().result.outcome == "stuck"  # type: ignore[union-attr]
    assert "notify.command" in capfd.readouterr().err


# ---- signed


def test_left_overs_and_the_hand_back_are_signed_where_wanted(bench: Bench, place: Path) -> None:
    reconfigured(bench, place)
    text = (place / "config.toml").read_text()
    (place / "config.toml").write_text("sign_commits = true\n" + text)
    bench.config = load(str(place / "config.toml"))
    bench.start(WELSH)
    bench.write("left.txt")
    bench.comment("Looked at it.")
    bench.ended(message="Done: it.")
    bench.sample.change({f"{SPELLING}/tags/moved": b""})
    bench.finalize()
    data = bench.sample.git
    ours = data.lines("log", "--author=Robo", "--format=%H", "main..entomologist-data")
    assert len(ours) > 3
    for commit in ours:
        assert "-----BEGIN SSH SIGNATURE-----" in data.text("cat-file", "commit", commit)
    for name in (bench.branch, "entomologist-data"):
        assert "-----BEGIN SSH SIGNATURE-----" in bench.sample.git.text(
            "cat-file", "commit", f"refs/heads/{name}"
        )
