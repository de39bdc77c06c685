"""What learners are given: rows, tasks, the orders in which they meet them, networks of nodes."""
