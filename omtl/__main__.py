"""``python -m omtl``."""

from omtl.commands._main import main

raise SystemExit(main())
