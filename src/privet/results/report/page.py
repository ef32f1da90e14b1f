"""What every report is made of: one page that needs nothing else.

It loads nothing and runs nothing (its own security policy forbids both), so it can be mailed,
archived and opened anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from privet.markup.pieces import paragraphs, safe, table

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
:root{color-scheme:light dark;--ink:#1b2a38;--soft:#5c6f80;--line:#d5dee6;--back:#fbfcfd;
--card:#fff;--good:#1f7a4d;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#dce6ee;--soft:#93a5b5;--line:#33424f;
--back:#141b21;--card:#1b242c;--good:#5cc490;--bad:#ff8a80}}
body{font:16px/1.55 system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;color:var(--ink);
background:var(--back);max-width:62rem;margin:0 auto;padding:2rem 1.2rem}
h1{font-size:1.7rem;margin:0 0 .3rem}h2{font-size:1.2rem;margin:0 0 .6rem}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:1.1rem 1.3rem;margin:1.1rem 0;overflow-x:auto}
table{border-collapse:collapse;width:100%}
th{font-weight:600;color:var(--soft);text-align:left;font-size:.85rem}
th,td{padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}.number{font-variant-numeric:tabular-nums;white-space:nowrap}
.mark{font-family:ui-monospace,Menlo,Consolas,monospace;white-space:nowrap}
.badge{display:inline-block;padding:.1rem .7rem;border-radius:1rem;border:1px solid;
font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}.soft{color:var(--soft)}
.bar{display:inline-block;width:6rem;height:.55rem;border-radius:.3rem;background:var(--line);
margin-right:.5rem}.bar i{display:block;height:100%;border-radius:.3rem;background:var(--good)}
.promise{font-size:1.08rem}section>svg{max-width:100%;height:auto}
"""


def page(title: str, parts: Iterable[str]) -> str:
    """The page as HTML text; parts that are empty are left out."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{safe(title)} - Privet</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
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


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
