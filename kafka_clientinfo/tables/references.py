"""Relations of the package's own data that views join, small enough to stand in a query: APIs, errors, libraries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..logs.apis import SERVED_BY_BROKERS, SERVED_BY_CONTROLLERS
from ..protocol import api_names
from ..protocol.error_codes import errors
from ..releases.broker_releases import features
from ..releases.client_libraries import BINDINGS
from ..releases.reference_rows import client_library_rows
from .types import quoted_text

Value = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A relation: the names of its columns, and its rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @property
    def sql(self) -> str:
        """A subquery with the rows."""

        def value(one: Value) -> str:
            if isinstance(one, str):
                return quoted_text(one)
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
        "bindings": _reference("name_start library", BINDINGS.items()),
        "kafka_errors": _reference(
            "error_code error_name is_retriable", ((one.code, one.name, one.retriable) for one in errors().values())
        ),
    }
