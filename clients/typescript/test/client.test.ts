import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ApiError, data, Stayledger, type Schemas } from "../src/client.js";
import { readme } from "./readme.js";

const stays = 200;
const rent = [{ type: "rent", amount: 10_000 }];

// A service answers requests in turn with the given statuses, then with 200.
function serve(...statuses: number[]): { client: Stayledger; requests: Request[] } {
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);

    const status = statuses[requests.length - 1];
    if (status === undefined) return Response.json({ data: [] });

    const body = { code: "SERVICE_UNAVAILABLE", message: "Service is temporarily unavailable", retryable: true };
    return Response.json(body, { status, headers: { "Retry-After": "0", "X-Request-Id": "request-1" } });
  };

  return { client: new Stayledger({ baseUrl: "http://127.0.0.1/", apiKey: "key", team: "team", fetch }), requests };
}

test("requests are sent again when that is safe", async () => {
  const read = (c: Stayledger) => c.api.GET("/contacts");
  const create = (c: Stayledger) => c.api.POST("/contacts", { body: { type: "owner", name: "Anna" } });
  const remove = (c: Stayledger) => c.api.DELETE("/contacts/{id}", { params: { path: { id: "1" } } });

  const cases: [(c: Stayledger) => Promise<unknown>, number[], number, number][] = [
    [read, [503, 429], 3, 0],
    [read, [504], 2, 0],
    [read, [500], 1, 500],
    [create, [503], 2, 0],
    [create, [504], 1, 504],
    [remove, [503], 1, 503],
  ];

  for (const [call, statuses, sent, status] of cases) {
    const { client, requests } = serve(...statuses);
    const failure = await call(client).then(() => undefined, (error: unknown) => error);

    assert.equal(requests.length, sent);
    if (status) {
      assert.ok(failure instanceof ApiError);
      assert.deepEqual([failure.status, failure.requestId, failure.retryable], [status, "request-1", true]);
    } else {
      assert.equal(failure, undefined);
    }

    const keys = new Set(requests.map((r) => r.headers.get("Idempotency-Key")));
    assert.equal(keys.size, 1);
    assert.equal(keys.has(null), requests[0]?.method !== "POST");
  }
});

test("requests have their parameters", async () => {
  const { client, requests } = serve();
  await client.api.GET("/reservations", { params: { query: { limit: 10, uniqueRefs: ["a", 'b,"c"'] } } });
  await client.download("http://example.com/links/1");

  const sent = requests.map((r) => [r.url, r.headers.get("X-Api-Key"), r.headers.get("X-Team-Id")]);
  assert.deepEqual(sent, [
    ["http://127.0.0.1/reservations?limit=10&uniqueRefs=a%2C%22b%2C%22%22c%22%22%22", "key", "team"],
    ["http://example.com/links/1", null, null],
  ]);
});

test("failures are errors", async () => {
  const wait = (response: Response) =>
    new Stayledger({ baseUrl: "http://127.0.0.1", apiKey: "key", fetch: async () => response })
      .waitForOperation("1")
      .then(() => undefined, (error: unknown) => error);

  const failed = await wait(Response.json({ status: "failed", failure: { code: "csvPreviewFailed", message: "" } }));
  assert.ok(failed instanceof ApiError);
  assert.deepEqual([failed.status, failed.code], [0, "csvPreviewFailed"]);

  const proxy = await wait(new Response("<html>", { status: 502, statusText: "Bad Gateway" }));
  assert.ok(proxy instanceof ApiError);
  assert.deepEqual([proxy.status, proxy.code, proxy.message], [502, "", "Bad Gateway"]);
});

// The Go test test/clients starts the service with an empty team, and names it and two keys of the team: one with all
// scopes and one that can only read reservations.
const baseUrl = process.env["STAYLEDGER_URL"] ?? "";
const apiKey = process.env["STAYLEDGER_KEY"] ?? "";

