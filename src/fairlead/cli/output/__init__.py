"""Objects as text: tables, documents, templates."""
