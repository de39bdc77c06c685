"""``omtl audit``: look behind the numbers."""

GROUP = "look behind the numbers"
HELP = "check claims, statistics, hindsight, printed tables, readings and digits"
