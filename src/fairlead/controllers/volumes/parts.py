"""Objects shared by the parts of the binder."""

from __future__ import annotations

from fairlead.base.records import dataclass
from fairlead.controllers.events import Recorder
from fairlead.controllers.volumes.index import Index
from fairlead.controllers.volumes.names import Annotations
from fairlead.controllers.volumes.plugins import Plugins
from fairlead.controllers.volumes.writes import EventRecorder, Writer
from fairlead.operations.api import Api
from fairlead.operations.client import Client


@dataclass(frozen=True, slots=True)
class Parts:
    """`storage_group` is the API group of storage classes."""

    client: Client
    names: Annotations
    plugins: Plugins
    index: Index
    writer: Writer
    teller: EventRecorder
    storage_group: str

    @classmethod
    def of(cls, api: Api, client: Client, recorder: Recorder) -> Parts:
        names = Annotations.of(api.dialect)
        return cls(
            client,
            names,
            Plugins(api.dialect, names),
            Index(names),
            Writer(client, names),
            EventRecorder(recorder, api.resources),
            api.dialect.group_name("storage.@"),
        )
