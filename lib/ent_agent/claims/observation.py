"""Other hosts' claims, as this host's own clock has seen them.

A claim is live until its value has stood unchanged for its ttl by the observer's own
monotonic clock, counted between successful fetches within one boot. Two hosts' wall
clocks are never compared.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ent_agent import state
from ent_agent.claims import claim_value
from ent_agent.claims.claim_value import ClaimValue
from ent_agent.config import Config
from ent_agent.repositories.repositories import SEEN_CLAIMS
from ent_agent.running import runs
from harness import atomic, clock, lock
from harness.clock import Moment
from harness.errors import BadData
from harness.git import Git


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """When a successful fetch first showed this value."""

    oid: str
    first: Moment


class Seen(msgspec.Struct, kw_only=True):
    """seen.json: key of the issue to sighting, and the last successful fetch."""

    claims: dict[str, Sighting] = {}
    looked: Moment | None = None


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who has an issue. `own`: a run of this state folder; `live`: not to be taken over."""

    oid: str
    value: ClaimValue
    own: bool
    live: bool
    unchanged_seconds: float


def observe(config: Config, git: Git) -> None:
    """Note the claims that are there now; to be called right after each successful fetch of them."""
    current = {name.removeprefix(SEEN_CLAIMS): oid for name, oid in git.refs(SEEN_CLAIMS).items()}
    now = clock.now()
    with lock.held(_path(config).with_suffix(".lock"), timeout_seconds=10, what="seen.json"):
        before = _seen(config).claims
        claims = {}
        for key, oid in current.items():
            known = before.get(key)
            same = known and known.oid == oid and known.first.boot_id == now.boot_id
            claims[key] = known if known and same else Sighting(oid=oid, first=now)
        atomic.write_json(_path(config), Seen(claims=claims, looked=now))


def holders(config: Config, git: Git) -> dict[str, Holder]:
    """`state.key(issue id)` to who holds it, for every claim of the last fetch."""
    seen = _seen(config)
    found = {}
    for name, oid in git.refs(SEEN_CLAIMS).items():
        key = name.removeprefix(SEEN_CLAIMS)
        found[key] = _holder(config, git, oid, seen.claims.get(key), seen.looked)
    return found


def holder(config: Config, git: Git, issue_id: str) -> Holder | None:
    """Who held the issue at the last fetch."""
    key = state.key(issue_id)
    oid = git.resolve(SEEN_CLAIMS + key)
    seen = _seen(config)
    return (oid and _holder(config, git, oid, seen.claims.get(key), seen.looked)) or None


def _holder(config: Config, git: Git, oid: str, sighting: Sighting | None, looked: Moment | None) -> Holder:
    try:
        value = ClaimValue.parse(git.objects.read(oid))
    except BadData:
        value = ClaimValue()  # not ours to understand; it expires like any other
    run = runs.find(config, value.run) if value.machine == claim_value.machine_id() else None
    unchanged = (
        clock.elapsed_at_least(sighting.first, looked) if sighting and looked and sighting.oid == oid else 0.0
    )
    if value.released:
        live = False
    elif run:
        live = not lock.is_free(state.of(config).issue_lock(run.issue))
    else:
        live = unchanged < value.lasts_seconds
    return Holder(oid=oid, value=value, own=run is not None, live=live, unchanged_seconds=unchanged)


def _seen(config: Config) -> Seen:
    return atomic.read_json(_path(config), Seen, Seen())


def _path(config: Config) -> Path:
    return state.of(config).root / "seen.json"
