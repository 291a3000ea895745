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

`ledger-api` and `bank-gateway` are both used by `refund-worker`. `refund-worker` is looked after by the After Sales team.
Follow its [runbook]({WIKI}/refunds) when it stops.
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
    "a question": "# payments-api\n\nDoes `payments-api` depend on `ledger-db`? Who owns it, is it owned by the Payments team?",
    "a negation": "# payments-api\n\n`payments-api` does not depend on `ledger-db`. It doesn't need `rates` either, and never calls `fraud-api`.",
    "no longer": "# payments-api\n\n`payments-api` no longer uses `ledger-db`, and is no longer owned by the Payments team.",
    "history": "# payments-api\n\nIn 2019 `payments-api` depended on `ledger-db`. It was owned by the Payments team and used `rates`. "
    "Previously, `payments-api` relied on `old-db`. Back then `payments-api` uses `old-db`, so the log says.",
    "a plan": "# payments-api\n\nNext year `payments-api` will depend on `ledger-db` and will be owned by the Payments team. "
    "We plan that `payments-api` uses `rates`.",
    "a condition": "# payments-api\n\nIf `payments-api` depends on `ledger-db`, restart both. Should it need `rates`, ask. "
    "Suppose `payments-api` is owned by the Payments team. `payments-api` uses `cache-api` if the flag is set.",
    "a wish": "# payments-api\n\n`payments-api` should use `ledger-db`. `payments-api` could call `rates`. It might need `fraud-api`. "
    "`payments-api` would be owned by the Payments team.",
    "a comparison": "# payments-api\n\n`payments-api` uses more memory than `ledger-api`. `payments-api` is slower than `ledger-api` and "
    "needs twice the time of `ledger-api`. Unlike `ledger-api`, it has no queue.",
    "commands": "# payments-api\n\nRun `kubectl get pods` on `payments-api`. Use `kubectl` to restart `payments-api`, then call `curl`. "
    "You need `sudo` on `web-01`. Ensure `payments-api` uses `tls-1`.\n\n```sh\npayments-api depends on ledger-db\n```",
    "steps": "# payments-api\n\n1. Restart `payments-api` and `ledger-api`\n2. Check whether `payments-api` needs `ledger-api`\n"
    "3. Ask the Payments team\n4. Make sure that `payments-api` calls `rates-api`",
    "parts of things": "# payments-api\n\n`payments-api` depends on the `ledger-db` schema. `payments-api` uses the `kube-system` namespace and "
    "requires the `ledger-api` token. `payments-api` needs `LEDGER_URL`.",
    "tools and settings": "# payments-api\n\n`payments-api` uses `jq`. `payments-api` requires `python3`. It needs `root`. `payments-api` uses round-robin.",
    "contacts": "# payments-api\n\nContact the Payments team about `payments-api`. Escalate to the Platform team. Talk to the Ledger team.",
    "an or": "# payments-api\n\n`payments-api` needs `ledger-db` or `rates-db`, depending on the region.",
    "other heads": "# payments-api\n\nThe dashboard of `payments-api` depends on `metrics-store`. A deployment of `payments-api` needs `image-store`. "
    "The config for `payments-api` is owned by the Platform team.",
    "both deny": "# payments-api\n\nNeither `payments-api` nor `ledger-api` depends on `rates-api`. It is not true that `payments-api` calls `fraud-api`.",
    "hearsay": "# payments-api\n\nSome think `payments-api` depends on `ledger-db`. It is a myth that `payments-api` calls `rates-api`. "
    "I doubt `payments-api` is owned by the Payments team.",
    "none": "# payments-api\n\nDepends on: none\nOwner: TBD\n\n## Dependencies\n\nNone.\n\n- no longer `ledger-db`",
    "bare words": "# Notes\n\nEverything depends on time and money. The plan needs people and patience. Work is run by volunteers. "
    "It depends on the version. This needs access and approval.",
    "packages": "# my-tool\n\n## Requirements\n\n- Ruby 3.2\n- `bundler`\n\nThe build uses Docker and requires Make. The script calls `curl` and `jq`.",
    "ages": "# payments-api\n\n`payments-api` used `ledger-db` until March. `payments-api` had been owned by the Payments team. "
    "`payments-api` depends on `ledger-db` no more? It once needed `rates`.",
    "a team named like a service": "# payments-api\n\n`payments-api` calls for help from the `ledger-api` team. The `ledger-api` team uses chat.",
}
