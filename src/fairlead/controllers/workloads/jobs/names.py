"""Names that Jobs use on their pods."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.controllers.workloads.pods import Pod
from fairlead.resources.batch.names import TRACKING

INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_MAX_DIGITS = 10


class JobNames:
    """`tracking` is both the finalizer and the annotation of tracked Jobs; `index` is the
    annotation with the completion index."""

    def __init__(self, dialect: Dialect) -> None:
        self.tracking = dialect.label(TRACKING)
        self.index = dialect.label("batch.@/job-completion-index")

    def index_of(self, pod: Pod) -> int | None:
        text = pod.annotations.get(self.index, "")
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
            return None
        return int(text)
