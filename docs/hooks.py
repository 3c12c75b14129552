"""Hooks that build the site from the files that GitHub shows: pages of the root, links out of docs/, equal structure.

README, CONTRIBUTING, SECURITY and CHANGELOG stay where GitHub looks for them and become pages of the site. Links to
files that the site does not have go to the repository, or lose the link where `repo_url` is not known. A strict build
refuses a page that GitHub's Markdown reads otherwise (lists, tables, code), or that loads something from elsewhere.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# Files of the root, with their page names.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
COUNTED = ("table", "pre", "ul", "ol", "li", "h1", "h2", "h3")
GITHUB = MarkdownIt("commonmark").enable("table")

LOADED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")

log = logging.getLogger("mkdocs.hooks.sager")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the root's pages."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at the site's pages, or at the repository."""
    source_path = {page_name: source for source, page_name in PAGES.items()}.get(
        page.file.src_uri, f"docs/{page.file.src_uri}"
    )

    def target(link: re.Match[str]) -> str:
        words, where = link.groups()
        if "://" in where or where.startswith("#"):
            return link[0]
        path, _, section = where.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source_path), path))
        within = PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
        if within and files.get_file_from_path(within):
            relative = posixpath.relpath(within, posixpath.dirname(page.file.src_uri) or ".")
            return f"[{words}]({relative}{'#' + section if section else ''})"
        if not (ROOT / path).exists():
            log.warning("%s: no file %s", source_path, path)
        return f"[{words}]({config.repo_url.rstrip('/')}/blob/HEAD/{path})" if config.repo_url else words

    parts = FENCE.split(markdown)
    return "".join(part if n % 2 else LINK.sub(target, part) for n, part in enumerate(parts))


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Compare the structure of a page on the site and on GitHub."""
    on_github = GITHUB.render(page.markdown or "")
    for tag in COUNTED:
        shown = len(re.findall(rf"<{tag}\b", html))
        expected = len(re.findall(rf"<{tag}\b", on_github))
        if shown != expected:
            log.warning("%s: %d <%s> on the site, %d on GitHub", page.file.src_uri, shown, tag, expected)
    return html


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Warn of pages that load files from another host."""
    for address in LOADED.findall(output):
        if not address.startswith(page.canonical_url or "-"):
            log.warning("%s: loads %s", page.file.src_uri, address)
    return output
