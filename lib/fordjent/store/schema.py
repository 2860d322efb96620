"""The tables. Times are seconds since 1970 (float), texts are UTF-8, JSON stands in text columns.

A change here is a change of what is on people's disks: a new numbered migration in `migrations/` goes with it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

metadata = MetaData()

Serial = BigInteger().with_variant(Integer, "sqlite")
"""A number given by the database (SQLite gives them to INTEGER columns only)."""

# ---- intake: what came in, before anything is made of it

deliveries = Table(
    "deliveries",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True, doc="the order in which they came"),
    Column("id", String, nullable=False, unique=True, doc="X-Forgejo-Delivery; made up where none was sent"),
    Column("event_id", String, nullable=False, doc="what the sender was answered"),
    Column("event_type", String, nullable=False, doc="X-Forgejo-Event-Type, else -Event"),
    Column("action", String, nullable=False, default=""),
    Column("repository", String, nullable=False, default="", doc="owner/name"),
    Column("number", Integer, nullable=False, default=0, doc="of the issue or pull request; 0: neither"),
    Column("sender", String, nullable=False, default="", doc="login"),
    Column("status", String, nullable=False, doc="accepted | ignored | filtered"),
    Column("reason", Text, nullable=False, default="", doc="why ignored or filtered"),
    Column("body", LargeBinary, nullable=False, doc="the JSON document, as it was signed"),
    Column("body_hash", String, nullable=False, doc="SHA-256, hex"),
    Column("received_at", Float, nullable=False, index=True),
    Column("duplicates", Integer, nullable=False, default=0, doc="how often it came again"),
    Index("deliveries_by_status", "status", "duplicates"),
)

counters = Table(
    "counters",
    metadata,
    Column("name", String, primary_key=True, doc="e.g. deliveries.rejected"),
    Column("value", BigInteger, nullable=False, default=0),
)

events = Table(
    "events",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True, doc="the order in which they came"),
    Column("delivery", ForeignKey("deliveries.id"), nullable=True, doc="NULL: made by a timer of ours"),
    Column("repository", String, nullable=False),
    Column("number", Integer, nullable=False, default=0),
    Column("kind", String, nullable=False, doc="event type, or reconcile | retry_merge | schedule"),
    Column("state", String, nullable=False, default="new", doc="new | decided | parked"),
    Column("attempts", Integer, nullable=False, default=0, doc="how often deciding failed for now"),
    Column("not_before", Float, nullable=False, default=0.0),
    Column("created_at", Float, nullable=False),
    Column("decided_at", Float),
    Column("actions", Text, nullable=False, default="", doc="what was decided, as JSON"),
    Column("error", Text, nullable=False, default="", doc="why it was postponed or parked; redacted"),
    Index("events_by_state", "state", "id"),
)

# ---- what is known of the forge

repositories = Table(
    "repositories",
    metadata,
    Column("name", String, primary_key=True, doc="owner/name"),
    Column("default_branch", String, nullable=False, default=""),
    Column("set_up_at", Float, nullable=False, doc="nothing older is begun by itself"),
    Column("reconciled_at", Float, nullable=False, default=0.0),
    Column("has_commits", Boolean, nullable=False, default=False, doc="as the forge said once; false: ask"),
)

scaffolds = Table(
    "scaffolds",
    metadata,
    Column("repository", String, primary_key=True, doc="one that was empty"),
    Column("number", Integer, nullable=False, doc="of the issue that may push its first commit"),
    Column("since", Float, nullable=False),
)

issues = Table(
    "issues",
    metadata,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("is_pull", Boolean, nullable=False),
    Column("labels", Text, nullable=False, default="[]", doc="names, a JSON list, as last seen"),
    Column("assignees", Text, nullable=False, default="[]", doc="logins, a JSON list, as last seen"),
    Column("state", String, nullable=False, default="open", doc="open | closed | merged"),
    Column("title", Text, nullable=False, default=""),
    Column("author", String, nullable=False, default=""),
    Column("head", String, nullable=False, default="", doc="a pull request's branch"),
    Column(
        "parent", Integer, nullable=False, default=0, doc="number of the issue that its text names; 0: none"
    ),
    Column("head_commit", String, nullable=False, default="", doc="the last one that an event told of"),
    Column("seen_at", Float, nullable=False),
)

permissions = Table(
    "permissions",
    metadata,
    Column("repository", String, primary_key=True),
    Column("login", String, primary_key=True),
    Column("permission", String, nullable=False, doc="owner | admin | write | read | none"),
    Column("asked_at", Float, nullable=False),
)

# ---- sessions

sessions = Table(
    "sessions",
    metadata,
    Column("key", String, primary_key=True, doc="owner/repo/issues/42"),
    Column("repository", String, nullable=False, index=True),
    Column("kind", String, nullable=False, doc="issues | pulls"),
    Column("number", Integer, nullable=False),
    Column("role", String, nullable=False, default="implementer"),
    Column("state", String, nullable=False, default="created"),
    Column("reason", Text, nullable=False, default="", doc="why it is in that state"),
    Column("failure", String, nullable=False, default="", doc="max_turns | error | … of one that failed"),
    Column("branch", String, nullable=False, default="", doc="head branch that it works on"),
    Column("base", String, nullable=False, default=""),
    Column("pull", Integer, nullable=False, default=0, doc="number of its pull request; 0: none yet"),
    Column("status_comment", BigInteger, nullable=False, default=0, doc="id of the comment that is edited"),
    Column("shown", String, nullable=False, default="", doc="what labels and status comment were brought to"),
    Column("ready_at", Float, doc="when its waiting inputs may start a run; NULL: nothing waits"),
    Column("first_input_at", Float, doc="of what waits"),
    Column("lease_owner", String, nullable=False, default=""),
    Column("lease_until", Float, nullable=False, default=0.0),
    Column("cancel", Text, nullable=False, default="", doc="why the run is to stop; empty: it is not"),
    Column("failures", Integer, nullable=False, default=0, doc="since a person last acted"),
    Column("created_at", Float, nullable=False),
    Column("changed_at", Float, nullable=False),
    Index("sessions_ready", "ready_at"),
    Index("sessions_by_state", "state", "changed_at"),
)

pauses = Table(
    "pauses",
    metadata,
    Column("id", Integer, primary_key=True, doc="1: there is one at most"),
    Column("since", Float, nullable=False),
    Column("reason", Text, nullable=False, default="", doc="a person's words"),
    Column("interrupts", Boolean, nullable=False, doc="whether what runs is broken off, to go on after it"),
)

waiting_issues = Table(
    "waiting_issues",
    metadata,
    Column("key", String, primary_key=True, doc="of the session that is to begin"),
    Column("repository", String, nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("role", String, nullable=False),
    Column("by_person", Boolean, nullable=False),
    Column(
        "input", Text, nullable=False, doc="what the session is told first; JSON of deciding.actions.Input"
    ),
    Column("labelled", Boolean, nullable=False, default=False, doc="we set `blocked`, and take it off"),
    Column("waits_for", Text, nullable=False, default="[]", doc="as last looked at; numbers, a JSON list"),
    Column("since", Float, nullable=False),
)

transitions = Table(
    "transitions",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("key", ForeignKey("sessions.key"), nullable=False, index=True),
    Column("from_state", String, nullable=False),
    Column("to_state", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Float, nullable=False, index=True),
)

inputs = Table(
    "inputs",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("key", ForeignKey("sessions.key"), nullable=False),
    Column("event", ForeignKey("events.id"), nullable=True),
    Column("kind", String, nullable=False, doc="opened | comment | review | label | head | retry | resumed"),
    Column("source", String, nullable=False, default="", doc="e.g. comment:17; one of it is one input"),
    Column("author", String, nullable=False, default=""),
    Column("content", Text, nullable=False, doc="what the model is told, JSON of sessions.inputs.Content"),
    Column("run", String, nullable=False, default="", doc="the run that was given it; empty: it waits"),
    Column("at", Float, nullable=False),
    Index("inputs_by_key", "key", "run"),
    UniqueConstraint("key", "source", name="inputs_once"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String, primary_key=True),
    Column("key", ForeignKey("sessions.key"), nullable=False, index=True),
    Column("role", String, nullable=False),
    Column("agent_type", String, nullable=False),
    Column("started_at", Float, nullable=False, index=True),
    Column("ended_at", Float),
    Column("running_seconds", Float, nullable=False, default=0.0, doc="without what it was down"),
    Column("turns", Integer, nullable=False, default=0),
    Column("outcome", String, nullable=False, default="", doc="state that it ended in; empty: it runs"),
    Column("reason", Text, nullable=False, default=""),
    Column("start_commit", String, nullable=False, default=""),
    Column("end_commit", String, nullable=False, default=""),
)

messages = Table(
    "messages",
    metadata,
    Column("key", ForeignKey("sessions.key"), primary_key=True),
    Column("seq", Integer, primary_key=True, doc="from 0, without gaps"),
    Column("run", String, nullable=False, default=""),
    Column("turn", Integer, nullable=False, default=0),
    Column("message", Text, nullable=False, doc="JSON of models.messages.Message"),
    Column("sent", Text, doc="what the model is sent in its place; NULL: the message itself"),
    Column("dropped", Boolean, nullable=False, default=False, doc="no longer sent to the model"),
    Column("at", Float, nullable=False),
)

effects = Table(
    "effects",
    metadata,
    Column("id", String, primary_key=True, doc="names the effect once and for all"),
    Column("key", String, nullable=False, index=True),
    Column("kind", String, nullable=False, doc="comment | issue | pull | review | merge …"),
    Column("state", String, nullable=False, doc="begun | done"),
    Column("begun_at", Float, nullable=False),
    Column("result", Text, nullable=False, default="", doc="JSON of what came of it"),
)

tool_calls = Table(
    "tool_calls",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("key", ForeignKey("sessions.key"), nullable=False, index=True),
    Column("run", String, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("call", String, nullable=False, doc="the model's id of the call"),
    Column("name", String, nullable=False),
    Column("arguments", Text, nullable=False, doc="redacted"),
    Column("state", String, nullable=False, default="begun", doc="begun | done | failed | interrupted"),
    Column("result", Text, nullable=False, default="", doc="redacted, capped"),
    Column("begun_at", Float, nullable=False),
    Column("ended_at", Float),
)

notes = Table(
    "notes",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False, index=True),
    Column("run", String, nullable=False),
    Column("role", String, nullable=False),
    Column("text", Text, nullable=False, doc="what an agent wants the next run on the key to know; redacted"),
    Column("at", Float, nullable=False),
)

summaries = Table(
    "summaries",
    metadata,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True, doc="of the issue, or of the pull request that has none"),
    Column("through", Float, nullable=False, doc="the last change of its sessions that it tells of"),
    Column("text", Text, nullable=False, doc="Markdown, redacted"),
    Column("by", String, nullable=False, doc="model | facts: what there is without a model's answer"),
    Column("state", String, nullable=False, default="made", doc="made | proposed | merged | declined"),
    Column("at", Float, nullable=False),
)

compactions = Table(
    "compactions",
    metadata,
    Column("repository", String, primary_key=True),
    Column("pull", Integer, nullable=False, default=0, doc="the standing pull request; 0: none yet"),
    Column("commit", String, nullable=False, default="", doc="what we pushed for it last"),
    Column("at", Float, nullable=False),
)

gate_results = Table(
    "gate_results",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False, index=True),
    Column("gate", String, nullable=False),
    Column("commit", String, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("at", Float, nullable=False),
    Index("gate_results_by_verdict", "gate", "passed"),
)

waiting_checks = Table(
    "waiting_checks",
    metadata,
    Column("key", ForeignKey("sessions.key"), primary_key=True),
    Column("repository", String, nullable=False),
    Column("pull", Integer, nullable=False),
    Column("commit", String, nullable=False, doc="its head, of which the checks are"),
    Column("expected", Boolean, nullable=False, doc="whether there must be any, by what the repository has"),
    Column("since", Float, nullable=False),
    Column("looks", Integer, nullable=False, default=0, doc="how often it was asked"),
    Column("look_at", Float, nullable=False, index=True, doc="when it is asked next"),
)

waiting_merges = Table(
    "waiting_merges",
    metadata,
    Column("key", ForeignKey("sessions.key"), primary_key=True),
    Column("repository", String, nullable=False, index=True),
    Column("head", String, nullable=False),
    Column("base", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("waits_for", Text, nullable=False, doc="pull request numbers, a JSON list"),
    Column("since", Float, nullable=False),
)

# ---- the model

model_calls = Table(
    "model_calls",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False, index=True),
    Column("run", String, nullable=False),
    Column("repository", String, nullable=False, index=True),
    Column("role", String, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("provider", String, nullable=False),
    Column("model", String, nullable=False, doc="what answered"),
    Column("state", String, nullable=False, default="reserved", doc="reserved | answered | failed"),
    Column("tokens_in", Integer, nullable=False, default=0),
    Column("tokens_out", Integer, nullable=False, default=0),
    Column("tokens_cached", Integer, nullable=False, default=0, doc="of tokens_in"),
    Column("cost_microdollars", BigInteger, nullable=False, default=0, doc="reserved, then real"),
    Column("retries", Integer, nullable=False, default=0),
    Column("latency_seconds", Float, nullable=False, default=0.0),
    Column("error", Text, nullable=False, default=""),
    Column("at", Float, nullable=False, index=True),
    Index("model_calls_reserved", "at", sqlite_where=text("state = 'reserved'")),
)
RESERVED = model_calls.c.state == literal_column("'reserved'")
"""To be asked like this: with a parameter in its place SQLite does not see that the index is for it."""

AMOUNTS = ("calls", "failed", "retries", "tokens_in", "tokens_out", "tokens_cached", "cost_microdollars")
"""What is added up of calls; `failed` are some of the `calls`."""

spending = Table(
    "spending",
    metadata,
    Column("key", String, primary_key=True),
    Column("day", Integer, primary_key=True, doc="since 1970, in UTC"),
    Column("role", String, primary_key=True),
    Column("provider", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("repository", String, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in AMOUNTS),
    Index("spending_by_repository", "repository", "day"),
    Index("spending_by_cost", "key", "cost_microdollars"),
)
"""The calls of models that are over, added up. Kept by the database itself (migration 0002), whoever writes."""

daily_spending = Table(
    "daily_spending",
    metadata,
    Column("day", Integer, primary_key=True, doc="since 1970, in UTC"),
    Column("repository", String, primary_key=True),
    Column("role", String, primary_key=True),
    Column("provider", String, primary_key=True),
    Column("model", String, primary_key=True),
    *(Column(name, BigInteger, nullable=False) for name in AMOUNTS),
)
"""The same without sessions: as few rows as there are days, however many sessions work on them."""
