"""The two commands of `ent-agent-ent` that only look: list and show."""

from __future__ import annotations

import msgspec

from ent_agent.tracker import filters, format, listing
from ent_agent.tracker.arguments import Asked
from ent_agent.tracker.home import Home
from ent_agent.tracker.terminal import say, warn


def list_(home: Home, asked: Asked) -> None:
    tracker = home.tracker()
    try:
        wanted = filters.parse(asked.values)
    except filters.UnknownFilter as error:
        say(f"unknown filter string {format.quote(error.text)}\n")
        raise
    found = listing.find(tracker, wanted)
    say(listing.list_json(found) if asked.json else listing.list_text(found))
    for issue_id, why in sorted(found.unreadable.items()):
        warn(f"unreadable: issue {issue_id}: {why}")


def show(home: Home, asked: Asked) -> None:
    tracker = home.tracker()
    issue = tracker.issue(tracker.resolve(asked.values[0]))
    if asked.json:
        say(msgspec.json.encode(issue).decode() + "\n")
    else:
        say(listing.show_text(issue, tracker.states(issue.dependencies)))
