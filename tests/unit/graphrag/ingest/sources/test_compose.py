"""Compose files become services and what they need."""

from __future__ import annotations

import pytest

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.compose import is_compose_file, read_compose
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.hosts import named_hosts
from graphrag.model import EdgeType


def read(text: str, env: str = "", path: str = "compose.yaml") -> Found:
    folder = path.rpartition("/")[0]
    return read_compose([SourceFile(path, text)], {f"{folder}/.env".lstrip("/"): env} if env else {})


def needs(found: Found) -> dict[tuple[str, str], float]:
    assert {edge.type for edge in found.edges} <= {EdgeType.DEPENDS_ON}
    return {(edge.source.name, edge.target.name): edge.confidence for edge in found.edges}


def test_what_a_service_depends_on_or_links_to_is_sure() -> None:
    found = read("""
services:
  till: {depends_on: [books, vault], links: ["scale:weight"]}
  books: {depends_on: {vault: {condition: service_healthy}}}
  vault: {}
  scale: {}
""")
    assert needs(found) == {
        ("till", "books"): 1.0,
        ("till", "vault"): 1.0,
        ("till", "scale"): 1.0,
        ("books", "vault"): 1.0,
    }
    assert [node.name for node in found.nodes] == ["till", "books", "vault", "scale"]
    assert "Depends on books, vault, scale" in found.nodes[0].summary
    assert found.failures == []


def test_hosts_in_the_environment_are_likely_dependencies_in_either_form() -> None:
    found = read("""
services:
  till:
    environment:
      - BOOKS_URL=http://books:8080/v1
      - VAULT_ADDR=vault:5432
      - CACHE=redis
      - PEER_URL=http://till:9090
      - HOME_URL=https://books.example/
  books:
    environment: {DSN: "postgres://books:1234@vault:5432/books", PORT: 8080}
  vault: {}
  redis: {}
""")
    assert needs(found) == {
        ("till", "books"): 0.7,
        ("till", "vault"): 0.7,
        ("till", "redis"): 0.7,
        ("books", "vault"): 0.7,
    }


def test_what_is_stated_outweighs_what_is_only_named() -> None:
    found = read("services:\n  till: {environment: {A: 'vault:1'}, depends_on: [vault]}\n  vault: {}\n")
    assert needs(found) == {("till", "vault"): 1.0}


def test_variables_come_from_the_env_file_of_the_same_folder_or_their_default() -> None:
    text = """
services:
  till:
    image: ${REPO}/till:${TAG:-latest}
    environment:
      - BOOKS_ADDR
      - VAULT_ADDR=${VAULT_HOST:-vault}:5432
      - SCALE_ADDR=${SCALE_HOST-${OTHER:-scale}}:1
      - QUEUE_ADDR=${UNSET}:1
      - PRICE=$$books
  books: {}
  vault: {}
  scale: {}
"""
    found = read(
        text, "REPO=dock\nBOOKS_HOST=books # the ledger\nexport BOOKS_ADDR='${BOOKS_HOST}:7070'\n", "a/compose.yaml"
    )
    assert needs(found) == {("till", "books"): 0.7, ("till", "vault"): 0.7, ("till", "scale"): 0.7}
    assert found.nodes[0].properties == {"image": "dock/till:latest"}
    elsewhere = read_compose([SourceFile("a/compose.yaml", text)], {".env": "BOOKS_ADDR=books:7070"})
    assert ("till", "books") not in needs(elsewhere)


def test_variables_that_go_round_in_circles_or_grow_without_end_are_empty() -> None:
    env = "A=${B}\nB=${A}\nC0=" + "x" * 100 + "\n" + "".join(f"C{n}=${{C{n - 1}}}${{C{n - 1}}}\n" for n in range(1, 60))
    found = read("services:\n  till: {image: 'i${A}', environment: ['X=${C59}', 'Y=${A}books:1']}\n  books: {}\n", env)
    assert needs(found) == {("till", "books"): 0.7}
    assert found.nodes[0].properties == {"image": "i"}


def test_variables_of_variables_are_followed_but_not_without_end() -> None:
    chain = "".join(f"C{n}=${{C{n - 1}}}\n" for n in range(1, 5_000))
    found = read(
        "services:\n  till: {environment: ['A=${C10}', 'B=${C4999}', 'C=${X:+vault}:1', 'D=${C0:+scale}']}\n"
        "  books: {}\n  vault: {}\n  scale: {}\n",
        f"C0=books\n{chain}",
    )
    assert needs(found) == {("till", "books"): 0.7, ("till", "scale"): 0.7}


def test_a_services_own_env_file_counts_where_it_is_given() -> None:
    file = SourceFile("a/compose.yaml", "services:\n  till: {env_file: [./till.env, {path: none.env}]}\n  books: {}\n")
    assert needs(read_compose([file], {"a/till.env": "BOOKS=http://books/"})) == {("till", "books"): 0.7}


def test_files_of_one_folder_are_one_application_and_others_are_not() -> None:
    base = SourceFile("a/compose.yaml", "services:\n  till: {image: till:1}\n")
    override = SourceFile("a/compose.override.yml", "services:\n  till: {environment: {Q: 'queue:1'}}\n  queue: {}\n")
    other = SourceFile("b/compose.yaml", "services:\n  lone: {environment: {Q: 'queue:1'}}\n")
    found = read_compose([base, other, override], {})
    assert needs(found) == {("till", "queue"): 0.7}
    assert sorted(node.name for node in found.nodes) == ["lone", "queue", "till"]


