"""``{words}``: the glossary that the report uses, as a glossary of Sphinx."""

from __future__ import annotations

from sphinx.util.docutils import SphinxDirective

from deciban.report.page import GLOSSARY


class Words(SphinxDirective):
    """All terms, in the order of the alphabet."""

    def run(self):
        terms = sorted(GLOSSARY.items(), key=lambda item: item[0].casefold())
        entries = "\n\n".join(f"{term}\n  {text}" for term, text in terms)
        return self.parse_text_to_nodes(f"```{{glossary}}\n{entries}\n```\n")


def setup(app):
    app.add_directive("words", Words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
