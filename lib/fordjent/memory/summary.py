"""The summary of one finished issue, as Markdown: by the model, else from the facts alone.

What people and models wrote is data on that page too: one-line texts are escaped, longer ones are
fenced, and a model's text can hold no HTML and no picture.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from fordjent.memory import entries, recall
from fordjent.memory.entries import Through
from fordjent.memory.recall import Worked
from fordjent.models.messages import Message, system, user
from fordjent.models.model import Model, ModelFailure
from fordjent.session_key import SessionKey
from fordjent.store import issues, memories, messages, notes, sessions, tool_calls
from fordjent.store.sessions import Session
from fordjent.store.summaries import Summary, Topic
from fordjent.tools.output import cut
from harness import templates

if TYPE_CHECKING:
    from fordjent.context import Context

RUNS = 30
MESSAGES = 1_000
LOG_CHARACTERS = 60_000
LONGEST = 12_000
"""Characters that a model's text may have."""
RUN = "compaction"
"""What stands for a run with the cost of summaries."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-!|~@])")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a topic. `log`: what was said and done, redacted and cut."""

    number: int
    title: str
    sessions: tuple[Session, ...]
    runs: tuple[Worked, ...]
    runs_left_out: int
    notes: tuple[str, ...]
    last_words: str
    log: str


async def write(context: Context, model: Model | None, topic: Topic) -> Summary:
    """The page about a topic, without secrets. `model` None: there is none."""
    facts = await context.database.read(gather, context, topic)
    said = await _by_model(context, model, facts) if model else ""
    text = context.redactor.redact(page(facts, said))
    return Summary(number=topic.number, through=topic.through, text=text, by="model" if said else "facts")


def gather(connection: Connection, context: Context, topic: Topic) -> Facts:
    of = [one for key in topic.keys if (one := sessions.get(connection, key))]
    known = issues.get(connection, of[0].repository, topic.number)
    done, left_out = recall.worked(connection, of, RUNS)
    room = min(LOG_CHARACTERS, context.config.agent.context_window)
    return Facts(
        number=topic.number,
        title=known.title if known else "",
        sessions=tuple(of),
        runs=tuple(done),
        runs_left_out=left_out,
        notes=tuple(note.text for one in of for note in notes.of_key(connection, one.key)),
        last_words=memories.last_words(connection, list(topic.keys)),
        log=cut("\n\n".join(_log(connection, context, SessionKey.parse(key)) for key in topic.keys), room),
    )


def page(facts: Facts, said: str) -> str:
    """The same for the same facts. `said`: by the model; "": nothing."""
    title = escaped(facts.title) or "(no title)"
    parts = [f"# {facts.number}: {title}", "\n".join(_state(one) for one in facts.sessions)]
    if said:
        parts.append(tame(said))
    elif facts.last_words:
        parts += ["What was said last:", templates.data(facts.last_words, LONGEST)]
    if facts.notes:
        parts += ["## Noted", "\n".join(f"- {escaped(note, 2000)}" for note in facts.notes)]
    if facts.runs:
        more = f"{facts.runs_left_out} earlier ones are left out.\n\n" if facts.runs_left_out else ""
        parts += ["## Runs", more + "\n".join(_run(run) for run in facts.runs)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str, characters: int = templates.LINE_CHARACTERS) -> str:
    """Foreign text in one line of Markdown, as it reads."""
    return _MARKDOWN.sub(r"\\\1", templates.line(text, characters))


def tame(text: str) -> str:
    """A model's Markdown below a title: no HTML (so no comment that hides anything), no picture."""
    plain = templates.clean(text).replace("<", "&lt;").replace("![", "!\\[")
    plain = re.sub(r"^ {0,3}#{1,6}(?=\s)", "##", plain, flags=re.MULTILINE).strip()
    return plain if len(plain) <= LONGEST else plain[:LONGEST].rpartition("\n")[0] + "\n\n…"


async def _by_model(context: Context, model: Model, facts: Facts) -> str:
    """ "": it does not answer, or its budget is reached."""
    rules = templates.render(
        context.config, "fordjent/summary.md.j2", repository=facts.sessions[0].repository
    )
    records = "\n\n".join(
        [templates.data(page(facts, ""), LONGEST), templates.data(facts.log, LOG_CHARACTERS + 1000)]
    )
    asked: list[Message] = [system(rules), user(f"The records of issue {facts.number}:\n\n{records}")]
    try:
        return (await model.answer(asked, [])).message.content.strip()
    except ModelFailure as failure:
        context.log.warning("memory.no_model", why=context.redactor.redact(failure.message))
        return ""


def _state(session: Session) -> str:
    what = "Pull request" if session.kind == "pulls" else "Issue"
    pull = f"; pull request {session.pull}" if session.kind == "issues" and session.pull else ""
    reason = f": {escaped(session.reason)}" if session.reason else ""
    return f"- {what} {session.number}, {session.role}: {session.state}{reason}{pull}"


def _run(run: Worked) -> str:
    reason = f": {escaped(run.reason)}" if run.reason else ""
    return f"- {run.at[:10]}, {run.on.replace('#', '')}, {run.role}, {run.turns} turns: {run.outcome}{reason}"


def _log(connection: Connection, context: Context, key: SessionKey) -> str:
    """The newest that was said and done."""
    last = messages.last_seq(connection, str(key))
    said = messages.all_of(connection, str(key), last - MESSAGES, MESSAGES)
    done = tool_calls.newest(connection, str(key), MESSAGES)
    lines = []
    for entry in entries.of(key, said, done, Through(), context.redactor):
        if entry.event_type == "tool_call":
            lines.append(f"did {entry.tool_name} {cut(entry.tool_args, 600)}\n{cut(entry.tool_result, 600)}")
        elif entry.event_type == "response":
            lines.append(f"said: {entry.response}")
        else:
            lines.append(f"was told: {cut(entry.input, 2000)}")
    return "\n".join(lines)
