"""Pushes to origin: claims, the agent's own branches and the tracker, and nothing else, ever.

Whether a push won is never read from its text: a refusal seldom says why, and the answer
of a killed or cut-off push is not seen at all. `ls-remote` decides.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from ent_agent import state
from ent_agent.config import Config
from ent_agent.repositories import origin
from harness import atomic, cutting
from harness.diagnostics import say
from harness.effects import reached
from harness.git import Git
from harness.process import Finished

PUSH_TIMEOUT_SECONDS = 30.0
REMEMBERED_SECONDS = 24 * 3600.0
"""For how long an origin's refusal is believed before it is asked again."""

_OPTIONS = ("--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")


@dataclass(frozen=True)
class Update:
    """One ref of origin: `new` None deletes it.

    `expected` is the lease: what the ref must be at ("" : must not be there). Without one
    the push must be a fast-forward.
    """

    ref: str
    new: str | None
    expected: str | None = None


@dataclass(frozen=True)
class Pushed:
    """What git said of a push. Not `ok` means refused or unknown."""

    ok: bool
    refused: dict[str, str] = field(default_factory=dict)
    """Ref to reason, where origin (or git, on a lease) answered."""
    without_atomic: bool = False
    """origin has no atomic pushes; nothing was pushed."""
    said: str = ""
    finished: Finished | None = field(default=None, repr=False)
    """The push itself, for who has to say why."""


class Takes(msgspec.Struct, frozen=True, kw_only=True):
    """What this origin was found to take."""

    claims_prefix: str = ""
    claims: bool = True
    """Takes refs below `claims_prefix`."""
    atomic: bool = True
    deletes: bool = True
    """Lets claims be deleted; else a last value says `released`."""
    found_at: float = 0.0
    """Seconds since the epoch."""


def push(
    config: Config,
    git: Git,
    updates: Sequence[Update],
    *,
    all_or_nothing: bool = False,
    timeout_seconds: float = PUSH_TIMEOUT_SECONDS,
) -> Pushed:
    """Push to origin, each ref by its full name."""
    for update in updates:
        _check_allowed(config, update.ref)
    leases = [f"--force-with-lease={u.ref}:{u.expected}" for u in updates if u.expected is not None]
    refspecs = [f"{update.new or ''}:{update.ref}" for update in updates]
    options = (*_OPTIONS, "--atomic") if all_or_nothing else _OPTIONS
    finished = git.run(
        "push", *options, *leases, "origin", *refspecs, check=False, timeout_seconds=timeout_seconds
    )
    return Pushed(
        ok=finished.ok,
        refused=_refused(finished),
        without_atomic=all_or_nothing and "does not support --atomic" in finished.error_text,
        said=_said(finished),
        finished=finished,
    )


def push_together(
    config: Config, git: Git, updates: Sequence[Update], *, timeout_seconds: float = PUSH_TIMEOUT_SECONDS
) -> Pushed:
    """Push several refs, all or nothing; where origin cannot do that, one after the other in this order.

    `ok` is told by asking origin where the push itself did not tell. Not ok: of an origin
    without atomic pushes, the first ones may be there.
    """
    if origin_takes(config).atomic:
        pushed = push(config, git, updates, all_or_nothing=True, timeout_seconds=timeout_seconds)
        if not pushed.without_atomic:
            return pushed if pushed.ok else _seen(config, git, updates, pushed, timeout_seconds)
        forgo_atomic(config)
    pushed = Pushed(ok=True)
    for update in updates:
        pushed = push(config, git, [update], timeout_seconds=timeout_seconds)
        reached("data-pushed" if update.ref == config.data_ref else "branch-pushed")
        if not pushed.ok:
            pushed = _seen(config, git, [update], pushed, timeout_seconds)
        if not pushed.ok:
            break
    return pushed


def there(
    config: Config, git: Git, *refs: str, timeout_seconds: float = PUSH_TIMEOUT_SECONDS
) -> dict[str, str]:
    """Which of these refs origin has just now, and at what.

    Raises:
        TryLater: no answer.
    """
    listed = origin.ask(git, config, "ls-remote", "--quiet", "origin", *refs, timeout_seconds=timeout_seconds)
    pairs = (line.split("\t", 1) for line in listed.text.split("\n") if line)
    return {name: oid for oid, name in pairs if name in refs}


def origin_takes(config: Config) -> Takes:
    """What is known of this origin; a refusal of long ago is forgotten."""
    known = atomic.read_json(state.of(config).root / "origin.json", Takes, Takes())
    fresh = abs(time.time() - known.found_at) < REMEMBERED_SECONDS
    return known if fresh and known.claims_prefix == config.claims_prefix else Takes()


def forgo_atomic(config: Config) -> None:
    """origin has no atomic pushes: say so, and do without."""
    say("origin has no atomic pushes: branch, tracker and claim are pushed one after the other")
    remember(config, atomic=False)


def remember(config: Config, **refused: bool) -> None:
    """Note what origin refuses, e.g. `atomic=False`."""
    found = msgspec.structs.replace(
        origin_takes(config), claims_prefix=config.claims_prefix, found_at=time.time(), **refused
    )
    atomic.write_json(state.of(config).root / "origin.json", found)


def _seen(
    config: Config, git: Git, updates: Sequence[Update], pushed: Pushed, timeout_seconds: float
) -> Pushed:
    """`pushed`, with `ok` as origin's refs have it."""
    found = there(config, git, *(update.ref for update in updates), timeout_seconds=timeout_seconds)
    return replace(pushed, ok=all(found.get(update.ref) == update.new for update in updates))


def _check_allowed(config: Config, ref: str) -> None:
    """Stop before anything outside our own names is pushed: our bug, never a user's or an agent's doing."""
    own = (config.claims_prefix, f"refs/heads/{config.id}/")
    if ref != config.data_ref and not ref.startswith(own):
        raise AssertionError(f"{ref} is not ours to push")


def _refused(finished: Finished) -> dict[str, str]:
    """Ref to reason, from `git push --porcelain`: `!<tab>from:to<tab>summary (reason)`."""
    fields = (line.split("\t") for line in finished.text.splitlines() if line.startswith("!\t"))
    return {part[1].rsplit(":", 1)[-1]: part[2] for part in fields if len(part) == 3}


def _said(finished: Finished) -> str:
    if finished.timed_out:
        return "timed out"
    lines = [*_refused(finished).values(), *finished.error_text.splitlines()]
    noise = ("To ", "hint:", "error: failed to push", "Please make sure", "and the repository exists")
    told = "; ".join(line.strip() for line in lines if line.strip() and not line.startswith(noise))
    return cutting.beginning(told, 500)
