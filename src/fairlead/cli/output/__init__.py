"""Output formats: tables, documents, templates."""
