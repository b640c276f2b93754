"""Patches: strategic merges and JSON patches, inline or from files, for one object or for all that
a selector matches."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.cli.kustomize import merging
from fairlead.cli.kustomize.definition import Definition
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.files import Folder, objects, one_document, take_blanks
from fairlead.cli.kustomize.resources import Built, BuiltSet, Object, Selector, text_map
from fairlead.cli.kustomize.schemas import Schemas
from fairlead.fields import json_patch
from fairlead.fields.errors import PatchError

Operations = list[dict[str, Any]]


class Patching:
    """Applies the patches of one kustomization."""

    def __init__(self, definition: Definition, folder: Folder, schemas: Schemas) -> None:
        self._definition = definition
        self._folder = folder
        self._schemas = schemas

    def merge_listed(self, items: BuiltSet) -> None:
        """The patches of patchesStrategicMerge: files, or patches themselves."""
        patches: list[Built] = []
        texts = self._definition.texts("patchesStrategicMerge")
        for text in texts:
            if self._folder.has_file(text):
                content: bytes | str = self._folder.read(text)
                where = str(self._folder.path / text)
            elif "\n" in text or ":" in text:
                content, where = text, f"{self._definition.where}: a patch"
            else:
                content, where = self._folder.read(text), text
            patches += map(Built, objects(content, where))
        if texts and not patches:
            raise KustomizeError(f"{self._definition.where}: the patches are empty")
        for patch in patches:
            target = items.only(patch.identity)
            self._merge_into(items, [target], patch.value, {}, keeps_kind=True)

    def apply(self, items: BuiltSet) -> None:
        """The patches of `patches`."""
        for index, entry in enumerate(self._definition.items("patches")):
            where = f"{self._definition.where}: patches[{index}]"
            text, source = self._text(entry, where)
            operations, patches = _forms(text, source)
            for patch in patches:
                take_blanks(patch)
            target = entry.get("target")
            if operations is not None:
                if not target:
                    raise KustomizeError(f"{source}: a JSON patch needs a target")
                for item in items.select(Selector(target, where)):
                    item.remember()
                    _apply_operations(item, operations, source)
            else:
                self._merge_all(items, patches, entry, where)

    def apply_listed(self, items: BuiltSet) -> None:
        """The JSON patches of patchesJson6902."""
        for index, entry in enumerate(self._definition.items("patchesJson6902")):
            where = f"{self._definition.where}: patchesJson6902[{index}]"
            target = entry.get("target") or {}
            if not target.get("name"):
                raise KustomizeError(f"{where}: the target needs a name")
            text, source = self._text(entry, where)
            operations, _ = _forms(text, source)
            if not operations:
                raise KustomizeError(f"{source} is no JSON patch")
            for item in items.select(Selector(target, where)):
                _apply_operations(item, operations, source)

    def _text(self, entry: Object, where: str) -> tuple[str, str]:
        """The text of a patch, and where it is from."""
        text, path = (entry.get("patch") or "").strip(), entry.get("path") or ""
        if bool(text) == bool(path):
            raise KustomizeError(f"{where}: give either path or patch")
        if text:
            return text, where
        try:
            return self._folder.read(path).decode("utf-8-sig"), str(self._folder.path / path)
        except UnicodeDecodeError:
            raise KustomizeError(f"{self._folder.path / path} is not UTF-8 text") from None

    def _merge_all(self, items: BuiltSet, patches: list[Object], entry: Object, where: str) -> None:
        options = entry.get("options") or {}
        if entry.get("target"):
            if len(patches) > 1:
                raise KustomizeError(f"{where}: with a target, one patch is possible, not several")
            if patches:
                selected = items.select(Selector(entry["target"], where))
                self._merge_into(items, selected, patches[0], options, keeps_kind=False)
            return
        for patch in patches:
            target = items.only(Built(patch).identity)
            self._merge_into(items, [target], patch, options, keeps_kind=True)

    def _merge_into(
        self,
        items: BuiltSet,
        targets: list[Built],
        patch: Object,
        options: Object,
        keeps_kind: bool,
    ) -> None:
        for item in targets:
            wanted = dict(patch)
            if not keeps_kind:
                wanted["apiVersion"] = item.value.get("apiVersion")
            self._merge_one(items, item, wanted, options)
        identities = set()
        for item in items:
            key = (item.identity.kind, item.identity.name, item.identity.space)
            if key in identities:
                raise KustomizeError(f"{item.identity} is there twice after a patch")
            identities.add(key)

    def _merge_one(self, items: BuiltSet, item: Built, patch: Object, options: Object) -> None:
        name, namespace, kind = item.name, item.namespace, item.value.get("kind")
        if options.get("allowNameChange") or options.get("allowKindChange"):
            item.remember()
        try:
            merged = merging.merge(item.value, patch, self._schemas, item.blanks)
        except KustomizeError as error:
            raise KustomizeError(f"{item.identity}: {str(error).removeprefix('error: ')}") from None
        if not merged:
            items.items.remove(item)
            return
        item.value = merged
        if not options.get("allowKindChange"):
            merged["kind"] = kind
        if not options.get("allowNameChange"):
            item.metadata["name"] = name
        item.metadata.pop("namespace", None)
        if namespace:
            item.metadata["namespace"] = namespace


def _forms(text: str, source: str) -> tuple[Operations | None, list[Object]]:
    """The operations of a JSON patch, or the objects of a strategic merge; raises
    KustomizeError."""
    try:
        if text.lstrip().startswith("["):
            document = orjson.loads(text)
        else:
            document = one_document(text.encode(), source)
    except orjson.JSONDecodeError:
        document = one_document(text.encode(), source)
    if not isinstance(document, list):
        return None, objects(text, source)
    try:
        return json_patch.operations(document), []
    except PatchError as error:
        raise KustomizeError(f"{source}: {error}") from None


def _apply_operations(item: Built, operations: Operations, source: str) -> None:
    """The reference keeps notes in the annotations, so that patches find them there."""
    had_annotations = isinstance(item.metadata.get("annotations"), dict)
    if item.is_annotated() and not had_annotations:
        item.metadata["annotations"] = {}
    try:
        item.value = json_patch.apply_json_patch(item.value, operations)
    except PatchError as error:
        raise KustomizeError(f"{source}: {item.identity}: {error}") from None
    annotations = text_map(item.metadata.get("annotations"))
    item.metadata.pop("annotations", None)
    if annotations:
        item.metadata["annotations"] = annotations
