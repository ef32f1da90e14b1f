"""What to do with missing cells: the choices, what each assumes, and a schema that still lacks one.

Which columns lack a choice stands in the schema's text (``missing = "choose"``, which a draft
writes), so a refusal tells nothing of a row.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from privet.errors import SchemaError

if TYPE_CHECKING:
    from privet.schema.model import Schema

CHOOSE = "choose"  # the value of `missing` where nobody has chosen
MOST_NAMED = 6
LINE = 90  # characters

# Each choice as a schema has it, and what it does and assumes. Drafts and refusals list them all.
CHOICES = {
    '"drop"': "leave the whole row out; right if rows with and without the cell are alike "
    "(missing completely at random). Each such column costs rows",
    '"level"': "one more level, missing; an edge may then say no more than that it matters who "
    "has a value. Methods that need numbers throughout refuse it",
    "{ value = V }": "count the cell as V; right if V is nearly what it would have been. Where "
    "many are missing, it hides dependences and makes new ones",
}


def choices() -> str:
    """The choices as lines of a comment, for a schema file."""
    width = max(map(len, CHOICES))
    lines = []
    for choice, what in CHOICES.items():
        first, *more = textwrap.wrap(what, LINE - width)
        lines += [f"#   {choice:<{width}}  {first}", *(f"#   {'':<{width}}  {m}" for m in more)]
    return "\n".join(
        [
            f'# Some columns have missing cells. Write one of these in the place of "{CHOOSE}"; '
            "until then no run",
            "# accepts this schema, and nothing is spent:",
            *lines,
        ]
    )


def check_chosen(schema: Schema) -> None:
    """Refuse a schema in which a choice is still to be made."""
    names = [column.name for column in schema.columns if column.missing == CHOOSE]
    if not names:
        return
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    raise SchemaError(
        f'schema {schema.name!r} has missing = "{CHOOSE}" in '
        f"{', '.join(map(repr, names[:MOST_NAMED]))}{more}, but what a missing cell counts as must "
        f"be chosen before anything is spent; write missing = {' or '.join(CHOICES)} there, or "
        "draft again with ⟦missing='drop'¦--missing drop⟧, which chooses for all of them"
    )
