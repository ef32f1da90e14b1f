"""Public data sets that examples and benchmarks use, fetched and made ready.

Adult: the census extract of the UCI archive (Becker, Kohavi 1996), both of its files, without the
sampling weight. The levels are chosen by the meaning of the answers (schooling, kinds of work,
full-time hours), not by looking at how often each occurs, so they are public.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from privet.errors import DataError, OutputError, expect
from privet.networks import tuebingen
from privet.networks.measured import CYTOMETRY, MEASURED, STATURE, Measured
from privet.schema.column import Column, did_you_mean
from privet.schema.model import Schema

URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
TIMEOUT_SECONDS = 60
MOST_BYTES = 20_000_000
FIELDS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
UNUSED = "fnlwgt"


@dataclass(frozen=True, kw_only=True)
class Bins:
    """Numbers cut into levels: a level begins at each of the cuts."""

    cuts: tuple[int, ...]
    levels: tuple[str, ...]

    def level(self, cell: str) -> str:
        return self.levels[sum(int(cell) >= cut for cut in self.cuts)]


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Answers put together: the answers of each level; all others are in the last one."""

    answers: Mapping[str, tuple[str, ...]]
    other: str

    @property
    def levels(self) -> tuple[str, ...]:
        return (*self.answers, self.other)

    def level(self, cell: str) -> str:
        return next((level for level, cells in self.answers.items() if cell in cells), self.other)


# Years of schooling and kind of schooling overlap, but neither gives the other away: a column
# that is a function of another would leave nothing to discover between them.
ADULT: dict[str, Bins | Groups] = {
    "age": Bins(cuts=(30, 45, 60), levels=("under 30", "30-44", "45-59", "60 and over")),
    "workclass": Groups(
        answers={
            "private": ("Private",),
            "government": ("Federal-gov", "Local-gov", "State-gov"),
            "self-employed": ("Self-emp-inc", "Self-emp-not-inc"),
        },
        other="none or unknown",
    ),
    "education": Groups(
        answers={
            "academic": ("Bachelors", "Masters", "Doctorate"),
            "vocational": ("Assoc-voc", "Prof-school"),
            "college": ("Some-college", "Assoc-acdm"),
        },
        other="school",
    ),
    "education-num": Bins(cuts=(9, 11, 14), levels=("up to 8", "9-10", "11-13", "14 and over")),
    "marital-status": Groups(
        answers={
            "married": ("Married-civ-spouse", "Married-AF-spouse"),
            "never married": ("Never-married",),
        },
        other="was married",
    ),
    "occupation": Groups(
        answers={
            "professional": ("Exec-managerial", "Prof-specialty", "Tech-support"),
            "office": ("Adm-clerical", "Sales"),
            "manual": (
                "Craft-repair",
                "Farming-fishing",
                "Handlers-cleaners",
                "Machine-op-inspct",
                "Transport-moving",
            ),
        },
        other="service or unknown",
    ),
    "relationship": Groups(
        answers={
            "spouse": ("Husband", "Wife"),
            "child": ("Own-child",),
            "not in family": ("Not-in-family",),
        },
        other="other",
    ),
    "race": Groups(answers={"White": ("White",), "Black": ("Black",)}, other="other"),
    "sex": Groups(answers={"Female": ("Female",)}, other="Male"),
    "capital-gain": Bins(cuts=(1,), levels=("none", "some")),
    "capital-loss": Bins(cuts=(1,), levels=("none", "some")),
    "hours-per-week": Bins(cuts=(35, 41), levels=("under 35", "35-40", "over 40")),
    "native-country": Groups(
        answers={"United States": ("United-States",)}, other="elsewhere or unknown"
    ),
    "income": Groups(answers={"over 50K": (">50K",)}, other="up to 50K"),
}


@dataclass(frozen=True, kw_only=True)
class Dataset:
    name: str
    rows: int
    columns: int
    what: str
    source: str


