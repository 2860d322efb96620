"""The doctor finds what would keep the loop from working, names what mends it, and always ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.config import Config
from ent_agent.doctor import content, examination, programs
from ent_agent.repositories import repositories
from ent_agent.running import runs
from ent_agent.selection import pausing
from harness.doctor import checks
from harness.doctor.findings import Finding, exit_code, ok, problem, warning
from harness.git import Git
from tests.support.sample import BROKEN, Sample, configuration
from tests.support.ssh_server import SSHD, MuteServer, SshServer

AGENT = """
command = ["./agent"]
config_dir_variable = "AGENT_HOME"
"""


@pytest.fixture
def agent(place: Path) -> Path:
    """An adapter `robot.toml` with a program beside it; returns the adapter."""
    program(place / "agents/agent", "#!/bin/sh\nexit 0\n")
    adapter = place / "agents/robot.toml"
    adapter.write_text(AGENT, "utf-8")
    (place / "agent home").mkdir()
    return adapter


@pytest.fixture
def settings(place: Path, sample: Sample, agent: Path) -> dict[str, str]:
    """Under which everything is well."""
    (place / "identity").mkdir(mode=0o700)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / "identity/id_ed25519"], check=True
    )
    return {"repo_url": sample.url, "agents_dir": "agents", "agent_type": "robot"}


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def configured(place: Path, settings: dict[str, str], extra: str = "", **keys: str) -> Config:
    return configuration(place, **{**settings, **keys}, extra=extra)


def examined(config: Config) -> list[Finding]:
    return list(examination.examine(str(config.path)))


def those(findings: list[Finding], check: str, status: str = "") -> list[Finding]:
    return [one for one in findings if one.check == check and status in ("", one.status)]


def the(findings: list[Finding], check: str, status: str) -> Finding:
    """The only finding of a check with that status."""
    found = those(findings, check, status)
    assert len(found) == 1, [one for one in findings if one.check == check or one.status == "problem"]
    return found[0]


# ---- the whole


def test_where_all_is_well_there_are_no_problems(place: Path, settings: dict[str, str]) -> None:
    findings = examined(configured(place, settings))
    assert [one for one in findings if one.status == "problem"] == []
    assert exit_code(findings) == 0
    assert {one.check for one in findings} >= {
        "python", "path", "git", "ssh", "ssh-keygen", "clock", "config", "key", "adapter", "agent",
        "agent_config_dir", "sandbox", "notify", "state_dir", "disk", "loop", "origin", "base_branch",
        "write_access", "claims", "atomic_push", "tracker", "code",
    }  # fmt: skip


def test_it_leaves_nothing_on_origin_and_makes_no_state_folder(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    before = sample.git.refs()
    config = configured(place, settings)
    examined(config)
    assert sample.git.refs() == before
    assert not state.of(config).root.exists()


def test_a_missing_program_weighs_more_than_other_problems() -> None:
    assert exit_code([ok("a", ""), warning("b", "")]) == 0
    assert exit_code([problem("a", ""), warning("b", "")]) == 78
    assert exit_code([problem("a", ""), problem("b", "", missing=True)]) == 69


def test_a_check_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs() -> Iterator[Finding]:
        time.sleep(60)
        yield ok("x", "")

    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.2)
    (finding,) = checks.bounded("x", hangs)
    assert finding.status == "problem" and "no answer" in finding.message


def test_a_bug_in_one_check_is_seen_and_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Finding]:
        yield ok("x", "first")
        raise KeyError("oops")

    seen: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda bug: seen.append(bug.exc_type))
    first, second = checks.bounded("x", broken)
    for thread in threading.enumerate():
        if thread.name == "x":
            thread.join(5)
    assert first.status == "ok" and second.status == "problem" and "bug" in second.message
    assert seen == [KeyError]


def test_an_unknown_key_is_named_and_ends_the_examination(place: Path, settings: dict[str, str]) -> None:
    config = configured(place, settings)
    config.path.write_text(config.path.read_text() + 'colour = "green"\n')
    findings = examined(config)
    assert "colour: unknown key" in the(findings, "config", "problem").message
    assert those(findings, "origin") == []
    assert exit_code(findings) == 78


# ---- programs


def test_a_missing_program_is_named_with_the_line_that_installs_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "bin").mkdir()
    git = shutil.which("git")
    assert git
    (place / "bin/git").symlink_to(git)
    monkeypatch.setenv("PATH", str(place / "bin"))
    findings = list(programs.needed())
    assert the(findings, "git", "ok")
    assert the(findings, "ssh", "problem").fix == "sudo apt-get install openssh-client"
    assert exit_code(findings) == 69


def test_a_git_that_is_too_old_is_a_problem(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(place / "bin/git", "#!/bin/sh\necho git version 2.30.2\n")
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    assert "older than 2.38" in the(list(programs.needed()), "git", "problem").message


# ---- configuration and key


def test_a_config_with_secrets_is_for_nobody_elses_eyes(place: Path, settings: dict[str, str]) -> None:
    config = configured(place, settings, extra='[agent_environment.set]\nMODEL_API_KEY = "abcdefgh12"\n')
    config.path.chmod(0o644)
    found = the(examined(config), "config", "warning")
    assert "MODEL_API_KEY" in found.message and found.fix == f"chmod 600 '{config.path}'"
    config.path.chmod(0o600)
    assert those(examined(config), "config", "warning") == []


def test_a_key_that_others_can_read_is_a_problem(place: Path, settings: dict[str, str]) -> None:
    (place / "identity/id_ed25519").chmod(0o640)
    found = the(examined(configured(place, settings)), "key", "problem")
    assert "mode 640" in found.message and found.fix == f"chmod 600 '{place / 'identity/id_ed25519'}'"


def test_a_key_folder_that_others_can_change_is_a_problem(place: Path, settings: dict[str, str]) -> None:
    (place / "identity").chmod(0o770)
    assert (
        the(examined(configured(place, settings)), "key", "problem").fix
        == f"chmod 700 '{place / 'identity'}'"
    )


def test_a_key_with_a_passphrase_is_a_problem(place: Path, settings: dict[str, str]) -> None:
    key = place / "identity/id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", key], check=True)
    found = the(examined(configured(place, settings)), "key", "problem")
    assert "passphrase" in found.message and "ssh-keygen -p -f" in found.fix


def test_where_there_is_no_key_yet_none_is_made(place: Path, settings: dict[str, str]) -> None:
    config = configured(place, settings, ssh_key_dir="other identity")
    assert "ent-agent-identity" in the(examined(config), "key", "warning").fix
    assert not (place / "other identity").exists()


def test_signing_is_tried(place: Path, settings: dict[str, str]) -> None:
    config = configured(place, settings)
    config.path.write_text(f"sign_commits = true\n{config.path.read_text()}")
    assert the(examined(config), "sign_commits", "ok")
    (place / "identity/id_ed25519").write_text("no key")
    (place / "identity/id_ed25519.pub").unlink()
    assert the(examined(config), "sign_commits", "problem")


def test_a_notifier_that_is_not_there_is_a_problem(place: Path, settings: dict[str, str]) -> None:
    found = the(
        examined(configured(place, settings, extra='[notify]\ncommand = ["./tell-me"]\n')),
        "notify",
        "problem",
    )
    assert "./tell-me" in found.message
    program(place / "tell-me", "#!/usr/bin/env no-such-interpreter\n")
    found = the(examined(configured(place, settings, extra='[notify]\ncommand = ["./tell-me"]\n')), "notify", "problem")  # fmt: skip
    assert "no-such-interpreter" in found.message


# ---- the agent


def test_an_unknown_agent_type_is_a_problem(place: Path, settings: dict[str, str]) -> None:
    found = the(examined(configured(place, settings, agent_type="robbie")), "agent", "problem")
    assert "robbie" in found.message


def test_an_agent_whose_interpreter_is_missing_is_found(place: Path, settings: dict[str, str]) -> None:
    program(place / "agents/agent", "#!/usr/bin/env no-such-interpreter\n")
    findings = examined(configured(place, settings))
    assert "needs no-such-interpreter" in the(findings, "agent", "problem").message
    assert exit_code(findings) == 69


def test_an_agent_that_is_not_logged_in_is_a_warning_without_its_secrets(
    place: Path, settings: dict[str, str], agent: Path
) -> None:
    agent.write_text(AGENT + 'login_check = ["./agent", "status"]\n', "utf-8")
    program(place / "agents/agent", '#!/bin/sh\necho "no login in $AGENT_HOME with $MODEL_API_KEY"; exit 1\n')
    extra = '[agent_environment.set]\nMODEL_API_KEY = "abcdefgh12"\n'
    found = the(examined(configured(place, settings, extra=extra)), "login", "warning")
    assert str(place / "agent home") in found.message
    assert "abcdefgh12" not in found.message and "[redacted]" in found.message
    assert found.fix == f"AGENT_HOME='{place / 'agent home'}' ./agent"


def test_an_agent_home_that_is_not_there_is_a_warning(place: Path, settings: dict[str, str]) -> None:
    (place / "agent home").rmdir()
    assert the(examined(configured(place, settings)), "agent_config_dir", "warning")


def test_no_sandbox_is_said(place: Path, settings: dict[str, str]) -> None:
    config = configured(place, settings, extra='[sandbox]\nbackend = "none"\n')
    assert "can read all" in the(examined(config), "sandbox", "warning").message


def test_a_sandbox_that_cannot_be_had_is_a_problem(
    place: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.sandbox._why_not", lambda: "bubblewrap (bwrap) is not installed")
    config = configured(place, settings, extra='[sandbox]\nbackend = "bwrap"\n')
    assert "bubblewrap" in the(examined(config), "sandbox", "problem").fix


# ---- origin


def test_an_origin_that_is_not_there_is_a_problem_and_the_rest_is_said_not_to_be_known(
    place: Path, settings: dict[str, str]
) -> None:
    findings = examined(configured(place, settings, repo_url=str(place / "nowhere.git")))
    assert the(findings, "origin", "problem").fix
    assert "not looked at" in the(findings, "origin", "warning").message
    assert those(findings, "claims") == []


def test_an_origin_without_the_tracker_is_a_problem(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    sample.git.update_ref("refs/heads/entomologist-data", None)
    findings = examined(configured(place, settings))
    assert "ent new" in the(findings, "tracker", "problem").fix


def test_a_base_branch_that_is_not_there_is_a_problem(place: Path, settings: dict[str, str]) -> None:
    findings = examined(configured(place, settings, base_branch="develop"))
    assert "develop" in the(findings, "base_branch", "problem").message


def test_an_origin_that_refuses_claims_is_found_with_what_to_set(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    hook = sample.origin / "hooks/update"
    program(hook, '#!/bin/sh\ncase $1 in refs/heads/*) ;; *) echo "heads only" >&2; exit 1 ;; esac\n')
    found = the(examined(configured(place, settings)), "claims", "warning")
    assert "this host only" in found.message and 'claims_prefix = "refs/heads/ent-agent-claims/"' in found.fix
    config = configured(place, settings, claims_prefix="refs/heads/ent-agent-claims/")
    assert the(examined(config), "claims", "ok")
    assert not [name for name in sample.branches() if name.startswith("ent-agent-claims")]


def test_an_origin_without_atomic_pushes_is_a_warning(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    sample.git.run("config", "receive.advertiseAtomic", "false")
    findings = examined(configured(place, settings))
    assert the(findings, "atomic_push", "warning")
    assert the(findings, "claims", "ok")


def test_claims_that_cannot_be_deleted_are_a_warning(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    sample.git.run("config", "receive.denyDeletes", "true")
    config = configured(place, settings, claims_prefix="refs/heads/ent-agent-claims/")
    assert "cannot be deleted" in the(examined(config), "claims", "warning").message


@pytest.mark.skipif(SSHD is None, reason="sshd is not installed: sudo apt-get install openssh-server")
def test_over_ssh_host_key_and_a_key_without_write_access_are_found(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    only_read = (
        'case "$SSH_ORIGINAL_COMMAND" in git-receive-pack*) '
        'echo "ERROR: The key you are authenticating with has been marked as read only." >&2; exit 1;; esac; '
        'eval "$SSH_ORIGINAL_COMMAND"'
    )
    program(place / "read only.sh", f"#!/bin/sh\n{only_read}\n")
    public = (place / "identity/id_ed25519.pub").read_text()
    with SshServer(place / "sshd") as server:
        server.authorize(f"command=\"'{place / 'read only.sh'}'\" {public}")
        findings = examined(configured(place, settings, repo_url=server.url(sample.origin)))
        assert "SHA256:" in the(findings, "host_key", "ok").message
        assert "public key" in the(findings, "write_access", "problem").fix
        assert those(findings, "claims") == []
        assert the(findings, "tracker", "ok")


def test_a_server_that_never_answers_does_not_hold_it_up(
    place: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ent_agent.repositories.identity.CONNECT_TIMEOUT_SECONDS", 1)
    mute = MuteServer()
    started = time.monotonic()
    findings = examined(configured(place, settings, repo_url=f"ssh://127.0.0.1:{mute.port}/x"))
    mute.close()
    assert the(findings, "origin", "problem")
    assert time.monotonic() - started < 20


# ---- what the branches hold


def test_entries_that_cannot_be_read_are_named(place: Path, settings: dict[str, str], sample: Sample) -> None:
    sample.change({f"{BROKEN}/state": b"perhaps", f"{BROKEN}/description": b"x"})
    found = those(examined(configured(place, settings)), "tracker", "warning")
    assert any(BROKEN in one.message and BROKEN in one.fix for one in found)


def test_a_tracker_on_the_code_branch_is_a_problem(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    sample.commit({f"{'a' * 32}/description": b"x", f"{'a' * 32}/state": b"new"})
    found = the(examined(configured(place, settings)), "code", "problem")
    assert found.fix.startswith(f"git switch main && git rm -r --quiet {'a' * 32} && git commit")


def test_large_files_without_git_lfs_are_a_warning(
    place: Path, settings: dict[str, str], sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample.commit({"assets/.gitattributes": b"*.bin filter=lfs diff=lfs merge=lfs -text\n"})
    program(place / "bin/git-lfs", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    assert (
        the(examined(configured(place, settings)), "large_files", "warning").fix
        == "sudo apt-get install git-lfs"
    )
    program(place / "bin/git-lfs", "#!/bin/sh\necho git-lfs/3\n")
    assert the(examined(configured(place, settings)), "large_files", "ok")


def test_submodules_and_hooks_of_the_project_ask_for_a_setup(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    sample.commit(
        {".gitmodules": b'[submodule "x"]\n\tpath = x\n\turl = ../x\n', ".husky/pre-commit": b"npm test\n"}
    )
    findings = examined(configured(place, settings))
    assert "git submodule update" in the(findings, "submodules", "warning").fix
    assert "npm ci" in the(findings, "hooks", "warning").fix
    extra = '[worktree]\nsetup = ["git submodule update --init --recursive", "npm ci"]\n'
    findings = examined(configured(place, settings, extra=extra))
    assert those(findings, "submodules") == those(findings, "hooks") == []


def test_a_relative_hooks_path_of_the_user_is_a_warning(clean_environment: Path) -> None:
    (clean_environment / ".gitconfig").write_text("[core]\n\thooksPath = .githooks\n")
    (found,) = content.hooks()
    assert found.status == "warning" and ".githooks" in found.message
    (clean_environment / ".gitconfig").write_text("[core]\n\thooksPath = ~/hooks\n")
    assert list(content.hooks()) == []


# ---- the state folder


def test_a_state_folder_that_cannot_be_written_is_a_problem(place: Path, settings: dict[str, str]) -> None:
    (place / "a file").write_text("")
    found = the(examined(configured(place, settings, state_dir="a file/state")), "state_dir", "problem")
    assert "cannot be written" in found.message


def test_what_earlier_loops_left_is_told(place: Path, settings: dict[str, str]) -> None:
    config = configured(place, settings)
    repositories.set_up(config)
    places = state.of(config)
    run = runs.create(config, "a" * 32)
    git = repositories.control(config)
    git.update_ref(
        "refs/ent-agent/kept/x/head", git.objects.write_commit(git.objects.write_tree({}), [], "x")
    )
    gone = places.work / "worktrees/gone"
    gone.mkdir(parents=True)
    (gone / "gitdir").write_text(f"{place}/disk/gone/.git\n")
    (gone / "locked").write_text("on a disk\n")
    (gone / "index.lock").touch()
    os.utime(gone / "index.lock", (0, 0))
    (places.worktrees / "left over").mkdir(parents=True)
    findings = examined(config)
    assert run.id in the(findings, "runs", "warning").message
    assert "refs/ent-agent/kept" in the(findings, "kept", "warning").fix
    locked, left_over = those(findings, "worktrees", "warning")
    assert "locked: on a disk" in locked.message
    assert "left over" in left_over.message
    assert the(findings, "locks", "warning").fix == f"rm '{gone / 'index.lock'}'"
    assert exit_code(findings) == 0


def test_a_pause_is_told(place: Path, settings: dict[str, str]) -> None:
    config = configured(place, settings)
    pausing.pause(config, reason="holidays")
    found = the(examined(config), "pause", "warning")
    assert "holidays" in found.message and found.fix == "invoke resume"


def test_control_git_is_borrowed_from_and_not_changed(
    place: Path, settings: dict[str, str], sample: Sample
) -> None:
    config = configured(place, settings)
    repositories.set_up(config)
    git = Git(state.of(config).control)
    before = sorted(git.git_dir.rglob("*"))
    assert [one for one in examined(config) if one.status == "problem"] == []
    assert [path for path in sorted(git.git_dir.rglob("*")) if path not in before] == []
