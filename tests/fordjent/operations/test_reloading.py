"""A configuration that changed is applied to what begins; a broken one changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fordjent import config as configuration
from fordjent.operations.reloading import Reloading, applied, difference
from tests.support.context import opened


def change(place: Path, more: str) -> None:
    path = place / "config.toml"
    path.write_text(path.read_text("utf-8") + more, encoding="utf-8")


def test_a_change_is_applied_and_a_broken_file_is_not(place: Path) -> None:
    with opened(place) as context:
        reloading = Reloading(context)

        async def story() -> None:
            change(place, "[budget]\nsession = 2.5\n")
            await reloading.look()
            assert context.config.budget.session == 2.5
            change(place, "[policy]\nmerge = 'perhaps'\n")
            await reloading.look()
            assert context.config.budget.session == 2.5 and context.config.policy.merge == "human"
            (place / "config.toml").unlink()
            await reloading.look()
            assert context.config.budget.session == 2.5

        asyncio.run(story())


def test_a_new_key_is_a_secret_at_once(place: Path) -> None:
    with opened(place) as context:
        reloading = Reloading(context)
        change(
            place,
            '[providers.other]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\napi_key = "a-key-of-the-other"\n',
        )
        asyncio.run(reloading.look())
        assert "a-key" not in context.redactor.redact("it is a-key-of-the-other")
        assert "other" in context.config.providers


def test_a_finding_that_is_allowed_passes_at_once_and_no_more_when_it_is_taken_out(place: Path) -> None:
    looks = b"AKIA" + b"QWERTYUIOPASDFGH"
    with opened(place) as context:
        reloading = Reloading(context)
        (finding,) = context.redactor.scan(looks)
        change(place, f'[secret_scan]\nallow = ["{finding.fingerprint}"]\n')
        asyncio.run(reloading.look())
        assert context.redactor.scan(looks) == []
        path = place / "config.toml"
        path.write_text(path.read_text("utf-8").replace(f'"{finding.fingerprint}"', ""), encoding="utf-8")
        asyncio.run(reloading.look())
        assert context.redactor.scan(looks) == [finding]


def test_what_needs_a_restart_stays_and_is_named(place: Path) -> None:
    with opened(place) as context:
        old = context.config
        path = place / "config.toml"
        path.write_text(
            path.read_text("utf-8").replace('dir = "state"', 'dir = "elsewhere"'), encoding="utf-8"
        )
        new = configuration.load(str(path))
        merged = applied(old, new)
        assert merged.state_dir == old.state_dir
        assert difference(merged, new) == ["state.dir"] and difference(old, merged) == []
