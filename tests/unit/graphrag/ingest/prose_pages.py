"""Pages as people write them, each with the relations that it tells. All names are made up."""

from typing import NamedTuple


class Told(NamedTuple):
    """`needs` are the services that `service` needs; `runbook` is None where no page is named."""

    service: str
    team: str
    needs: tuple[str, ...]
    runbook: str | None
    text: str


WIKI = "https://wiki.example.com"

TELLING: dict[str, Told] = {
    "plain prose": Told(
        "checkout",
        "Payments",
        ("ledger", "fraud-scoring"),
        f"{WIKI}/runbooks/checkout",
        f"""# Runbook: checkout

The checkout service is owned by the Payments team. It depends on the ledger service and the fraud-scoring service.
The runbook for the checkout service is at {WIKI}/runbooks/checkout.
""",
    ),
    "names as code": Told(
        "payments-api",
        "Payments Platform",
        ("ledger-db", "rates"),
        "runbooks/payments-api.md",
        """# `payments-api`

`payments-api` takes card payments. The Payments Platform team owns `payments-api` and carries its pager.

To answer a request `payments-api` needs `ledger-db` and `rates`. Without them nothing is booked.

Its runbook lives in `runbooks/payments-api.md`.
""",
    ),
    "one long sentence": Told(
        "order-intake",
        "Storefront",
        ("stock-keeper", "price-book"),
        f"{WIKI}/order-intake",
        f"""# order-intake

order-intake, which is run by the Storefront team, relies on stock-keeper and price-book, and its runbook can be found
at <{WIKI}/order-intake>.
""",
    ),
    "labels": Told(
        "search-web",
        "Discovery",
        ("search-index", "profile-store"),
        f"{WIKI}/search",
        f"""# search-web

**Owner:** Discovery team
**Depends on:** `search-index`, `profile-store`
**Runbook:** {WIKI}/search

Serves the search page.
""",
    ),
    "a table": Told(
        "mail-sender",
        "Messaging",
        ("template-store", "address-book"),
        f"{WIKI}/mail",
        f"""# mail-sender

| Field | Value |
|---|---|
| Owner | Messaging team |
| Depends on | template-store, address-book |
| Runbook | [mail]({WIKI}/mail) |
""",
    ),
    "bullets under headings": Told(
        "invoice-writer",
        "Billing",
        ("ledger-api", "pdf-renderer"),
        "docs/runbooks/invoice-writer.md",
        """# Invoice writer on-call guide

This page is about `invoice-writer`.

## Ownership

The Billing team maintains invoice-writer.

## invoice-writer

### Dependencies

- `ledger-api` for the entries
- `pdf-renderer` - draws the pages

### Runbook

See docs/runbooks/invoice-writer.md
""",
    ),
    "a list that a line opens": Told(
        "cart-api",
        "Basket",
        ("session-store", "catalogue-api"),
        f"{WIKI}/runbooks/cart",
        f"""# Cart API

`cart-api` belongs to the Basket team. It depends on two other services:

- `session-store`, where carts are kept
- [catalogue-api](../catalogue/README.md) for prices

Runbook: [cart runbook]({WIKI}/runbooks/cart)
""",
    ),
    "CamelCase": Told(
        "PaymentsAPI",
        "Core Payments",
        ("LedgerService", "RatesGateway"),
        f"{WIKI}/x/PaymentsAPI",
        f"""# Runbook: PaymentsAPI

PaymentsAPI is maintained by the Core Payments team. PaymentsAPI talks to LedgerService and RatesGateway.
You will find the PaymentsAPI runbook at {WIKI}/x/PaymentsAPI.
""",
    ),
    "wiki links": Told(
        "shipping-planner",
        "Logistics",
        ("route-finder", "parcel-db"),
        "Shipping Planner Runbook",
        """# shipping-planner

[[shipping-planner]] is owned by the Logistics squad and depends on [[route-finder]] and [[parcel-db]].

The runbook is [[Shipping Planner Runbook]].
""",
    ),
    "the passive": Told(
        "refund-worker",
        "After Sales",
        ("ledger-api", "bank-gateway"),
        f"{WIKI}/refunds",
        f"""# Refunds

`ledger-api` and `bank-gateway` are both used by `refund-worker`. `refund-worker` is looked after by the After Sales
team. Follow its [runbook]({WIKI}/refunds) when it stops.
""",
    ),
    "the team first": Told(
        "quote-engine",
        "Pricing",
        ("tax-tables", "discount-rules"),
        f"{WIKI}/quotes",
        f"""# Quotes

The Pricing team owns quote-engine, which depends on tax-tables and discount-rules. quote-engine's runbook is
{WIKI}/quotes.
""",
    ),
    "in brackets": Told(
        "video-encoder",
        "Media",
        ("blob-store", "job-queue"),
        "media/encoder-runbook.md",
        """# video-encoder (owned by the Media team)

`video-encoder` (owned by the Media team) reads from `blob-store` and writes to `job-queue`; the runbook is
[here](media/encoder-runbook.md).
""",
    ),
    "this service": Told(
        "loyalty-api",
        "Retention",
        ("points-ledger", "customer-profile"),
        f"{WIKI}/loyalty",
        f"""# loyalty-api

This service counts points. The owner of this service is the Retention team. This service has hard dependencies on
`points-ledger` and `customer-profile`. The on-call runbook for this service lives at {WIKI}/loyalty.
""",
    ),
    "cannot without": Told(
        "login-web",
        "Identity",
        ("token-issuer", "user-directory"),
        f"{WIKI}/login",
        f"""# Login

Responsibility for login-web lies with the Identity team. login-web cannot serve requests without token-issuer and
user-directory. Runbook: {WIKI}/login
""",
    ),
    "dependencies as a noun": Told(
        "report-builder",
        "Insights",
        ("warehouse-api", "chart-renderer"),
        f"{WIKI}/reports",
        f"""# report-builder

report-builder is the responsibility of the Insights team. Its dependencies are warehouse-api and chart-renderer.
{WIKI}/reports is the runbook for report-builder.
""",
    ),
    "a handle as the owner": Told(
        "gift-card-service",
        "gift-cards",
        ("ledger-api", "voucher-store"),
        f"{WIKI}/gift",
        f"""# Gift cards

gift-card-service is owned by @example-org/gift-cards. The two services it needs are `ledger-api` and `voucher-store`.
See the [gift-card-service runbook]({WIKI}/gift).
""",
    ),
    "capitals with service": Told(
        "Booking",
        "Reservations",
        ("Seat Map", "Fare"),
        f"{WIKI}/booking",
        f"""# Booking Service Runbook

The Booking Service is supported by the Reservations Team. The Booking Service calls the Seat Map Service for free
seats and the Fare Service for prices.

The runbook for the Booking Service: {WIKI}/booking
""",
    ),
    "needs in plural": Told(
        "basket",
        "Basket",
        ("stock", "pricing"),
        f"{WIKI}/basket",
        f"""# The basket service

Our basket service is run by the Basket crew. To work it needs the stock and pricing services. Its playbook is kept at
{WIKI}/basket.
""",
    ),
    "a numbered outline": Told(
        "feed-builder",
        "Content",
        ("article-store", "ranking-api"),
        f"{WIKI}/feed",
        f"""# feed-builder

1. Owned by: Content team
2. Depends on article-store and ranking-api
3. Runbook: {WIKI}/feed
""",
    ),
    "with asides": Told(
        "geo-lookup",
        "Maps",
        ("tile-server", "address-db"),
        f"{WIKI}/geo",
        f"""# geo-lookup

`geo-lookup` is a small Go service that depends on `tile-server` (read only) and on `address-db`.
It is currently owned by the Maps team (#maps on chat), and you can find its runbook at {WIKI}/geo.
""",
    ),
    "quoted and bold": Told(
        "alert-router",
        "Observability",
        ("rule-store", "notify-gateway"),
        f"{WIKI}/alert-router",
        f"""# Alert router

> **alert-router** is owned and operated by the **Observability** team.

**alert-router** requires **rule-store** and **notify-gateway** to deliver a page. The runbook for **alert-router** is
published [on the wiki]({WIKI}/alert-router).
""",
    ),
    "a table of services": Told(
        "seat-map",
        "Reservations",
        ("plane-db", "booking-api"),
        f"{WIKI}/seats",
        f"""# What we run

| Service | Team | Depends on | Runbook |
| --- | --- | --- | --- |
| `seat-map` | Reservations team | `plane-db`, `booking-api` | [page]({WIKI}/seats) |
""",
    ),
    "team joined": Told(
        "sms-gateway",
        "team-messaging",
        ("number-pool", "consent-store"),
        f"{WIKI}/sms",
        f"""# sms-gateway

Owner: `team-messaging`

sms-gateway uses number-pool to pick a sender and consent-store to see who may be written to. Here is the runbook:
{WIKI}/sms
""",
    ),
    "without first": Told(
        "thumbnailer",
        "Media",
        ("blob-store", "image-cache"),
        f"{WIKI}/thumbs",
        f"""# Thumbnailer

The Media team is responsible for `thumbnailer`. Without `blob-store` and `image-cache`, `thumbnailer` cannot work.
The runbook of `thumbnailer` lives under {WIKI}/thumbs
""",
    ),
}

