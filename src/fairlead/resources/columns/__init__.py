"""Tables of built-in kinds: columns, cells and row conditions."""

from fairlead.resources.columns.model import Column, Printer
from fairlead.resources.columns.registry import DEFAULT, printer_for, printer_of

__all__ = ["DEFAULT", "Column", "Printer", "printer_for", "printer_of"]
