"""Finding out which server is meant, and as whom."""

from __future__ import annotations

import os
from pathlib import Path

from fairlead.client.access.fixed import FixedCredentials
from fairlead.client.access.model import NOBODY_ELSE, Access, AccessError, Impersonation
from fairlead.outgoing.client_config import ClientConfigError, load_client_config

_FILES = "KUBECONFIG"
_USUAL_FILE = "~/.kube/config"


def load_access(
    path: Path | str | None = None, *, impersonation: Impersonation = NOBODY_ELSE
) -> Access:
    """The current context of the configuration files; raises AccessError."""
    name = str(path or os.environ.get(_FILES) or os.path.expanduser(_USUAL_FILE))
    try:
        config = load_client_config(Path(name))
    except ClientConfigError as error:
        raise AccessError(str(error)) from None
    return Access(config, FixedCredentials(config), impersonation=impersonation)
