"""``{command-line}``: every command with its options, from the program's own help."""

from __future__ import annotations

import re

import typer
from sphinx.util.docutils import SphinxDirective

from deciban.cli.app import app as commands

QUOTES = "`'"


class CommandLine(SphinxDirective):
    """A section for each command: what it does, its usage, its options, an example."""

    def run(self):
        group = typer.main.get_command(commands)
        text = "\n".join(describe_command(name, one) for name, one in group.commands.items())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def describe_command(name, command):
    """Markdown on a command."""
    panels = {}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            argument = parameter.param_type_name == "argument"
            panel = getattr(parameter, "rich_help_panel", None)
            panels.setdefault(panel or ("Arguments" if argument else "Options"), []).append(
                parameter
            )
    example = (command.epilog or "").removeprefix("Example: ")
    usage = " ".join(
        p.opts[0] if p.required else f"[{p.opts[0]}]"
        for p in command.params
        if p.param_type_name == "argument"
    )
    parts = [
        f"## {name}",
        escape(command.help or ""),
        f"```text\ndeciban {name} [OPTIONS] {usage}\n```",
        *(describe_panel(panel, parameters) for panel, parameters in panels.items()),
        f"Example:\n\n```text\n{example}\n```" if example else "",
    ]
    return "\n\n".join(parts) + "\n"


def describe_panel(panel, parameters):
    """Markdown on a group of options, as the help groups them."""
    rows = [f"**{panel}**\n"]
    for p in parameters:
        names = ", ".join([*p.opts, *p.secondary_opts]) if p.opts[0][0] == "-" else p.opts[0]
        metavar = f" {p.metavar}" if p.metavar and p.opts[0][0] == "-" else ""
        default = p.default if isinstance(p.default, str | int | float) else None
        if default in (None, False, "") or callable(default):
            shown = ""
        else:
            shown = f" Default: `{default}`."
        required = " Required." if p.required and p.opts[0][0] == "-" else ""
        rows.append(f"`{names}{metavar}`\n: {escape(p.help or '')}{required}{shown}\n")
    return "\n".join(rows)


def escape(text):
    """Help of typer as Markdown: options and what is in quotes become code."""
    text = re.sub(r"\[/?(?:bold|dim|cyan|italic|code)\]", "`", text)
    text = re.sub(r"\\\[", "[", text)
    parts = re.split(r"(`[^`]*`|'[^' ]+'|(?<![\w-])--?[a-z][\w-]*)", text)
    return "".join(
        f"`{part.strip(QUOTES)}`" if k % 2 else re.sub(r"([*<>|$\[\]])", r"\\\1", part)
        for k, part in enumerate(parts)
    )


def setup(app):
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
