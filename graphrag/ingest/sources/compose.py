"""Makes facts of Compose files (https://github.com/compose-spec/compose-spec): services and what they need."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import cast

from graphrag.identity import name_key
from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import Dependencies, Found, as_list, as_name, kind_of, shown, yaml_mappings
from graphrag.ingest.sources.hosts import MAX_VALUE, named_hosts
from graphrag.ingest.sources.variables import Variables, read_env
from graphrag.ingest.summarise import service_summary
from graphrag.ingest.yaml_documents import as_mapping, as_text
from graphrag.model import Label, NodeFact, PropertyValue

_FILE = re.compile(r"(?:[\w-]*[-_.])?(?:compose|stack)(?:[-_.][\w.-]*)?\.ya?ml\Z", re.IGNORECASE)
_LOOKS_LIKE_ONE = re.compile(r"""^["']?services["']?\s*:""", re.MULTILINE)
_STATED = 1.0
_NAMED_AS_HOST = 0.7


def is_compose_file(path: str) -> bool:
    """By its name alone, for many other files have `services:` too."""
    return _FILE.match(path.rpartition("/")[2]) is not None


@dataclass(slots=True)
class _Service:
    """A service as all files of its folder together describe it."""

    name: str
    image: str = ""
    container: str = ""
    answers_to: set[str] = field(default_factory=set[str])
    needs: list[str] = field(default_factory=list[str])
    hosts: list[str] = field(default_factory=list[str])


def read_compose(files: Iterable[SourceFile], env_files: Mapping[str, str]) -> Found:
    """The services of the Compose files among `files`. `env_files`: path -> text of each `.env` file there is.

    The files of one folder are one application, as with `-f compose.yaml -f compose.override.yaml`. What a service
    `depends_on` or links to it needs surely; a host that its environment names, likely.
    """
    found = Found()
    wanted = sorted((file for file in files if is_compose_file(file.path)), key=lambda file: _folder(file.path))
    for folder, layers in groupby(wanted, key=lambda file: _folder(file.path)):
        text = env_files.get(posixpath.join(folder, ".env"), "")
        _add(found, _read_layers(list(layers), Variables(read_env(text)), env_files, found))
    return found


def _folder(path: str) -> str:
    return posixpath.dirname(path)


def _read_layers(
    files: Sequence[SourceFile], variables: Variables, env_files: Mapping[str, str], found: Found
) -> list[_Service]:
    services: dict[str, _Service] = {}
    for file in files:
        for line, document in yaml_mappings(file, _LOOKS_LIKE_ONE, found):
            listed, merging = document.get("services"), _Merging()
            if not isinstance(listed, dict):
                found.fail(file.path, f"`services` of the document on line {line} is {kind_of(listed)}, not a mapping")
                continue
            for key, body in merging.items(cast("object", listed)):
                name = as_name(key)
                if not name or not isinstance(body, dict):
                    what = f"the service {shown(key)} is {kind_of(body)}" if name else f"{shown(key)} names no service"
                    found.fail(file.path, what)
                    continue
                service = services.setdefault(name_key(name), _Service(name))
                _Reader(file.path, variables, env_files, merging, found).read(service, cast("object", body))
    return list(services.values())


class _Merging:
    """Expands `<<` of mappings, which the YAML reader leaves alone. Each mapping is expanded once, so that those that
    merge one another many times over do not grow the work."""

    def __init__(self) -> None:
        self._done: dict[int, dict[str, object]] = {}

    def of(self, value: object) -> dict[str, object]:
        """The mapping with what it merges, its own keys first; empty for anything else."""
        if not isinstance(value, dict):
            return {}
        if id(cast("object", value)) not in self._done:
            own = as_mapping(cast("object", value))
            self._done[id(cast("object", value))] = own  # what a mapping that merges itself finds
            merged = own.pop("<<", None)
            for each in as_list(merged) or [merged]:
                for key, item in self.of(each).items():
                    own.setdefault(key, item)
        return self._done[id(cast("object", value))]

    def items(self, value: object) -> Iterator[tuple[str, object]]:
        return iter(list(self.of(value).items()))


@dataclass(frozen=True, slots=True)
class _Reader:
    path: str
    variables: Variables
    env_files: Mapping[str, str]
    merging: _Merging
    found: Found

    def read(self, service: _Service, value: object) -> None:
        body = self.merging.of(value)
        service.image = self._image(body.get("image")) or service.image
        service.container = self._text(body.get("container_name")) or service.container
        service.answers_to |= {self._text(body.get("hostname")), service.container, *self._network_aliases(body)}
        service.needs += self._names(service, "depends_on", body.get("depends_on"))
        service.needs += [link.partition(":")[0] for link in self._names(service, "links", body.get("links"))]
        for setting, text in self._environment(service, body):
            service.hosts += named_hosts(setting, text)

    def _text(self, value: object) -> str:
        return self.variables.fill(as_text(value)).strip()

    def _image(self, value: object) -> str:
        """Where nobody sets the repository's variable, what is written says more than what is left of it."""
        filled = self._text(value)
        return filled if filled[:1].isalnum() else as_text(value)

    def _names(self, service: _Service, key: str, value: object) -> list[str]:
        if isinstance(value, dict):
            listed: Sequence[object] = list(self.merging.of(cast("object", value)))
        elif isinstance(value, list) or value is None:
            listed = as_list(cast("object", value))
        else:
            listed = []
            self._wrong(service, key, value)
        names = [as_name(self._text(each)) for each in listed]
        if not all(names):
            self.found.fail(self.path, f"`{key}` of {service.name} has an entry that names no service")
        return [name for name in names if name]

    def _environment(self, service: _Service, body: dict[str, object]) -> Iterator[tuple[str, str]]:
        for path in self._env_paths(body.get("env_file")):
            values = Variables({**self.variables.values, **(own := read_env(self.env_files.get(path, "")))})
            yield from ((name, values.value(name) or "") for name in own)
        value = body.get("environment")
        if isinstance(value, dict):
            for name, item in self.merging.items(cast("object", value)):
                yield name, self._setting(name, item)
        elif isinstance(value, list):
            for line in as_list(cast("object", value)):
                name, equals, text = as_text(line).partition("=")
                yield name, self._setting(name, text if equals else None)
        elif value is not None:
            self._wrong(service, "environment", value)

    def _setting(self, name: str, value: object) -> str:
        """A setting without a value takes the one that Compose itself was started with."""
        if value is None:
            return self.variables.value(name) or ""
        return self.variables.fill(as_text(value)) if isinstance(value, str) and len(value) <= MAX_VALUE else ""

    def _env_paths(self, value: object) -> list[str]:
        paths = [as_mapping(each).get("path", each) for each in as_list(value) or [value]]
        texts = [as_text(path) for path in paths]
        return [posixpath.normpath(posixpath.join(_folder(self.path), text)) for text in texts if text]

    def _network_aliases(self, body: dict[str, object]) -> list[str]:
        networks = [as_mapping(network) for _, network in self.merging.items(body.get("networks"))]
        return [self._text(alias) for network in networks for alias in as_list(network.get("aliases"))]

    def _wrong(self, service: _Service, key: str, value: object) -> None:
        self.found.fail(self.path, f"`{key}` of {service.name} is {kind_of(value)}, not a list or a mapping")


def _add(found: Found, services: Sequence[_Service]) -> None:
    needs = Dependencies()
    at_host = _by_host(services)
    for service in services:
        for name in service.needs:
            needs.add(service.name, name, _STATED)
        for host in service.hosts:
            if (target := at_host.get(host)) is not None:
                needs.add(service.name, target, _NAMED_AS_HOST)
    names = {name_key(service.name) for service in services}
    containers = Counter(name_key(service.container) for service in services)
    for service in services:
        container = name_key(service.container)
        own = bool(as_name(service.container)) and container not in names and containers[container] == 1
        properties: dict[str, PropertyValue] = {"image": service.image} if service.image else {}
        found.nodes.append(
            NodeFact(
                Label.SERVICE,
                service.name,
                service_summary(service.name, "service", "", "", needs.of(service.name)),
                (service.container,) if own else (),
                properties,
            )
        )
    found.edges += needs.edges()


def _by_host(services: Sequence[_Service]) -> dict[str, str]:
    """Host -> the service that answers to it: by its own name, else by the other names it has on the network."""
    hosts = {service.name.lower(): service.name for service in services}
    for service in services:
        for other in sorted(service.answers_to):
            hosts.setdefault(other.lower(), service.name)
    return hosts
