"""``python -m omtl``."""

from omtl.commands._main import entry

raise SystemExit(entry())
