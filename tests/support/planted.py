"""Everything that git could be made to run, planted in a repository as a hostile agent would: each leaves a mark."""

from __future__ import annotations

from pathlib import Path

HOOKS = (
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-auto-gc",
    "pre-commit",
    "pre-push",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
)


class Trap:
    """`spring` is the program that everything points to; `sprung` what ran it."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "sprung.log"
        self.spring = folder / "spring.sh"
        folder.mkdir(parents=True, exist_ok=True)
        self.spring.write_text(f'#!/bin/sh\necho "$0 $*" >> "{self.log}"\ncat\n', "utf-8")
        self.spring.chmod(0o755)

    @property
    def sprung(self) -> str:
        return self.log.read_text("utf-8") if self.log.exists() else ""

    def plant(self, git_dir: Path) -> None:
        """Hooks, configuration, attributes, alternates and an include, in a git dir."""
        hooks = git_dir / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in HOOKS:
            hook = hooks / name
            hook.write_bytes(self.spring.read_bytes())
            hook.chmod(0o755)
        (git_dir / "info").mkdir(exist_ok=True)
        (git_dir / "info/attributes").write_text("* filter=planted diff=planted merge=planted\n")
        (git_dir / "info/sparse-checkout").write_text("nothing\n")
        (git_dir / "info/grafts").write_text("")
        included = git_dir / "planted.config"
        included.write_text(f"[core]\n\tpager = {self._quoted}\n\teditor = {self._quoted}\n", "utf-8")
        with (git_dir / "config").open("a", encoding="utf-8") as config:
            config.write(self.configuration(included))

    @property
    def _quoted(self) -> str:
        inner = str(self.spring).replace("'", "'\\''")
        return f"\"'{inner}'\""

    def configuration(self, included: Path) -> str:
        run = self._quoted
        return f"""
[core]
	fsmonitor = {run}
	sshCommand = {run}
	gitProxy = {run}
	askPass = {run}
	alternateRefsCommand = {run}
	sparseCheckout = true
[include]
	path = "{included}"
[includeIf "gitdir:/"]
	path = "{included}"
[filter "planted"]
	clean = {run}
	smudge = {run}
	process = {run}
	required = true
[filter "lfs"]
	clean = {run}
	smudge = {run}
	process = {run}
	required = true
[diff "planted"]
	textconv = {run}
	command = {run}
[diff]
	external = {run}
[merge "planted"]
	driver = {run}
[uploadpack]
	packObjectsHook = {run}
[receive]
	procReceiveRefs = refs
[credential]
	helper = {run}
[gpg]
	program = {run}
[gpg "ssh"]
	program = {run}
[commit]
	gpgSign = true
[alias]
	fetch = !{run}
	for-each-ref = !{run}
	update-ref = !{run}
	rev-parse = !{run}
[hook "planted"]
	command = {run}
	event = reference-transaction
	event = post-checkout
[remote "origin"]
	url = "ssh://nowhere.invalid/planted"
	promisor = true
	partialCloneFilter = blob:none
	uploadpack = {run}
	receivepack = {run}
[url "ssh://nowhere.invalid/"]
	insteadOf = /
[extensions]
	partialClone = origin
[trace2]
	eventTarget = {self.spring.parent}/trace
[gc]
	auto = 1
[maintenance]
	auto = true
"""
