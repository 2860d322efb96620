"""The records that pass between the steps: one JSON object a line (docs/contract.md).

Sections appear as steps add them. What a step does not know, at any depth, it passes
through unchanged. Changes to this file are additive only.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ent_agent.tracker.model import Comment, State
from harness.errors import BadData

SCHEMA_VERSION = 1

Outcome = Literal["completed", "stuck", "failed", "timeout", "turn_limit", "quota", "auth", "cancelled"]
EndedBy = Literal[
    "exit",
    "timeout",
    "silence",
    "bounds",
    "signal",
    "cancelled",
    "claim_lost",
    "start_failed",
    "interrupted",
    "budget",
]


class Section(msgspec.Struct, kw_only=True):
    """A part of a record that one step adds."""


class AgentSection(Section):
    """Who the agent is; `aliases` are further spellings of the assignee that mean it."""

    id: str
    name: str
    email: str
    aliases: list[str] = []


class IdentitySection(Section):
    """`key`: path of the private key; `created`: this call generated it."""

    key: str
    public_key: str
    created: bool = False


class RepositorySection(Section):
    """`path`: control.git; `head`: commit of the default branch; `fetched_at`: RFC 3339, UTC."""

    url: str
    path: str
    default_branch: str
    head: str
    fetched_at: str
    issues_head: str = ""
    """Commit of the data branch; "" when origin has none."""


class IssueSection(Section):
    """The issue as the tracker has it, and what the loop makes of it."""

    id: str
    title: str
    description: str
    state: State
    author: str = ""
    assignee: str | None = None
    creation_time: str = ""
    tags: list[str] = []
    dependencies: list[str] = []
    comments: list[Comment] = []
    reviewer: str | None = None
    """Who gets finished work; None: nobody could be found."""
    handler: str | None = None
    """Who gets what the agent cannot do."""
    attempts: int = 0
    """Failed attempts since a person last changed the issue."""


class WorktreeSection(Section):
    """`start`: commit that the run begins at; `created`: this call made the worktree."""

    path: str
    branch: str
    base: str
    """The branch of origin that the work is meant for, e.g. main."""
    start: str
    ahead: int = 0
    behind: int = 0
    created: bool = False
    remote_head: str = ""
    """Where origin's branch stood when the run began: the lease of the push. "": not there."""
    kept: list[str] = []
    """Refs under refs/ent-agent/kept/ in control.git that hold what could not be carried on."""
    left_over: list[str] = []
    """Paths in the worktree that an earlier run left uncommitted; they are still there."""


class ClaimSection(Section):
    """The claim on origin that fences this run."""

    ref: str
    oid: str
    run: str
    ttl_seconds: int


class Usage(msgspec.Struct, kw_only=True):
    """What a run consumed, where the agent reports it. Input excludes cached tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class RunSection(Section):
    """Facts about one run of an agent CLI. What came of it is the result's to say."""

    id: str
    agent_type: str
    started_at: str = ""
    ended_at: str = ""
    exit_code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, e.g. "KILL"."""
    ended_by: EndedBy = "exit"
    usage: Usage = msgspec.field(default_factory=Usage)
    message: str = ""
    """The agent's last words, redacted."""
    transcript: str = ""
    """Path of the file that has its output."""
    reported: Literal["", "success", "error", "turn_limit", "quota", "auth"] = ""
    """What the adapter reads out of the output."""
    resume_at: str = ""
    sandbox: str = ""
    """"bwrap" or "none"."""


class ResultSection(Section):
    """What came of the run. `commits`: those that origin did not have; `comment`: its id."""

    outcome: Outcome
    reason: str = ""
    commits: list[str] = []
    pushed: bool = False
    handed_to: str | None = None
    comment: str | None = None


class ErrorSection(Section):
    """Why the record could not be brought further; `retry`: the same call can succeed later."""

    code: str
    message: str
    hint: str = ""
    retry: bool = False
    resume_at: str = ""
    exit_code: int = 70


class Record(msgspec.Struct, kw_only=True, omit_defaults=True, dict=True):
    """One line of the pipeline."""

    schema_version: int = SCHEMA_VERSION
    agent: AgentSection | None = None
    identity: IdentitySection | None = None
    repository: RepositorySection | None = None
    issue: IssueSection | None = None
    worktree: WorktreeSection | None = None
    claim: ClaimSection | None = None
    run: RunSection | None = None
    result: ResultSection | None = None
    error: ErrorSection | None = None
    skipped: str | None = None
    """Why selection passes the issue over (`--all`)."""

    def __copy__(self) -> Record:
        return derive(self)


def decode(line: bytes | str) -> Record:
    """A record from one line of JSON.

    Raises:
        BadData: it is not JSON, not an object, of a later schema, or a section has a wrong type.
    """
    try:
        received = msgspec.json.decode(line)
        record = msgspec.convert(received, Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadData(
            f"not a record: {error}", hint="each line must be one JSON object as the step before wrote it"
        ) from error
    if record.schema_version > SCHEMA_VERSION:
        raise BadData(
            f"the record has schema_version {record.schema_version}, this program knows {SCHEMA_VERSION}",
            hint="use the same version for all steps",
        )
    record.__dict__["received"] = received
    return record


def derive(record: Record, **changes: Any) -> Record:
    """A copy with other sections, and with all that came in and is not ours to know."""
    copy = msgspec.structs.replace(record, **changes)
    copy.__dict__.update(record.__dict__)
    return copy


def encode(record: Record) -> bytes:
    """The record as one line, with all that came in and is not ours to know."""
    known = msgspec.to_builtins(record)
    known["schema_version"] = record.schema_version
    received = {
        name: value
        for name, value in record.__dict__.get("received", {}).items()
        if name in known or name not in record.__struct_fields__
    }
    return msgspec.json.encode(_overlay(received, known)) + b"\n"


def _overlay(received: Any, known: Any) -> Any:
    """`known`, with what only `received` has; objects in lists belong together by their id."""
    if isinstance(received, dict) and isinstance(known, dict):
        return {**received, **{key: _overlay(received.get(key), value) for key, value in known.items()}}
    if isinstance(received, list) and isinstance(known, list):
        by_id = {item["id"]: item for item in received if isinstance(item, dict) and "id" in item}
        return [
            _overlay(by_id.get(item["id"]), item) if isinstance(item, dict) and "id" in item else item
            for item in known
        ]
    return known
