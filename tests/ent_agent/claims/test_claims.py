"""The claim on an issue, between two hosts on one origin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.claims import observation, stale_claims
from ent_agent.claims.claim_value import ClaimValue
from ent_agent.claims.claims import ClaimLost
from ent_agent.records import Record
from ent_agent.repositories import pushing, syncing
from ent_agent.repositories.pushing import Update
from ent_agent.running import runs
from ent_agent.sample import ALICE, DATA
from ent_agent.selection import selection
from harness import clock
from harness.clock import Moment
from harness.errors import BadData, Busy, TryLater
from harness.git import Git
from tests.support.hosts import Host, host
from tests.support.sample import SPELLING, WELSH, Sample


@pytest.fixture
def here(place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Host:
    return host(place / "hère", sample, monkeypatch)


@pytest.fixture
def elsewhere(place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Host:
    return host(place / "elsewhère", sample, monkeypatch)


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Move this machine's clocks on; by default all of them, else those that are named."""
    shift = {"monotonic_seconds": 0.0, "boot_seconds": 0.0, "wall_seconds": 0.0}
    boot = [clock.boot_id()]
    real = clock.now

    def now() -> Moment:
        moment = real()
        values = {name: getattr(moment, name) + shift[name] for name in shift}
        return Moment(boot_id=boot[0], **values)

    def move(seconds: float = 0.0, *, only: str = "", reboot: bool = False) -> None:
        for name in [only] if only else shift:
            shift[name] += seconds
        if reboot:
            boot[0] = "another boot"

    monkeypatch.setattr(clock, "now", now)
    return move


def claim_refs(sample: Sample) -> dict[str, str]:
    return sample.git.refs("refs/ent-agent/claims/")


# ---- taking


def is_live(host: Host) -> bool:
    """Whether the issue is in work, here or elsewhere, as the host sees it."""
    found = observation.holder(host.config, host.git, WELSH)
    return found is not None and found.live


def test_a_claim_is_a_commit_of_the_empty_tree_that_says_who_has_the_issue(
    sample: Sample, here: Host
) -> None:
    claim = here.take(WELSH)
    assert claim_refs(sample) == {f"refs/ent-agent/claims/{WELSH}": claim.oid}
    assert sample.git.text("show", "--format=%P", "--stat", claim.oid) == ""
    value = ClaimValue.parse(sample.git.objects.read(claim.oid))
    assert (value.issue, value.agent, value.run, value.ttl) == (WELSH, "robo", claim.run.id, 900)
    assert claim.section().oid == claim.oid


def test_of_two_hosts_that_looked_before_either_claimed_one_gets_the_issue(
    sample: Sample, here: Host, elsewhere: Host
) -> None:
    mine = here.take(WELSH)
    with pytest.raises(Busy, match="claimed by somebody else"):
        elsewhere.take(WELSH)
    assert list(claim_refs(sample).values()) == [mine.oid]


def test_a_claim_that_was_seen_is_not_tried_for(sample: Sample, here: Host, elsewhere: Host) -> None:
    here.take(WELSH)
    elsewhere.look()
    with elsewhere.acting():
        assert is_live(elsewhere)
        with pytest.raises(Busy, match="in work on"):
            elsewhere.take(WELSH)


def test_an_issue_that_was_done_and_let_go_meanwhile_is_let_go_again(
    sample: Sample, here: Host, elsewhere: Host
) -> None:
    claim = here.take(WELSH)
    sample.change({f"{WELSH}/assignee": b"alice"})
    claim.release()
    with pytest.raises(Busy, match="assigned to alice"):
        elsewhere.take(WELSH)
    assert claim_refs(sample) == {}


