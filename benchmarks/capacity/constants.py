"""The constants of the model: measured by `benchmarks.capacity --measure`, kept beside this file."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).with_name("constants.json")


class TopicSize(BaseModel):
    """What one topic holds of a settled user.

    Attributes:
        bytes_per_choice: keys and values that are written.
        stored_per_choice: the same as the broker stores it, compressed.
        keys: how many keys there are in the end.
        bytes_per_key: of the newest record of each.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes_per_choice: float
    stored_per_choice: float
    keys: int
    bytes_per_key: float

    @property
    def stored_share(self) -> float:
        """How much of its bytes compression leaves."""
        return self.stored_per_choice / self.bytes_per_choice if self.bytes_per_choice else 1.0


class Constants(BaseModel):
    """What was measured.

    Attributes:
        measured_on: the day.
        users, items, choices: of the run.
        worker_cpu_ms: per choice, with the graph.
        worker_cpu_ms_without_graph: per choice.
        worker_cpu_ms_with_llm: per choice with one LLM call and the graph.
        materializer_cpu_ms: per choice.
        broker_cpu_ms: per choice; the embedded broker, with one copy.
        worker_mib: resident memory of a worker before it has users.
        materializer_mib: resident memory of the materializer at the end.
        api_mib: resident memory of the API with the console before it has users.
        held_bytes: what a record that the API holds costs beside its key and value.
        duckdb_bytes_per_choice: from `benchmarks.analytics`: a file of a million diffs with what belongs to them.
        topics: by the registry's names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    measured_on: str
    users: int
    items: int
    choices: int
    worker_cpu_ms: float
    worker_cpu_ms_without_graph: float
    worker_cpu_ms_with_llm: float
    materializer_cpu_ms: float
    broker_cpu_ms: float
    worker_mib: float
    materializer_mib: float
    api_mib: float
    held_bytes: float
    duckdb_bytes_per_choice: float = 780.0
    topics: dict[str, TopicSize]


def load(file: Path = FILE) -> Constants:
    """The constants in a file."""
    return Constants.model_validate_json(file.read_bytes())


def save(constants: Constants, file: Path = FILE) -> None:
    """Replace a file's constants."""
    file.write_text(constants.model_dump_json(indent=2) + "\n", encoding="utf-8")
