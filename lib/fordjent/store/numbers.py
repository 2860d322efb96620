"""The numbers of /status and fordjent-status, and their names there: those of the original, and more."""

from __future__ import annotations

import msgspec

from fordjent.store.deliveries import Counts
from fordjent.store.events import Parked


class Queue(msgspec.Struct):
    """`waiting`: events to be decided, and sessions with something to do that nobody works on yet.

    `parked`: events that could not be decided and are left.
    """

    waiting: int
    oldest_seconds: float
    parked: int


class Usage(msgspec.Struct):
    provider: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost_usd: float


class SessionUsage(Usage):
    session_key: str


class Spending(msgspec.Struct):
    session_key: str
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    timestamp: str


class Costs(msgspec.Struct):
    total_sessions: int
    total_tokens: int
    total_cost_usd: float
    recent_records: list[Spending]


class Change(msgspec.Struct):
    session_key: str
    from_state: str
    to_state: str
    reason: str
    timestamp: str


class Turn(msgspec.Struct):
    session_key: str
    turn: int
    tool_calls: int
    latency_ms: int
    tokens_in: int
    tokens_out: int
    error: str
    timestamp: str


class Lifecycle(msgspec.Struct):
    active_sessions: int
    failed_sessions: int
    recent_transitions: list[Change]
    recent_turns: list[Turn]


class Metrics(msgspec.Struct):
    """Since the database was made, not since the process was started; `sessions_active` of now."""

    events_total: int
    sessions_total: int
    sessions_active: int
    tool_calls_total: int
    llm_calls_total: int
    llm_retries_total: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


class Held(msgspec.Struct):
    """An issue whose session does not begin before the issues `waits_for`, of its repository."""

    session_key: str
    waits_for: list[int]
    since: str
    cycle: list[int] = []
    """The way round by which it waits for itself, from its lowest number on; empty: there is none."""


class WaitingIssues(msgspec.Struct):
    total: int
    oldest: list[Held]


class Status(msgspec.Struct):
    now: str
    deliveries: Counts
    rejected: dict[str, int]
    """By the status that they were answered."""
    sessions: dict[str, int]
    queue: Queue
    parked: list[Parked]
    """The last of them."""
    waiting_issues: WaitingIssues
    costs: Costs
    by_model: list[Usage]
    by_session_model: list[SessionUsage]
    lifecycle: Lifecycle
    metrics: Metrics