SILENT: dict[str, str] = {
    "a question": """\
# payments-api

Does `payments-api` depend on `ledger-db`? Who owns it, is it owned by the Payments team?
""",
    "a negation": """\
# payments-api

`payments-api` does not depend on `ledger-db`. It doesn't need `rates` either, and never calls `fraud-api`.
""",
    "no longer": """\
# payments-api

`payments-api` no longer uses `ledger-db`, and is no longer owned by the Payments team.
""",
    "history": """\
# payments-api

In 2019 `payments-api` depended on `ledger-db`. It was owned by the Payments team and used `rates`. Previously,
`payments-api` relied on `old-db`. Back then `payments-api` uses `old-db`, so the log says.
""",
    "a plan": """\
# payments-api

Next year `payments-api` will depend on `ledger-db` and will be owned by the Payments team. We plan that
`payments-api` uses `rates`.
""",
    "a condition": """\
# payments-api

If `payments-api` depends on `ledger-db`, restart both. Should it need `rates`, ask. Suppose `payments-api` is
owned by the Payments team. `payments-api` uses `cache-api` if the flag is set.
""",
    "a wish": """\
# payments-api

`payments-api` should use `ledger-db`. `payments-api` could call `rates`. It might need `fraud-api`.
`payments-api` would be owned by the Payments team.
""",
    "a comparison": """\
# payments-api

`payments-api` uses more memory than `ledger-api`. `payments-api` is slower than `ledger-api` and needs twice
the time of `ledger-api`. Unlike `ledger-api`, it has no queue.
""",
    "commands": """\
# payments-api

Run `kubectl get pods` on `payments-api`. Use `kubectl` to restart `payments-api`, then call `curl`. You need
`sudo` on `web-01`. Ensure `payments-api` uses `tls-1`.

```sh
payments-api depends on ledger-db
```
""",
    "steps": """\
# payments-api

1. Restart `payments-api` and `ledger-api`
2. Check whether `payments-api` needs `ledger-api`
3. Ask the Payments team
4. Make sure that `payments-api` calls `rates-api`
""",
    "parts of things": """\
# payments-api

`payments-api` depends on the `ledger-db` schema. `payments-api` uses the `kube-system` namespace and requires
the `ledger-api` token. `payments-api` needs `LEDGER_URL`.
""",
    "tools and settings": """\
# payments-api

`payments-api` uses `jq`. `payments-api` requires `python3`. It needs `root`. `payments-api` uses round-robin.
""",
    "contacts": """\
# payments-api

Contact the Payments team about `payments-api`. Escalate to the Platform team. Talk to the Ledger team.
""",
    "an or": """\
# payments-api

`payments-api` needs `ledger-db` or `rates-db`, depending on the region.
""",
    "other heads": """\
# payments-api

The dashboard of `payments-api` depends on `metrics-store`. A deployment of `payments-api` needs `image-store`.
The config for `payments-api` is owned by the Platform team.
""",
    "both deny": """\
# payments-api

Neither `payments-api` nor `ledger-api` depends on `rates-api`. It is not true that `payments-api` calls
`fraud-api`.
""",
    "hearsay": """\
# payments-api

Some think `payments-api` depends on `ledger-db`. It is a myth that `payments-api` calls `rates-api`. I doubt
`payments-api` is owned by the Payments team.
""",
    "none": """\
# payments-api

Depends on: none
Owner: TBD

## Dependencies

None.

- no longer `ledger-db`
""",
    "bare words": """\
# Notes

Everything depends on time and money. The plan needs people and patience. Work is run by volunteers. It depends
on the version. This needs access and approval.
""",
    "packages": """\
# my-tool

## Requirements

- Ruby 3.2
- `bundler`

The build uses Docker and requires Make. The script calls `curl` and `jq`.
""",
    "ages": """\
# payments-api

`payments-api` used `ledger-db` until March. `payments-api` had been owned by the Payments team. `payments-api`
depends on `ledger-db` no more? It once needed `rates`.
""",
    "a team named like a service": """\
# payments-api

`payments-api` calls for help from the `ledger-api` team. The `ledger-api` team uses chat.
""",
}

