/**
 * Checks what a real server has sent (`tests/recorded/*.json`, written by `python -m tests.recorded_views`) against the
 * types of `src/lib/view.ts`. JSON that is imported has lost which texts are meant, so each file is written as a value of
 * its type, and compiled.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** @type {Record<string, string>} */
const TYPES = {
  application: "ApplicationDetail",
  feed: "Reset",
  labelled: "Labelled",
  lint: "LintReport",
  manifests: "ShownManifests",
  outage: "OutageStory",
  report: "MarkdownReport",
  resilience: "Resilience",
  session: "SessionView",
  "what-if": "WhatIfView",
};
const HERE = fileURLToPath(new URL(".", import.meta.url));
const VIEW = join(HERE, "../src/lib/view");

const folder = mkdtempSync(join(HERE, ".recorded-"));
let problems = "";
try {
  const files = readdirSync(join(HERE, "recorded")).filter((file) => file.endsWith(".json"));
  if (files.length === 0) throw new Error("nothing is recorded");
  const written = files.map((file) => {
    const name = basename(file, ".json");
    const type = TYPES[name];
    if (!type) throw new Error(`recorded/${file}: no type is named for it in tests/recorded.js`);
    const path = join(folder, `${name}.ts`);
    const json = readFileSync(join(HERE, "recorded", file), "utf8");
    writeFileSync(
      path,
      `import type { ${type} } from ${JSON.stringify(VIEW)};\nexport const recorded: ${type} = ${json};\n`,
    );
    return path;
  });
  const program = ts.createProgram(written, {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: [],
  });
  problems = ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => folder,
    getNewLine: () => "\n",
  });
  console.log(problems || `${files.length} recorded answers have the types of view.ts`);
} finally {
  rmSync(folder, { recursive: true });
}
process.exit(problems ? 1 : 0);
