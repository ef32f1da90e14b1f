"""Parts of the documents that Privet works out from public facts, as a command would print them."""

from __future__ import annotations

from privet.local.collector.plan import LocalLine, plan_local
from privet.networks import load
from privet.privacy.together.keys import PublicKeys
from privet.privacy.together.lock import Lock
from privet.results.promise import factor

STUDIES = ((5, 1), (10, 3), (20, 6), (50, 16))  # sites, and how many of them may collude
EPSILONS = (0.1, 0.5, 1.0, 3.0)
PROTOCOLS = ("component-wise", "combined", "one-pair", "planned-block")
HOPELESS = 1e9  # people for one without noise
SUSPICIONS = (0.1, 0.5, 1.0, 2.0, 4.0)


def markdown(header: list[str], lines: list[list[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def lock(sites: int, colluders: int, epsilon: float) -> Lock:
    """Of a study, with keys that nobody has."""
    keys = [f"{number:064x}" for number in range(2 * sites + 2)]
    parties = [
        PublicKeys(name=f"site-{i:02}", sign=keys[2 * i], agree=keys[2 * i + 1])
        for i in range(sites + 1)
    ]
    return Lock(
        name="study",
        nonce="0" * 32,
        method="interaction-pc",
        epsilon=epsilon,
        delta=1e-6,
        tolerated=colluders,
        fewest=sites,
        compare_sites=False,
        schema=load("asia").schema(),
        coordinator=parties[-1],
        sites=tuple(parties[:-1]),
    )


def alone() -> str:
    """What is left of a promise if all other sites collude, as `privet site join` prints it."""
    lines = [
        [f"{sites}, {t}", *(f"{lock(sites, t, e).alone_epsilon:.3g}" for e in EPSILONS)]
        for sites, t in STUDIES
    ]
    return markdown(["sites, colluders", *(f"ε = {e:g}" for e in EPSILONS)], lines)


def people_per_one() -> str:
    """How many people who report are worth one without noise, as `privet plan --local` says."""
    lines = []
    for name in ("asia", "sachs", "child"):
        plans = [local_plan(name, epsilon) for epsilon in (1, 4, 8)]
        shown = [" / ".join(cost(plan[protocol]) for plan in plans) for protocol in PROTOCOLS]
        lines.append([f"{name}, {len(load(name).names)} columns", "1 / 4 / 8", *shown])
    return markdown(["network", "ε", *(name.replace("-", " ") for name in PROTOCOLS)], lines)


def local_plan(network: str, epsilon: float) -> dict[str, LocalLine]:
    made = plan_local(load(network).schema(), 100_000, epsilon)
    return {line.protocol: line for line in made.lines}


def cost(line: LocalLine) -> str:
    people = line.cost
    if line.refused is not None or people > HOPELESS:
        return "hopeless"
    if people >= 1e6:
        return f"{people / 1e6:.2g} million"
    return f"{float(f'{people:.3g}'):,.0f}" if people >= 100 else f"{people:.2g}"


def suspicions() -> str:
    """The factor that a certificate names, and what becomes of even odds."""
    lines = []
    for epsilon in SUSPICIONS:
        times = float(factor(epsilon).rpartition(" ")[2])
        lines.append([f"{epsilon:g}", f"{times:.3g}", f"{100 * times / (1 + times):.0f} %"])
    return markdown(["ε", "factor", "a suspicion of 50 % becomes at most"], lines)
