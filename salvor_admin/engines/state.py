"""The state folder: secrets, locks, pid files, and where the engines keep their own."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from salvor_admin.engines.account import Account
from salvor_admin.engines.errors import EngineError

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# Linux takes 107 bytes of socket path, macOS 103; the longest name in it is `/.s.PGSQL.5432`.
LONGEST_SOCKET_FOLDER = 80


class State:
    """What one installation keeps between two starts; nobody but us looks into it."""

    def __init__(self, folder: Path | str | None = None) -> None:
        self.folder = Path(folder or os.environ.get("SALVOR_STATE_DIR", "").strip() or CHECKOUT / ".state").resolve()

    def prepare(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise EngineError(
                f"The state folder {self.folder} cannot be made ({error.strerror}); name another in SALVOR_STATE_DIR."
            ) from error

    def remembered(self, name: str) -> str | None:
        try:
            return (self.folder / name).read_text().strip() or None
        except OSError:
            return None

    def remember(self, name: str, text: str) -> str:
        self.prepare()
        fresh = self.folder / f".{name}.{secrets.token_hex(4)}"
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(text + "\n")
        fresh.replace(self.folder / name)
        return text

    def secret(self, name: str) -> str:
        """A secret made at its first use and kept, readable by us alone."""
        with self.lock("secrets.lock"):
            return self.remembered(name) or self.remember(name, secrets.token_urlsafe(48))

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """One at a time; ends with the process that holds it, however that ends."""
        self.prepare()
        with open(self.folder / name, "a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def socket_folder(self, engine: str, account: Account) -> Path:
        """Where one engine's socket is, or will be once `make_socket_folder` was called."""
        kept = self.remembered(f"{engine}.sockets")
        return Path(kept) if kept is not None else self.make_socket_folder(engine, account)

    def make_socket_folder(self, engine: str, account: Account) -> Path:
        """A short private folder for one engine's socket; the same one as long as it is still ours."""
        with self.lock("secrets.lock"):
            kept = self.remembered(f"{engine}.sockets")
            if kept is not None and _make_private(Path(kept), account):
                return Path(kept)
            # A made-up name cannot be taken beforehand by somebody else, a hash of our own path could.
            folder = Path(tempfile.mkdtemp(prefix=f"salvor-{engine}-", dir=_short_base()))
            account.take(folder)
            self.remember(f"{engine}.sockets", str(folder))
            return folder

    def leave_socket_folder(self, engine: str) -> None:
        """Remove the folder while nothing runs; its name stays ours, and the next start makes it again."""
        kept = self.remembered(f"{engine}.sockets")
        if kept is not None:
            shutil.rmtree(kept, ignore_errors=True)

    def data_folder(self, engine: str, account: Account) -> Path:
        """The engine's data: in the state folder, or where root has to give them to another account."""
        if not account.foreign:
            return self.folder / engine
        with self.lock("secrets.lock"):
            kept = self.remembered(f"{engine}.folder")
            if kept is not None:
                return Path(kept)
            folder = account.home() / f"{engine}-{secrets.token_hex(6)}"
            self.remember(f"{engine}.folder", str(folder))
            return folder

    def forget(self) -> None:
        """Remove the state and every folder the engines had. Only for states that were made to be thrown away."""
        for name in ("postgres.folder", "postgres.sockets", "valkey.sockets"):
            kept = self.remembered(name)
            if kept is not None:
                shutil.rmtree(kept, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def _make_private(folder: Path, account: Account) -> bool:
    try:
        folder.mkdir(mode=0o700)
        account.take(folder)
    except OSError:
        pass
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid and stat.S_IMODE(found.st_mode) == 0o700


def _short_base() -> str:
    mine = os.environ.get("XDG_RUNTIME_DIR", "")
    bases = ["/run"] if os.geteuid() == 0 else [mine] if mine and _owned(mine) else []
    for base in [*bases, tempfile.gettempdir(), "/tmp", "/var/tmp"]:  # noqa: S108
        room = len(os.fsencode(base)) + len("/salvor-postgres-12345678") <= LONGEST_SOCKET_FOLDER
        if room and os.access(base, os.W_OK | os.X_OK):
            return base
    raise EngineError("No folder with a short path can be written for the sockets; make /tmp writable.")


def _owned(folder: str) -> bool:
    try:
        return os.stat(folder).st_uid == os.geteuid()
    except OSError:
        return False
