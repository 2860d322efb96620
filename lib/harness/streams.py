"""stdin, stdout and stderr as a program of ours finds them: open, and in UTF-8."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Open /dev/null where a caller closed stdin, stdout or stderr, lest a file of ours gets the number."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            setattr(sys, name, open(descriptor, "w" if descriptor else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def speak_utf8() -> None:
    """Start again in UTF-8 mode where the locale says otherwise (LC_ALL=C with PYTHONUTF8=0, Latin-1).

    Else a path with an accent from config.toml, and the same path from the file system, differ.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
