import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

test("the package has what is built, and nothing else", () => {
  const [packed] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8" }));
  const names = packed.files.map((/** @type {{ path: string }} */ each) => each.path);
  const others = names.filter((/** @type {string} */ name) => !/^dist\/[a-z]+(\.d\.ts|\.js)$/.test(name));
  assert.deepEqual(others.sort(), ["LICENSE", "README.md", "package.json"]);
  for (const name of ["dist/index.js", "dist/index.d.ts", "dist/openapi.d.ts"]) assert.ok(names.includes(name), name);
});
