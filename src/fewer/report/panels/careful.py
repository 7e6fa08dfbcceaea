"""Panel of the warnings and notes."""

from fewer.report._panel import Panel

PANEL = Panel("careful", "Warnings", body='{% include "panel_careful.html.j2" %}', has_sentence=False)
