"""A key pair in a folder: found, generated, its permissions and its public half seen to."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from harness import atomic, effects, lock, process
from harness.diagnostics import say
from harness.errors import BadConfig, Missing
from harness.process import Finished

USUAL_NAMES = ("id_ed25519", "id_ecdsa", "id_rsa")
"""In order of preference; any other name does where it is the only one."""
GENERATION_TIMEOUT_SECONDS = 60.0


def find(folder: Path) -> Path | None:
    """The private key in a folder: by its usual name, else the only one there; None: there is none.

    Raises:
        BadConfig: the folder cannot be read, or holds several keys and none by a usual name.
    """
    try:
        files = sorted(path for path in folder.iterdir() if _may_be_key(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadConfig(
            f"ssh_key_dir: {folder}: {error.strerror}", hint="name a folder of the agent's own"
        ) from error
    for name in USUAL_NAMES:
        if (path := folder / name) in files:
            return path
    keys = [path for path in files if _is_private_key(path)]
    if len(keys) > 1:
        raise BadConfig(
            f"ssh_key_dir: {folder} holds several keys: {', '.join(path.name for path in keys)}",
            hint=f"leave one there, or name the one to use {USUAL_NAMES[0]}, {' or '.join(USUAL_NAMES[1:])}",
        )
    return keys[0] if keys else None


def find_or_make(folder: Path, comment: str) -> tuple[Path, bool]:
    """The private key in a folder, and whether it was generated just now. Of several callers one makes it.

    Raises:
        BadConfig: as `find`, or none can be made.
        Missing: ssh-keygen is not installed.
    """
    if (key := find(folder)) is not None:
        return key, False
    with lock.held(_made(folder) / ".lock", timeout_seconds=GENERATION_TIMEOUT_SECONDS, what=str(folder)):
        key = find(folder)
        return key or _generate(folder, comment), key is None


def keep_private(key: Path) -> None:
    """See that nobody else can read the key: ssh refuses one of ours that others can."""
    about = key.stat()
    if about.st_uid != os.geteuid() or not about.st_mode & 0o077:
        return
    try:
        key.chmod(0o600)
    except OSError as error:
        raise BadConfig(
            f"ssh_key_dir: {key} can be read by others (mode {about.st_mode & 0o777:o}), so ssh refuses it: {error.strerror}",
            hint=f"chmod 600 {shlex.quote(str(key))}",
        ) from error
    say(f"{key} could be read by others (mode {about.st_mode & 0o777:o}); it is 600 now")


def public_half(key: Path, comment: str) -> tuple[str, bool]:
    """The public half, as the private one says it, and whether it was missing; written beside when it was."""
    derived = _keygen("-y", "-P", "", "-f", str(key))
    if not derived.ok:
        raise _unusable(key, derived)
    words = derived.text.split(None, 2)
    path = public_path(key)
    try:
        beside = path.read_text("utf-8", "replace").strip()
    except OSError:
        beside = ""
    if beside.split()[:2] == words[:2]:
        return beside, False
    public_key = " ".join([*words[:2], words[2].strip() if len(words) > 2 else comment])
    try:
        atomic.write_bytes(path, public_key.encode() + b"\n", 0o644)
    except OSError as error:
        if beside:
            raise BadConfig(
                f"ssh_key_dir: {path} is not the public half of {key.name}",
                hint="remove it, or put the right one there",
            ) from error
        return public_key, False  # ssh derives it itself; a read-only folder is fine
    if beside:
        say(f"{path} was not the public half of {key.name}; it was replaced")
    return public_key, not beside


def public_path(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadConfig(
            f"ssh_key_dir: {folder} cannot be made: {error.strerror}", hint="name a folder of the agent's own"
        ) from error
    if not os.access(folder, os.W_OK):
        raise BadConfig(
            f"ssh_key_dir: {folder} holds no key, and none can be written there",
            hint="put a key pair there, or name a folder of the agent's own",
        )
    return folder


def _may_be_key(path: Path) -> bool:
    return path.suffix != ".pub" and not path.name.startswith(".") and path.is_file()


def _is_private_key(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"PRIVATE KEY-----" in file.readline(100)
    except OSError:
        return False


def _generate(folder: Path, comment: str) -> Path:
    """A new pair, made aside and moved into place, the private half first.

    A killed call leaves a folder aside, or a private key whose public half the next one derives.
    """
    import shutil
    import tempfile

    key = folder / USUAL_NAMES[0]
    if key.is_symlink() or key.exists():
        raise BadConfig(
            f"ssh_key_dir: {key} is no file that can be read",
            hint="mend it, or move it away",
            code="key_unreadable",
        )
    for left in folder.glob(".new-*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as aside:
        fresh = Path(aside) / key.name
        made = _keygen("-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(fresh))
        if not made.ok:
            raise BadConfig(f"ssh_key_dir: ssh-keygen made no key in {folder}: {made.error_text}")
        _flush(fresh)
        fresh.rename(key)
        effects.reached("identity private key")
        fresh.with_suffix(".pub").replace(public_path(key))
    atomic.sync_folder(folder)
    return key


def _unusable(key: Path, derived: Finished) -> BadConfig:
    said = derived.error_text.rsplit("\n", 1)[-1]
    quoted = shlex.quote(str(key))
    if "passphrase" in said:
        return BadConfig(
            f"ssh_key_dir: {key} has a passphrase, and nobody is there to type it",
            hint=f"take it off with `ssh-keygen -p -f {quoted}`, or give the agent a key of its own: name a new folder",
            code="key_has_passphrase",
        )
    return BadConfig(
        f"ssh_key_dir: {key} cannot be read as a private key: {said}",
        hint="let this user read it, restore it (cut off? Windows line ends?), or move it away for a new one",
        code="key_unreadable",
    )


def _keygen(*args: str) -> Finished:
    try:
        return process.run(["ssh-keygen", *args], timeout_seconds=GENERATION_TIMEOUT_SECONDS)
    except Missing as error:
        raise Missing(
            "ssh-keygen is not installed",
            hint="sudo apt-get install openssh-client git",
            code="program_missing",
        ) from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
