"""Share, clean and check the finished units."""

GROUP = "manage"
