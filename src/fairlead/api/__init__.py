"""HTTP to verbs and back: routing, parameters, negotiation, one module a verb."""
