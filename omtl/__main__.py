"""``python -m omtl``."""

from omtl.cli import main

raise SystemExit(main())
