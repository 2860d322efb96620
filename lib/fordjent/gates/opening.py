"""Gate 6: the pull request, opened once; one that is open from this branch is taken up."""

from __future__ import annotations

from fordjent import threads
from fordjent.forge import labels, pulls, reviews
from fordjent.forge.errors import ForgeError
from fordjent.forge.types import Pull
from fordjent.gates.gate import Blocked, Opened, Proposal
from fordjent.marker import mark
from fordjent.once import once
from fordjent.posting import readable

GATE = "opening"
LONGEST_TITLE = 200


async def check(proposal: Proposal) -> Opened | Blocked:
    """
    Raises:
        ForgeError: the forge did not open it; the next attempt looks first whether it did.
    """
    place, forge, repository = proposal.place, proposal.forge, proposal.key.repository
    tip = await threads.run_in(place.root, place.head)
    title = " ".join(proposal.context.redactor.redact(proposal.title).split())[:LONGEST_TITLE]
    if not title:
        return Blocked(gate=GATE, reason="the title is empty", what_to_do="Give one.", commit=tip)
    body = mark(readable(proposal.context, proposal.body), proposal.effect)

    async def find() -> Pull | None:
        return await pulls.find(forge, repository, place.branch, place.base)

    async def open_it() -> Pull:
        return await pulls.create(
            forge, repository, head=place.branch, base=place.base, title=title, body=body
        )

    existing = await find()
    pull: Pull
    if existing is None:
        effect = f"{proposal.effect}:pull"
        key = str(proposal.key)
        pull = await once(proposal.context, effect, "pull", key, find=find, do=open_it, result=Pull)
    else:
        pull = existing
    notes = await _with_labels(proposal, pull.number) + await _with_reviewers(proposal, pull.number)
    return Opened(
        gate=GATE,
        number=pull.number,
        url=pull.html_url,
        existing=existing is not None or pull.taken_up,
        commit=tip,
        notes=notes,
    )


async def _with_labels(proposal: Proposal, number: int) -> list[str]:
    """Each by itself: one that cannot be set takes no other with it."""
    notes = []
    for name in dict.fromkeys(proposal.labels):
        try:
            await labels.add(proposal.forge, proposal.key.repository, number, [name])
        except ForgeError as error:
            notes.append(f"The label {name!r} could not be set: {error.said}")
    return notes


async def _with_reviewers(proposal: Proposal, number: int) -> list[str]:
    try:
        asked = await reviews.request(
            proposal.forge, proposal.key.repository, number, list(dict.fromkeys(proposal.reviewers))
        )
    except ForgeError as error:
        return [f"Reviews could not be asked for: {error.said}"]
    return [f"{login!r} cannot be asked for a review: {why}" for login, why in asked.refused.items()]
