"""Where a table lies: without credentials, one spelling for one place, nothing for a frame."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from privet.privacy.engines import postgres
from privet.privacy.engines.place import files, place
from privet.privacy.engines.source import source_of


class Connection:
    """Of a server on which anybody finds a table with one column."""

    info = SimpleNamespace(host="server", port=5432, dbname="clinic")

    def execute(self, query: str, _given: Any = ()) -> Any:
        shown = SimpleNamespace(fetchone=lambda: ("UTF8",), fetchall=lambda: [("a", "text")])
        assert "encoding" in query or "attname" in query
        return shown

    def close(self) -> None:
        return


def test_the_place_of_a_server_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_connected", lambda _address: Connection())
    addresses = [f"postgresql://{who}server/clinic?table=people" for who in ("", "me@", "you@")]
    places = {place(address, source_of(address)) for address in addresses}
    assert places == {'server:5432/clinic?table="people"'}
    with pytest.raises(Exception, match="password"):
        source_of("postgresql://me:secret@server/clinic?table=people")


def test_files_and_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    for name in ("b.csv", "a.csv", "deep/c.csv"):
        (tmp_path / name).write_text("x\n1\n")
    source = source_of("a.csv")
    assert place("a.csv", source) == place(Path("deep/../a.csv"), source)
    assert place({"x": [1]}, source_of({"x": [1]})) is None
    assert files("a.csv") == [Path("a.csv")]
    assert files(tmp_path) == sorted(path for path in tmp_path.rglob("*.csv"))
    assert files("*.csv") == [Path("a.csv"), Path("b.csv")]
    for other in ({"x": [1]}, None, "spark:people", "postgresql://server/db?table=t"):
        assert files(other) is None
