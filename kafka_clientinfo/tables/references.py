"""Relations of the package's own data that views join: Kafka's APIs, and what features need of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..logs.apis import SERVED_BY_BROKERS, SERVED_BY_CONTROLLERS
from ..protocol import api_names
from ..releases.broker_releases import features
from ..releases.reference_rows import client_library_rows

Value = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A relation: the names of its columns, and its rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def sql(self, literal: Callable[[str], str]) -> str:
        """Return a subquery with the rows; `literal` returns a text as a literal."""

        def value(one: Value) -> str:
            if isinstance(one, str):
                return literal(one)
            return "NULL" if one is None else str(one).lower()

        rows = ", ".join(f"({', '.join(map(value, row))})" for row in self.rows)
        return f"(SELECT * FROM (VALUES {rows}) AS reference({', '.join(self.columns)}))"


def _reference(columns: str, rows: Iterable[Sequence[Value]]) -> Reference:
    return Reference(tuple(columns.split()), tuple(map(tuple, rows)))


@lru_cache(maxsize=1)
def references() -> dict[str, Reference]:
    """Return the relations by name."""
    needs = (
        (feature.name, feature.kip, int(key), low, high)
        for feature in features().values()
        for key, (low, high) in feature.needs.items()
    )
    apis = (
        (key, name, key in SERVED_BY_BROKERS, key in SERVED_BY_CONTROLLERS) for key, name in sorted(api_names().items())
    )
    return {
        "feature_needs": _reference("feature kip api_key min_version max_version", needs),
        "client_libraries": _reference(
            "library software_name client_id_pattern client_id_start version_settings", client_library_rows()
        ),
        "api_names": _reference("api_key api_name served_by_brokers_only served_by_controllers_only", apis),
    }
