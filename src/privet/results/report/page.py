"""What every report is made of: one page that needs nothing else.

It loads nothing and runs nothing but its own script (its security policy forbids all else), so it
can be mailed, archived and opened anywhere; without script it shows the same.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib import resources
from typing import Any

from privet.markup.pieces import paragraphs, safe, table
from privet.results.certificate import AGAIN

FOLDER = resources.files(__package__)


def page(title: str, parts: Iterable[str]) -> str:
    """The page as HTML text; parts that are empty are left out."""
    style = FOLDER.joinpath("page.css").read_text("utf-8")
    script = FOLDER.joinpath("page.js").read_text("utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{safe(title)} - Privet</title><style>{style}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + f"\n<script>{script}</script></body></html>\n"
    )


def badge(certificate: Mapping[str, Any]) -> str:
    if not certificate["private"]:
        return '<span class="badge bad">NOT PRIVATE</span>'
    if certificate.get("trust") == "local":
        return (
            f'<span class="badge good">private before it was sent: epsilon '
            f"{certificate['epsilon']:g} for each person</span>"
        )
    if certificate.get("trust") == "sites":
        return (
            f'<span class="badge good">private at each of {len(certificate["sites"])} sites: '
            f"epsilon {certificate['epsilon']:.6g}, delta {certificate['delta']:g}</span>"
        )
    if certificate.get("trust") == "together":
        return (
            f'<span class="badge good">private in the sum over {len(certificate["sites"])} sites: '
            f"epsilon {certificate['epsilon']:.6g}, delta {certificate['delta']:g}</span>"
        )
    return (
        f'<span class="badge good">differentially private: epsilon {certificate["epsilon"]:g}, '
        f"delta {certificate['delta']:g}</span>"
    )


def head(title: str, certificate: Any) -> str:
    """What the page is about, what is promised and, before all else, if nothing was measured."""
    return f"<h1>{safe(title)}</h1>{badge(certificate)}{not_measured(certificate)}"


def not_measured(certificate: Any) -> str:
    known = certificate.not_measured
    return f'<p class="bad">{safe(known)} {safe(AGAIN)}</p>' if known else ""


def promise(certificate: Any) -> str:
    first, *more = certificate.lines()
    body = f'<p class="promise">{safe(first)}</p>' + paragraphs(more)
    if certificate["assumptions"]:
        items = "".join(f"<li>{safe(assumed)}</li>" for assumed in certificate["assumptions"])
        body += f"<p>It holds if:</p><ul>{items}</ul>"
    if certificate.get("trust") in ("local", "sites", "together"):  # nothing was asked here
        return body
    questions = (
        (
            safe(q["what"]),
            f'<span class="number">{_amount(q["cost"])} {safe(q["currency"] or "")}</span>',
            safe(q["mechanism"]),
            f'<span class="number">{_amount(q["noise_sd"])}</span>',
        )
        for q in certificate["queries"]
    )
    headings = ("asked of the data", "price", "noise", "standard deviation, in released units")
    return body + table(headings, questions)


def method_of(certificate: Any) -> str:
    """The method, with its options in as many digits as a reader wants."""
    options = certificate["options"].items()
    told = (
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in options
    )
    return f"Method {safe(certificate['method'])} ({safe(', '.join(told))}) by Privet"


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
