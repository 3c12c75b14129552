"""The readable page of an export: one self-contained HTML file beside the data files."""

from collections import deque
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import jinja2
import orjson
from pydantic import ValidationError

from operators.cards.lines import in_words
from schemas import TOPICS, Card, Contrast, Correction, Model, PolicySkill, SlimSkill, Utterance
from streams.rights.portable.archive import Manifest, topic_file
from streams.rights.sentences import SURE

NEWEST = 500
"""How many choices, statements and turns the page lists; the files have all of them."""

ModelT = TypeVar("ModelT", bound=Model)


def page_of(folder: Path, manifest: Manifest) -> str:
    """The page of an export's folder, worded for a lay person. All text in it is escaped.

    `manifest`: of the folder.
    """
    slims = {slim.domain: slim.text for slim in _records(folder, SlimSkill)}
    skills = [
        {
            "domain": skill.domain,
            "text": slims.get(skill.domain, ""),
            "lines": [
                (line.value, line.dimension.replace("_", " "), SURE[str(line.tier)])
                for line in sorted(skill.attributes, key=lambda line: -line.tier)
                if line.tier
            ],
        }
        for skill in _records(folder, PolicySkill)
    ]
    said = [(each.occurred_at, str(each.domain), each.text) for each in _newest(folder, Correction) if each.text]
    said += [(each.occurred_at, "conversation", each.text) for each in _newest(folder, Utterance) if each.text]
    choices = [
        (each.occurred_at, each.domain, each.chosen.title or each.chosen.item_id, len(each.unchosen))
        for each in _newest(folder, Contrast)
    ]
    return _template().render(
        manifest=manifest,
        skills=skills,
        card=[in_words(line) for card in _records(folder, Card) for line in card.lines],
        said=sorted(said, reverse=True),
        choices=sorted(choices, reverse=True),
    )


@cache
def _template() -> jinja2.Template:
    source = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source)


def _newest(folder: Path, model: type[ModelT]) -> deque[ModelT]:
    return deque(_records(folder, model), NEWEST)


def _records(folder: Path, model: type[ModelT]) -> Iterator[ModelT]:
    """The readable records of a model's topic, oldest first."""
    (base,) = (topic.base for topic in TOPICS.values() if topic.model is model)
    file = topic_file(folder, base)
    if not file.exists():
        return
    with file.open("rb") as lines:
        for line in lines:
            value = orjson.loads(line).get("value")
            if value is None:
                continue
            try:
                yield model.model_validate(value)
            except ValidationError:
                continue  # the file has it as it is
