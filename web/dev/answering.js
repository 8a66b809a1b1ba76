/**
 * A stand-in for the dashboard's server: sessions by a cookie, one stream, questions. For looking at the page alone.
 *
 * The cookies `scene` and `many` choose the fleet; `signed=out` is somebody who has not signed in.
 */

import { acted, answerTo } from "./answers.js";
import { NOW } from "./fleet.js";
import { LONG_USER, reset, SIGNED_IN, SIGNED_OUT } from "./scenes.js";

/** Of all pages that look: what is posted to `/api/stand-in/change` is sent to them, as it is. @type {Set<import("node:http").ServerResponse>} */
const streams = new Set();
const HEARTBEAT_MS = 3000;
const CHUNK = 2000;

/**
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 * @returns {boolean} whether it was a question to the server
 */
export function answer(request, response) {
  const url = new URL(request.url ?? "/", "http://localhost");
  if (!url.pathname.startsWith("/api/")) return false;
  const cookies = new URLSearchParams((request.headers.cookie ?? "").replaceAll("; ", "&"));
  const isIn = cookies.get("signed") !== "out";
  response.setHeader("Date", new Date(NOW).toUTCString());
  if (url.pathname === "/api/session") session(request, response, isIn, cookies.get("scene") === "long");
  else if (url.pathname === "/api/stand-in/change") void change(request, response);
  else if (!isIn) json(response, 401, { error: "nobody has signed in" });
  else if (url.pathname === "/api/events")
    stream(response, cookies.get("scene") ?? "", Number(cookies.get("many") ?? 139));
  else if (url.pathname.startsWith("/api/actions/"))
    json(response, 200, acted(url.pathname.split("/")[3] ?? "", url.searchParams.has("dry-run")));
  else {
    const found = answerTo(decodeURIComponent(url.pathname), url.searchParams);
    json(response, found ? 200 : 404, found ?? { error: "there is nothing of this name" });
  }
  return true;
}

/** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response @param {boolean} isIn @param {boolean} isLong */
function session(request, response, isIn, isLong) {
  if (request.method === "GET") return json(response, 200, isIn ? (isLong ? LONG_USER : SIGNED_IN) : SIGNED_OUT);
  if (request.method === "DELETE") {
    response.setHeader("Set-Cookie", "signed=out; Path=/");
    return json(response, 200, SIGNED_OUT);
  }
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    if (!body.includes("right")) return json(response, 401, { error: "the control plane does not know this token" });
    response.setHeader("Set-Cookie", "signed=in; Path=/");
    json(response, 200, SIGNED_IN);
  });
}

/** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
async function change(request, response) {
  let body = "";
  for await (const part of request) body += part;
  for (const each of streams) each.write(`event: change\ndata: ${body}\n\n`);
  json(response, 200, streams.size);
}

/** @param {import("node:http").ServerResponse} response @param {string} scene @param {number} many */
function stream(response, scene, many) {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const whole = reset(scene, many);
  const all = Object.entries(whole.collections.applications ?? {});
  const parts = Math.max(1, Math.ceil(all.length / CHUNK));
  const sent = scene === "halting" ? 1 : parts;
  for (let index = 0; index < sent; index++) {
    const applications = Object.fromEntries(all.slice(index * CHUNK, (index + 1) * CHUNK));
    const more = index < parts - 1;
    const head = { id: more ? "" : whole.id, at: whole.at, more };
    const event =
      index === 0
        ? { ...head, collections: { ...whole.collections, applications } }
        : { ...head, set: { applications }, unset: {} };
    response.write(`event: ${index === 0 ? "reset" : "change"}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  const timer = setInterval(() => response.write(": still here\n\n"), HEARTBEAT_MS);
  streams.add(response);
  response.on("close", () => {
    clearInterval(timer);
    streams.delete(response);
  });
}

/** @param {import("node:http").ServerResponse} response @param {number} status @param {unknown} value */
function json(response, status, value) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}
