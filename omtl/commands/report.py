"""Write all results as a website that opens without a server.

Examples
--------
omtl report
omtl report --to public
"""

from __future__ import annotations

from pathlib import Path

from omtl.commands._options import option, tell_written

GROUP = "manage"
OPTIONS = (option("--to", type=Path),)


def run(to: Path | None) -> None:
    """Write the site and print the path of its front page.

    Parameters
    ----------
    to
        the folder to write; default: .omtl/site in a checkout, site elsewhere
    """
    from omtl.site.build import build
    from omtl.util.paths import CHECKOUT, home_folder

    default = home_folder() / "site" if CHECKOUT else Path("site")
    tell_written([build(to or default)])
