"""Panel of the permutation test: can the target be predicted?"""

from typing import TYPE_CHECKING

from fewer.report._panel import Panel, Picture
from fewer.report.panels._nulls import null_pictures, p_value

if TYPE_CHECKING:
    from fewer.study import Findings

NULL = "labels"


def _pictures(findings: "Findings") -> dict[str, Picture]:
    return null_pictures(findings, NULL)


PANEL = Panel("learn", "Predictable?", lambda findings: p_value(findings, findings.learnable, NULL), _pictures)
