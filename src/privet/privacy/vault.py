"""The vault: the only code that holds rows, behind five doors.

Each door does the same five things in the same order: check the question against the schema, charge
the ledger (which may refuse), compute the answer in whole numbers, blur it, hand it out. Rows are
read after the first charge and never leave: no attribute, text, copy or pickle of a vault shows
them, and no error depends on a cell. What is promised about a person's rows rests on this folder.

The data set is the table as parsed, and a record is a parsed row (see
``privacy/engines/source.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

from privet.arrays import Integers
from privet.errors import BudgetError, DataError, MethodError, SchemaError
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.place import place
from privet.privacy.engines.source import UNREADABLE, open_source
from privet.privacy.ledger.run import Claim, Run
from privet.privacy.mechanisms import (
    AboveThreshold,
    Exact,
    Gaussian,
    GaussianShare,
    Laplace,
    Select,
)
from privet.privacy.queries.base import Conditional, Query, Release, Rows
from privet.schema.missing import check_chosen
from privet.schema.model import Schema
from privet.schema.names import same_name


class Vault:
    """One table behind five doors: ``release`` (numbers), ``select`` (the place of a largest
    number), ``sieve`` (yes or no), ``tested`` (numbers, if a noisy test allows it) and ``share``
    (a part of a sum over sites, for ``privacy/together`` alone).

    ``run`` pays for the answers. Without one the vault is not private: it gives exact answers
    and no others.
    """

    def __init__(
        self,
        data: object,
        schema: Schema,
        run: Run | None,
        constant: Mapping[str, int] | None = None,
    ) -> None:
        """Opens the data and holds its header, which is public, against the schema. The columns of
        ``constant`` are not in the data: every row has the same code there, which is public."""
        if run is not None and not same_name(run.dataset, schema.name):
            raise BudgetError(
                f"this run pays for data set {run.dataset!r}, but the schema is that of "
                f"{schema.name!r}; begin a run on {schema.name!r}"
            )
        check_chosen(schema)
        self.schema = schema
        self._run = run
        same = constant or {}
        self._source, positions = open_source(data, schema, same.keys())
        self._place = place(data, self._source)
        self._encoder = Encoder(schema=schema, positions=positions, constant=same, late=run is None)
        self._rows: Rows | None = None
        self._keep: int | None = None

    @property
    def private(self) -> bool:
        return self._run is not None

    @property
    def engine(self) -> str:
        """The program that holds the table, if it is not this one; public."""
        return self._source.engine

    @property
    def place(self) -> str | None:
        """Where the table lies, if another run could find it there; public."""
        return self._place

    def __repr__(self) -> str:
        return f"Vault({self.schema.name!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a vault cannot be copied or pickled, because its rows must not leave it")

    def release(self, query: Query, mechanism: Gaussian | Laplace | Exact) -> Release:
        """The answer to a query, blurred."""
        query.check(self.schema)
        bound = 0  # a question without a known bound is refused here, before it costs anything
        if isinstance(mechanism, Gaussian):
            bound = query.l2_squared(self.schema)
        elif isinstance(mechanism, Laplace):
            bound = query.l1(self.schema)
        mechanism.scale(bound)  # which refuses noise that does not fit 64 bits
        self._charge(mechanism, query)
        return self._blurred(query, mechanism, bound)

    def share(
        self, asked: Sequence[tuple[Query, GaussianShare]], what: str, claim: Claim
    ) -> list[Integers]:
        """The answers to several queries with one site's share of noise. They are charged at once,
        and ``claim`` is written in the same transaction. A share protects nobody by itself: it
        must leave the site under masks only, which cancel in a sum of enough shares."""
        bounds = []
        for query, mechanism in asked:
            query.check(self.schema)
            if not query.additive:
                raise MethodError(
                    f"{query} of several tables is not the sum of theirs, so that no share of it "
                    "can be given; measure apart"
                )
            bounds.append(query.l2_squared(self.schema))
            mechanism.scale(bounds[-1])  # which refuses noise that does not fit 64 bits
        if self._run is None:
            raise BudgetError(f"{what}: shares of noise are bought from a budget; begin a run")
        price = sum((m.cost(self._run.currency) for _, m in asked), Fraction(0))
        self._run.spend(price, what=what, claim=claim)
        return [
            mechanism.perturb(self._evaluate(query), bound)[0]
            for (query, mechanism), bound in zip(asked, bounds, strict=True)
        ]

    def tested(
        self, question: Conditional, test: Laplace, mechanism: Gaussian | Laplace, delta: Fraction
    ) -> tuple[Release, Release | None]:
        """A noisy distance to where the bound of a question fails and, if that is far, the answer
        to the question with noise for this bound; else no answer.

        Test and answer are charged together, before the rows are read, and with or without an
        answer: that there is none is an answer. If the bound may fail, the test passes with
        probability ``delta`` at most, which is charged too; proofs/tested.md.
        """
        question.check(self.schema)
        query, distance = question.query, question.distance
        distance.check(self.schema)
        if distance.size(self.schema) != 1:
            raise SchemaError(f"{distance} is not one number; test with a distance of size 1")
        reach, each = distance.l1(self.schema), question.bound(self.schema)
        bound = query.size(self.schema) * (each**2 if isinstance(mechanism, Gaussian) else each)
        for noise, moved in ((test, reach), (mechanism, bound)):
            noise.scale(moved)  # which refuses noise that does not fit 64 bits
        needed = question.unstable + test.unlikely(reach, delta)
        self._charge_test(test, mechanism, str(query), delta)
        found = self._blurred(distance, test, reach)
        if found.values[0] < needed:
            return found, None
        return found, self._blurred(query, mechanism, bound)

    def select(self, query: Query, mechanism: Select) -> int:
        """The place of a (noisily) largest coordinate of a query's answer."""
        query.check(self.schema)
        bound = query.linf(self.schema)
        self._charge(mechanism, f"largest of {query}")
        return mechanism.pick(self._evaluate(query), bound)

    def sieve(
        self, queries: Iterable[Query], mechanism: AboveThreshold, threshold: int
    ) -> Iterator[bool]:
        """Whether each of some numbers is (noisily) above a threshold, until the positives that
        were paid for are used up.

        Answers come one by one, so a later query may depend on earlier answers. The first
        query fixes the sensitivity; a later one that one person could change more is refused.
        The whole sieve is charged when its first answer is asked for, however many follow.
        """
        sieve = None
        for query in queries:
            query.check(self.schema)
            if query.size(self.schema) != 1:
                raise SchemaError(f"{query} is not one number; sieve queries of size 1")
            reach = query.linf(self.schema)
            if sieve is None:
                first = reach
                mechanism.scales(first)  # which refuses noise that does not fit 64 bits
                self._charge(mechanism, f"sieve at {threshold} from {query}")
                sieve = mechanism.start(threshold, first)
            elif reach > first:
                raise SchemaError(
                    f"{query} has sensitivity {reach}, but this sieve began with {first}; "
                    f"ask the query of largest sensitivity first"
                )
            yield sieve.above(int(self._evaluate(query)[0]))
            if sieve.exhausted:
                return

    def sample(self, keep: int, *, price: Fraction, run: Run) -> None:
        """From now on, answer from a secret sample of the rows, each of which is in it with
        probability ``keep`` / 2^32. The run so far pays ``price`` for that, and ``run`` for the
        answers from the sample; ``trust/subsample.py`` knows what the one is worth in the other.
        """
        if (
            self._run is None
            or self._keep is not None
            or not same_name(self._run.dataset, run.dataset)
        ):
            raise BudgetError("a vault is sampled once, in a run that pays for it; begin a run")
        self._run.spend(price, what=f"a run on a secret sample of {keep / 2**32:.6g} of the rows")
        self._run, self._keep, self._rows = run, keep, None

    def _charge(
        self, mechanism: Gaussian | Laplace | Select | AboveThreshold | Exact, what: Query | str
    ) -> None:
        """Pays, or refuses. Nothing has been read for this question before."""
        if self._run is None:
            if mechanism.private:
                raise BudgetError(
                    f"{what}: this vault has no budget and so gives exact answers only; "
                    f"begin a run on a ledger to get private ones"
                )
        elif not mechanism.private:
            raise BudgetError(
                f"{what}: an exact answer is not private and cannot be bought from a budget; "
                f"use noise, or run without privacy"
            )
        else:
            self._run.spend(mechanism.cost(self._run.currency), what=str(what))

    def _charge_test(
        self, test: Laplace, mechanism: Gaussian | Laplace, what: str, delta: Fraction
    ) -> None:
        for each in (test, mechanism):
            if self._run is None or not each.private:
                return self._charge(each, what)  # which refuses
        assert self._run is not None
        price = test.cost(self._run.currency) + mechanism.cost(self._run.currency)
        self._run.spend(price, what=what, test_delta=delta)
        return None

    def _blurred(self, query: Query, mechanism: Gaussian | Laplace | Exact, bound: int) -> Release:
        """Computes what has been paid for, and blurs it."""
        exact = self._evaluate(query)
        if isinstance(mechanism, Exact):
            values, variance = mechanism.perturb(exact)
        else:
            values, variance = mechanism.perturb(exact, bound)
        return Release(query=query, values=values, variance=variance, mechanism=str(mechanism))

    def _evaluate(self, query: Query) -> Integers:
        try:
            if self._rows is None:
                rows = self._encoder.rows(self._source)
                self._rows = rows if self._keep is None else rows.sampled(self._keep)
            return query.evaluate(self._rows, self.schema)
        except MemoryError:
            raise DataError(UNREADABLE) from None
