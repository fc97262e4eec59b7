// Packs what goes to npm: the extension, and one package for each platform with its binary.
//
//   node release/pack.mjs --out DIR linux-x64=PATH/pi-stet [darwin-arm64=PATH …]
//
// npm installs of the platform packages only the one that fits the machine.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The platforms by npm's names for them. */
export const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-x64"];

const EXTENSION = resolve(import.meta.dirname, "..");
const CHECKOUT = resolve(EXTENSION, "..");

/** Makes the tarballs and gives their paths, the extension's last. `binaries` maps platforms to files. */
export function pack(out, binaries) {
  const extension = JSON.parse(readFileSync(join(EXTENSION, "package.json"), "utf8"));
  const work = mkdtempSync(join(tmpdir(), "pi-stet-pack-"));
  try {
    mkdirSync(out, { recursive: true });
    const platforms = Object.entries(binaries).map(([platform, binary]) =>
      packFolder(platformFolder(work, extension, platform, binary), out),
    );
    return [...platforms, packFolder(extensionFolder(work, extension, Object.keys(binaries)), out)];
  } finally {
    rmSync(work, { recursive: true });
  }
}

function platformFolder(work, extension, platform, binary) {
  const [os, cpu] = platform.split("-");
  const folder = join(work, `pi-stet-${platform}`);
  const name = os === "win32" ? "pi-stet.exe" : "pi-stet";
  mkdirSync(join(folder, "bin"), { recursive: true });
  copyFileSync(binary, join(folder, "bin", name));
  chmodSync(join(folder, "bin", name), 0o755);
  writePackage(folder, {
    name: `pi-stet-${platform}`,
    version: extension.version,
    description: `The binary of pi-stet for ${os} on ${cpu}`,
    license: extension.license,
    // `npm install -g` of this package alone is a way to have the shell commands.
    bin: { "pi-stet": `bin/${name}` },
    os: [os],
    cpu: [cpu],
    files: ["bin"],
  });
  copyFileSync(join(CHECKOUT, "LICENSE"), join(folder, "LICENSE"));
  return folder;
}

function extensionFolder(work, extension, platforms) {
  const folder = join(work, "pi-stet");
  mkdirSync(folder);
  for (const part of ["src", "skills"]) cpSync(join(EXTENSION, part), join(folder, part), { recursive: true });
  for (const file of ["LICENSE", "README.md", "CHANGELOG.md"]) copyFileSync(join(CHECKOUT, file), join(folder, file));
  const { devDependencies, scripts, allowScripts, ...published } = extension;
  const binaries = platforms.map((platform) => [`pi-stet-${platform}`, extension.version]);
  writePackage(folder, { ...published, optionalDependencies: Object.fromEntries(binaries) });
  return folder;
}

function writePackage(folder, description) {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
}

function packFolder(folder, out) {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const printed = execFileSync(npm, ["pack", folder, "--pack-destination", out, "--json"], { encoding: "utf8" });
  return join(out, JSON.parse(printed)[0].filename);
}

function main(words) {
  const fail = (why) => {
    console.error(`pack.mjs: ${why}\nusage: node release/pack.mjs --out DIR PLATFORM=BINARY…\nplatforms: ${PLATFORMS.join(", ")}`);
    process.exit(2);
  };
  if (words[0] !== "--out" || words.length < 3) fail("give a folder and at least one binary");
  const binaries = {};
  for (const word of words.slice(2)) {
    const [platform, binary] = word.split("=");
    if (!PLATFORMS.includes(platform)) fail(`${platform} is no platform`);
    if (!binary || !existsSync(binary)) fail(`there is no binary ${binary ?? ""} for ${platform}`);
    binaries[platform] = binary;
  }
  for (const tarball of pack(resolve(words[1]), binaries)) console.log(tarball);
}

if (process.argv[1] && resolve(process.argv[1]) === import.meta.filename) main(process.argv.slice(2));
