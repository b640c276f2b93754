"""`--authentication-config`: trusted issuers of tokens with their rules, and anonymous requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fairlead.auth.authentication.bearer import Audiences
from fairlead.auth.authentication.claim_mappings import ClaimMappings, ValidationRule
from fairlead.auth.authentication.user import credential_extra
from fairlead.auth.configuration import ConfigurationFile, Expression, ExpressionError
from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.codec.cel.environment import environment
from fairlead.codec.cel.errors import CompileError
from fairlead.codec.cel.parser import parse
from fairlead.codec.cel.syntax import Call, Literal, Name, Node, Select
from fairlead.codec.cel.types import DYN, STRING, ListType, MapType, ObjectType, Type
from fairlead.codec.configuration_files import Section
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Object
from fairlead.resources.causes import Causes
from fairlead.resources.custom.schema.rule_types import unescaped
from fairlead.resources.gates import Gates
from fairlead.resources.networking.shared import check_prefixed_path
from fairlead.wire.outgoing.certificates import BundleError, parse_bundle

FLAG = "authentication-config"
_MAX_ISSUERS = 64
_MATCH_ANY = "MatchAny"
_BOTH_SET = "claim and expression can't both be set"
_EMAIL_UNVERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or"
    " claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when"
    " claims.email is used in claimMappings.username.expression"
)
_SELECTIONS = ("_?._", "_[_]", "_[?_]")  # beside the plain one
_CLAIMS: dict[str, Type] = {"claims": MapType(STRING, DYN)}
_USER: dict[str, Type] = {
    "user": ObjectType(
        "kubernetes.UserInfo",
        {
            "username": STRING,
            "uid": STRING,
            "groups": ListType(STRING),
            "extra": MapType(STRING, ListType(STRING)),
        },
    )
}


class IssuerSettings(NamedTuple):
    """One trusted issuer. `authority` is a PEM bundle, or empty for the CAs of the system."""

    url: str
    discovery_url: str
    authority: bytes
    mapper: ClaimMappings


class AuthenticationSettings(NamedTuple):
    """The content of the file. `anonymous` is None if the file does not say; `paths` restrict
    anonymous requests unless they are empty."""

    issuers: list[IssuerSettings]
    anonymous: bool | None
    paths: frozenset[str]


class AuthenticationFile:
    """The file. `own_issuers` are the issuers of service account tokens; the file must not name
    them."""

    def __init__(
        self, path: Path, types: BuiltinTypes, gates: Gates, own_issuers: Sequence[str]
    ) -> None:
        self.file = ConfigurationFile(path, FLAG, "AuthenticationConfiguration", types)
        self._dialect = types.dialect
        self._gates = gates
        self._own_issuers = frozenset(own_issuers)

    def read(self) -> AuthenticationSettings:
        """Raises ConfigurationError."""
        return self.settings(self.file.read())

    def settings(self, section: Section) -> AuthenticationSettings:
        """The settings of a decoded file; raises ConfigurationError."""
        value = section.value
        issuers = self.file.check(section, lambda causes: self._checked(value, causes), self._gates)
        anonymous = value.get("anonymous")
        if anonymous is None:
            return AuthenticationSettings(issuers, None, frozenset())
        paths = frozenset(entry.get("path", "") for entry in anonymous.get("conditions") or ())
        return AuthenticationSettings(issuers, anonymous.get("enabled", False), paths)

    def _checked(self, value: Object, causes: Causes) -> list[IssuerSettings]:
        listed = value.get("jwt") or []
        if len(listed) > _MAX_ISSUERS:
            causes.too_many("jwt", len(listed), _MAX_ISSUERS)
            return []
        issuers: list[IssuerSettings] = []
        for index, entry in enumerate(listed):
            issuers.append(self._issuer(entry, f"jwt[{index}]", causes))
            for name, seen in (("url", 0), ("discoveryURL", 1)):
                earlier = [issuer[seen] for issuer in issuers[:-1]]
                if (url := issuers[-1][seen]) and url in earlier:
                    causes.duplicate(f"jwt[{index}].issuer.{name}", url)
        anonymous = value.get("anonymous") or {}
        if anonymous.get("conditions") and not anonymous.get("enabled"):
            detail = "enabled should be set to true when conditions are defined"
            causes.invalid("anonymous.conditions", anonymous["conditions"], detail)
        return issuers

    def _issuer(self, entry: Object, path: str, causes: Causes) -> IssuerSettings:
        issuer = entry.get("issuer") or {}
        self._check_issuer(issuer, f"{path}.issuer", causes)
        mapper = _MappingReader(path, causes, self._dialect, self._gates.release).read(
            entry, tuple(issuer.get("audiences") or ())
        )
        return IssuerSettings(
            issuer.get("url", ""),
            issuer.get("discoveryURL", ""),
            issuer.get("certificateAuthority", "").encode(),
            mapper,
        )

    def _check_issuer(self, issuer: Object, path: str, causes: Causes) -> None:
        url, discovery = issuer.get("url", ""), issuer.get("discoveryURL", "")
        if not url:
            causes.required(f"{path}.url")
        else:
            if url in self._own_issuers:
                shown = f"[{' '.join(sorted(self._own_issuers))}]"
                detail = f"URL must not overlap with disallowed issuers: {shown}"
                causes.invalid(f"{path}.url", url, detail)
            _check_url(url, f"{path}.url", causes)
        if discovery:
            if url and url.rstrip("/") == discovery.rstrip("/"):
                detail = "discoveryURL must be different from URL"
                causes.invalid(f"{path}.discoveryURL", discovery, detail)
            _check_url(discovery, f"{path}.discoveryURL", causes)
        _check_audiences(issuer, path, causes)
        if authority := issuer.get("certificateAuthority", ""):
            try:
                parse_bundle(authority.encode())
            except BundleError as error:
                causes.invalid(f"{path}.certificateAuthority", "<omitted>", str(error))
        egress = issuer.get("egressSelectorType", "")
        if egress not in ("", "controlplane", "cluster"):
            detail = "egress selector must be either controlplane or cluster"
            causes.invalid(f"{path}.egressSelectorType", egress, detail)


def _check_url(url: str, path: str, causes: Causes) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        causes.invalid(path, url, str(error))
        return
    for is_wrong, detail in (
        (parts.scheme != "https", "URL scheme must be https"),
        ("@" in parts.netloc, "URL must not contain a username or password"),
        (parts.query, "URL must not contain a query"),
        (parts.fragment, "URL must not contain a fragment"),
    ):
        if is_wrong:
            causes.invalid(path, url, detail)


def _check_audiences(issuer: Object, path: str, causes: Causes) -> None:
    audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy", "")
    if not audiences:
        causes.required(f"{path}.audiences", f"at least one {path}.audiences is required")
        return
    seen: set[str] = set()
    for index, audience in enumerate(audiences):
        if not audience:
            causes.required(f"{path}.audiences[{index}]")
        if audience in seen:
            causes.duplicate(f"{path}.audiences[{index}]", audience)
        seen.add(audience)
    detail = ""
    if len(audiences) > 1 and policy != _MATCH_ANY:
        detail = "audienceMatchPolicy must be MatchAny for multiple audiences"
    elif policy not in ("", _MATCH_ANY):
        detail = "audienceMatchPolicy must be empty or MatchAny for single audience"
    if detail:
        causes.invalid(f"{path}.audienceMatchPolicy", policy, detail)


class _MappingReader:
    """Checks the rules and mappings of one issuer, and compiles their expressions."""

    def __init__(self, path: str, causes: Causes, dialect: Dialect, release: Release) -> None:
        self._path = path
        self._causes = causes
        self._dialect = dialect
        self._release = release
        self._verified: list[str] = []  # the expressions that may check email_verified

    def read(self, entry: Object, audiences: Audiences) -> ClaimMappings:
        mappings = ClaimMappings(audiences, credential_extra(self._dialect))
        for index, rule in enumerate(entry.get("claimValidationRules") or ()):
            self._claim_rule(rule, f"{self._path}.claimValidationRules[{index}]", mappings)
        claims = entry.get("claimMappings") or {}
        path = f"{self._path}.claimMappings"
        username = claims.get("username") or {}
        mappings.username = self._mapping(username, f"{path}.username", is_required=True)
        mappings.username_claim = username.get("claim", "")
        mappings.username_prefix = username.get("prefix") or ""
        groups = claims.get("groups") or {}
        mappings.groups = self._mapping(groups, f"{path}.groups")
        mappings.groups_claim = groups.get("claim", "")
        mappings.groups_prefix = groups.get("prefix") or ""
        uid = claims.get("uid") or {}
        mappings.uid_claim, expression = uid.get("claim", ""), uid.get("expression", "")
        if mappings.uid_claim and expression:
            self._causes.invalid(f"{path}.uid", "", _BOTH_SET)
        elif expression:
            mappings.uid = self._compiled(expression, f"{path}.uid.expression")
        mappings.extra = list(self._extra(claims.get("extra") or (), f"{path}.extra"))
        if mappings.username is not None:
            self._check_email(mappings.username.text, f"{path}.username.expression")
        rules = entry.get("userValidationRules") or ()
        mappings.user_rules = list(self._user_rules(rules, f"{self._path}.userValidationRules"))
        return mappings

    def _compiled(
        self,
        text: str,
        path: str,
        variables: Mapping[str, Type] = _CLAIMS,
        *,
        is_rule: bool = False,
    ) -> Expression | None:
        try:
            return Expression(
                text, variables, self._release, is_rule=is_rule, adapt=_unescape_fields
            )
        except ExpressionError as error:
            self._causes.invalid(path, text, str(error))
            return None

    def _claim_rule(self, rule: Object, path: str, mappings: ClaimMappings) -> None:
        causes = self._causes
        claim, text = rule.get("claim", ""), rule.get("expression", "")
        message, value = rule.get("message", ""), rule.get("requiredValue", "")
        if claim and text:
            causes.invalid(path, claim, _BOTH_SET)
        elif claim:
            if message:
                detail = "may not be specified when claim is set"
                causes.invalid(f"{path}.message", message, detail)
            if claim in mappings.required:
                causes.duplicate(f"{path}.claim", claim)
            mappings.required[claim] = value
        elif text:
            if value:
                detail = "may not be specified when expression is set"
                causes.invalid(f"{path}.requiredValue", value, detail)
            if text in self._verified:
                causes.duplicate(f"{path}.expression", text)
                return
            self._verified.append(text)
            expression = self._compiled(text, f"{path}.expression", is_rule=True)
            if expression is not None:
                mappings.claim_rules.append(ValidationRule(expression, message))
        else:
            causes.required(path, "claim or expression is required")

    def _mapping(
        self, mapping: Object, path: str, *, is_required: bool = False
    ) -> Expression | None:
        causes = self._causes
        claim, text, prefix = (mapping.get(name) for name in ("claim", "expression", "prefix"))
        if text and claim:
            causes.invalid(path, "", _BOTH_SET)
        elif text:
            if prefix is not None:
                detail = "may not be specified when expression is set"
                causes.invalid(f"{path}.prefix", prefix, detail)
            return self._compiled(text, f"{path}.expression")
        elif claim:
            if prefix is None:
                causes.required(
                    f"{path}.prefix",
                    "prefix is required when claim is set. It can be set to an empty string to"
                    " disable prefixing",
                )
        elif is_required:
            causes.required(path, "claim or expression is required")
        return None

    def _extra(self, listed: Sequence[Object], path: str) -> Iterator[tuple[str, Expression]]:
        causes = self._causes
        seen: set[str] = set()
        reserved = (self._dialect.group_name("@"), self._dialect.label_domain)
        for index, mapping in enumerate(listed):
            key, text = mapping.get("key", ""), mapping.get("valueExpression", "")
            place = f"{path}[{index}].key"
            check_prefixed_path(key, place, causes)
            if key != key.lower():
                causes.invalid(place, key, "must be lowercase")
            domain = f".{key.partition('/')[0]}"
            if "/" in key and domain.endswith(tuple(f".{name}" for name in reserved)):
                names = f"{reserved[0]}, {reserved[1]} and their subdomains"
                causes.invalid(place, key, f"{names} are reserved for Kubernetes use")
            if key in seen:
                causes.duplicate(place, key)
                continue
            seen.add(key)
            if not text:
                causes.required(f"{path}[{index}].valueExpression")
                continue
            self._verified.append(text)
            expression = self._compiled(text, f"{path}[{index}].valueExpression")
            if expression is not None:
                yield key, expression

    def _check_email(self, text: str, path: str) -> None:
        """An email address names a user only if a rule looks at whether it is verified."""
        if self._selects(text, "email") and not any(
            self._selects(other, "email_verified") for other in (text, *self._verified)
        ):
            self._causes.invalid(path, text, _EMAIL_UNVERIFIED)

    def _selects(self, text: str, claim: str) -> bool:
        """Whether an expression refers to a field of `claims`, also by `claims.?field`."""
        try:
            root = parse(text, environment(self._release).rules)
        except CompileError:
            return False  # reported already
        return any(_is_claim(node, claim) for node in _nodes(root))

    def _user_rules(self, listed: Sequence[Object], path: str) -> Iterator[ValidationRule]:
        seen: set[str] = set()
        for index, rule in enumerate(listed):
            text, place = rule.get("expression", ""), f"{path}[{index}].expression"
            if not text:
                self._causes.required(place)
            elif text in seen:
                self._causes.duplicate(place, text)
            else:
                seen.add(text)
                expression = self._compiled(text, place, _USER, is_rule=True)
                if expression is not None:
                    yield ValidationRule(expression, rule.get("message", ""))


def _nodes(root: Node) -> Iterator[Node]:
    """All nodes of an expression."""
    pending: list[Any] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Node):
            yield node
            pending += (getattr(node, name) for name in node.__dataclass_fields__)
        elif isinstance(node, (list, tuple)):
            pending += node


def _unescape_fields(root: Node) -> None:
    """Let `claims.kubernetes__dot__io` select the claim `kubernetes.io`."""
    for node in _nodes(root):
        match node:
            case Select(field=field):
                node.field = unescaped(field) or field
            case Call(function=function, arguments=[_, Literal(value=str()) as key]):
                if function in _SELECTIONS:
                    key.value = unescaped(key.value) or key.value


def _is_claim(node: Any, claim: str) -> bool:
    match node:
        case Select(operand=Name(name="claims"), field=field):
            return bool(field == claim)
        case Call(function="_?._", arguments=[Name(name="claims"), Literal(value=value)]):
            return bool(value == claim)
    return False
