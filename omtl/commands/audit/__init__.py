"""Check claims, statistics, hindsight, printed tables, readings and digits."""

GROUP = "look behind the numbers"
