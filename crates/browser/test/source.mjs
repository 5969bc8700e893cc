// One module of src/, bundled for node.

import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;

export async function load(path) {
  const options = { absWorkingDir: root, entryPoints: [`src/${path}`], bundle: true, write: false, format: "esm" };
  const { outputFiles } = await build(options);
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
