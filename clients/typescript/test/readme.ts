import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ApiError, data, Stayledger } from "../src/client.js";

const { env } = process;

/** The code of clients/README.md. */
export async function readme(listingId: string, folder: string): Promise<void> {
  const client = new Stayledger({
    baseUrl: env["STAYLEDGER_URL"]!, // such as https://api.example.com
    apiKey: env["STAYLEDGER_KEY"]!,
  });

  const team = await data(client.api.GET("/team"));
  console.log(team.name);

  const uniqueRef = "booking-4711";
  const stay = await data(
    client.api.POST("/reservations", {
      params: { header: { "Idempotency-Key": uniqueRef } },
      body: { listingId, checkIn: "2026-03-05", checkOut: "2026-03-09", uniqueRef },
    }),
  );

  await data(
    client.api.PUT("/reservations/{id}", { params: { path: { id: stay.id } }, body: { guestName: "Grace Hill" } }),
  );

  for await (const r of client.rows("/reservations", { query: { listingIds: [listingId] } })) {
    console.log(r.checkIn, r.financials.total);
  }

  const queued = await data(client.api.POST("/reservations/csv", { body: {} }));
  const operation = await client.waitForOperation(queued.operationId);
  const url = operation.resources.find((r) => r.url)?.url;
  if (url) await pipeline(Readable.from(await client.download(url)), createWriteStream(join(folder, "reservations.csv")));

  try {
    await client.api.POST("/reservations", {
      body: { listingId, checkIn: "2026-03-05", checkOut: "2026-03-09", uniqueRef },
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "duplicateUniqueRef") throw error;
    console.log("exists already, request", error.requestId);
  }
}
