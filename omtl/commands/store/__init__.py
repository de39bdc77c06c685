"""``omtl store``: share, clean and check the finished units."""

GROUP = "manage"
HELP = "share, clean and check the finished units"
