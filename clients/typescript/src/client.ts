/**
 * A client of the stayledger API: openapi-fetch with the types of the description, which sends a request again when
 * that is safe, makes the idempotency key of each POST that takes one, and throws every failure as an ApiError.
 */
import { setTimeout as sleep } from "node:timers/promises";
import createClient, { type Client } from "openapi-fetch";
import { keyed } from "./keyed.gen.js";
import type { components, paths } from "./schema.gen.js";

export type { paths };

/** The schemas of the description, such as Schemas["Reservation"]. */
export type Schemas = components["schemas"];

export interface Options {
  /** Such as https://api.example.com. */
  baseUrl: string;
  /** Of a team or a partner. */
  apiKey: string;
  /** Selects the team when the key reaches several. */
  team?: string;
  /** Replaces the fetch of the platform. */
  fetch?: (request: Request) => Promise<Response>;
}

/** A failure. Branch on status, code and reason, never on the message. */
export class ApiError extends Error {
  override name = "ApiError";
  /** Of the answer; 0 for the failure of an operation. */
  readonly status: number;
  readonly code: string;
  /** Business rule, or empty. */
  readonly reason: string;
  readonly issues: Schemas["Issue"][];
  readonly context: Schemas["ErrorContext"];
  readonly requestId: string;
  /** Page about the failure; empty for the failure of an operation. */
  readonly docs: string;
  readonly retryable: boolean;

  constructor(status: number, body: Partial<Schemas["Error"]>) {
    super(body.message ?? "");
    this.status = status;
    this.code = body.code ?? "";
    this.reason = body.reason ?? "";
    this.issues = body.issues ?? [];
    this.context = body.context ?? {};
    this.requestId = body.requestId ?? "";
    this.docs = body.docs ?? "";
    this.retryable = body.retryable ?? false;
  }
}

/** Returns the content of the answer to a call such as client.api.GET("/team"). */
export async function data<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}

/** What lists answer with: by pages, or by cursors in one of two forms. */
type Page<T> =
  | { data: T[]; pagination: { nextPage: number | null } }
  | { data: T[]; page: { hasMore: boolean; nextCursor: string | null } }
  | { items: T[]; nextCursor: string | null };

type List<T> = {
  get: {
    parameters: { query?: { page?: number } | { cursor?: string } };
    responses: { 200: { content: { "application/json": Page<T> } } };
  };
};

/** The paths of the lists, their rows and their parameters. */
type ListPath = { [P in keyof paths]: paths[P] extends List<unknown> ? P : never }[keyof paths];
type Row<P extends keyof paths> = paths[P] extends List<infer T> ? T : never;
type Parameters<P extends ListPath> = paths[P]["get"]["parameters"];

export class Stayledger {
  /** Calls endpoints; pass the calls to data. */
  readonly api: Client<paths>;
  private readonly base: string;
  private readonly headers: Record<string, string>;

  constructor(private readonly options: Options) {
    this.base = options.baseUrl.replace(/\/$/, "");
    this.headers = { "X-Api-Key": options.apiKey, ...(options.team && { "X-Team-Id": options.team }) };
    this.api = createClient<paths>({
      baseUrl: this.base,
      headers: this.headers,
      querySerializer: serializeQuery,
      fetch: (request) => this.send(request),
    });
    this.api.use({
      onRequest({ request, schemaPath }) {
        if (request.method === "POST" && keyed.has(schemaPath) && !request.headers.has("Idempotency-Key")) {
          request.headers.set("Idempotency-Key", crypto.randomUUID());
        }
      },
    });
  }

  /** Reads the rows of a list from page to page, with the parameters that GET of the path takes. */
  async *rows<P extends ListPath>(path: P, params?: Parameters<P>): AsyncGenerator<Row<P>, void> {
    // The compiler cannot follow the type of a path that is not known.
    const get = this.api.GET as unknown as (path: P, init: object) => Promise<{ data: Page<Row<P>> }>;
    let next: object | undefined = {};

    while (next) {
      const page: Page<Row<P>> = await data(get(path, { params: { ...params, query: { ...params?.query, ...next } } }));

      if ("pagination" in page) {
        yield* page.data;
        next = page.pagination.nextPage === null ? undefined : { page: page.pagination.nextPage };
      } else {
        yield* "items" in page ? page.items : page.data;
        // A list that can be followed has a cursor also at its end.
        const cursor = "items" in page ? page.nextCursor : page.page.hasMore ? page.page.nextCursor : null;
        next = cursor === null ? undefined : { cursor };
      }
    }
  }

  /** Waits until an operation has ended. Throws an ApiError if the operation failed. */
  async waitForOperation(id: string): Promise<Schemas["OperationDetail"]> {
    for (;;) {
      const operation = await data(
        this.api.GET("/operations/{id}", { params: { path: { id }, query: { waitSeconds: 20 } } }),
      );

      if (operation.status === "completed") return operation;
      if (operation.status === "failed") {
        throw new ApiError(0, operation.failure ?? { code: "operationFailed", message: "Operation failed" });
      }

      await sleep(100); // A service that is about to stop answers at once.
    }
  }

  /** Opens the file at the path of an operation's result, or at the link of an export. */
  async download(at: string): Promise<ReadableStream<Uint8Array>> {
    const url = at.startsWith("/") ? this.base + at : at;
    // The key goes to the service only: a link can lead to another host.
    const headers = url.startsWith(this.base + "/") ? this.headers : {};
    const response = await this.send(new Request(url, { headers }));

    return response.body ?? new ReadableStream();
  }

  /** Sends a request until it succeeds, four times more at most, only when that is safe and within a minute each. */
  private async send(request: Request): Promise<Response> {
    const fetch = this.options.fetch ?? globalThis.fetch;
    const isGet = request.method === "GET";
    const isSafe = isGet || request.headers.has("Idempotency-Key");

    for (let wait = 250, retries = 4; ; wait *= 2, retries--) {
      let failure: unknown;
      let canRepeat = isSafe && retries > 0;

      try {
        const response = await fetch(canRepeat ? request.clone() : request);
        if (response.status < 400) return response;

        wait = Math.max(wait, 1000 * Number(response.headers.get("Retry-After") ?? 0));
        canRepeat &&= [429, 503].includes(response.status) || (isGet && response.status === 504);
        failure = await readError(response);
      } catch (error) {
        failure = error; // No answer arrived.
      }

      if (!canRepeat || wait > 60_000 || request.signal.aborted) throw failure;

      // The random part keeps clients from coming back all at once.
      await sleep(wait * (1 + Math.random() / 4), undefined, { signal: request.signal });
    }
  }
}

/** Reads the failure in an answer. One that does not come from the service has no code. */
async function readError(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => ({ message: response.statusText }));

  return new ApiError(response.status, { requestId: response.headers.get("X-Request-Id") ?? "", ...body });
}

/** Writes a query. A list is a CSV record. */
function serializeQuery(query: Record<string, unknown>): string {
  const out = new URLSearchParams();

  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) out.set(name, value.map(quote).join(","));
    else if (value !== undefined && value !== null) out.set(name, String(value));
  }

  return out.toString();
}

/** Writes a field of a CSV record. */
function quote(value: unknown): string {
  const text = String(value);

  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
