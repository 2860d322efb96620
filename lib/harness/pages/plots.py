"""Plots as SVG in the page: sizes and colours by classes of style.css, words and numbers as HTML beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from markupsafe import Markup

from harness.pages import shown

HEIGHT = 100.0
FEW = 0.75, 1.0
"""From which share of a limit on a meter warns, and says that it is reached."""


class Bar(NamedTuple):
    """`label`: of its place on the axis, for example a day."""

    label: str
    value: float


class Share(NamedTuple):
    """`kind` is a class of style.css: working, waiting, failed …"""

    kind: str
    value: float


Unit = Literal["count", "dollars"]
_WRITE = {"count": shown.count, "dollars": shown.dollars}


def number(unit: Unit, name: str, value: float) -> Markup:
    """A number with its name and its exact value, so that programs (and tests) can read the page."""
    return Markup('<data data-name="{}" value="{}">{}</data>').format(name, value, _WRITE[unit](value))


def bars(name: str, values: Sequence[Bar], unit: Unit = "count") -> Markup:
    """A bar for each value, from the left; what a bar says is shown when it is pointed at."""
    highest = max((bar.value for bar in values), default=0)
    if not values or highest <= 0:
        return Markup('<p class="none">nothing yet</p>')
    width = 100 / len(values)
    write = _WRITE[unit]
    drawn = Markup("").join(
        Markup(
            '<rect class="slot" x="{x:.3f}" y="0" width="{w:.3f}" height="100"><title>{said}</title></rect>'
            '<rect class="bar" x="{x:.3f}" y="{y:.3f}" width="{w:.3f}" height="{h:.3f}" data-name="{name} {label}" data-value="{value}">'
            "<title>{said}</title></rect>"
        ).format(
            x=index * width + width * 0.1,
            y=HEIGHT - _tall(bar.value, highest),
            w=width * 0.8,
            h=_tall(bar.value, highest),
            name=name,
            label=bar.label,
            value=bar.value,
            said=f"{bar.label}: {write(bar.value)}",
        )
        for index, bar in enumerate(values)
    )
    return Markup(
        '<figure class="bars"><div class="top">{top}</div>'
        '<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{name}">{drawn}</svg>'
        '<div class="axis"><span>{first}</span><span>{last}</span></div></figure>'
    ).format(
        top=f"most: {write(highest)}", name=name, drawn=drawn, first=values[0].label, last=values[-1].label
    )


def meter(part: float, whole: float, said: str = "") -> Markup:
    """How much of a limit is used; where there is no limit, nothing."""
    if whole <= 0:
        return Markup("")
    share = part / whole
    kind = "over" if share >= FEW[1] else "near" if share >= FEW[0] else "under"
    return Markup(
        '<svg class="meter {kind}" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{said}">'
        '<title>{said}</title><rect class="slot" width="100" height="6"/><rect class="bar" width="{width:.2f}" height="6"/></svg>'
    ).format(kind=kind, said=said or f"{share:.0%}", width=min(100.0, 100 * share))


def shares(name: str, values: Iterable[Share]) -> Markup:
    """One bar, divided."""
    found = [share for share in values if share.value > 0]
    whole = sum(share.value for share in found)
    if not whole:
        return Markup('<p class="none">nothing yet</p>')
    drawn, x = Markup(""), 0.0
    for share in found:
        width = 100 * share.value / whole
        drawn += Markup(
            '<rect class="{kind}" x="{x:.3f}" width="{width:.3f}" height="6"><title>{kind}: {said}</title></rect>'
        ).format(kind=share.kind, x=x, width=width, said=shown.count(share.value))
        x += width
    return Markup(
        '<svg class="shares" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(name, drawn)


def _tall(value: float, highest: float) -> float:
    """Also of a little something something is seen."""
    return max(1.5, HEIGHT * value / highest) if value > 0 else 0.0
