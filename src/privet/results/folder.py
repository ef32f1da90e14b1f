"""The folder of results: complete or not there at all.

Files are written into a folder beside the wanted one (inside it, if it exists) and moved when
all are there. That folder is made first of all, so an output that cannot be written is found out
before anything is spent.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from privet.errors import NOTE, OutputError, expect
from privet.files.scratch import OnNote, held_folder, ignore, sweep
from privet.results.seal import SEAL, sealed

RESCUED = "rescued-"
DIAGNOSTICS = "diagnostics.json"  # what is wrong with columns
FILES = (
    "graph.json",
    "certificate.json",
    DIAGNOSTICS,
    "evidence.json",
    SEAL,
    "graph.svg",
    "report.html",
)
SITES = "sites.json"  # what each site has added, if the evidence is that of several
EVIDENCE = "evidence.json"  # what has been paid for
PAIRS = "orientation.json"  # in the place of a graph, if pairs were asked for
OTHERS = "others"  # the folder of further graphs


class Stage:
    """A folder in the making. Leaving the block well moves its files into place; leaving it by
    an error removes them, but for the file that ``keep`` names, which has been paid for. What
    a killed run for the same folder left is swept away first, and ``on_note`` told of it."""

    def __init__(
        self,
        folder: str | Path,
        *,
        force: bool = False,
        command: str = "discover",
        on_note: OnNote = ignore,
    ) -> None:
        expect(folder, (str, Path), "folder¦--output", "give the path of a folder", OutputError)
        expect(force, bool, "force", "give True or False", OutputError)
        self.folder = Path(folder)
        self._force = force
        self._command = command
        self._on_note = on_note
        self._held = ExitStack()  # the lock on the folder in the making
        self._kept: str | None = None
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        try:
            with _explained(self.folder):
                whole = Path(os.path.abspath(self.folder))
                for home in (whole.parent, self.folder):
                    sweep(home, whole.name, self._on_note, paid=EVIDENCE)
                self._check()
                self._inside = self.folder.exists()
                home = self.folder if self._inside else self._parent()
                self.path = self._held.enter_context(held_folder(home, whole.name))
        except BaseException:
            self._remove_parents()
            raise
        return self

    def write(self, name: str, text: str) -> None:
        with _explained(self.folder):
            path = self.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")

    def seal(self) -> tuple[Path, ...]:
        """Nothing is written after this; returns where the files will be."""
        with _explained(self.folder):
            seal = sealed(self.path)
        self.write(SEAL, seal)
        return self.files()

    def files(self) -> tuple[Path, ...]:
        """Where the files that were written will be."""
        others = sorted(path.name for path in (self.path / OTHERS).glob("*"))
        names = [PAIRS, *FILES, SITES, *(f"{OTHERS}/{name}" for name in others)]
        return tuple(self.folder / name for name in names if (self.path / name).exists())

    def keep(self, name: str) -> None:
        """From now on this file outlives an error, because it has been paid for."""
        self._kept = name

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        with self._held:
            if error is None:
                self._move()
            elif self._kept is not None:
                self._rescue(self._kept, error)
            else:
                shutil.rmtree(self.path, ignore_errors=True)
                self._remove_parents()

    def _rescue(self, name: str, error: BaseException) -> None:
        """The paid file, under a name of its own so that it passes for no older run's."""
        rescued = f"{RESCUED}{name}"
        with _explained(self.folder):
            os.replace(self.path / name, self.path / rescued)
            shutil.rmtree(self.path / OTHERS, ignore_errors=True)
            for file in self.path.iterdir():
                if file.name != rescued:
                    file.unlink()
        self._move()
        path, folder = (shlex.quote(str(p)) for p in (self.folder / rescued, self.folder))
        error.add_note(
            f"{NOTE}what was measured is kept and can be searched at no cost: privet "
            f"{self._command} --evidence {path} --output {folder} --force"
        )

    def _remove_parents(self) -> None:
        for parent in reversed(self._made):
            with suppress(OSError):
                parent.rmdir()

    def _check(self) -> None:
        if self.folder.is_symlink() and not self.folder.exists():
            raise OutputError(f"{str(self.folder)!r} is a broken link; choose another folder")
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputError(f"{str(self.folder)!r} is a file; name a folder for the output")
        if self.folder.is_dir() and any(self.folder.iterdir()) and not self._force:
            raise OutputError(
                f"the folder {str(self.folder)!r} exists and is not empty; choose another, or "
                "use ⟦force=True⟧ to replace the results in it"
            )

    def _parent(self) -> Path:
        """The parent folder; those above it that are missing are made, and remembered."""
        parent = self.folder.absolute().parent
        missing = [above for above in (parent, *parent.parents) if not above.exists()]
        for above in reversed(missing):
            above.mkdir()
            self._made.append(above)
        return parent

    def _replace_others(self) -> None:
        """Graphs of an older run go; whatever else is in their folder stays."""
        fresh, folder = self.path / OTHERS, self.folder / OTHERS
        for old in folder.glob("*.graph.*"):
            old.unlink()
        if fresh.exists():
            folder.mkdir(exist_ok=True)
            for file in fresh.iterdir():
                os.replace(file, folder / file.name)
            fresh.rmdir()
        elif folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def _move(self) -> None:
        """A new folder takes one step; into an old one, files go one by one and others stay."""
        try:
            if self.folder.exists():
                if not self._inside:
                    raise FileExistsError(errno.EEXIST, "it exists by now")
                self._replace_others()
                for file in self.path.iterdir():
                    os.replace(file, self.folder / file.name)
                self.path.rmdir()
            else:
                os.rename(self.path, self.folder)
        except OSError as error:
            raise OutputError(
                f"the results cannot be moved to {str(self.folder)!r} ({error.strerror}); "
                f"they are in {str(self.path)!r}"
            ) from None


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Every failure of the file system as an OutputError with the fix."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write to {str(folder)!r} ({error.strerror}); choose a folder that can be "
            f"written"
        ) from None
