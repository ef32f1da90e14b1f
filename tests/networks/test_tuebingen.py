"""The Tübingen pairs: parsed, written with their schemas, and read again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from privet.errors import DataError, OutputError
from privet.networks import tuebingen
from privet.networks.fetch import DATASETS, fetch
from privet.schema.model import Adjacency, Schema

PAIRS = b"SampleID,A,B\npair1,1 2.5 4,10 -20 1e3\npair12,7 8 9 10,0 0 1 0\n"
TARGETS = b"SampleID,Target\npair1,1.0\npair12,-1.0\n"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two pairs in the Toolbox's format, whose checksums are expected."""
    sums = {}
    for name, content in ((tuebingen.PAIRS, PAIRS), (tuebingen.TARGETS, TARGETS)):
        (tmp_path / name).write_bytes(content)
        sums[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(tuebingen, "SHA256", sums)
    return tmp_path


def test_a_target_of_minus_one_exchanges_the_columns() -> None:
    one, two = tuebingen.parsed(PAIRS, TARGETS)
    assert one.name == "pair01" and one.cause.tolist() == [1, 2.5, 4]
    assert one.effect.tolist() == [10, -20, 1000]
    assert two.name == "pair12" and two.cause.tolist() == [0, 0, 1, 0]


def test_fetched_pairs_are_read_again(archive: Path, tmp_path: Path) -> None:
    files = fetch("tuebingen", tmp_path / "out", source=archive)
    assert files.data == tmp_path / "out" / "tuebingen"
    assert sorted(p.name for p in files.data.iterdir()) == [
        "pair01.csv",
        "pair01.schema.toml",
        "pair12.csv",
        "pair12.schema.toml",
    ]
    for made, read in zip(
        tuebingen.parsed(PAIRS, TARGETS), tuebingen.load(files.data), strict=True
    ):
        assert made.name == read.name
        assert np.array_equal(made.cause, read.cause) and np.array_equal(made.effect, read.effect)
        schema = Schema.load(files.data / f"{made.name}.schema.toml")
        assert schema == made.schema() and schema.names == ("A", "B")
        assert schema.adjacency is Adjacency.REPLACE_ONE and schema.rows == len(made.cause)
        low, high = schema.column("A").bounds or (0.0, 0.0)
        assert np.isclose((low + high) / 2, made.cause.mean(), rtol=1e-4)
        assert np.isclose(high - low, 6 * made.cause.std(), rtol=1e-4)


def test_what_is_there_is_not_overwritten(archive: Path, tmp_path: Path) -> None:
    fetch("tuebingen", tmp_path / "out", source=archive)
    with pytest.raises(OutputError, match="force=True"):
        fetch("tuebingen", tmp_path / "out", source=archive)
    fetch("tuebingen", tmp_path / "out", source=archive, force=True)


def test_a_changed_or_missing_file_is_refused(archive: Path, tmp_path: Path) -> None:
    (archive / tuebingen.TARGETS).write_bytes(TARGETS.replace(b"-", b""))
    with pytest.raises(DataError, match=r"Tuebingen_targets.csv has the SHA-256 checksum"):
        fetch("tuebingen", tmp_path / "out", source=archive)
    (archive / tuebingen.TARGETS).unlink()
    with pytest.raises(DataError, match=r"Tuebingen_pairs\.csv and Tuebingen_targets\.csv"):
        fetch("tuebingen", tmp_path / "out", source=archive)
    assert not (tmp_path / "out").exists()


def test_a_folder_without_pairs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="privet datasets fetch tuebingen"):
        tuebingen.load(tmp_path)
    for text in ("A,B\n1,x\n", "A,B\n1\n", ""):
        (tmp_path / "pair01.csv").write_text(text)
        with pytest.raises(DataError, match=r"pair01\.csv"):
            tuebingen.load(tmp_path)


def test_it_is_listed() -> None:
    assert "tuebingen" in [dataset.name for dataset in DATASETS]
