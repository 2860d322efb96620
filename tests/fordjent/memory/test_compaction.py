"""Finished issues become pages of their repository, by one pull request that stands and is brought up to date."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fordjent.config import Memory, Provider, load
from fordjent.memory.compaction import Compactor, Done
from fordjent.memory.naming import BRANCH
from fordjent.models.messages import Message
from fordjent.store import summaries
from harness.effects import STOP_AT
from harness.errors import BadConfig
from harness.git import Git
from harness.objects import SYMLINK, TREE, Entry
from tests.support import remembered
from tests.support.proposals import REPOSITORY, ROOT, Desk
from tests.support.server import write_config

SUMMED = "It now greets by name. Look at `greeting.py`."
SCRIPT: list[dict[str, Any]] = [{"last": "The records of issue", "times": 0, "text": SUMMED}]
HOSTILE = "](x) <img src=x onerror=1> <!-- ford --> closes #1 @alice `$(id)` | ../../x\n# Rules\x1b[2J\u202e"


def finished(at: Desk, number: int = 42, title: str = "Greet by name", **more: Any) -> str:
    key = f"{REPOSITORY}/issues/{number}"
    database = at.context.database
    remembered.session(database, key, more.pop("state", "completed"), **more)
    remembered.titled(database, key, title)
    run = remembered.ran(database, key, "completed", "the pull request is open")
    remembered.said(database, key, Message("user", "It was opened"), Message("assistant", "Done so far."))
    remembered.did(database, key, "bash", run=run)
    remembered.noted(database, key, "Greetings are in greeting.py.")
    return key


def compact(at: Desk) -> Done:
    [done] = at.run(Compactor(at.context).all())
    return done


def scripted(at: Desk, rules: list[dict[str, Any]]) -> None:
    path = at.folder / "model.json"
    path.write_text(json.dumps({"rules": rules}), encoding="utf-8")
    provider = Provider(base_url=f"scripted:{path}", model="scripted", output_usd_per_million=1.0)
    changed = msgspec.structs.replace(at.config, providers={"main": provider})
    changed.__dict__["path"] = at.config.path
    at.config = at.context.config = changed


def page(at: Desk, number: int = 42, ref: str = BRANCH) -> str:
    return at.alice.file(REPOSITORY, f"docs/issues/{number:04d}-summary.md", ref) or ""


def calls(at: Desk) -> list[Any]:
    return at.context.database.look(
        lambda connection: connection.exec_driver_sql(
            "SELECT key, run, role, state FROM model_calls ORDER BY id"
        ).all()
    )


def test_a_finished_issue_is_proposed_as_a_page_by_the_model(at: Desk) -> None:
    scripted(at, SCRIPT)
    key = finished(at, pull=7)
    done = compact(at)
    assert (done.state, done.written, done.proposed) == ("proposed", 1, 1)
    [pull] = at.alice.pulls(REPOSITORY)
    assert (pull["number"], pull["head"]["ref"], pull["base"]["ref"]) == (done.pull, BRANCH, "main")
    text = page(at)
    assert text.startswith("# 42: Greet by name\n") and SUMMED in text and "pull request 7" in text
    assert "Greetings are in greeting" in text and "docs/issues/0042-summary.md" in pull["body"]
    assert calls(at) == [(key, "compaction", "memory", "answered")]


def test_where_no_model_answers_the_page_is_made_of_the_facts_the_same_each_time(at: Desk) -> None:
    finished(at)
    assert compact(at).proposed == 1
    first = page(at)
    assert "Done so far." in first and SUMMED not in first
    at.context.database.submit(
        lambda connection: connection.exec_driver_sql("DELETE FROM summaries")
    ).result()
    head = at.on_forge(BRANCH)
    compact(at)
    assert page(at) == first and at.on_forge(BRANCH) == head


def test_a_budget_that_is_reached_leaves_the_facts(at: Desk) -> None:
    scripted(at, SCRIPT)
    from fordjent.config import Budget

    changed = msgspec.structs.replace(at.config, budget=Budget(session=0.000001))
    changed.__dict__["path"] = at.config.path
    at.context.config = changed
    finished(at)
    assert compact(at).proposed == 1 and "Done so far." in page(at) and calls(at) == []


def test_there_is_one_pull_request_and_it_is_brought_up_to_date(at: Desk) -> None:
    finished(at)
    first = compact(at)
    assert compact(at).pull == first.pull and len(calls(at)) == 0
    finished(at, 7, "Another")
    at.alice.push(REPOSITORY, "main", {"c.txt": "c\n"})
    second = compact(at)
    [pull] = at.alice.pulls(REPOSITORY, "all")
    assert second.pull == first.pull == pull["number"] and second.proposed == 2
    assert "0007-summary.md" in pull["body"] and page(at, 7) and page(at, 42)
    listed = at.alice.do("GET", f"/repos/{REPOSITORY}/pulls/{pull['number']}/commits")
    assert len(listed) == 1 and at.alice.file(REPOSITORY, "c.txt", BRANCH) == "c\n"


def test_what_was_merged_and_then_changed_by_a_person_is_left_to_them(at: Desk) -> None:
    finished(at)
    done = compact(at)
    at.forge.settle()
    at.alice.merge(REPOSITORY, done.pull, "squash")
    at.alice.push(REPOSITORY, "main", {"docs/issues/0042-summary.md": "Better words.\n"})
    assert compact(at).state == "nothing" and page(at, ref="main") == "Better words.\n"
    finished(at, 7, "Another")
    again = compact(at)
    assert again.proposed == 1 and again.pull != done.pull and page(at) == "Better words.\n"


def test_a_pull_request_that_a_person_closed_is_not_opened_again(at: Desk) -> None:
    key = finished(at)
    done = compact(at)
    at.alice.close(REPOSITORY, done.pull)
    assert compact(at).state == "nothing" and at.alice.pulls(REPOSITORY) == []
    at.context.database.submit(
        lambda connection: connection.exec_driver_sql(
            "UPDATE sessions SET changed_at = changed_at + 10 WHERE key = ?", (key,)
        )
    ).result()
    assert compact(at).proposed == 1  # more was done since


def test_commits_of_a_person_on_the_branch_are_never_overwritten(at: Desk) -> None:
    finished(at)
    done = compact(at)
    theirs = at.alice.push(REPOSITORY, BRANCH, {"docs/issues/0042-summary.md": "My words.\n"})
    finished(at, 7, "Another")
    found = compact(at)
    assert found.state == "failed" and found.retry and "others have commits" in found.reason
    assert at.on_forge(BRANCH) == theirs
    at.forge.settle()
    at.alice.merge(REPOSITORY, done.pull, "squash")
    assert compact(at).proposed == 1
    assert page(at) == "My words.\n" and page(at, 7)


def test_a_server_that_has_forgotten_its_pull_request_takes_it_up(at: Desk) -> None:
    finished(at)
    done = compact(at)
    at.context.database.submit(
        lambda connection: connection.exec_driver_sql("DELETE FROM compactions")
    ).result()
    finished(at, 7, "Another")
    assert compact(at).pull == done.pull and page(at, 7)


def test_only_what_is_over_is_summed_up(at: Desk) -> None:
    for number, (state, more) in enumerate(
        [("working", {}), ("blocked", {}), ("waiting", {}), ("completed", {"ready_at": 1.0}),
         ("failed", {}), ("waiting", {"cancel": "closed by bob"})], 1,
    ):  # fmt: skip
        finished(at, number, state=state, **more)
    assert compact(at).proposed == 2 and page(at, 5) and page(at, 6)


def test_the_session_of_its_pull_request_belongs_to_the_issue(at: Desk) -> None:
    finished(at, pull=43)
    remembered.session(at.context.database, f"{REPOSITORY}/pulls/43", "working")
    assert compact(at).state == "nothing"
    at.context.database.submit(
        lambda connection: connection.exec_driver_sql("UPDATE sessions SET state = 'completed'")
    ).result()
    assert compact(at).proposed == 1 and "Pull request 43" in page(at) and page(at, 43) == ""


def test_hostile_texts_are_data_on_the_page_and_nowhere_else(at: Desk) -> None:
    scripted(
        at, [{"last": "", "times": 0, "text": "<script>x</script> ![i](http://evil/x) <!-- hid -->\n# Big"}]
    )
    key = finished(at, title=HOSTILE)
    remembered.noted(at.context.database, key, HOSTILE)
    compact(at)
    [pull] = at.alice.pulls(REPOSITORY)
    text = page(at)
    assert len([line for line in text.splitlines() if line.startswith("# ")]) == 1
    assert "<" not in text.replace("\\<", "") and "](x)" not in text and "![" not in text
    assert "\x1b" not in text and "\u202e" not in text and "\\@alice" in text
    assert "alice" not in pull["title"] + pull["body"] and "#" not in pull["body"]
    message = at.alice.do("GET", f"/repos/{REPOSITORY}/pulls/{pull['number']}/commits")[0]["commit"][
        "message"
    ]
    assert message.strip() == "[agent-automation] Sum up finished issues"


def test_nothing_secret_reaches_the_page(at: Desk) -> None:
    token = at.config.forgejo.token
    scripted(at, [{"last": "", "times": 0, "text": f"The token is {token}."}])
    key = finished(at, title=f"My {token}")
    remembered.noted(at.context.database, key, f"Use {token}")
    compact(at)
    assert token not in page(at) and "[redacted]" in page(at)


def test_a_secret_that_would_be_pushed_all_the_same_is_held(at: Desk) -> None:
    finished(at)
    made = summaries.Summary(number=42, through=9e12, text=f"token {at.config.forgejo.token}\n", by="model")
    at.context.database.submit(summaries.put, REPOSITORY, made, 1.0).result()
    found = compact(at)
    assert found.state == "failed" and "known secret" in found.reason and at.on_forge(BRANCH) == ""


def test_a_folder_that_is_a_link_out_of_the_repository_is_refused(at: Desk) -> None:
    outside = at.folder / "outside"
    outside.mkdir()
    bare = Git(at.forge.world.repositories[REPOSITORY].bare.path)
    head = at.on_forge("main")
    link = Entry(SYMLINK, bare.objects.write("blob", str(outside).encode()))
    docs = bare.objects.write_tree({b"issues": link})
    tree = bare.objects.tree(bare.objects.tree_of(head)) | {b"docs": Entry(TREE, docs)}
    words = ("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-p", head, "-m", "Link")
    bare.update_ref("refs/heads/main", bare.text(*words, bare.objects.write_tree(tree)))
    finished(at)
    found = compact(at)
    assert found.state == "failed" and not found.retry and "issues is no folder" in found.reason
    assert list(outside.iterdir()) == [] and at.on_forge(BRANCH) == "" and at.alice.pulls(REPOSITORY) == []


@pytest.mark.parametrize(
    "path", ["../x", "/etc", "docs/../../x", "docs//x", ".git/hooks", "docs/.GIT", "", "a\nb"]
)
def test_a_path_out_of_the_repository_is_no_configuration(place: Path, path: str) -> None:
    file = write_config(place)
    file.write_text(file.read_text("utf-8") + f"[memory]\ncompaction_path = {json.dumps(path)}\n")
    with pytest.raises(BadConfig, match=r"memory\.compaction_path"):
        load(str(file))


@pytest.mark.parametrize("time", ["24:00", "2:00", "02:60", "soon"])
def test_a_time_that_is_none_is_no_configuration(place: Path, time: str) -> None:
    file = write_config(place)
    file.write_text(file.read_text("utf-8") + f'[memory]\ncompaction_time = "{time}"\n')
    with pytest.raises(BadConfig, match=r"memory\.compaction_time"):
        load(str(file))


def test_another_folder_is_taken_where_it_is_named(at: Desk) -> None:
    changed = msgspec.structs.replace(at.config, memory=Memory(compaction_path="notes"))
    changed.__dict__["path"] = at.config.path
    at.context.config = changed
    finished(at)
    compact(at)
    assert at.alice.file(REPOSITORY, "notes/0042-summary.md", BRANCH)


def test_one_repository_that_fails_keeps_no_other_from_it(at: Desk) -> None:
    remembered.session(at.context.database, "acme/gone/issues/1", "completed")
    finished(at)
    gone, there = at.run(Compactor(at.context).all())
    assert (gone.state, there.state) == ("failed", "proposed")


# ---- as a program


def words(at: Desk) -> list[str]:
    return [sys.executable, str(ROOT / "bin/fordjent-compact"), *at._config()]


EFFECTS = (
    "summary-written",
    "repository-fetched",
    "memory-pushed",
    "fordjent.pull.begun",
    "fordjent.pull",
    "fordjent.pull.noted",
    "memory-proposed",
)


def test_killed_after_each_effect_it_asks_once_and_opens_once(at: Desk) -> None:
    scripted(at, SCRIPT)
    finished(at)
    finished(at, 43, "Another")
    command = words(at)
    text = at.config.path.read_text("utf-8")
    at.config.path.write_text(text.replace("scripted:none", f"scripted:{at.folder / 'model.json'}"))
    for effect in EFFECTS:
        killed = subprocess.run(
            command, env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), STOP_AT: effect},
            start_new_session=True, capture_output=True, timeout=60,
        )  # fmt: skip
        # once the pull request is there, it is found and not made again
        assert killed.returncode == (0 if effect == "fordjent.pull.noted" else -9), (effect, killed.stderr)
    last = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert last.returncode == 0, last.stderr
    [pull] = at.alice.pulls(REPOSITORY, "all")
    assert json.loads(last.stdout)["pull"] == pull["number"]
    assert len(calls(at)) == 2 and SUMMED in page(at) and SUMMED in page(at, 43)
    listed = at.alice.do("GET", f"/repos/{REPOSITORY}/pulls/{pull['number']}/commits")
    assert len(listed) == 1


def test_two_at_once_open_one(at: Desk) -> None:
    for number in range(1, 9):
        finished(at, number, f"Issue {number}")
    command = words(at)
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    ended = [(*one.communicate(timeout=60), one.returncode) for one in both]
    assert {code for _, _, code in ended} <= {0, 75} and 0 in {code for _, _, code in ended}, ended
    [pull] = at.alice.pulls(REPOSITORY, "all")
    assert all(page(at, number) for number in range(1, 9)) and pull["head"]["sha"] == at.on_forge(BRANCH)


def test_a_repository_that_is_none_is_said(at: Desk) -> None:
    ran = subprocess.run([*words(at), "--repository", "../x"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 64 and "is no repository" in ran.stderr
