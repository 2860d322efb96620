"""Every delivery that a real Forgejo sent, in its order, and what must come of it.

alice and bob may write; fordjent is the bot.
"""

from __future__ import annotations

import pytest

from fordjent.deciding.actions import Action, Cancel, Close, Feed, Nothing, Remember, Reschedule, RetryMerges
from fordjent.deciding.decide import decide
from fordjent.deciding.event import Event
from fordjent.deciding.facts import Facts
from tests.support.deliveries import recorded

WIDGET, GADGET, EMPTY = "acme/widget", "acme/gadget", "acme/empty"
NOTHING = "nothing"
SCHEDULER = "reschedule"

EXPECTED: dict[int, tuple[str, ...]] = {
    # issues opened, and a label event of one that was opened with that label
    1: (f"feed {WIDGET}/issues/1 implementer opened",),
    2: (f"feed {WIDGET}/issues/2 pm opened",),
    3: (NOTHING,),
    # role:implementer is set, ready is set, ready is taken off: 4 and 6 have equal bodies
    4: (f"feed {WIDGET}/issues/1 implementer label",),
    5: (f"feed {WIDGET}/issues/1 implementer label",),
    6: (NOTHING,),
    7: (NOTHING,),  # assigned to the bot
    8: (f"feed {WIDGET}/issues/1 implementer comment",),
    9: (NOTHING,),  # the bot's own comment
    10: (NOTHING,),  # edited
    11: (NOTHING,),  # the bot's pull request
    12: (NOTHING,),  # its branch
    13: (NOTHING,),
    14: (f"feed {WIDGET}/pulls/3 implementer review",),
    15: (f"feed {WIDGET}/pulls/3 implementer review",),
    16: (f"feed {WIDGET}/pulls/3 implementer comment",),
    17: (NOTHING,),  # a review is asked for
    18: (f"feed {WIDGET}/pulls/3 implementer review",),
    # merged by the bot: others may depend on it
    19: (f"close {WIDGET}/pulls/3", SCHEDULER, "retry merges"),
    20: (f"close {WIDGET}/issues/1", SCHEDULER),
    21: (SCHEDULER,),  # a push to the default branch
    22: (NOTHING,),
    23: (NOTHING,),
    24: (NOTHING,),
    25: (NOTHING,),
    26: (NOTHING,),
    27: (NOTHING,),
    28: (NOTHING,),
    29: (f"feed {WIDGET}/pulls/4 implementer review",),
    30: (f"feed {WIDGET}/pulls/5 implementer review",),
    31: (f"close {WIDGET}/pulls/4", SCHEDULER, "retry merges"),
    32: (SCHEDULER,),
    # closed by bob without a merge, and opened again
    33: (f"cancel {WIDGET}/pulls/5", SCHEDULER, "retry merges"),
    34: (SCHEDULER,),
    35: (NOTHING,),  # another title
    36: (f"cancel {WIDGET}/issues/2", SCHEDULER),
    37: (SCHEDULER,),
    38: (f"feed {EMPTY}/issues/1 implementer opened",),
    39: (SCHEDULER,),
    40: (NOTHING,),  # a comment is deleted
    41: (NOTHING,),
    42: (f"close {WIDGET}/pulls/5", SCHEDULER, "retry merges"),
    # the same, as JSON and in a form: fed twice, of which the second is known
    43: (f"feed {GADGET}/issues/1 implementer opened",),
    44: (f"feed {GADGET}/issues/1 implementer opened",),
    45: (f"feed {GADGET}/issues/1 implementer label",),  # blocked and ready at once: ready is a person's word
    46: (NOTHING,),
    47: (NOTHING,),
    48: (NOTHING,),  # label_cleared has the labels that there were
    49: (NOTHING,),  # assigned to the bot
    50: (NOTHING,),  # and to bob
    51: (f"cancel {GADGET}/issues/1",),  # taken from the bot
    52: (NOTHING,),
    53: (NOTHING,),
    54: (NOTHING,),
    55: (f"feed {GADGET}/issues/2 implementer opened",),
    # the bot's pull request, a draft at first
    113: (NOTHING,),
    114: (NOTHING,),
    115: (NOTHING,),
    116: (NOTHING,),
    117: (NOTHING,),
    118: (NOTHING,),
    119: (NOTHING,),
    120: (NOTHING,),
    121: (NOTHING,),
    122: (f"feed {GADGET}/pulls/60 implementer review",),
    123: (f"feed {GADGET}/pulls/60 implementer review",),
    124: (NOTHING,),
    125: (NOTHING,),
    126: (f"feed {GADGET}/pulls/60 implementer comment",),
    127: (NOTHING,),  # a tag
    128: (NOTHING,),
    129: (NOTHING,),
    130: (f"close {GADGET}/pulls/60", SCHEDULER, "retry merges"),
}


def test_every_recorded_delivery_is_decided_as_expected() -> None:
    memory = Memory()
    decided = {}
    for number, delivery in recorded().items():
        event = delivery.event()
        actions = decide(event, memory.facts(event))
        memory.keep(actions)
        decided[number] = tuple(shown for action in actions if (shown := show(action)))
    assert decided == EXPECTED


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_a_delivery_that_comes_again_feeds_nothing_that_is_not_known(number: int) -> None:
    """Two hooks on one repository: the second body is decided right after the first."""
    memory = Memory()
    for earlier, delivery in recorded().items():
        event = delivery.event()
        memory.keep(decide(event, memory.facts(event)))
        if earlier == number:
            known = set(memory.sources)
            memory.keep(decide(event, memory.facts(event)))
            assert memory.sources == known
            return


class Memory:
    """What the database would know."""

    def __init__(self) -> None:
        self.issues: dict[tuple[str, int], Remember] = {}
        self.roles: dict[str, str] = {}
        self.sources: set[tuple[str, str]] = set()

    def facts(self, event: Event) -> Facts:
        issue = self.issues.get((event.repository, event.number))
        kind = "pulls" if event.is_pull else "issues"
        return Facts(
            bot_logins=frozenset(("fordjent",)),
            permission="write" if event.sender in ("alice", "bob") else "none",
            labels_before=issue.labels if issue else None,
            assignees_before=issue.assignees if issue else None,
            session_role=self.roles.get(f"{event.repository}/{kind}/{event.number}", ""),
            protected_branches=frozenset(("main", "master")),
        )

    def keep(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Remember):
                self.issues[action.repository, action.number] = action
            elif isinstance(action, Feed):
                self.roles[action.key] = action.role
                self.sources.add((action.key, action.input.source))


def show(action: Action) -> str:
    """An action in words; what is remembered is left out."""
    match action:
        case Feed():
            return f"feed {action.key} {action.role} {action.input.kind}"
        case Cancel():
            return f"cancel {action.key}"
        case Close():
            return f"close {action.key}"
        case Reschedule():
            return SCHEDULER
        case RetryMerges():
            return "retry merges"
        case Nothing():
            return NOTHING
        case _:
            return ""
