"""What the papers prove, in numbers: comparators in hindsight, and each paper's bounds."""
