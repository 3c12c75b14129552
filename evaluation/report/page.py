"""Renders a report as one self-contained HTML page: no scripts, no network, embedded images."""

import base64
import re
from collections.abc import Iterator, Mapping
from html import escape

from evaluation.report.cells import slug
from evaluation.report.document import Block, Document, Heading, Picture, Table, Text

_STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f6f8fa; --text: #1f2328; --back: #fff; --link: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3d444d; --soft: #151b23; --text: #e6edf3; --back: #0d1117; --link: #79c0ff; } }
body { margin: 0 auto; max-width: 78rem; padding: 1.5rem; font: 16px/1.55 system-ui, sans-serif;
  color: var(--text); background: var(--back); }
a { color: var(--link); }
nav ul { columns: 22rem; padding-left: 1.2rem; }
h2 { margin-top: 3rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
p, figcaption, caption { max-width: 60rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .3rem 0; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { background: var(--soft); vertical-align: bottom; white-space: normal; min-width: 3rem; }
th.word, td.word { text-align: left; }
tbody tr:hover { background: var(--soft); }
code { font: .85em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; border-radius: 3px; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption { font-size: .85rem; }
"""


def page(document: Document, pictures: Mapping[str, bytes]) -> str:
    """The document as HTML.

    Args:
        document: the report.
        pictures: each image's PNG, by name.
    """
    return "\n".join(_page(document, pictures)) + "\n"


def _page(document: Document, pictures: Mapping[str, bytes]) -> Iterator[str]:
    title = escape(document.title)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    links = (f'<li><a href="#{slug(each.title)}">{escape(each.title)}</a></li>' for each in document.sections)
    yield f"<nav><ul>{''.join(links)}</ul></nav>"
    for section in document.sections:
        yield f'<section>\n<h2 id="{slug(section.title)}">{escape(section.title)}</h2>'
        yield from (_block(block, pictures) for block in section.blocks)
        yield "</section>"
    yield "</body>\n</html>"


def _block(block: Block, pictures: Mapping[str, bytes]) -> str:
    match block:
        case Text(text):
            return f"<p>{_text(text)}</p>"
        case Heading(text):
            return f"<h3>{_text(text)}</h3>"
        case Picture(name, alt, _):
            told, inside = escape(alt), base64.b64encode(pictures[name]).decode()
            return (
                f'<figure><img alt="{told}" src="data:image/png;base64,{inside}">'
                f"<figcaption>{told}</figcaption></figure>"
            )
        case Table():
            return "\n".join(_table(block))


def _table(table: Table) -> Iterator[str]:
    yield '<div class="wide" tabindex="0"><table>'
    if table.caption:
        yield f"<caption>{_text(table.caption)}</caption>"
    heads = (f'<th scope="col"{_word(table, at)}>{_text(head)}</th>' for at, head in enumerate(table.head))
    yield f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>"
    for cells in table.rows:
        yield f"<tr>{''.join(f'<td{_word(table, at)}>{_text(cell)}</td>' for at, cell in enumerate(cells))}</tr>"
    yield "</tbody></table></div>"


def _word(table: Table, column: int) -> str:
    return ' class="word"' if column < table.words else ""


def _text(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
