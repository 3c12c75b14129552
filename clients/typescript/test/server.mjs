// A server of which a test says what it answers; it remembers what it was request.
import { createServer } from "node:http";

/**
 * @typedef {{ method: string, url: string, headers: import("node:http").IncomingHttpHeaders, body: any }} ReceivedRequest
 * @typedef {{ status?: number, headers?: Record<string, string>, body?: unknown, text?: string }} Answer
 */

/** @param {(request: ReceivedRequest, count: number) => Answer | null} answer null: the connection is cut */
export async function serve(answer) {
  /** @type {ReceivedRequest[]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const one = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: text ? JSON.parse(text) : undefined,
    };
    requests.push(one);
    const reported = answer(one, requests.length);
    if (reported === null) return void request.socket.destroy();
    const { status = 200, headers = {}, body, text: plain } = reported;
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(plain ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** @param {number} status @param {string} detail */
export function problem(status, detail, headers = {}) {
  return {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
    body: { type: "about:blank", title: "Problem", status, detail },
  };
}

/** What the server says where it takes every event. @param {ReceivedRequest} request */
export function taken(request) {
  const results = request.body.events.map((/** @type {any} */ each) => ({
    event_id: each.event.event_id,
    status: "accepted",
  }));
  return { body: { accepted: results.length, refused: 0, results } };
}
