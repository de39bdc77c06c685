"""Tables: from a description to cells, from stored units to our numbers, verdicts and files."""
