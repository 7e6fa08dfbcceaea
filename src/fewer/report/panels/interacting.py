"""Panel of the permutation test: do columns interact?"""

from typing import TYPE_CHECKING

from fewer.report._panel import Panel, Picture
from fewer.report.panels._nulls import null_pictures, p_value

if TYPE_CHECKING:
    from fewer.study import Findings

NULL = "features_within_class"


def _pictures(findings: "Findings") -> dict[str, Picture]:
    return null_pictures(findings, NULL)


PANEL = Panel("together", "Interactions?", lambda findings: p_value(findings, findings.interacting, NULL), _pictures)