def test_anchors_and_merges_are_followed_and_extensions_are_no_services() -> None:
    found = read("""
x-common: &common
  environment: &settings {VAULT_ADDR: "vault:1"}
  depends_on: [scale]
services:
  till: {<<: *common, image: till}
  books: {environment: {<<: [*settings], QUEUE: "amqp://queue"}}
  vault: {}
  scale: {}
  queue: {}
""")
    assert needs(found) == {
        ("till", "scale"): 1.0,
        ("till", "vault"): 0.7,
        ("books", "vault"): 0.7,
        ("books", "queue"): 0.7,
    }
    assert len(found.nodes) == 5


def test_merges_of_merges_and_of_themselves_end() -> None:
    levels = "".join(f"x{n}: &x{n} {{<<: [*x{n - 1}, *x{n - 1}, *x{n - 1}]}}\n" for n in range(1, 30))
    text = f"x0: &x0 {{image: base}}\n{levels}services:\n  till: {{<<: *x29}}\n  books: &me {{<<: *me, image: b}}\n"
    assert [node.properties for node in read(text).nodes] == [{"image": "base"}, {"image": "b"}]


def test_a_host_may_be_a_container_a_hostname_or_an_alias_and_a_container_is_another_name() -> None:
    found = read("""
services:
  till: {environment: [A=shop_books:1, B=ledger:1, C=safe:1]}
  books: {container_name: shop_books, hostname: ledger, environment: [D=till:1]}
  vault: {container_name: till, networks: {default: {aliases: [safe]}}}
  one: {container_name: twin}
  two: {container_name: twin}
""")
    assert needs(found) == {("till", "books"): 0.7, ("till", "vault"): 0.7, ("books", "till"): 0.7}
    assert [node.aliases for node in found.nodes] == [(), ("shop_books",), (), (), ()]


def test_a_name_that_nobody_defines_stays_an_edge() -> None:
    assert needs(read("services:\n  till: {depends_on: [nobody]}\n")) == {("till", "nobody"): 1.0}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("services:\n  till: [\n", "broken YAML on line 3"),
        ("services: [till]\n", "is a list, not a mapping"),
        ("services:\n", "is missing, not a mapping"),
        ("services:\n  till: busy\n", "the service 'till' is text"),
        ("services:\n  '': {}\n", "'' names no service"),
        ("services:\n  till: {depends_on: books}\n", "`depends_on` of till is text, not a list or a mapping"),
        ("services:\n  till: {depends_on: [[books]]}\n", "`depends_on` of till has an entry that names no service"),
        ("services:\n  till: {environment: 'KEY=secret'}\n", "`environment` of till is text, not a list"),
        ("services:\n  " + "{a: " * 60 + "1" + "}" * 60, "nested more than 50 deep"),
        ("services:\n  a: &a [x]\n" + "".join(f"  b{n}: *a\n" for n in range(101)), "more than 100 aliases"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(text: str, reason: str) -> None:
    failures = read(text, path="shop/compose.yaml").failures
    assert [path for path, _ in failures] == ["shop/compose.yaml"]
    assert reason in failures[0][1]


def test_only_files_with_such_a_name_are_compose_files() -> None:
    yes = ["compose.yaml", "a/docker-compose.yml", "docker-compose.prod.yml", "compose.full.yaml", "docker-stack.yml"]
    no = ["composer.json", "a/services.yaml", "compose.md", "recompose.yaml", "compose/values.yaml"]
    assert [path for path in (*yes, *no) if is_compose_file(path)] == yes
    assert read("services: {till: {}}", path="catalog.yaml").nodes == []


@pytest.mark.parametrize(
    ("setting", "value", "hosts"),
    [
        ("URL", "http://cart:8080", ["cart"]),
        ("ADDR", "cart:7070", ["cart"]),
        ("CACHE", "redis", ["redis"]),
        ("KAFKA_TOPIC", "orders", []),
        ("OTEL_SERVICE_NAME", "cart", []),
        ("CART_IMAGE", "redis:7", []),
        ("BROKERS", "k1:9092, k2:9092", ["k1", "k2"]),
        ("SEED_NODES", "c1,c2", ["c1", "c2"]),
        ("FEATURES", "cart,checkout", []),
        ("DSN", "user:pw@tcp(db:3306)/x", ["db"]),
        ("DSN", "user:1234@tcp(db:3306)/x", ["db"]),
        ("DATABASE_URL", "jdbc:postgresql://db:5432/x", ["db"]),
        ("CONNECTION", "Host=db;Username=cart", ["db"]),
        ("VOTERS", "1@kafka:9093", ["kafka"]),
        ("LISTENERS", "PLAINTEXT://kafka:9092,CONTROLLER://kafka:9093", ["kafka"]),
        ("MONGO", "mongodb://cart:secret@m1:1,m2:2/db", ["m1", "m2"]),
        ("TIME", "12:30", []),
        ("PATHS", "/srv/cart:8080", []),
        ("URL", "http://Cart.shop.svc", ["cart.shop.svc"]),
        ("URL", "x" * 5_000, []),
        ("", "", []),
    ],
)
def test_hosts_are_told_from_other_words(setting: str, value: str, hosts: list[str]) -> None:
    assert named_hosts(setting, value) == hosts
