"""Whether origin answers the loop's own ssh, and takes what the loop pushes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ent_agent import state
from ent_agent.claims.claim_value import ClaimValue
from ent_agent.config import Config
from ent_agent.repositories import identity, listing, origin, pushing, repositories, syncing
from ent_agent.repositories.pushing import Update
from harness import process
from harness.doctor.findings import Finding, ok, problem, warning
from harness.git import Git, init_bare

ANSWER_SECONDS = 60.0
OTHER_CLAIMS = "refs/heads/ent-agent-claims/"


@dataclass
class Origin:
    """origin, looked at through a repository of the doctor's own, which borrows control.git's objects."""

    config: Config
    git: Git
    heads: dict[str, str] = field(default_factory=dict)
    """Branch to commit."""
    default: str = ""

    @property
    def base(self) -> str:
        """The branch that work begins at."""
        return self.config.base_branch or self.default


def open_origin(config: Config, folder: Path) -> Origin:
    """A repository in `folder` with the loop's remote, key and settings; nothing is asked yet."""
    init_bare(folder)
    ours = repositories.control(config)
    objects = ours.git_dir / "objects"
    if objects.is_dir():
        (folder / "objects/info/alternates").write_text(f"{objects}\n", "utf-8")
    url = {"remote.origin.url": repositories.origin_url(config)}
    return Origin(config, Git(folder, ours.ssh_command, ours.person, {**ours.config, **url}))


def answers(seen: Origin) -> Iterator[Finding]:
    """`git ls-remote`, in the same environment as the loop's.

    Raises:
        Failure: it does not answer; worded for a person.
    """
    found = listing.ask(seen.git, seen.config, timeout_seconds=ANSWER_SECONDS)
    seen.heads = {
        name.removeprefix("refs/heads/"): oid
        for name, oid in found.refs.items()
        if name.startswith("refs/heads/")
    }
    code = [name for name in seen.heads if name not in (seen.config.issues_branch,)]
    seen.default = found.default_branch or syncing.guess_default(code)
    yield ok("origin", f"{repositories.shown_url(seen.config)} answers, {len(seen.heads)} branches")


def host_key(seen: Origin) -> Iterator[Finding]:
    """What first contact remembered; ssh itself refuses another key from then on."""
    known = identity.known_hosts(seen.config)
    if not known.exists():
        return
    listed = process.run(["ssh-keygen", "-l", "-f", known], timeout_seconds=10.0)
    prints = re.findall(r"SHA256:\S+ \S+", listed.text)
    yield ok("host_key", f"{known} knows {', '.join(prints) or 'no host'}")


def branches(seen: Origin) -> Iterator[Finding]:
    """The branch that work begins at, and the tracker's."""
    if not seen.base:
        yield problem(
            "base_branch",
            "origin's HEAD names no branch that is there",
            f'add base_branch = "main" to {shlex.quote(str(seen.config.path))}',
        )
    elif seen.base not in seen.heads:
        yield problem(
            "base_branch",
            f"base_branch: origin has no branch {seen.base}",
            f"git push origin HEAD:{shlex.quote(seen.base)}",
        )
    else:
        yield ok("base_branch", seen.base)
    data = seen.config.issues_branch
    if data not in seen.heads:
        yield problem(
            "tracker",
            f"origin has no branch {data}: there are no issues yet",
            f"ent new && git push origin {shlex.quote(data)}",
        )


def write_access(seen: Origin) -> Iterator[Finding]:
    """A push of a branch of the agent's, as far as it can be tried without leaving one."""
    target = f"refs/heads/{seen.config.id}/doctor"
    commit = _probe(seen, 0)
    origin.ask(
        seen.git,
        seen.config,
        "push",
        "--dry-run",
        "--no-verify",
        "origin",
        f"{commit}:{target}",
        timeout_seconds=ANSWER_SECONDS,
    )
    yield ok("write_access", f"{seen.config.id}/… may be pushed")


def claims(seen: Origin) -> Iterator[Finding]:
    """Two claims of no issue, made and deleted in one atomic push each: what hosts exclude each other by."""
    config, git = seen.config, seen.git
    commit = _probe(seen, 1)
    refs = [f"{config.claims_prefix}doctor-{commit[:12]}-{part}" for part in "ab"]
    made = pushing.push(config, git, [Update(ref, commit, "") for ref in refs], all_or_nothing=True)
    atomic = not made.without_atomic
    if made.without_atomic:
        made = pushing.push(config, git, [Update(ref, commit, "") for ref in refs])
    if not made.ok:
        _remember(config, claims=False)
        yield _claims_refused(config, made.said)
        return
    deleted = pushing.push(config, git, [Update(ref, None, commit) for ref in refs], all_or_nothing=atomic)
    _remember(config, claims=True, atomic=atomic, deletes=deleted.ok)
    yield ok("claims", f"{config.claims_prefix}… may be pushed: several hosts can share the work")
    if not deleted.ok:
        yield warning(
            "claims", f"they cannot be deleted ({deleted.said}); their last value says that they ended"
        )
    if atomic:
        yield ok("atomic_push", "a hand-back is all or nothing")
    else:
        yield warning("atomic_push", "origin has no atomic pushes; branch, tracker and claim go one by one")


def _claims_refused(config: Config, said: str) -> Finding:
    if config.claims_prefix == OTHER_CLAIMS:
        return warning("claims", f"origin refuses claims ({said}): work on this host only")
    return warning(
        "claims",
        f"origin refuses {config.claims_prefix}… ({said}): work on this host only",
        f'set claims_prefix = "{OTHER_CLAIMS}" in {shlex.quote(str(config.path))}',
    )


def _probe(seen: Origin, number: int) -> str:
    """A claim of no issue: nobody waits for it, and everybody may sweep it, should a kill leave it there."""
    return ClaimValue.of("", seen.config.id, "", number).write(seen.git, None)


def _remember(config: Config, **found: bool) -> None:
    """What the loop believes of this origin, where there is a state folder yet."""
    if state.of(config).root.is_dir():
        pushing.remember(config, **found)