DATASETS = (
    Dataset(
        name="adult",
        rows=48_842,
        columns=len(ADULT),
        what="people of the US census of 1994, in 2 to 4 levels per column",
        source="UCI archive, Becker and Kohavi 1996, CC BY 4.0",
    ),
    Dataset(
        name="tuebingen",
        rows=201_415,
        columns=2,
        what="99 pairs of numeric columns of which one causes the other, a file each",
        source="Mooij et al. 2016, by way of the Causal Discovery Toolbox",
    ),
    Dataset(
        name=CYTOMETRY.name,
        rows=7_466,
        columns=len(CYTOMETRY.names),
        what="proteins in human cells, logarithms of what was counted",
        source="Sachs et al. 2005, by way of the Causal Discovery Toolbox",
    ),
    Dataset(
        name=STATURE.name,
        rows=934,
        columns=len(STATURE.names),
        what="heights of fathers, mothers and their grown children",
        source="Galton 1886, by way of Rdatasets",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """The files of a data set; of pairs, the folder with the files of each."""

    data: Path
    schema: Path


def fetch(
    name: str, output: str | Path, *, source: str | Path | None = None, force: bool = False
) -> Fetched:
    """Write NAME.csv and NAME.schema.toml into a folder; of tuebingen, two such files per pair
    into a folder of its own.

    The files of the archive are downloaded, or taken from the folder ``source``; either way they
    must be the very files that the checksums name.
    """
    names = [dataset.name for dataset in DATASETS]
    if name not in names:
        raise DataError(
            f"there is no data set {name!r}{did_you_mean(name, names)}; choose one of "
            f"{', '.join(names)}"
        )
    expect(output, (str, Path), "output", "give the path of a folder", OutputError)
    ways: dict[str, Callable[[Path, str | Path | None, bool], Fetched]]
    ways = {"adult": _fetch_adult, tuebingen.FOLDER: _fetch_pairs}
    ways |= {table.name: partial(_fetch_measured, table) for table in MEASURED}
    return ways[name](Path(output), source, force)


def _fetch_adult(folder: Path, source: str | Path | None, force: bool) -> Fetched:
    files = Fetched(data=folder / "adult.csv", schema=folder / "adult.schema.toml")
    _check_free((files.data, files.schema), force)
    contents = archive(URL, SHA256, source)
    rows = [row for content in contents for row in adult_rows(content)]
    _write({files.data: _csv(rows), files.schema: adult_schema().to_toml()})
    return files


def _fetch_measured(
    table: Measured, folder: Path, source: str | Path | None, force: bool
) -> Fetched:
    files = Fetched(data=folder / f"{table.name}.csv", schema=folder / f"{table.name}.schema.toml")
    _check_free((files.data, files.schema), force)
    content = _content(table.url, table.file, (table.file,), source)
    _write({files.data: table.made(content), files.schema: table.schema().to_toml()})
    return files


def _fetch_pairs(folder: Path, source: str | Path | None, force: bool) -> Fetched:
    place = folder / tuebingen.FOLDER
    if place.exists() and not force:
        raise OutputError(
            f"{str(place)!r} exists; choose another folder, or use ⟦force=True⟧ to "
            "replace what is there"
        )
    texts = {}
    for pair in tuebingen.parsed(*archive(tuebingen.URL, tuebingen.SHA256, source)):
        texts[place / f"{pair.name}.csv"] = pair.to_csv()
        texts[place / f"{pair.name}.schema.toml"] = pair.to_toml()
    _write(texts)
    return Fetched(data=place, schema=place)


def adult_schema() -> Schema:
    columns = (
        Column(
            name=name,
            kind="ordinal" if isinstance(made, Bins) else "categorical",
            levels=made.levels,
        )
        for name, made in ADULT.items()
    )
    return Schema(name="adult", columns=tuple(columns))


def adult_rows(content: bytes) -> Iterator[list[str]]:
    """The people in a file of the archive, each as the levels of the columns.

    The second file begins with a line of its own, and ends its incomes in a full stop.
    """
    for line in content.decode("ascii", "replace").splitlines():
        if not line.strip() or line.startswith("|"):
            continue
        cells = dict(zip(FIELDS, (cell.strip() for cell in line.split(",")), strict=True))
        cells["income"] = cells["income"].removesuffix(".")
        yield [made.level(cells[name]) for name, made in ADULT.items()]


def archive(url: str, sums: Mapping[str, str], source: str | Path | None) -> list[bytes]:
    """The files that the checksums name, in their order."""
    return [_checked(file, _content(url, file, sums, source), sums[file]) for file in sums]


def _content(url: str, file: str, sums: Iterable[str], source: str | Path | None) -> bytes:
    if source is None:
        return _download(url + file)
    path = Path(source) / file
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            f"cannot read {str(path)!r} ({error.strerror}); ⟦source¦--from⟧ names a "
            "folder that holds "
            f"{' and '.join(sums)}"
        ) from None


def _download(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
            content = answer.read(MOST_BYTES + 1)
    except (OSError, HTTPException) as error:  # URLError and timeouts are OSErrors
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise DataError(
            f"cannot fetch {url} ({reason}); try again later, or save it by other means and give "
            f"its folder with ⟦source¦--from⟧"
        ) from None
    if len(content) > MOST_BYTES:
        raise DataError(
            f"{url} sends more than {MOST_BYTES:,} bytes, which is not the file that was expected; "
            f"save it by other means and give its folder with ⟦source¦--from⟧"
        )
    return bytes(content)


def _checked(file: str, content: bytes, expected: str) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(
            f"{file} has the SHA-256 checksum {found}, but that of the archive has {expected}; it "
            f"was changed or cut short: fetch it again"
        )
    return content


def _check_free(paths: tuple[Path, ...], force: bool) -> None:
    for path in paths:
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; choose another place for the output")
        if path.exists() and not force:
            raise OutputError(
                f"{str(path)!r} exists; choose another folder, or use ⟦force=True⟧ to replace it"
            )


def _csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(ADULT)
    writer.writerows(rows)
    return text.getvalue()


def _write(texts: Mapping[Path, str]) -> None:
    """All files of the one folder are complete before any is moved into place."""
    folder = next(iter(texts)).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".privet-") as scratch:
            for path, text in texts.items():
                (Path(scratch) / path.name).write_text(text, encoding="utf-8", newline="\n")
            for path in texts:
                os.replace(Path(scratch) / path.name, path)
    except OSError as error:
        raise OutputError(
            f"cannot write to {str(folder)!r} ({error.strerror}); choose a folder that can be "
            f"written"
        ) from None
