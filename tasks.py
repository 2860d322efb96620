"""Tasks (`.venv/bin/invoke --list`): wiring only; what they do is in lib/.

`--config` is where config.toml is; without it $ENT_AGENT_CONFIG, ./config.toml, the XDG place.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "lib"), str(ROOT)]


@task
def setup(ctx: Context) -> None:
    """Bring .venv level with the locked requirements."""
    python(ctx, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", "requirements-dev.txt")


@task(
    help={
        "repo-url": "anything that git clone takes",
        "agent-name": "git author, and who is assigned",
        "agent-email": "of the commits",
        "agent-type": "a name from agents/, or a path to such a file",
        "ssh-key-dir": "folder of the ssh key, made when there is none",
        "agent-config-dir": "the agent CLI's own home",
        "config": "the file to write, else ./config.toml",
        "force": "replace a file that is there",
    }
)
def init(
    ctx: Context,
    repo_url: str = "",
    agent_name: str = "",
    agent_email: str = "",
    agent_type: str = "",
    ssh_key_dir: str = "",
    agent_config_dir: str = "",
    config: str = "config.toml",
    force: bool = False,
) -> None:
    """Write config.toml: asks for what no flag gives."""
    from ent_agent import setting_up

    given = setting_up.Answers(
        repo_url=repo_url,
        agent_name=agent_name,
        agent_email=agent_email,
        agent_type=agent_type,
        ssh_key_dir=ssh_key_dir,
        agent_config_dir=agent_config_dir,
    )
    ask = setting_up.on_terminal if sys.stdin and sys.stdin.isatty() else None
    with failures_said():
        setting_up.check_place(Path(config), force=force)
        written = setting_up.write(Path(config), setting_up.complete(given, ask), force=force)
        print(f"wrote {written.path}\n")
        print(setting_up.introduce(written, ROOT), end="")


@task(help={"folder": "where to make it, else ./demo below the checkout"})
def demo(ctx: Context, folder: str = "") -> None:
    """Make a sample repository and let the loop work it, with a small stand-in agent."""
    from ent_agent import demo as demonstration

    with failures_said():
        exit_code = demonstration.run(Path(folder or ROOT / "demo").absolute(), ROOT)
    if exit_code:
        raise Exit(code=exit_code)


@task
def forge_demo(ctx: Context) -> None:
    """Serve a stand-in forge with a scripted model: an issue, a pull request, a review, and its change."""
    from tests.support import forge_demo as demonstration

    with failures_said():
        exit_code = demonstration.run()
    if exit_code:
        raise Exit(code=exit_code)


@task(
    help={
        "once": "work the first issue only",
        "forever": "do not end; look again after the interval",
        "interval": 'with --forever: seconds, or a length like "5m"; else loop.interval',
        "jobs": "issues worked at once, else loop.jobs",
        "dry-run": "fetch, and print what would be done",
        "issue": "this issue only (a unique prefix will do)",
        "text": "lines for a person also where the output is no terminal",
        "config": "config.toml",
    }
)
def loop(
    ctx: Context,
    once: bool = False,
    forever: bool = False,
    interval: str = "",
    jobs: str = "",
    dry_run: bool = False,
    issue: str = "",
    text: bool = False,
    config: str = "",
) -> None:
    """Work every issue that is ready, and end."""
    from ent_agent import config as configuration
    from ent_agent.loop import loop as looping
    from ent_agent.loop import progress

    with failures_said():
        loaded = configuration.load(config or None)
        options = looping.Options.of(
            loaded, once=once, forever=forever, interval=interval, jobs=jobs, issue=issue
        )
        begin = looping.dry_run if dry_run else looping.run
        said = progress.Readable(sys.stdout) if text else progress.to(sys.stdout)
        exit_code = begin(loaded, options, said)
    if exit_code:
        raise Exit(code=exit_code)


@task(help={"config": "config.toml"})
def status(ctx: Context, config: str = "") -> None:
    """Show tasks, what waits for whom, and the last runs."""
    python(ctx, str(ROOT / "bin/ent-agent-status"), *(["--config", config] if config else []))


@task(
    help={
        "host": "where others may reach it: then a link with a token is printed",
        "port": "0: any that is free",
        "config": "config.toml",
    }
)
def dashboard(ctx: Context, host: str = "127.0.0.1", port: int = 8090, config: str = "") -> None:
    """Show tasks, runs, what they printed and what they cost, on pages that change nothing."""
    from ent_agent import config as configuration
    from ent_agent.dashboard import serving

    with failures_said():
        serving.serve(configuration.load(config or None), host, port)


@task(
    help={
        "for": 'how long, like "2h"; without it until `invoke resume`',
        "reason": "shown with it",
        "config": "config.toml",
    }
)
def pause(ctx: Context, for_: str = "", reason: str = "", config: str = "") -> None:
    """Begin no new work; what is being worked goes on to its end."""
    from ent_agent import config as configuration
    from ent_agent.selection import pausing
    from harness.config import given_seconds

    with failures_said():
        length = given_seconds("--for", for_) if for_ else None
        print(pausing.pause(configuration.load(config or None), length, reason))


@task(help={"config": "config.toml"})
def resume(ctx: Context, config: str = "") -> None:
    """End a pause: new work is begun again."""
    from ent_agent import config as configuration
    from ent_agent.selection import pausing

    with failures_said():
        was = pausing.resume(configuration.load(config or None))
    print("work goes on" if was else "there was no pause")


@task(help={"minutes": "how often", "config": "config.toml"})
def cron(ctx: Context, minutes: str = "5", config: str = "") -> None:
    """Print a crontab line, and a systemd unit with its timer."""
    from ent_agent import config as configuration
    from ent_agent.loop import cron as schedule
    from harness.config import given_number

    with failures_said():
        every = given_number("--minutes", minutes)
        print(schedule.described(configuration.load(config or None), ROOT, every), end="")


@task(help={"unit": "print a systemd unit instead", "config": "config.toml"})
def serve(ctx: Context, unit: bool = False, config: str = "") -> None:
    """Start Fordjent: take webhooks from the forge and work them."""
    if unit:
        from fordjent import config as configuration
        from fordjent.operations import unit as units

        with failures_said():
            print(units.described(configuration.load(config or None)), end="")
        return
    python(ctx, str(ROOT / "bin/fordjent-serve"), *(["--config", config] if config else []))


@task(help={"only": 'what to run, as pytest takes it: "tests/harness -k lock"'})
def test(ctx: Context, only: str = "tests") -> None:
    """Run all tests, pytest and bats."""
    with ctx.cd(str(ROOT)):
        python(
            ctx,
            "-m",
            "pytest",
            "-n",
            "3",
            "--dist",
            "worksteal",
            "-m",
            "not agents and not stress",
            *shlex.split(only),
        )


@task(help={"folder": "where the CLIs are installed, else ./.agents below the checkout"})
def test_agents(ctx: Context, folder: str = "") -> None:
    """Try the real agent CLIs (from PyPI and npm) with a scripted model."""
    from tests.support import agent_clis

    paths = agent_clis.install(Path(folder or ROOT / ".agents").absolute())
    os.environ["PATH"] = os.pathsep.join([*map(str, paths), os.environ["PATH"]])
    with ctx.cd(str(ROOT)):
        python(ctx, "-m", "pytest", "-m", "agents", "-rs", "tests")


@task(
    help={
        "large": "among 100,000 issues too: takes long",
        "quick": "tiny sizes, once each: shows that it runs, measures nothing",
        "to": "the page to write, else docs/benchmarks.md",
    }
)
def bench(ctx: Context, large: bool = False, quick: bool = False, to: str = "") -> None:
    """Measure against git and, where ENT_REAL names one, the real ent; write docs/benchmarks.md."""
    from tests.bench import running

    sizes = running.LARGE if large else running.QUICK if quick else running.Sizes()
    running.run(sizes, Path(to or ROOT / "docs/benchmarks.md"))


@task
def stress(ctx: Context) -> None:
    """Let five hosts of two agents work forty issues, and Fordjent beside a flaky forge, killed at random (minutes)."""
    with ctx.cd(str(ROOT)):
        python(ctx, "-m", "pytest", "-m", "stress", "-rA", "tests/ent_agent/claims", "tests/fordjent")


@task
def lint(ctx: Context) -> None:
    """Check formatting, lint and types."""
    with ctx.cd(str(ROOT)):
        for words in (["ruff", "format", "--check"], ["ruff", "check"], ["mypy"]):
            python(ctx, "-m", *words)


@task
def schema(ctx: Context) -> None:
    """Write docs/record.schema.json anew."""
    from ent_agent import schema as record_schema

    (ROOT / "docs/record.schema.json").write_text(record_schema.text(), encoding="utf-8")


@task
def migration(ctx: Context) -> None:
    """Write the first migration anew, after a change of lib/fordjent/store/schema.py."""
    from fordjent.store import migrating

    with ctx.cd(str(ROOT)):
        migrating.FIRST.write_text(migrating.first(), encoding="utf-8")
        python(ctx, "-m", "ruff", "check", "--quiet", "--fix", str(migrating.FIRST))
        python(ctx, "-m", "ruff", "format", "--quiet", str(migrating.FIRST))


def python(ctx: Context, *words: str) -> None:
    """Run our Python as a person would, and end as it does."""
    command = shlex.join([sys.executable, *words])
    done = ctx.run(command, pty=bool(sys.stdout and sys.stdout.isatty()), in_stream=False, warn=True)
    assert done is not None  # only where nothing is run (--dry)
    if not done.ok:
        raise Exit(code=done.exited)


@contextmanager
def failures_said() -> Iterator[None]:
    """A failure that a person can mend, as two lines on stderr and its exit code."""
    from harness.errors import Failure, of_disk

    try:
        yield
    except (Failure, OSError) as error:
        failure = of_disk(error) if isinstance(error, OSError) else error
        if failure is None:
            raise
        hint = f"\n  {failure.hint}" if failure.hint else ""
        raise Exit(f"{failure.message}{hint}", code=failure.exit_code) from error
