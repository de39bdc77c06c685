"""The learners' input: rows, tasks, streams, triplets, and networks of nodes."""
