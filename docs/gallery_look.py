"""How figures of the gallery look. Examples run in processes of their own, which know nothing of ``conf.py``."""

import warnings

import plotly.graph_objects as go
import plotly.io as pio
from plotly.io.base_renderers import MimetypeRenderer

from fewer._figures import new_figure


class WithoutScript(MimetypeRenderer):
    """Figures as HTML without plotly's script, which lies beside the pages, so that they work offline."""

    def to_mimebundle(self, fig_dict):
        html = pio.to_html(fig_dict, config={"responsive": True}, include_plotlyjs=False, full_html=False)
        return {"text/html": html}


def set_look(gallery_conf, script):
    """Called before each example, in the process that runs it."""
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown.*")
    pio.renderers["docs"] = WithoutScript()
    pio.renderers.default = "docs"
    # Plain figures of the scripts look like those of the library, with room for a title. A process runs many scripts.
    pio.templates.default = "plotly"
    pio.templates["fewer"] = go.layout.Template(layout=new_figure(title=" ").layout)
    pio.templates.default = "plotly+fewer"
