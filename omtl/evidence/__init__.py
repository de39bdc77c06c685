"""What the numbers say: comparisons of learners, claims, ranks, the board, hindsight."""
