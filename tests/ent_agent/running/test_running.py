"""Agents that really run, by all their ways of misbehaving, and the facts that are recorded of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.records import Record, RunSection
from ent_agent.repositories import repositories
from ent_agent.running import running, runs, workplace
from ent_agent.running.workplace import RunFolder
from harness import sandbox, sweeping
from harness.errors import BadConfig, BadData, Missing
from tests.support.bench import Bench
from tests.support.sample import WELSH, Sample, configuration

STAND_INS = Path(__file__).resolve().parents[2] / "support/agents"
ROOT = Path(__file__).resolve().parents[3]
QUICK = '[limits]\nkill_grace = "1s"\n'
OPEN = QUICK + '[sandbox]\nbackend = "none"\n'

needs_bubblewrap = pytest.mark.skipif(
    bool(sandbox._why_not()), reason=f"no sandbox here: {sandbox._why_not()}"
)


def begun(place: Path, sample: Sample, agent: str, extra: str = QUICK, **keys: str) -> Bench:
    """A run of the Welsh issue that is claimed, with its worktree, and whose agent is to be started."""
    config = configuration(
        place, sample.url, extra, **{"agents_dir": str(STAND_INS), "agent_type": agent, **keys}
    )
    bench = Bench(sample, config)
    bench.start(WELSH)
    runs.update(config, bench.run, phase="claimed")
    return bench


def ran(bench: Bench) -> RunSection:
    done = running.run(bench.record, bench.config, lambda: None)
    assert done.run
    return done.run


def own_agent(place: Path, script: str, more: str = "") -> str:
    """An adapter for a shell script of the test; returns its path, as agent_type takes it."""
    folder = place / "own agents"
    folder.mkdir(exist_ok=True)
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    (folder / "own.toml").write_text(f'command = ["./program"]\n{more}')
    return str(folder / "own.toml")


def folder_of(bench: Bench) -> RunFolder:
    return workplace.folder(bench.config, bench.run)


# ---- one fact for each way of misbehaving


@pytest.mark.parametrize(
    ("way", "facts"),
    [
        ("nothing", {"exit_code": 0, "ended_by": "exit", "message": "", "reported": ""}),
        ("lies", {"exit_code": 0, "message": "Done: I changed everything, and all tests pass."}),
        ("dies", {"exit_code": None, "signal": "SEGV", "ended_by": "signal"}),
        ("quota", {"exit_code": 1, "reported": "quota"}),
        ("auth", {"exit_code": 1, "reported": "auth"}),
        ("turns", {"exit_code": 0, "reported": "turn_limit"}),
        (
            "bytes",
            {"exit_code": 0, "message": "lone \ufffd, latin-1 \ufffd, nul \0, escape \x1b[31m, cut \ufffd"},
        ),
        ("daemon", {"exit_code": 0, "ended_by": "exit", "reported": ""}),
    ],
)
def test_each_way_leaves_its_facts(place: Path, sample: Sample, way: str, facts: dict[str, object]) -> None:
    bench = begun(place, sample, way)
    section = ran(bench)
    assert {name: getattr(section, name) for name in facts} == facts
    assert bench.run.phase == "ran"
    assert sweeping.marked(bench.run.id) == []


def test_when_the_quota_returns_is_recorded(place: Path, sample: Sample) -> None:
    resume_at = ran(begun(place, sample, "quota")).resume_at
    assert resume_at.endswith("+00:00")


@pytest.mark.parametrize(
    ("way", "limits", "extra", "ended_by"),
    [
        ("hangs", 'agent_timeout = "1s"', QUICK, "timeout"),
        ("ignores", 'agent_timeout = "1s"', QUICK, "timeout"),
        ("stalls", 'silence_timeout = "1500ms"', QUICK, "silence"),
        ("forks", 'agent_timeout = "2s"', OPEN, "timeout"),
        ("forks", 'agent_timeout = "2s"', QUICK, "timeout"),
    ],
)
def test_an_agent_beyond_its_limits_is_stopped_with_all_that_it_started(
    place: Path, sample: Sample, way: str, limits: str, extra: str, ended_by: str
) -> None:
    bench = begun(place, sample, way, extra.replace("[limits]", f"[limits]\n{limits}"))
    section = ran(bench)
    assert section.ended_by == ended_by
    assert section.reported == ""
    assert sweeping.marked(bench.run.id) == []


def test_the_watch_stops_the_agent(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "hangs")
    done = running.run(bench.record, bench.config, lambda: "cancelled")
    assert done.run and done.run.ended_by == "cancelled"
    assert runs.record(bench.run).run == done.run


# ---- what the agent is given


def given(bench: Bench) -> tuple[dict[str, str], dict[str, str]]:
    """What the agent `echoes` says that it got, and its environment."""
    assert ran(bench).exit_code == 0
    got = json.loads(folder_of(bench).stdout.read_bytes())
    return got, got["env"]


@pytest.mark.parametrize("extra", [QUICK, OPEN], ids=["sandbox", "open"])
def test_the_agent_gets_prompt_folder_and_environment(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch, extra: str
) -> None:
    caller = {
        "SSH_AUTH_SOCK": "/tmp/agent",
        "FORGEJO_TOKEN": "secret",
        "GITHUB_TOKEN": "secret",
        "GIT_DIR": str(place / "elsewhere"),
        "CLAUDECODE": "1",
        "OPENAI_API_KEY": "sk-named",
        "ANTHROPIC_API_KEY": "sk-not-named",
        "ENT_RUN_ID": "outer",
    }
    extra += (
        '[agent_environment]\npass = ["OPENAI_API_KEY"]\nset = { COLOUR = "blue", PATH = "/usr/bin:/bin" }\n'
    )
    bench = begun(place, sample, "echoes", extra, model="big")
    for name, value in caller.items():
        monkeypatch.setenv(name, value)
    got, env = given(bench)
    assert got["argv"] == ["--model", "big"]
    assert got["cwd"] == str(bench.worktree)
    assert got["stdin"] == running.render_prompt(bench.record, bench.config)
    assert env["ENT_RUN_ID"] == bench.run.id
    assert env["ENT_AGENT_IN_RUN"] == WELSH
    assert env["ENT_AGENT_ISSUES_REF"] == bench.run.line_ref
    assert env["ENT_AGENT_GIT_DIR"] == str(state.of(bench.config).work)
    assert env["PATH"] == f"{folder_of(bench).programs}:/usr/bin:/bin"
    assert env["COLOUR"] == "blue"
    assert env["OPENAI_API_KEY"] == "sk-named"
    assert env["STAND_IN_HOME"] == str(place / "agent home")
    assert not {
        "SSH_AUTH_SOCK",
        "FORGEJO_TOKEN",
        "GITHUB_TOKEN",
        "GIT_DIR",
        "CLAUDECODE",
        "ANTHROPIC_API_KEY",
    } & set(env)


def test_a_secret_that_the_agent_repeats_is_not_recorded(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-value")
    bench = begun(
        place,
        sample,
        own_agent(place, "echo key: $OPENAI_API_KEY"),
        QUICK + '[agent_environment]\npass = ["OPENAI_API_KEY"]\n',
    )
    assert ran(bench).message == "key: [redacted]"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ('pass = ["SSH_AUTH_SOCK"]', "agent_environment.pass: SSH_AUTH_SOCK is never passed"),
        ('pass = ["GIT_SSH_COMMAND"]', "agent_environment.pass: GIT_SSH_COMMAND is never passed"),
    ],
)
def test_a_variable_that_could_push_is_refused(
    place: Path, sample: Sample, environment: str, message: str
) -> None:
    bench = begun(place, sample, "nothing", QUICK + f"[agent_environment]\n{environment}\n")
    with pytest.raises(BadConfig) as refused:
        ran(bench)
    assert message in refused.value.message
    assert bench.run.phase == "claimed"


def test_ent_is_on_the_agents_path_and_writes_to_the_runs_own_line(place: Path, sample: Sample) -> None:
    script = """
    set -e
    ent show $ENT_AGENT_IN_RUN | head -n 1
    cd /; ent comment $ENT_AGENT_IN_RUN 'Done: from anywhere.' > /dev/null
    bash -lc 'ent state $ENT_AGENT_IN_RUN blocked'
    env -i sh -c '"$0" --version' "$(command -v ent)" > /dev/null
    ent sync > /dev/null
    """
    bench = begun(place, sample, own_agent(place, script))
    section = ran(bench)
    assert section.exit_code == 0, folder_of(bench).stderr.read_text()
    assert section.message.startswith(f"issue {WELSH}\nissue: {WELSH}\nstate: ")
    work = repositories.work(bench.config)
    assert work.text("rev-list", "--count", f"{bench.run.tracker_start}..{bench.run.line_ref}") == "2"
    assert sample.comments(WELSH) == [], "nothing is public before the outer loop says so"


def test_commits_are_the_agents_and_unsigned(place: Path, sample: Sample, clean_environment: Path) -> None:
    (clean_environment / ".gitconfig").write_text("[user]\nname=Alice\nemail=a@b\n[commit]\ngpgSign=true\n")
    bench = begun(place, sample, own_agent(place, "echo x > x && git add x && git commit --quiet -m X"))
    assert ran(bench).exit_code == 0
    assert bench.git("log", "-1", "--format=%an <%ae> %cn") == "Robo <robo@example.org> Robo"


def test_its_temporary_folder_is_gone_afterwards_whatever_is_in_it(place: Path, sample: Sample) -> None:
    script = 'mkdir -p "$TMPDIR/deep/er" && touch "$TMPDIR/deep/er/file" && ln -s / "$TMPDIR/root" && chmod -R a-w "$TMPDIR/deep" && echo "$TMPDIR"'
    bench = begun(place, sample, own_agent(place, script))
    temporary = Path(ran(bench).message)
    assert temporary == folder_of(bench).temporary
    assert not temporary.exists() and Path("/etc").is_dir()
    assert folder_of(bench).prompt.stat().st_mode & 0o777 == 0o600


def test_the_agents_own_folder_is_made_and_nothing_is_written_into_it(place: Path, sample: Sample) -> None:
    ran(begun(place, sample, "nothing", agent_config_dir="homes/of/robo"))
    assert (place / "homes/of/robo").is_dir()
    assert list((place / "homes/of/robo").iterdir()) == []


def test_the_agents_folder_is_not_the_keys(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "nothing", agent_config_dir="identity")
    with pytest.raises(BadConfig, match="agent_config_dir: is ssh_key_dir too"):
        ran(bench)


@needs_bubblewrap
def test_in_the_sandbox_neither_key_nor_state_of_others_is_seen(place: Path, sample: Sample) -> None:
    script = f"""
    ls -A '{place}/identity' '{place}/state/robo'/*/control.git '{place}/state/robo'/*/runs/*
    cat '{place}/config.toml'
    git log --oneline -1 --format=%s
    """
    bench = begun(place, sample, own_agent(place, script))
    (state.of(bench.config).root / "worktrees/other").mkdir()
    section = ran(bench)
    assert section.sandbox == "bwrap"
    seen = section.message.split()
    assert "id_ed25519" not in seen and "run.json" not in seen and "HEAD" not in seen
    assert "objects" in seen and "agent" in seen
    assert section.message.endswith("Say hello")
    assert "repo_url" not in section.message


def test_without_a_sandbox_that_is_recorded_and_said(
    place: Path, sample: Sample, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ran(begun(place, sample, "nothing", OPEN)).sandbox == "none"
    assert "no sandbox" in capfd.readouterr().err


def test_usage_comes_from_where_the_adapter_says(place: Path, sample: Sample) -> None:
    agent = own_agent(place, "echo 'session: 7' >&2", '[output]\nusage_command = ["./usage", "{issue_id}"]\n')
    usage = Path(agent).with_name("usage")
    usage.write_text(
        '#!/bin/sh\ngrep -q "session: 7" stderr.log && echo "{\\"input_tokens\\": ${#1}, \\"cost_usd\\": 0.5}"'
    )
    usage.chmod(0o755)
    assert (found := ran(begun(place, sample, agent)).usage).input_tokens == 32
    assert found.cost_usd == 0.5


def test_a_usage_command_that_fails_is_no_error(place: Path, sample: Sample) -> None:
    agent = own_agent(place, "echo Done: fine", '[output]\nusage_command = ["./no-such"]\n')
    section = ran(begun(place, sample, agent))
    assert (section.exit_code, section.usage.input_tokens) == (0, None)


# ---- what can be wrong before it starts


def test_a_missing_cli_is_69_with_the_line_that_installs_it(place: Path, sample: Sample) -> None:
    agent = own_agent(place, "true")
    Path(agent).write_text('command = ["no-such-agent"]\ninstall = "pipx install it"\n')
    with pytest.raises(Missing) as missing:
        ran(begun(place, sample, agent))
    assert "pipx install it" in missing.value.hint


def test_a_record_of_another_state_folder_is_refused(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "nothing")
    assert bench.record.worktree
    bench.record.worktree.path = str(place)
    with pytest.raises(BadData, match="is not the worktree of issue"):
        ran(bench)


def test_a_folder_that_is_no_worktree_of_ours_is_refused(place: Path, sample: Sample) -> None:
    """An agent must not be started in a checkout of a person's, whatever the record says."""
    bench = begun(place, sample, "nothing")
    (bench.worktree / ".git").write_text(f"gitdir: {sample.origin}\n")
    with pytest.raises(BadData, match="does not belong to"):
        ran(bench)


def test_a_run_that_ran_is_given_back_and_not_repeated(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, own_agent(place, f"echo x >> '{place}/agent home/count'"))
    first = running.run(bench.record, bench.config, lambda: None)
    again = running.run(bench.record, bench.config, lambda: None)
    assert first.run == again.run
    assert (place / "agent home/count").read_text() == "x\n"


def test_a_finished_run_is_not_begun_again(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "nothing")
    runs.update(bench.config, bench.run, phase="finalized")
    with pytest.raises(BadData, match="is finalized; there is nothing to run"):
        ran(bench)


def test_what_a_killed_start_wrote_to_the_tracker_stays(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "nothing")
    bench.comment("Done: the first half.")
    before = repositories.work(bench.config).resolve(bench.run.line_ref)
    ran(bench)
    assert repositories.work(bench.config).resolve(bench.run.line_ref) == before


# ---- setup of the worktree


def with_setup(commands: list[str], timeout: str = "10s") -> str:
    return QUICK + f'[worktree]\nsetup = {json.dumps(commands)}\nsetup_timeout = "{timeout}"\n'


def test_setup_runs_once_in_a_worktree_before_the_agent(place: Path, sample: Sample) -> None:
    count = place / "agent home/count"
    setup = with_setup([f"sh -c 'echo $ENT_AGENT_IN_RUN >> \"{count}\"; pwd'"])
    bench = begun(place, sample, own_agent(place, f"cat '{count}'"), setup)
    assert ran(bench).message == WELSH
    runs.update(bench.config, bench.run, phase="claimed")
    assert ran(bench).message == WELSH, "it was set up already"
    assert folder_of(bench).setup.exists() is False


def test_setup_runs_again_when_it_changed(place: Path, sample: Sample) -> None:
    bench = begun(
        place, sample, own_agent(place, "cat '" + str(place) + "/agent home/count'"), with_setup([])
    )
    for number in ("1", "2"):
        extra = with_setup([f"sh -c 'echo {number} >> \"{place}/agent home/count\"'"])
        keys = {"agents_dir": str(STAND_INS), "agent_type": str(place / "own agents/own.toml")}
        bench.config = configuration(place, sample.url, extra, **keys)
        runs.update(bench.config, bench.run, phase="claimed")
        last = ran(bench).message
    assert last == "1\n2"


def test_an_issues_text_is_no_shell_for_setup(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "nothing", with_setup(["echo $(touch here) ; touch there"]))
    assert ran(bench).exit_code == 0
    assert bench.git("status", "--short") == ""
    assert folder_of(bench).setup.read_text() == "$(touch here) ; touch there\n"


@pytest.mark.parametrize(
    ("command", "timeout", "said"),
    [
        ("sh -c 'echo not found >&2; exit 3'", "10s", "exit 3\nnot found"),
        ("sleep 60", "1s", "ended by timeout"),
        ("no-such-command", "10s", "ended by start_failed"),
    ],
)
def test_a_failing_setup_is_told_and_the_agent_is_not_started(
    place: Path, sample: Sample, command: str, timeout: str, said: str
) -> None:
    bench = begun(
        place, sample, "lies", with_setup([command, "true"], timeout) + '[sandbox]\nbackend = "none"\n'
    )
    section = ran(bench)
    assert section.ended_by == "start_failed"
    assert said in section.message
    assert not folder_of(bench).stdout.exists()


def test_a_setup_that_cannot_be_read_is_named(place: Path, sample: Sample) -> None:
    with pytest.raises(BadConfig, match=r"worktree\.setup: .*No closing quotation"):
        ran(begun(place, sample, "nothing", with_setup(["sh -c 'open"])))


# ---- the command


def command(bench: Bench, *options: str, feed: Record | None = None) -> subprocess.Popen[bytes]:
    from ent_agent import records

    words = [sys.executable, str(ROOT / "bin/ent-agent-run"), "--config", str(bench.config.path), *options]
    stdin = subprocess.PIPE if feed else subprocess.DEVNULL
    process = subprocess.Popen(
        words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    if feed:
        assert process.stdin
        process.stdin.write(records.encode(feed))
        process.stdin.close()
        process.stdin = None
    return process


def wait_for(bench: Bench, text: bytes = b"thinking") -> None:
    """Until the agent has said something."""
    log = folder_of(bench).stdout
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if log.exists() and text in log.read_bytes():
            return
        time.sleep(0.05)
    raise AssertionError("the agent did not start")


def test_the_command_adds_the_section(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "lies")
    out, err = command(bench, feed=bench.record).communicate(timeout=60)
    section = json.loads(out)["run"]
    assert section["ended_by"] == "exit" and section["message"].startswith("Done:"), err


def test_a_second_process_on_the_same_run_is_told_to_try_later(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "hangs", QUICK.replace("[limits]", '[limits]\nagent_timeout = "20s"'))
    first = command(bench, feed=bench.record)
    try:
        wait_for(bench)
        second = command(bench, feed=bench.record)
        out, err = second.communicate(timeout=30)
        assert second.returncode == 75, err
        assert json.loads(out)["error"]["code"] == "busy"
    finally:
        first.terminate()
        out, _ = first.communicate(timeout=30)
    assert json.loads(out)["run"]["ended_by"] == "interrupted"


@pytest.mark.parametrize("extra", [QUICK, OPEN], ids=["sandbox", "open"])
def test_a_killed_run_leaves_nothing_running_and_can_be_begun_again(
    place: Path, sample: Sample, extra: str
) -> None:
    bench = begun(place, sample, "ignores", extra)
    killed = command(bench, feed=bench.record)
    wait_for(bench)
    assert bench.run.phase == "running"
    assert runs.record(bench.run).run is not None, "its transcript can be found while it runs"
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    deadline = time.monotonic() + 15
    while sweeping.marked(bench.run.id) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert sweeping.marked(bench.run.id) == []
    keys = {"agents_dir": str(STAND_INS), "agent_type": "lies"}
    bench.config = configuration(place, sample.url, extra, **keys)
    assert ran(bench).ended_by == "exit"


def test_the_prompt_is_printed_and_nothing_is_started(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "lies")
    out, _ = command(bench, "--print-prompt", feed=bench.record).communicate(timeout=30)
    assert out.decode() == running.render_prompt(bench.record, bench.config)
    assert bench.run.phase == "claimed"
    named, _ = command(bench, "--print-prompt", "--issue", "1111").communicate(timeout=30)
    assert named.startswith(b"You are Robo") and b"Greet in Welsh" in named


def test_a_missing_agent_is_69_and_its_record_goes_on_with_the_error(place: Path, sample: Sample) -> None:
    agent = own_agent(place, "true")
    Path(agent).write_text('command = ["no-such-agent"]\ninstall = "pipx install it"\n')
    bench = begun(place, sample, agent)
    process = command(bench, feed=bench.record)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 69
    assert json.loads(out)["error"]["code"] == "agent_missing"


def test_help_has_an_example() -> None:
    done = subprocess.run([ROOT / "bin/ent-agent-run", "--help"], capture_output=True, text=True, check=True)
    assert "Example:" in done.stdout and "--print-prompt" in done.stdout