def test_the_run_is_on_disk_before_its_claim_is_on_origin(
    sample: Sample, here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def push(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pushing, "push", push)
    with pytest.raises(KeyboardInterrupt):
        here.take(WELSH)
    [run] = runs.pending(here.config)
    assert run.phase == "claiming" and len(run.claim_oids) == 1
    assert claim_refs(sample) == {}


def test_an_id_that_is_no_ref_name_is_claimed_by_its_digest(place: Path, sample: Sample, here: Host) -> None:
    for issue_id in ("a b", "x.lock", "Ünï"):
        sample.change({f"{issue_id}/description": b"odd", f"{issue_id}/assignee": b"Robo"})
        claim = here.take(issue_id)
        assert claim.run.claim_ref == f"refs/ent-agent/claims/{state.key(issue_id)}"
    assert all("/x-" in ref for ref in claim_refs(sample))


def test_a_claim_whose_push_was_cut_off_after_it_arrived_is_ours(
    sample: Sample, here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pushing.push

    def cut_off(*args: object, **options: object) -> pushing.Pushed:
        real(*args, **options)  # type: ignore[arg-type]
        return pushing.Pushed(ok=False, said="the remote end hung up unexpectedly")

    monkeypatch.setattr(pushing, "push", cut_off)
    claim = here.take(WELSH)
    assert list(claim_refs(sample).values()) == [claim.oid]


def test_where_no_answer_is_seen_at_all_nothing_is_begun(
    place: Path, sample: Sample, here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample.origin.rename(place / "away")
    with pytest.raises(TryLater) as failure:
        here.take(WELSH)
    assert not isinstance(failure.value, Busy)


# ---- holding


def test_a_renewal_replaces_the_value_with_a_child_of_it(sample: Sample, here: Host) -> None:
    claim = here.take(WELSH)
    first = claim.oid
    assert claim.renew()
    assert list(claim_refs(sample).values()) == [claim.oid]
    assert sample.git.text("rev-parse", f"{claim.oid}^") == first


def test_a_claim_that_another_took_over_is_lost(sample: Sample, here: Host, elsewhere: Host) -> None:
    claim = here.take(WELSH)
    sample.git.update_ref(f"refs/ent-agent/claims/{WELSH}", sample.git.resolve("refs/heads/main"))
    with pytest.raises(ClaimLost):
        claim.renew()


def test_a_renewal_publishes_together_with_it_or_not_at_all(sample: Sample, here: Host) -> None:
    claim = here.take(WELSH)
    tip = here.git.resolve(f"refs/remotes/origin/{DATA}")
    assert tip
    mine = here.git.objects.write_commit(here.git.objects.tree_of(tip), [tip], "ours")
    sample.change({"README.md": b"moved on"})
    before = claim.oid
    assert not claim.renew(Update(f"refs/heads/{DATA}", mine))
    assert list(claim_refs(sample).values()) == [before] == [claim.oid]
    assert sample.git.text("log", "-1", "--format=%s", DATA) == "Change issues"
    assert claim.renew()


@pytest.mark.parametrize("counting", ["boot_seconds", "wall_seconds"])
def test_the_holder_counts_by_the_clock_that_shows_most(
    here: Host, pass_time: Callable[..., None], counting: str
) -> None:
    claim = here.take(WELSH)
    assert 600 < claim.left_seconds() <= 675
    pass_time(676, only=counting)
    assert claim.left_seconds() < 0


def test_a_holder_never_trusts_its_clocks_over_a_reboot(here: Host, pass_time: Callable[..., None]) -> None:
    claim = here.take(WELSH)
    pass_time(reboot=True)
    assert claim.left_seconds() < 0


# ---- taking over


def test_a_claim_is_taken_over_when_it_stood_for_its_ttl_by_our_own_clock(
    sample: Sample, here: Host, elsewhere: Host, pass_time: Callable[..., None]
) -> None:
    theirs = here.take(WELSH)
    elsewhere.look()
    pass_time(901)
    elsewhere.look()
    mine = elsewhere.take(WELSH)
    assert list(claim_refs(sample).values()) == [mine.oid]
    assert sample.git.text("rev-parse", f"{mine.oid}^") == theirs.oid
    with pytest.raises(ClaimLost):
        theirs.renew()


@pytest.mark.parametrize("clock_that_jumps", ["wall_seconds", "boot_seconds"])
def test_neither_a_clock_that_was_set_nor_a_suspend_ends_another_hosts_claim(
    here: Host, elsewhere: Host, pass_time: Callable[..., None], clock_that_jumps: str
) -> None:
    here.take(WELSH)
    elsewhere.look()
    pass_time(100_000, only=clock_that_jumps)
    elsewhere.look()
    with elsewhere.acting():
        assert is_live(elsewhere)


def test_time_that_passed_before_a_reboot_or_after_the_last_fetch_does_not_count(
    here: Host, elsewhere: Host, pass_time: Callable[..., None]
) -> None:
    here.take(WELSH)
    elsewhere.look()
    pass_time(901)
    with elsewhere.acting():
        assert is_live(elsewhere)
        pass_time(901, reboot=True)
        elsewhere.look()
        assert is_live(elsewhere)


def test_a_renewed_claim_is_watched_anew(here: Host, elsewhere: Host, pass_time: Callable[..., None]) -> None:
    claim = here.take(WELSH)
    elsewhere.look()
    pass_time(600)
    claim.renew()
    elsewhere.look()
    pass_time(600)
    elsewhere.look()
    with elsewhere.acting():
        assert is_live(elsewhere)


@pytest.mark.parametrize(("ttl", "stands_for"), [(1, 60), (10**9, 3600)])
def test_whatever_ttl_a_claim_says_it_is_believed_within_bounds_only(
    sample: Sample, elsewhere: Host, pass_time: Callable[..., None], ttl: int, stands_for: int
) -> None:
    value = ClaimValue(issue=WELSH, ttl=ttl, machine="far away").message()
    git = Git(sample.origin, person=ALICE)
    tree = git.objects.write("tree", b"")
    git.update_ref(f"refs/ent-agent/claims/{WELSH}", git.objects.write_commit(tree, [], value))
    elsewhere.look()
    pass_time(stands_for - 1)
    elsewhere.look()
    assert is_live(elsewhere)
    pass_time(2)
    elsewhere.look()
    assert not is_live(elsewhere)


def test_a_dead_runs_own_claim_is_taken_up_at_once(sample: Sample, here: Host) -> None:
    dead = here.take(WELSH)
    here.look()
    again = here.take(WELSH)
    assert again.run.id != dead.run.id
    with pytest.raises(ClaimLost):
        dead.renew()


def test_a_state_folder_that_was_copied_to_another_machine_waits_like_any_other(
    place: Path, sample: Sample, here: Host
) -> None:
    here.take(WELSH)
    here.look()
    here.machine = "another machine"
    with pytest.raises(Busy, match="in work on"):
        here.take(WELSH)


# ---- between steps


def test_a_later_step_swaps_the_claim_before_anything_else(sample: Sample, here: Host) -> None:
    claim = here.take(WELSH)
    resumed = here.resume(runs.load(here.config, claim.run.id))
    assert resumed.oid != claim.oid
    assert list(claim_refs(sample).values()) == [resumed.oid]


def test_a_later_step_finds_that_the_claim_is_lost(sample: Sample, here: Host) -> None:
    claim = here.take(WELSH)
    sample.git.update_ref(f"refs/ent-agent/claims/{WELSH}", None)
    with pytest.raises(ClaimLost):
        here.resume(claim.run)


# ---- ending


def test_a_released_claim_is_gone(sample: Sample, here: Host) -> None:
    claim = here.take(WELSH)
    assert claim.release()
    assert claim_refs(sample) == {}


def test_a_claim_of_a_finished_issue_is_swept_after_two_ttl(
    sample: Sample, here: Host, elsewhere: Host, pass_time: Callable[..., None]
) -> None:
    here.take(WELSH)
    here.take(SPELLING)
    sample.change({f"{WELSH}/state": b"done"})
    elsewhere.look()
    pass_time(1700)
    elsewhere.look()
    with elsewhere.acting():
        assert stale_claims.sweep(elsewhere.config, elsewhere.git) == []
        pass_time(200)
        elsewhere.look()
        assert stale_claims.sweep(elsewhere.config, elsewhere.git) == [WELSH]
    assert list(claim_refs(sample)) == [f"refs/ent-agent/claims/{SPELLING}"]


# ---- origins that take less


def refuse(sample: Sample, pattern: str, text: str = "not here") -> None:
    """Have origin refuse the refs that a shell pattern names."""
    hook = sample.origin / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\ncase "$1" in {pattern}) echo "{text}" >&2; exit 1;; esac\n')
    hook.chmod(0o755)


def test_an_origin_that_refuses_such_refs_leaves_this_host_alone_with_its_lock_and_that_is_said(
    sample: Sample, here: Host, capfd: pytest.CaptureFixture[str]
) -> None:
    refuse(sample, "refs/ent-agent/*")
    claim = here.take(WELSH)
    assert claim.is_local and claim.left_seconds() == float("inf")
    assert "on this host only" in capfd.readouterr().err
    assert here.take(SPELLING).is_local
    assert capfd.readouterr().err == ""
    assert claim.renew() and claim.release()


def test_an_origin_that_hides_such_refs_is_found_too(sample: Sample, here: Host) -> None:
    sample.git.run("config", "transfer.hideRefs", "refs/ent-agent")
    assert here.take(WELSH).is_local


def test_another_prefix_is_tried_anew(
    place: Path, sample: Sample, here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(sample, "refs/ent-agent/*")
    here.take(WELSH)
    prefix = "refs/heads/ent-agent-claims/"
    other = host(place / "hère", sample, monkeypatch, claims_prefix=prefix)
    claim = other.take(SPELLING)
    assert sample.git.refs(prefix) == {f"{prefix}{SPELLING}": claim.oid}


@pytest.mark.parametrize("message", [b"", b"a person's words", b"[]", b"\xff", b"[" * 100_000], ids=range(5))
def test_what_anybody_else_wrote_in_a_claims_place_is_no_claim_and_ends_nothing(message: bytes) -> None:
    with pytest.raises(BadData, match="not a claim"):
        ClaimValue.parse(b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\n" + message)


def test_below_heads_a_strict_origin_takes_renewals_and_a_last_value_that_says_released(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample.git.run("config", "receive.denyNonFastForwards", "true")
    sample.git.run("config", "receive.denyDeletes", "true")
    prefix = "refs/heads/ent-agent-claims/"
    one = host(place / "one", sample, monkeypatch, claims_prefix=prefix)
    two = host(place / "two", sample, monkeypatch, claims_prefix=prefix)
    claim = one.take(WELSH)
    assert claim.renew()
    assert claim.release()
    [oid] = sample.git.refs(prefix).values()
    assert ClaimValue.parse(sample.git.objects.read(oid)).released
    two.look()
    again = two.take(WELSH)
    assert list(sample.git.refs(prefix).values()) == [again.oid]
    with pytest.raises(ClaimLost):
        claim.renew()


def test_without_atomic_pushes_the_claim_is_renewed_before_the_data_is_pushed(
    sample: Sample, here: Host, capfd: pytest.CaptureFixture[str]
) -> None:
    sample.git.run("config", "receive.advertiseAtomic", "false")
    claim = here.take(WELSH)
    tip = here.git.resolve(f"refs/remotes/origin/{DATA}")
    assert tip
    mine = here.git.objects.write_commit(here.git.objects.tree_of(tip), [tip], "ours")
    assert claim.renew(Update(f"refs/heads/{DATA}", mine))
    assert "no atomic pushes" in capfd.readouterr().err
    assert sample.git.resolve(f"refs/heads/{DATA}") == mine
    assert list(claim_refs(sample).values()) == [claim.oid]
    assert claim.renew() and capfd.readouterr().err == ""


def test_nothing_outside_our_own_names_is_ever_pushed(sample: Sample, here: Host) -> None:
    for ref in ("refs/heads/main", "refs/heads/robot/1", "refs/tags/v1", "refs/ent-agent/other"):
        with pytest.raises(AssertionError, match="not ours to push"):
            pushing.push(here.config, here.git, [Update(ref, None)])


def test_a_sync_looks_at_claims_so_that_a_dead_hosts_issue_comes_round(
    here: Host, elsewhere: Host, pass_time: Callable[..., None]
) -> None:
    def passed_over() -> str | None:
        with elsewhere.acting():
            record = syncing.sync(Record(), elsewhere.config)
            (one,) = selection.select(record, elsewhere.config, everything=True, issue=WELSH)
        return one.skipped

    here.take(WELSH)
    assert "is in work on" in (passed_over() or "")
    pass_time(901)
    assert passed_over() is None


def test_a_sync_ends_the_claim_of_a_finished_issue(
    sample: Sample, here: Host, elsewhere: Host, pass_time: Callable[..., None]
) -> None:
    here.take(WELSH)
    sample.change({f"{WELSH}/state": b"done"})
    for passed_seconds in (0, 1000, 900):
        pass_time(passed_seconds)
        assert claim_refs(sample)
        with elsewhere.acting():
            syncing.sync(Record(), elsewhere.config)
    assert not claim_refs(sample)