WORDINGS: tuple[tuple[str, int, int, int], ...] = (
    (
        """\
checkout-api is run by the payments team; to take an order it talks to inventory-api and price-api. Its runbook
is docs/runbooks/checkout.md.
""",
        2,
        1,
        1,
    ),
    (
        """\
The payments squad looks after checkout-api. For every order it calls inventory-api and price-api. Runbook:
docs/x.md
""",
        2,
        1,
        1,
    ),
    (
        """\
Ownership of checkout-api sits with the Payments team. Its two upstreams are inventory-api and price-api.
On-call engineers follow the runbook at https://w.example.com/c.
""",
        2,
        1,
        1,
    ),
    (
        """\
checkout-api is a Payments team service. It needs both inventory-api and price-api to be up. The checkout-api
runbook is available at https://w.example.com/c.
""",
        2,
        1,
        1,
    ),
    (
        """\
The team that owns checkout-api is the Payments team. checkout-api makes synchronous calls to inventory-api, and
it stores orders in order-db. See https://w.example.com/c for the runbook.
""",
        2,
        1,
        1,
    ),
    (
        """\
checkout-api is owned by the team Payments, depends upon inventory-api plus price-api and has its runbook at
https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
This runbook covers the checkout-api service, which the Payments team owns. The service needs inventory-api and
price-api in order to serve orders. Find the runbook at https://w.example.com/c.
""",
        2,
        1,
        1,
    ),
    (
        """\
checkout-api sits in front of two services, inventory-api and price-api, and would be useless without them.
checkout-api: owned by the Payments team. Runbook lives at https://w.example.com/c.
""",
        0,
        1,
        1,
    ),
    (
        """\
We, the Payments team, own checkout-api. We depend on inventory-api and price-api. Our runbook is at
https://w.example.com/c.
""",
        0,
        0,
        1,
    ),
    (
        """\
checkout-api has two dependencies: inventory-api and price-api. The service belongs to Payments team. The
runbook, https://w.example.com/c, says more.
""",
        2,
        1,
        1,
    ),
    (
        """\
There are two things checkout-api cannot live without: inventory-api and price-api. Payments team maintains it.
Runbook location: https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
checkout-api (team: Payments) consumes inventory-api and price-api. Runbook -> https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
inventory-api and price-api are dependencies of checkout-api. The Payments team is on call for it. Its
[runbook](https://w.example.com/c) is on the wiki.
""",
        2,
        1,
        1,
    ),
    (
        """\
If checkout-api is down, page the Payments team, who own it. checkout-api relies on inventory-api as well as on
price-api. You can find the runbook here: https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
It is owned by the Payments team and it depends on two services, the inventory-api and the price-api. Runbook:
[here](https://w.example.com/c)
""",
        2,
        1,
        1,
    ),
    (
        """\
**Owner**: Payments
**Dependencies**: inventory-api, price-api
**Runbook**: https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
- Owner: Payments team
- Depends on: inventory-api and price-api
- Runbook: https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
Service owner: @acme/payments. Depends on `inventory-api` / `price-api`. Runbook at <https://w.example.com/c>.
""",
        2,
        1,
        1,
    ),
    (
        """\
The Payments team owns the checkout-api service. checkout-api depends on the inventory-api service, which is
owned by the Warehouse team, and on the price-api service. The runbook for checkout-api is at
https://w.example.com/c.
""",
        2,
        2,
        1,
    ),
    (
        """\
The service is maintained by Payments. Dependencies are inventory-api and price-api. The runbook is stored in
the wiki: https://w.example.com/c
""",
        2,
        0,
        1,
    ),
    (
        """\
checkout-api uses inventory-api to reserve goods. It also uses price-api. Who to call: the Payments team owns
this service. Runbook: see https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
Responsible for checkout-api is the Payments team. The service requires inventory-api and price-api. Its runbook
resides at https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
The inventory-api service and the price-api service are needed by checkout-api. The Payments team takes care of
checkout-api. checkout-api's runbook lives at https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
checkout-api is the Payments team's service. In order to answer, it must reach inventory-api and price-api. The
runbook is here: https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
The owning team is Payments. checkout-api's dependencies: inventory-api, price-api. Runbook -
https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
checkout-api is owned by the Payments team.

Depends on:

* inventory-api
* price-api

The runbook lives at https://w.example.com/c.
""",
        2,
        1,
        1,
    ),
    (
        """\
## Owner

Payments team

## Dependencies

- inventory-api
- price-api

## Runbook

https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
checkout-api is owned by the Payments team and needs inventory-api and price-api; its runbook:
https://w.example.com/c
""",
        2,
        1,
        1,
    ),
    (
        """\
The Payments team owns it. Behind it stand inventory-api and price-api. It will not start without inventory-api
or price-api.
""",
        2,
        1,
        0,
    ),
)
"""What pages titled "Runbook: checkout-api" say, and how many DEPENDS_ON, OWNED_BY and HAS_RUNBOOK edges that makes."""

