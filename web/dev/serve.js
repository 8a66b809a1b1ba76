/** Serves the built page with the stand-in of the server, as `node dev/serve.js`: says its port, and goes when told. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { answer } from "./answering.js";

const PAGE = fileURLToPath(new URL("../../src/leeward/dashboard/page/", import.meta.url));
/** @type {Record<string, string>} */
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const server = createServer(async (request, response) => {
  response.setHeader("Content-Security-Policy", POLICY);
  if (answer(request, response)) return;
  const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
  const isFile = extname(path) !== "" && (path.startsWith("/assets/") || path === "/mark.svg");
  try {
    const content = await readFile(join(PAGE, isFile ? path : "index.html"));
    response.writeHead(200, { "Content-Type": TYPES[isFile ? extname(path) : ".html"] ?? "application/octet-stream" });
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" && address ? address.port : 0);
});