test("integration", { skip: baseUrl === "" }, async () => {
  const client = new Stayledger({ baseUrl, apiKey });
  const { api } = client;

  const ready = await data(api.POST("/team/init", { body: { template: "standard" } }));
  await client.waitForOperation(ready.operationId);

  const owner = await data(api.POST("/contacts", { body: { type: "owner", name: "Anna Albers" } }));
  const listing = await data(
    api.POST("/listings", {
      body: { name: "Beach House", initialOwnership: { members: [{ contactId: owner.id, split: 100_000 }] } },
    }),
  );

  // The same batch twice under one key: the second time returns the answer of the first.
  const batch = Array.from({ length: stays }, (_, i) => ({
    uniqueRef: `stay-${i}`,
    listingId: listing.id,
    checkIn: day(i % 12, Math.floor(i / 12)),
    checkOut: day(i % 12, Math.floor(i / 12) + 1),
    lines: rent,
  }));
  const create = () =>
    data(
      api.POST("/reservations/batch", { params: { header: { "Idempotency-Key": "stays" } }, body: { data: batch } }),
    );
  const first = await create();
  assert.equal(first.data.length, stays);
  assert.deepEqual(await create(), first);

  const refs = new Set<string | null>();
  for await (const reservation of client.rows("/reservations", { query: { limit: 60, sort: "checkIn" } })) {
    refs.add(reservation.uniqueRef);
  }
  assert.equal(refs.size, stays);

  const queued = await data(api.POST("/reservations/csv", { body: {} }));
  const operation = await client.waitForOperation(queued.operationId);
  const url = operation.resources.find((r) => r.url)?.url ?? "";
  const csv = await new Response(await client.download(url)).text();
  assert.equal(csv.trim().split("\n").length, 1 + stays);

  const types: Schemas["OperationType"][] = [];
  for await (const o of client.rows("/operations", { query: { limit: 1 } })) types.push(o.type);
  assert.deepEqual(types, ["export", "team-initialize"]);

  await readme(listing.id, await mkdtemp(join(tmpdir(), "stayledger-")));
  await checkErrors(client, owner.id, listing.id);
});

// Provokes refusals and compares what their errors say.
async function checkErrors(client: Stayledger, owner: string, listing: string): Promise<void> {
  const stranger = new Stayledger({ baseUrl, apiKey: "wrong" });
  const reader = new Stayledger({ baseUrl, apiKey: process.env["STAYLEDGER_READER_KEY"] ?? "" });
  const outsider = new Stayledger({ baseUrl, apiKey, team: owner });

  const get = (c: Stayledger, id: string) => c.api.GET("/reservations/{id}", { params: { path: { id } } });
  const reserve = (c: Stayledger, key: string, uniqueRef: string, checkIn: string, checkOut: string) =>
    c.api.POST("/reservations", {
      params: { header: { "Idempotency-Key": key } },
      body: { listingId: listing, uniqueRef, checkIn, checkOut, lines: rent },
    });

  await data(client.api.POST("/team/books-closing", { body: { booksClosedAt: "2026-01-01", reason: "audited" } }));

  // The code and reason, issues by code and path, and the context that the client goes on with.
  const cases: [() => Promise<unknown>, number, string][] = [
    [() => get(client, owner), 404, "NOT_FOUND"],
    [() => get(client, "mine"), 400, "BAD_REQUEST uuid id"],
    [() => get(stranger, owner), 401, "UNAUTHORIZED"],
    [() => reserve(reader, "1", "new", "2026-03-01", "2026-03-02"), 403, "FORBIDDEN"],
    [() => get(outsider, owner), 403, "FORBIDDEN"],
    [() => client.download("/reservations?color=red"), 400, "BAD_REQUEST unknownParameter color"],
    [() => client.api.PATCH("/reservations" as never, {} as never), 405, "METHOD_NOT_SUPPORTED"],
    [() => reserve(client, "2", "new", "2026-03-02", "2026-03-02"), 400, "BAD_REQUEST dateOrder checkOut"],
    [() => reserve(client, "stays", "new", "2026-03-01", "2026-03-02"), 409, "CONFLICT idempotencyKeyReused Idempotency-Key"],
    [() => reserve(client, "3", "stay-0", "2026-03-01", "2026-03-02"), 409, "CONFLICT duplicateUniqueRef"],
    [() => client.api.DELETE("/contacts/{id}", { params: { path: { id: owner } } }), 400, "BAD_REQUEST inUse archive"],
    [() => reserve(client, "4", "new", "2025-03-01", "2025-03-02"), 403, "FORBIDDEN booksClosed 2026-01-01"],
    [() => client.api.GET("/statements/pdf/batch"), 422, "EXPORT_REQUIRES_POST POST"],
  ];

  for (const [call, status, want] of cases) {
    const failure = await call().then(() => undefined, (error: unknown) => error);
    assert.ok(failure instanceof ApiError, `${want}: no ApiError but ${failure}`);

    const issues = failure.issues.flatMap((issue) => [issue.code, ...(issue.path ?? [])]);
    const { suggestedOnLocked, booksClosedAt, recommendedMethod } = failure.context;
    const got = [failure.code, failure.reason, ...issues, suggestedOnLocked, booksClosedAt, recommendedMethod];

    assert.equal(got.filter(Boolean).join(" "), want);
    assert.equal(failure.status, status);
    assert.ok(failure.requestId);
  }
}

// Returns a day of 2026, of a month and a day from 0.
function day(month: number, day: number): string {
  return new Date(Date.UTC(2026, month, day + 1)).toISOString().slice(0, 10);
}
