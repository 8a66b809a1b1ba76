import { readFileSync, readdirSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";
import { answer } from "./dev/answering.js";

/** While the page is worked on, a stand-in answers for the server; nothing of it is built. */
const standIn: Plugin = {
  name: "stand-in",
  apply: "serve",
  configureServer(server) {
    server.middlewares.use((request, response, next) => {
      if (!answer(request, response)) next();
    });
  },
};

const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;

/** Writes the licences of all packages of which the built page has code, beside it. */
const licences: Plugin = {
  name: "licences",
  apply: "build",
  generateBundle() {
    const modules = [...this.getModuleIds()].map((id) => PACKAGE.exec(id.replace(/^\0/, ""))?.[0]);
    const folders = [...new Set(modules.filter((folder) => folder !== undefined))].sort();
    this.emitFile({ type: "asset", fileName: "LICENSES.txt", source: folders.map(licence).join("\n") });
  },
};

function licence(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as Record<
    string,
    string
  >;
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? "" : readFileSync(`${folder}/${file}`, "utf8");
  return `${name} ${version} (${license})\n\n${text}`;
}

export default defineConfig({
  plugins: [svelte(), standIn, licences],
  server: { host: "127.0.0.1" },
  build: {
    outDir: "../src/leeward/dashboard/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
  },
});
