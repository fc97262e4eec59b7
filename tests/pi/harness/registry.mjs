// A package registry for tests: it serves tarballs from a folder, each under the name that its
// package.json says.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename } from "node:path";

/** Serves the tarballs; `close` ends it. What is asked for and not there is in `missing`. */
export async function startRegistry(tarballs) {
  const packages = new Map();
  const missing = [];
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url.slice(1).split("?")[0]);
    const tarball = tarballs.find((file) => name === `-/${basename(file)}`);
    const known = packages.get(name);
    if (tarball) return response.end(readFileSync(tarball));
    if (!known) {
      missing.push(name);
      response.statusCode = 404;
      return response.end("{}");
    }
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(known));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  for (const tarball of tarballs) {
    const text = execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" });
    const description = JSON.parse(text);
    const bytes = readFileSync(tarball);
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const { name, version } = description;
    packages.set(name, {
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...description, dist: { tarball: `${url}/-/${basename(tarball)}`, integrity } } },
    });
  }
  return { url, missing, close: () => new Promise((resolve) => server.close(resolve)) };
}
