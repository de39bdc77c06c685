"""What the page on the library shows is what there is."""

from __future__ import annotations

import doctest
import re

from omtl.sklearn import __all__ as names
from omtl.util.paths import ROOT

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def test_the_examples_run_and_print_what_they_show() -> None:
    """All examples, one after the other, in one namespace."""
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "library.md", None, 0)
    assert len(test.examples) > 30
    told: list[str] = []
    failed, _ = doctest.DocTestRunner().run(test, out=told.append)
    assert not failed, "".join(told)


def test_the_table_names_estimators() -> None:
    """What the page lists by family, `omtl.sklearn` has; a new learner edits no page."""
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|$", PAGE, flags=re.MULTILINE)
    listed = re.findall(r"`([A-Z]\w+)`", " ".join(rows))
    assert len(listed) == len(set(listed)) > 30
    assert set(listed) <= set(names)
