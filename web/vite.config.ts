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

export default defineConfig({
  plugins: [svelte(), standIn],
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
