// A receiver of webhooks as a team would write one: it verifies each message with the library standardwebhooks, answers,
// and prints what it got as a line of JSON. Its address comes first. The secret is read from the first line of standard input.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

let webhook;

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    try {
      const message = webhook.verify(Buffer.concat(chunks).toString(), request.headers);
      console.log(JSON.stringify({ verified: message }));
      response.writeHead(204).end();
    } catch (error) {
      console.log(JSON.stringify({ refused: String(error) }));
      response.writeHead(401).end();
    }
  });
});

server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ address: `http://127.0.0.1:${server.address().port}/` })));
createInterface({ input: process.stdin })
  .on("line", (secret) => { webhook = new Webhook(secret); })
  .on("close", () => process.exit(0));
