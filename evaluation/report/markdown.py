"""Renders a report as Markdown."""

import re
from collections.abc import Iterator, Sequence

from evaluation.report.document import Block, Document, Heading, Picture, Table, Text


def markdown(document: Document) -> str:
    """The document as Markdown, with links to its images."""
    parts = [f"# {document.title}"]
    for section in document.sections:
        parts.append(f"## {_plain(section.title)}")
        parts += [_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Heading(text):
            return f"### {_plain(text)}"
        case Picture(name, alt, _):
            return f"![{_plain(alt)}]({name}.png)"
        case Table():
            return "\n".join(_table(block))


def _table(table: Table) -> Iterator[str]:
    if table.caption:
        yield f"{_plain(table.caption)}\n"
    yield _row(table.head)
    yield _row(["---" if column < table.words else "---:" for column in range(len(table.head))])
    for cells in table.rows:
        yield _row([_cell(cell) for cell in cells])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    if text.startswith("`"):
        return text.replace("|", "\\|")
    return _plain(text)


def _plain(text: str) -> str:
    """Escapes text: names come from folders and results files, so that nothing in them is markup.

    An interval in brackets is not a link without a parenthesis after it, and `<0.001` is not a tag.
    """
    return re.sub(r"[\\|*`]|<(?=\D)|\](?=\()", r"\\\g<0>", text)
