"""What is said of fields that a type does not have or that a document repeats."""

from __future__ import annotations

from fairlead.operations.operation import Operation

MOST_STRICT_ERRORS = 100


def strict_errors(unknown: list[str], repeated: list[str]) -> list[str]:
    found = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
    return list(dict.fromkeys(found))[:MOST_STRICT_ERRORS]


def warn_of(operation: Operation, found: list[str], validation: str) -> None:
    if validation == "Warn":
        for text in found:
            operation.warn(text)
