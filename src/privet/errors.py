"""Every refusal that a user can meet: one sentence with the value, the rule and the fix.

A message may depend on what is public (schema, budget, options), never on a row.
"""

from __future__ import annotations


class PrivetError(Exception):
    """Something the user can put right; the command line shows it and exits with code 2."""


class SchemaError(PrivetError):
    """The schema does not describe a table."""


class DataError(PrivetError):
    """The file or frame cannot be opened, or its header does not fit the schema."""


class BudgetError(PrivetError):
    """A charge was refused; nothing was read and nothing was spent."""


class LedgerError(PrivetError):
    """The ledger file cannot be used."""


class KnowledgeError(PrivetError):
    """Background knowledge contradicts itself or the schema."""


class GraphError(PrivetError):
    """A graph is not of the kind that it claims, or a file is not a graph."""


class MethodError(PrivetError):
    """No such method, or it cannot serve these columns or this budget."""


class EvidenceError(PrivetError):
    """The evidence at hand does not hold what a test asks for."""


class StudyError(PrivetError):
    """A study of several sites, its keys, or a message in it is not what it should be."""


class OutputError(PrivetError):
    """The output cannot be written."""


NOTE = "privet: "  # how a note on an error begins that the command line may show
