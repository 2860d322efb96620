"""What the next session on a key is told of what was done before."""

from __future__ import annotations

import shutil
from pathlib import Path

from fordjent.memory import recall
from fordjent.memory.recall import Past
from fordjent.models.messages import Message
from fordjent.session_key import SessionKey
from fordjent.sessions import briefing
from fordjent.sessions.briefing import Brief
from fordjent.sessions.facts import Subject
from fordjent.store import sessions
from harness.git import Git
from harness.objects import SYMLINK, Entry
from tests.support import remembered
from tests.support.proposals import REPOSITORY, Desk

SUMMARY = "docs/issues/0001-summary.md"


def recalled(at: Desk, key: SessionKey, *, fresh: bool = True) -> Past:
    """As at the beginning of a run, with everything of the repository gone from this disk."""
    if fresh:
        shutil.rmtree(Path(at.config.state.dir) / "repositories", ignore_errors=True)
    place = at.workspaces.prepare(key)
    session = at.context.database.look(sessions.get, str(key))
    assert session
    return at.run(recall.of(at.context, session, place))


def worked(at: Desk) -> SessionKey:
    """An issue's session that ran, noted something, opened a pull request and said so."""
    place = at.issue()
    key, database = str(place.key), at.context.database
    run = remembered.ran(database, key, "completed", "pull request #7 is open")
    remembered.did(database, key, "bash", run=run)
    remembered.did(database, key, "bash", run=run)
    remembered.noted(database, key, "The parser is generated: change grammar.txt.")
    remembered.said(database, key, Message("assistant", "I changed the grammar."), Message("tool", "ok"))
    database.submit(sessions.note, key, pull=7).result()
    return place.key


def test_what_was_done_and_noted_is_there_when_the_clone_is_gone(at: Desk) -> None:
    key = worked(at)
    at.alice.push(REPOSITORY, "main", {SUMMARY: "# 1: It was made better.\n"})
    past = recalled(at, key)
    [run] = past.runs
    assert (run.on, run.role, run.outcome, run.reason, run.turns, run.tools) == (
        "issue #1", "implementer", "completed", "pull request #7 is open", 3, ("bash 2",),
    )  # fmt: skip
    assert past.notes == ("The parser is generated: change grammar.txt.",)
    assert (past.pull, past.last_words) == (7, "I changed the grammar.")
    assert (past.summary_path, past.summary) == (SUMMARY, "# 1: It was made better.\n")


def test_a_run_that_goes_on_is_no_past(at: Desk) -> None:
    place = at.issue()
    remembered.ran(at.context.database, str(place.key), outcome="")
    assert recalled(at, place.key) == recall.NOTHING


def test_a_server_that_has_forgotten_everything_finds_the_summary(at: Desk) -> None:
    at.alice.push(REPOSITORY, "main", {SUMMARY: "It was made better."})
    remembered.session(at.context.database, f"{REPOSITORY}/issues/1")
    past = recalled(at, at.key(1))
    assert past == Past(summary="It was made better.", summary_path=SUMMARY)


def test_the_session_of_a_pull_request_is_told_what_its_issue_took(at: Desk) -> None:
    worked(at)
    at.alice.push(REPOSITORY, "main", {SUMMARY: "It was made better."})
    key = f"{REPOSITORY}/pulls/7"
    remembered.session(at.context.database, key)
    past = recalled(at, SessionKey.parse(key))
    assert [run.on for run in past.runs] == ["issue #1"] and past.notes and past.last_words
    assert past.summary == "It was made better."
    remembered.ran(at.context.database, key, "completed", role="implementer")
    assert [run.on for run in recalled(at, at.key(1)).runs] == ["issue #1", "pull request #7"]


def test_a_summary_that_is_a_link_is_not_followed(at: Desk) -> None:
    """Neither the file nor a folder on the way: what is read comes from the repository alone."""
    secret = at.folder / "secret.txt"
    secret.write_text("of the server")
    bare = Git(at.forge.world.repositories[REPOSITORY].bare.path)
    for path, target in (("docs/issues/0001-summary.md", secret), ("docs", at.folder)):
        head = at.on_forge("main")
        tree = bare.objects.tree(bare.objects.tree_of(head))
        link = Entry(SYMLINK, bare.objects.write("blob", str(target).encode()))
        for name in reversed(path.split("/")):
            below, link = link, Entry(0, "")
            inner = {name.encode(): below}
            if name != path.split("/")[0]:
                link = Entry(0o40000, bare.objects.write_tree(inner))
            else:
                tree |= inner
        made = bare.run(
            "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-p", head, "-m", "Link",
            bare.objects.write_tree(tree),
        ).text.strip()  # fmt: skip
        bare.update_ref("refs/heads/main", made)
        remembered_key = f"{REPOSITORY}/issues/1"
        if at.context.database.look(sessions.get, remembered_key) is None:
            remembered.session(at.context.database, remembered_key)
        assert recalled(at, at.key(1)).summary == ""


def test_everything_has_a_bound_and_secrets_are_out(at: Desk) -> None:
    key = worked(at)
    database, token = at.context.database, at.config.forgejo.token
    for number in range(15):
        remembered.ran(database, str(key), "failed", f"try {number}: " + "x" * 5000)
        remembered.noted(database, str(key), f"{number} " + "n" * 1900)
    remembered.said(database, str(key), Message("assistant", "w" * 50_000))
    at.alice.push(REPOSITORY, "main", {SUMMARY: f"{token} " + "s" * 500_000})
    past = recalled(at, key)
    assert past.runs[-1].reason.startswith("try 14:") and past.runs_left_out == 6
    assert past.notes[-1].startswith("14 ")
    subject = Subject(
        number=1, is_pull=False, title="T", body="", author="alice", state="open", labels=(),
    )  # fmt: skip
    told = briefing.task(at.config, Brief(repository=REPOSITORY, subject=subject, past=past), [])
    assert len(told) < 30_000 and token not in told
