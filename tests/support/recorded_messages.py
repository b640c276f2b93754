"""Protobuf messages recorded from servers and clients of the reference, adapted to the release that
we serve.

They were read from the stores of clusters. Between their releases and ours metadata lost its
`clusterName` (15) and managed fields got a `subresource` (8); the client's message is from a later
release, without `resize` (14) in its status. Nothing else changed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from fairlead.codec.protobuf_wire import BYTES, delimited, fields, key, varint
from support.reference_store import SERVICE

Edit = Callable[[bytes], bytes]


def edited(raw: bytes, path: tuple[int, ...], edit: Edit) -> bytes:
    """Replace all messages at a path of field numbers."""
    if not path:
        return edit(raw)
    out = b""
    for number, wire_type, value in fields(raw):
        if isinstance(value, int):
            out += key(number, wire_type) + varint(value)
        else:
            inner = edited(value, path[1:], edit) if number == path[0] else value
            out += delimited(key(number, BYTES), inner)
    return out


def _without_cluster_name(metadata: bytes) -> bytes:
    assert metadata.count(b"z\x00") == 1
    return metadata.replace(b"z\x00", b"")


def _with_subresource(entry: bytes) -> bytes:
    return entry + b"B\x00"


def _recorded(text: str, *edits: tuple[tuple[int, ...], Edit]) -> bytes:
    raw = base64.b64decode(text)
    for path, edit in edits:
        raw = raw[:4] + edited(raw[4:], path, edit)
    return raw


_NAMED = (2, 1), _without_cluster_name
_OWNED = (2, 1, 17), _with_subresource

PENDING_POD = _recorded(
    "azhzAAoJCgJ2MRIDUG9kEu8HCs4DCghuZ2lueHBvZBIAGgdkZWZhdWx0IgAqJDE5OGIxZTRlLTIwZWEtNDU3Ny1hNDg3"
    "LTA3NDEzYWExMWVjNTIAOABCCAjJ+oGjBhAAegCKAf0CCgR0ZXN0EgZVcGRhdGUaAnYxIggIyfqBowYQADIIRmllbGRz"
    "VjE60gIKzwJ7ImY6c3BlYyI6eyJmOmNvbnRhaW5lcnMiOnsiazp7XCJuYW1lXCI6XCJuZ2lueFwifSI6eyIuIjp7fSwi"
    "ZjppbWFnZSI6e30sImY6aW1hZ2VQdWxsUG9saWN5Ijp7fSwiZjpuYW1lIjp7fSwiZjpyZXNvdXJjZXMiOnt9LCJmOnRl"
    "cm1pbmF0aW9uTWVzc2FnZVBhdGgiOnt9LCJmOnRlcm1pbmF0aW9uTWVzc2FnZVBvbGljeSI6e319fSwiZjpkbnNQb2xp"
    "Y3kiOnt9LCJmOmVuYWJsZVNlcnZpY2VMaW5rcyI6e30sImY6cmVzdGFydFBvbGljeSI6e30sImY6c2NoZWR1bGVyTmFt"
    "ZSI6e30sImY6c2VjdXJpdHlDb250ZXh0Ijp7fSwiZjp0ZXJtaW5hdGlvbkdyYWNlUGVyaW9kU2Vjb25kcyI6e319fUIA"
    "EvoDCoQBChVrdWJlLWFwaS1hY2Nlc3MteGdiZjgSa9IBaAoOIgwKABCXHBoFdG9rZW4KKBomChIKEGt1YmUtcm9vdC1j"
    "YS5jcnQSEAoGY2EuY3J0EgZjYS5jcnQKKRInCiUKCW5hbWVzcGFjZRIYCgJ2MRISbWV0YWRhdGEubmFtZXNwYWNlEKQD"
    "Eo4BCgVuZ2lueBIFbmdpbngqAEIASkwKFWt1YmUtYXBpLWFjY2Vzcy14Z2JmOBABGi0vdmFyL3J1bi9zZWNyZXRzL2t1"
    "YmVybmV0ZXMuaW8vc2VydmljZWFjY291bnQiADIAahQvZGV2L3Rlcm1pbmF0aW9uLWxvZ3IGQWx3YXlzgAEAiAEAkAEA"
    "ogEERmlsZRoGQWx3YXlzIB4yDENsdXN0ZXJGaXJzdEIHZGVmYXVsdEoHZGVmYXVsdFIAWABgAGgAcgCCAQCKAQCaARFk"
    "ZWZhdWx0LXNjaGVkdWxlcrIBNgocbm9kZS5rdWJlcm5ldGVzLmlvL25vdC1yZWFkeRIGRXhpc3RzGgAiCU5vRXhlY3V0"
    "ZSisArIBOAoebm9kZS5rdWJlcm5ldGVzLmlvL3VucmVhY2hhYmxlEgZFeGlzdHMaACIJTm9FeGVjdXRlKKwCwgEAyAEA"
    "8AEB+gEUUHJlZW1wdExvd2VyUHJpb3JpdHkaHwoHUGVuZGluZxoAIgAqADIASgpCZXN0RWZmb3J0WgAaACIA",
    _NAMED,
)
RUNNING_POD = _recorded(
    "azhzAAoJCgJ2MRIDUG9kEt4TCowMChtleGFtcGxlLWZvby05YmJiNzVkYzgtdjdkenYSFmV4YW1wbGUtZm9vLTliYmI3"
    "NWRjOC0aB2RlZmF1bHQiACokOTAxYzA5ODYtMTM0ZS00Y2I5LTliMjItYWI5N2QyMzlmZDkyMgA4AEIICOjnjYwGEABa"
    "DAoDYXBwEgVuZ2lueFoZCgpjb250cm9sbGVyEgtleGFtcGxlLWZvb1oeChFwb2QtdGVtcGxhdGUtaGFzaBIJOWJiYjc1"
    "ZGM4alYKClJlcGxpY2FTZXQaFWV4YW1wbGUtZm9vLTliYmI3NWRjOCIkYjhjZWQ5Y2YtMjViNS00NjhkLTg1MzYtODBl"
    "ODRmZmIwMjY4KgdhcHBzL3YxMAE4AXoAigG5BQoXa3ViZS1jb250cm9sbGVyLW1hbmFnZXISBlVwZGF0ZRoCdjEiCAjo"
    "542MBhAAMghGaWVsZHNWMTr9BAr6BHsiZjptZXRhZGF0YSI6eyJmOmdlbmVyYXRlTmFtZSI6e30sImY6bGFiZWxzIjp7"
    "Ii4iOnt9LCJmOmFwcCI6e30sImY6Y29udHJvbGxlciI6e30sImY6cG9kLXRlbXBsYXRlLWhhc2giOnt9fSwiZjpvd25l"
    "clJlZmVyZW5jZXMiOnsiLiI6e30sIms6e1widWlkXCI6XCJiOGNlZDljZi0yNWI1LTQ2OGQtODUzNi04MGU4NGZmYjAy"
    "NjhcIn0iOnsiLiI6e30sImY6YXBpVmVyc2lvbiI6e30sImY6YmxvY2tPd25lckRlbGV0aW9uIjp7fSwiZjpjb250cm9s"
    "bGVyIjp7fSwiZjpraW5kIjp7fSwiZjpuYW1lIjp7fSwiZjp1aWQiOnt9fX19LCJmOnNwZWMiOnsiZjpjb250YWluZXJz"
    "Ijp7Ims6e1wibmFtZVwiOlwibmdpbnhcIn0iOnsiLiI6e30sImY6aW1hZ2UiOnt9LCJmOmltYWdlUHVsbFBvbGljeSI6"
    "e30sImY6bmFtZSI6e30sImY6cmVzb3VyY2VzIjp7fSwiZjp0ZXJtaW5hdGlvbk1lc3NhZ2VQYXRoIjp7fSwiZjp0ZXJt"
    "aW5hdGlvbk1lc3NhZ2VQb2xpY3kiOnt9fX0sImY6ZG5zUG9saWN5Ijp7fSwiZjplbmFibGVTZXJ2aWNlTGlua3MiOnt9"
    "LCJmOnJlc3RhcnRQb2xpY3kiOnt9LCJmOnNjaGVkdWxlck5hbWUiOnt9LCJmOnNlY3VyaXR5Q29udGV4dCI6e30sImY6"
    "dGVybWluYXRpb25HcmFjZVBlcmlvZFNlY29uZHMiOnt9fX2KAbQECgdrdWJlbGV0EgZVcGRhdGUaAnYxIggIrOiNjAYQ"
    "ADIIRmllbGRzVjE6iAQKhQR7ImY6c3RhdHVzIjp7ImY6Y29uZGl0aW9ucyI6eyJrOntcInR5cGVcIjpcIkNvbnRhaW5l"
    "cnNSZWFkeVwifSI6eyIuIjp7fSwiZjpsYXN0UHJvYmVUaW1lIjp7fSwiZjpsYXN0VHJhbnNpdGlvblRpbWUiOnt9LCJm"
    "OnN0YXR1cyI6e30sImY6dHlwZSI6e319LCJrOntcInR5cGVcIjpcIkluaXRpYWxpemVkXCJ9Ijp7Ii4iOnt9LCJmOmxh"
    "c3RQcm9iZVRpbWUiOnt9LCJmOmxhc3RUcmFuc2l0aW9uVGltZSI6e30sImY6c3RhdHVzIjp7fSwiZjp0eXBlIjp7fX0s"
    "Ims6e1widHlwZVwiOlwiUmVhZHlcIn0iOnsiLiI6e30sImY6bGFzdFByb2JlVGltZSI6e30sImY6bGFzdFRyYW5zaXRp"
    "b25UaW1lIjp7fSwiZjpzdGF0dXMiOnt9LCJmOnR5cGUiOnt9fX0sImY6Y29udGFpbmVyU3RhdHVzZXMiOnt9LCJmOmhv"
    "c3RJUCI6e30sImY6cGhhc2UiOnt9LCJmOnBvZElQIjp7fSwiZjpwb2RJUHMiOnsiLiI6e30sIms6e1wiaXBcIjpcIjEw"
    "LjEuMC4yMDNcIn0iOnsiLiI6e30sImY6aXAiOnt9fX0sImY6c3RhcnRUaW1lIjp7fX19Eo8ECoQBChVrdWJlLWFwaS1h"
    "Y2Nlc3MtZGg0eHMSa9IBaAoOIgwKABCXHBoFdG9rZW4KKBomChIKEGt1YmUtcm9vdC1jYS5jcnQSEAoGY2EuY3J0EgZj"
    "YS5jcnQKKRInCiUKCW5hbWVzcGFjZRIYCgJ2MRISbWV0YWRhdGEubmFtZXNwYWNlEKQDEpUBCgVuZ2lueBIMbmdpbng6"
    "bGF0ZXN0KgBCAEpMChVrdWJlLWFwaS1hY2Nlc3MtZGg0eHMQARotL3Zhci9ydW4vc2VjcmV0cy9rdWJlcm5ldGVzLmlv"
    "L3NlcnZpY2VhY2NvdW50IgAyAGoUL2Rldi90ZXJtaW5hdGlvbi1sb2dyBkFsd2F5c4ABAIgBAJABAKIBBEZpbGUaBkFs"
    "d2F5cyAeMgxDbHVzdGVyRmlyc3RCB2RlZmF1bHRKB2RlZmF1bHRSDmRvY2tlci1kZXNrdG9wWABgAGgAcgCCAQCKAQCa"
    "ARFkZWZhdWx0LXNjaGVkdWxlcrIBNgocbm9kZS5rdWJlcm5ldGVzLmlvL25vdC1yZWFkeRIGRXhpc3RzGgAiCU5vRXhl"
    "Y3V0ZSisArIBOAoebm9kZS5rdWJlcm5ldGVzLmlvL3VucmVhY2hhYmxlEgZFeGlzdHMaACIJTm9FeGVjdXRlKKwCwgEA"
    "yAEA8AEB+gEUUHJlZW1wdExvd2VyUHJpb3JpdHkaugMKB1J1bm5pbmcSIwoLSW5pdGlhbGl6ZWQSBFRydWUaACIICOjn"
    "jYwGEAAqADIAEh0KBVJlYWR5EgRUcnVlGgAiCAis6I2MBhAAKgAyABInCg9Db250YWluZXJzUmVhZHkSBFRydWUaACII"
    "CKzojYwGEAAqADIAEiQKDFBvZFNjaGVkdWxlZBIEVHJ1ZRoAIggI6OeNjAYQACoAMgAaACIAKgwxOTIuMTY4LjY1LjQy"
    "CjEwLjEuMC4yMDM6CAjo542MBhAAQtcBCgVuZ2lueBIMEgoKCAis6I2MBhAAGgAgASgAMgxuZ2lueDpsYXRlc3Q6X2Rv"
    "Y2tlci1wdWxsYWJsZTovL25naW54QHNoYTI1Njo2NDRhNzA1MTZhMjYwMDRjOTdkMGQ4NWM3ZmUxZDBjM2E2N2VhOGFi"
    "N2RkZjRhZmYxOTNkOWYzMDE2NzBjZjM2Qklkb2NrZXI6Ly85NWM3MjFiMzZhOTdiMzcwZjI4ZWZhN2U2MzllMjdkMjdj"
    "ZDIyNmE5Zjc3NzIwYTQ1ODM0YWE3ZDI1N2RlNGZjSAFKCkJlc3RFZmZvcnRaAGIMCgoxMC4xLjAuMjAzGgAiAA==",
    _NAMED,
    _OWNED,
)
DEPLOYMENT = _recorded(
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EuoECoABCgVuZ2lueBIAGgdkZWZhdWx0IgAqJDEzZWQzOGRkLTE1OWQt"
    "NDcxYS04NTUzLTlmNThjYTg0ZGRlNDIAOAFCCAidlfjzBRAAWgwKA2FwcBIFbmdpbnhiJgohZGVwbG95bWVudC5rdWJl"
    "cm5ldGVzLmlvL3JldmlzaW9uEgExegAS8QEIARIOCgwKA2FwcBIFbmdpbngaqgEKIAoAEgAaACIAKgAyADgAQgBaDAoD"
    "YXBwEgVuZ2lueHoAEoUBEkAKBW5naW54EgVuZ2lueCoAQgBqFC9kZXYvdGVybWluYXRpb24tbG9ncgZBbHdheXOAAQCI"
    "AQCQAQCiAQRGaWxlGgZBbHdheXMgHjIMQ2x1c3RlckZpcnN0QgBKAFIAWABgAGgAcgCCAQCKAQCaARFkZWZhdWx0LXNj"
    "aGVkdWxlcsIBACInCg1Sb2xsaW5nVXBkYXRlEhYKCQgBEAAaAzI1JRIJCAEQABoDMjUlKAAwCjgASNgEGvABCAEQARgB"
    "IAEoADJlCglBdmFpbGFibGUSBFRydWUiGE1pbmltdW1SZXBsaWNhc0F2YWlsYWJsZSokRGVwbG95bWVudCBoYXMgbWlu"
    "aW11bSBhdmFpbGFiaWxpdHkuMggIqpX48wUQADoICKqV+PMFEAAyewoLUHJvZ3Jlc3NpbmcSBFRydWUiFk5ld1JlcGxp"
    "Y2FTZXRBdmFpbGFibGUqOlJlcGxpY2FTZXQgIm5naW54LTg2YzU3ZGI2ODUiIGhhcyBzdWNjZXNzZnVsbHkgcHJvZ3Jl"
    "c3NlZC4yCAiqlfjzBRAAOggInZX48wUQADgBGgAiAA==",
    _NAMED,
    ((2, 2, 3, 1), _without_cluster_name),
)
SECRET = _recorded(
    "azhzAAoMCgJ2MRIGU2VjcmV0En4KXwoLdGVzdC1zZWNyZXQSABoWc2VjcmV0LWVuY3J5cHRpb24tdGVzdCIAKiQ3MmRm"
    "ZTVjNC0xNDU2LTQyMzktYjFlZC1hZGZmYTJmMWY3YmEyADgAQggI5Jy/7wUQAHoAEhMKB2FwaV9rZXkSCPCfpJfwn5C8"
    "GgZPcGFxdWUaACIA",
    _NAMED,
)
EVENT = _recorded(
    "azhzAAoLCgJ2MRIFRXZlbnQS5AIKcwoubmdpbngtZGVwbG95LTc4YmM4ODc2ZGQtdjkybHEuMTVmZjJlMGUyMGU5NWQw"
    "YxIAGgdkZWZhdWx0IgAqJGZhMWIxNDhmLTlhMjgtNGVkOC1iN2NmLTVlYmY3ZjVhM2Q5ZjIAOABCCAjI9+bzBRAAegAS"
    "YgoDUG9kEgdkZWZhdWx0Gh1uZ2lueC1kZXBsb3ktNzhiYzg4NzZkZC12OTJscSIkNjI5NzJiMTItYzVmNC00NzM2LWI5"
    "MDYtMGZmOTMxYTU1YTgwKgJ2MTIHMTg4NTI4OToAGglTY2hlZHVsZWQiQVN1Y2Nlc3NmdWxseSBhc3NpZ25lZCBkZWZh"
    "dWx0L25naW54LWRlcGxveS03OGJjODg3NmRkLXY5MmxxIHRvIGhsKhUKEWRlZmF1bHQtc2NoZWR1bGVyEgAyCAjI9+bz"
    "BRAAOggIyPfm8wUQAEABSgZOb3JtYWxSAGIAcgB6ABoAIgA=",
    _NAMED,
)
OWN_SERVICE = _recorded(base64.b64encode(SERVICE).decode(), _NAMED)
# Sent by a client for an object that has only a name.
EMPTY_POD = (
    b'k8s\x00\n\t\n\x02v1\x12\x03Pod\x12G\n\x17\n\x07snorlax\x12\x00\x1a\x00"\x00*\x002\x008\x00B\x00'
    b"\x12\x1c\x1a\x002\x00B\x00J\x00R\x00X\x00`\x00h\x00\x82\x01\x00\x8a\x01\x00\x9a\x01\x00\xc2\x01\x00"
    b'\x1a\x0e\n\x00\x1a\x00"\x00*\x002\x00J\x00Z\x00\x1a\x00"\x00'
)
RECORDED = {
    "a pod without anything": EMPTY_POD,
    "a pending pod": PENDING_POD,
    "a running pod": RUNNING_POD,
    "a deployment": DEPLOYMENT,
    "a secret": SECRET,
    "an event": EVENT,
    "a service": OWN_SERVICE,
}
