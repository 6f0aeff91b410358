"""Who runs PostgreSQL: we ourselves, or, where we are root, an account without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salvor_admin.engines.errors import EngineError

PLAIN_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int
    foreign: bool

    @classmethod
    def ours(cls) -> Account:
        return cls("", os.geteuid(), os.getegid(), False)

    @classmethod
    def for_engine(cls) -> Account:
        """PostgreSQL refuses to run as root, so root lends it `nobody`, or the user SALVOR_ENGINE_USER names."""
        if os.geteuid() != 0:
            return cls.ours()
        name = os.environ.get("SALVOR_ENGINE_USER", "").strip() or "nobody"
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise EngineError(
                f"There is no user {name} to run PostgreSQL as; name one that exists in SALVOR_ENGINE_USER."
            ) from None
        if entry.pw_uid == 0:
            raise EngineError(
                f"PostgreSQL cannot run as {name}, who is root; name a user without rights in SALVOR_ENGINE_USER."
            )
        return cls(name, entry.pw_uid, entry.pw_gid, True)

    def options(self) -> dict[str, Any]:
        """What subprocess needs to start a program as this account."""
        plain: dict[str, Any] = {"env": PLAIN_ENVIRONMENT, "umask": 0o077, "stdin": subprocess.DEVNULL}
        if self.foreign:
            plain |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return plain

    def take(self, path: Path) -> None:
        if self.foreign:
            os.chown(path, self.uid, self.gid)

    def make_folder(self, folder: Path) -> None:
        """A folder of this account's own, closed to everyone else."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self.take(folder)

    def home(self) -> Path:
        """Where a foreign account's folders lie: outside every home, ours, and open only for passing through."""
        home = Path(os.environ.get("SALVOR_ENGINE_DIR", "").strip() or "/var/lib/salvor-admin").absolute()
        try:
            if not home.is_dir():
                home.mkdir(parents=True, mode=0o755)
                home.chmod(0o711)
        except OSError as error:
            raise EngineError(
                f"{home}, for PostgreSQL's data, cannot be made ({error.strerror}); name another in SALVOR_ENGINE_DIR."
            ) from error
        if not self.reaches(home, "-x"):
            raise EngineError(
                f"The user {self.name} cannot pass through {home}, where PostgreSQL's data belong; name a folder "
                "outside every home in SALVOR_ENGINE_DIR."
            )
        return home

    def reaches(self, path: Path, test: str) -> bool:
        """Asked by trying, as that account: modes alone do not tell."""
        asked = subprocess.run(["/usr/bin/env", "test", test, str(path)], check=False, cwd="/", **self.options())
        return asked.returncode == 0

    def readable(self, folder: Path, program: str, *, beside: Path | None = None, name: str) -> Path:
        """The folder itself, or, where this account cannot read it, a copy that it can read and not change."""
        if not self.foreign or (self.reaches(folder / program, "-x") and self.reaches(folder / program, "-r")):
            return folder
        copies = self.home() / name
        copy = copies / folder.parent.name / folder.name
        if not copy.is_dir():
            fresh = Path(tempfile.mkdtemp(prefix="copy-", dir=copies.parent))
            skip = shutil.ignore_patterns("include", "*.a", "pkgconfig", "pgxs", "doc", "__pycache__")
            shutil.copytree(folder, fresh / folder.parent.name / folder.name, symlinks=True, ignore=skip)
            if beside is not None and beside.is_dir():
                shutil.copytree(beside, fresh / beside.name, symlinks=True)
            for path in [fresh, *fresh.rglob("*")]:
                if not path.is_symlink():
                    path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            try:
                fresh.rename(copies)
            except OSError:
                # Another start was faster; its copy is as good.
                shutil.rmtree(fresh, ignore_errors=True)
                if not copy.is_dir():
                    raise
        return copy
