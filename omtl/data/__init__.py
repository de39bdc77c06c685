"""The learners' input: rows, tasks, streams, and networks of nodes."""