PAGES: tuple[tuple[str, int, int, int], ...] = (
    (
        """\
# Inventory Service

Inventory is a Spring Boot service maintained by Team Warehouse. At runtime it depends on the Catalog Service
and on the Pricing Service. On-call should follow the runbook: https://wiki.acme.test/rb/inventory
""",
        2,
        1,
        1,
    ),
    (
        """\
# inventory

This page describes how to operate the `inventory` service.

The service is owned by the Warehouse team (Slack: #warehouse). `inventory` requires two other services to be
healthy: `catalog` and `pricing`. You'll find its runbook in `docs/runbooks/inventory.md`.
""",
        2,
        1,
        1,
    ),
    (
        """\
# How we run the notification service

The Messaging team is the owner of the notification service. The notification service relies on two other
services: the template service and the delivery service. The runbook for the notification service can be found
at https://wiki.acme.test/notif.
""",
        2,
        1,
        1,
    ),
    (
        """\
# Runbook - user-profile

user-profile (Identity team) serves profiles. It reads from profile-db and calls avatar-service. Its runbook:
docs/runbooks/user-profile.md
""",
        2,
        1,
        1,
    ),
    (
        """\
# Operating the cart service

Who owns it: the Basket team.
What it needs: `session-store` and `catalogue-api`.
Where the runbook is: https://wiki.acme.test/cart
""",
        2,
        1,
        1,
    ),
    (
        """\
# Order Processor

The order-processor service, owned by the Fulfilment team, depends on the inventory-service and the
payment-service. Its runbook is located at https://runbooks.acme.test/order-processor.
""",
        2,
        1,
        1,
    ),
    (
        """\
Ownership: Fulfilment team

# order-processor

* Team: Fulfilment
* Dependencies: inventory-service, payment-service
* Runbook: https://runbooks.acme.test/op
""",
        2,
        1,
        1,
    ),
    (
        """\
# Search

`search-api` is what answers queries on the site. People in the Discovery team built it and own it today.

Under the hood, `search-api` fetches documents from `index-store`, and it asks `ranker` to order them. If
something is off, the runbook at https://wiki.acme.test/search is where to start.
""",
        2,
        0,
        1,
    ),
    (
        """\
# Billing runbook

The billing service belongs to the Finance Systems team. Billing depends on the ledger service. It also depends
on the tax service. The runbook is kept in the [operations wiki](https://wiki.acme.test/billing).
""",
        2,
        1,
        1,
    ),
    (
        """\
# email-gateway

email-gateway is a service of the Messaging team. It has a dependency on smtp-relay and another one on
template-store. The email-gateway runbook lives at https://wiki.acme.test/email.
""",
        2,
        1,
        1,
    ),
    (
        """\
# email-gateway

The service email-gateway is owned by team Messaging. The services smtp-relay and template-store are required by
email-gateway. There is a runbook at https://wiki.acme.test/email.
""",
        2,
        1,
        1,
    ),
    (
        """\
# email-gateway

email-gateway needs smtp-relay. It needs template-store, too. It's owned by the Messaging team. Its runbook's at
https://wiki.acme.test/email.
""",
        2,
        1,
        1,
    ),
    (
        """\
# email-gateway

Messaging owns email-gateway. email-gateway is built on smtp-relay and template-store. Refer to the runbook
(https://wiki.acme.test/email).
""",
        2,
        0,
        1,
    ),
    (
        """\
# email-gateway

The email-gateway service is run by the messaging team. The smtp-relay and template-store services are what it
depends on. Its runbook: [Email gateway](https://wiki.acme.test/email)
""",
        0,
        1,
        1,
    ),
    (
        """\
# email-gateway

This service is the responsibility of the Messaging team. In order to deliver mail it needs `smtp-relay`, and to
fill in the text it needs `template-store`. The runbook is located under https://wiki.acme.test/email.
""",
        2,
        1,
        1,
    ),
    (
        """\
# email-gateway

The Messaging team maintains this service. Upstream dependencies: `smtp-relay` and `template-store`. For
incidents, see the [runbook](https://wiki.acme.test/email).
""",
        2,
        1,
        1,
    ),
    (
        """\
# email-gateway

email-gateway, a service that the Messaging team owns, can't do its work without smtp-relay and template-store;
the runbook is at https://wiki.acme.test/email
""",
        2,
        1,
        1,
    ),
    (
        """\
# email-gateway

It's the Messaging team that owns email-gateway. email-gateway won't start unless smtp-relay and template-store
are up. Its runbook can be read at https://wiki.acme.test/email
""",
        0,
        1,
        1,
    ),
    (
        """\
# email-gateway

We removed the dependency of email-gateway on smtp-relay. email-gateway is not owned by the Messaging team. It
isn't run by the Messaging team either. The Messaging team does not own email-gateway.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

The Messaging team used to own email-gateway. The Messaging team wants email-gateway to use smtp-relay. The
Messaging team will own email-gateway. Maybe email-gateway needs smtp-relay.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

email-gateway depends on smtp-relay? No. It was decided that email-gateway calls template-store directly from
2025 on. In the old design email-gateway depends on smtp-relay.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

TODO: find out whether the Messaging team owns email-gateway. Perhaps email-gateway relies on smtp-relay. Nobody
owns email-gateway. No team owns it.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

email-gateway replaced smtp-relay. email-gateway is faster than smtp-relay. email-gateway runs next to
smtp-relay. email-gateway and smtp-relay are owned by different teams.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

When smtp-relay needs email-gateway restarted, page the Messaging team. To see which hosts email-gateway uses,
run `ss -t`. Use smtp-relay to test. email-gateway rarely calls smtp-relay.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

The alert says that email-gateway depends on smtp-relay being fast. In this example, email-gateway depends on
smtp-relay. For instance, email-gateway calls smtp-relay.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

email-gateway must not call smtp-relay. email-gateway never needs template-store. email-gateway works without
smtp-relay. email-gateway can work without template-store.
""",
        0,
        0,
        0,
    ),
    (
        """\
# email-gateway

The incident began when email-gateway calls to smtp-relay failed. email-gateway requests to smtp-relay timed
out. Traffic from email-gateway to smtp-relay dropped.
""",
        0,
        0,
        0,
    ),
)
"""Whole pages, and how many DEPENDS_ON, OWNED_BY and HAS_RUNBOOK edges they make."""
