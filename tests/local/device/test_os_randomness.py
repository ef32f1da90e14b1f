"""Where a device's randomness comes from, and that nothing inexact comes in between."""

from __future__ import annotations

import ast
import inspect
import os
import random
import textwrap
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from privet.errors import DataError, MethodError
from privet.local import Matrix, RandomizedResponse, Randomizer, plan_protocol
from privet.local.device import bits, blocks
from privet.local.device.bits import Bits, Law
from privet.local.device.shuffle import random_order
from tests.helpers.laws import categorical, fits, law
from tests.local.device.test_channels import OPTIONS, SMALL


def _made_by(kind: type, name: str) -> object:
    """The function behind a cached property."""
    return vars(kind)[name].func


SAMPLING: list[Any] = [
    Bits,
    Law,
    bits.alike,
    RandomizedResponse.sample,
    _made_by(RandomizedResponse, "_coin"),
    Matrix.sample,
    _made_by(Matrix, "_laws"),
    Randomizer,
    blocks.make,
    blocks.cell,
    blocks.codes_of,
    blocks.permutations,
    random_order,
]
INEXACT = {
    "float",
    "float32",
    "float64",
    "log",
    "exp",
    "sqrt",
    "random",
    "default_rng",
    "Random",
    "matrix",
    "epsilon_ldp",
    "round",
    "rint",
}


def inexact(code: Any) -> list[str]:
    """What could be a floating-point number, or a generator, in some code."""
    found = []
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))):
        name = getattr(node, "id", getattr(node, "attr", None))
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            found.append(repr(node.value))
        elif isinstance(node, ast.Name | ast.Attribute) and name in INEXACT:
            found.append(str(name))
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            found.append("/")
    return found


def draw_with_floats(total: int) -> int:
    return int(random.random() * total / 2.0)


def test_no_float_comes_between_the_bits_and_a_report() -> None:
    for code in SAMPLING:
        assert inexact(code) == [], code
    assert set(inexact(draw_with_floats)) == {"random", "/", "2.0"}  # it would be seen
    channel = RandomizedResponse(cells=5, odds=Fraction(7, 3))
    assert isinstance(channel.attenuation, Fraction)
    assert all(type(weight) is int for row in SMALL_MATRIX.weights for weight in row)


SMALL_MATRIX = Matrix(weights=((3, 1), (1, 3)))


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_all_randomness_is_the_operating_systems(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its bytes given, reports are given; other generators are not asked."""
    protocol = plan_protocol(SMALL[name], 2, name, **options)
    codes = np.zeros((50, len(protocol.sizes)), dtype=np.int64)
    random.seed(1)
    np.random.seed(1)
    before = (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]

    def reports(seed: int) -> list[list[int]]:
        tape = random.Random(seed)
        monkeypatch.setattr(os, "urandom", tape.randbytes)
        return [column.tolist() for column in Randomizer(protocol).report_codes(codes).values()]

    assert reports(1) == reports(1) != reports(2)
    after = (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]
    assert before == after


def words_of_children(draw: Callable[[], bytes], children: int) -> list[bytes]:
    """What each of some forked processes draws, sent back through a pipe."""
    found = []
    for _ in range(children):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, draw())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            found.append(file.read())
        assert os.waitpid(child, 0)[1] == 0
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_never_repeats_bits() -> None:
    """16 words each: two are equal by chance once in 2^50. Nothing is kept to be repeated."""
    source = Bits()
    assert vars(source) == {}
    source.words(3)
    drawn = [source.words(16).tobytes(), *words_of_children(lambda: source.words(16).tobytes(), 6)]
    drawn.append(source.words(16).tobytes())
    words = Counter(each[i : i + 8] for each in drawn for i in range(0, 128, 8))
    assert len(words) == 8 * 16
    held = random.Random(1)  # a generator in memory would be seen
    assert len(set(words_of_children(lambda: held.randbytes(128), 3))) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def refused(ask: Callable[[], bytes]) -> bytes:
    try:
        return ask()
    except MethodError:
        return b"refused"


def test_reports_of_forked_processes_differ_but_what_was_sent_stays() -> None:
    randomizer = Randomizer(categorical(*(4,) * 16), 1, protocol="component-wise")
    row = {f"a{i}": "v0" for i in range(16)}

    def report(person: str | None) -> bytes:
        made = randomizer.report(row, person)
        return repr([made[f"a{i}"] for i in range(16)]).encode()

    first = report("ada")
    assert words_of_children(lambda: report("ada"), 3) == [first] * 3
    assert words_of_children(lambda: refused(lambda: report("eve")), 2) == [b"refused"] * 2
    fresh = words_of_children(lambda: report(None), 4)  # 4^16 reports: equal ones do not happen
    assert len(set(fresh)) > 1


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_a_person_is_remembered_by_every_protocol(name: str, options: dict[str, Any]) -> None:
    """One at a time, in bulk, as codes or as texts: the first report again, and no other."""
    protocol = plan_protocol(SMALL[name], 1, name, **options)
    randomizer = Randomizer(protocol)
    codes = np.zeros((1, len(protocol.sizes)), dtype=np.int64)
    texts = [[None]] * len(protocol.sizes)  # as codes, whatever a missing cell stands for
    read = randomizer._answers.of_columns(texts)
    first = randomizer.report_texts(texts, ["ada"])
    for _ in range(5):
        again = randomizer.report_codes(np.repeat(read, 3, axis=0), ["bob", "ada", None])
        assert all(again[column][1] == first[column][0] for column in first)
        one = randomizer.report({}, "ada")
        assert all(one[column] == first[column][0] for column in first)
    other = codes if (read != codes).any() else codes + 1
    with pytest.raises(DataError, match="named twice"):
        randomizer.report_codes(other, ["ada"])


def test_block_weights_that_are_dropped_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the fit of reports to their exact law: pairs have 30 parts, single columns 28."""
    protocol = plan_protocol(categorical(2, 2, 2), 1, "parity")
    codes = np.zeros((400_000, 3), dtype=np.int64)

    def right() -> bool:
        made = Randomizer(protocol).report_codes(codes)
        drawn = zip(*(column.tolist() for column in made.values()), strict=True)
        return fits(drawn, law(protocol, (0, 0, 0)))

    assert right()
    same = cached_property(lambda self: Law([1] * len(self.protocol.blocks)))
    same.__set_name__(Randomizer, "_law")
    monkeypatch.setattr(Randomizer, "_law", same)
    assert not right()
