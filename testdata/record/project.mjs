// The small project on which the recorded sessions work: a command line tool
// that prints a weather report from a CSV file. It has real faults for the
// sessions to find: a wrong term in the wind chill formula, and a CSV reader
// that trips over Windows line ends and empty cells.

const PACKAGE = `{
  "name": "weather",
  "version": "0.3.0",
  "type": "module",
  "bin": { "weather": "src/cli.js" },
  "scripts": { "test": "node --test" }
}
`;

const README = `# weather

Prints a daily report from a CSV file of hourly readings.

    node src/cli.js report data/march.csv
    node src/cli.js report data/march.csv --station Brocken

Columns of the CSV file: \`time\` (ISO, UTC), \`station\`, \`temperature\` (°C),
\`wind\` (km/h), \`rain\` (mm). A cell may be empty when a sensor was down.
`;

const AGENTS = `# Working on weather

- No dependencies. Node 22, ES modules, \`node --test\`.
- Read docs/units.md before touching anything in src/units.js.
- Numbers are rounded when they are printed, never before.
- Ask before changing the CSV format: other people's scripts write it.
`;

const UNITS_DOC = `# Units

Everything is kept in °C, km/h and mm. Other units exist only in the printed report.

## Wind chill

We use the formula of Environment Canada from 2001, in °C and km/h:

    T_wc = 13.12 + 0.6215 T - 11.37 v^0.16 + 0.3965 T v^0.16

It holds for temperatures of at most 10 °C and wind of at least 4.8 km/h.
Outside of that range the wind chill is the air temperature.

Reference values (rounded to one digit):

| T (°C) | v (km/h) | wind chill (°C) |
|-------:|---------:|----------------:|
|      0 |       20 |            -5.2 |
|     -5 |       20 |           -11.6 |
|    -10 |       30 |           -19.5 |
|     10 |       10 |             8.6 |
`;

const UNITS = `export const toFahrenheit = (celsius) => (celsius * 9) / 5 + 32;

export const toMilesPerHour = (kmh) => kmh / 1.609344;

export const toInches = (mm) => mm / 25.4;

/** Wind chill in °C, see docs/units.md. */
export function windChill(celsius, kmh) {
  if (celsius > 10 || kmh < 4.8) return celsius;
  const v = kmh ** 0.16;
  return 13.12 + 0.6215 * celsius - 11.37 * v + 0.3965 * v;
}
`;

const READINGS = `const NUMBERS = ["temperature", "wind", "rain"];

/** Turns the text of a CSV file into readings. */
export function parseReadings(csv) {
  const [head, ...lines] = csv.trim().split("\\n");
  const names = head.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    const reading = Object.fromEntries(names.map((name, i) => [name, cells[i]]));
    for (const name of NUMBERS) reading[name] = Number(reading[name]);
    return reading;
  });
}

export function byStation(readings) {
  const stations = new Map();
  for (const reading of readings) {
    if (!stations.has(reading.station)) stations.set(reading.station, []);
    stations.get(reading.station).push(reading);
  }
  return stations;
}

export function byDay(readings) {
  const days = new Map();
  for (const reading of readings) {
    const day = reading.time.slice(0, 10);
    if (!days.has(day)) days.set(day, []);
    days.get(day).push(reading);
  }
  return days;
}
`;

const REPORT = `import { byDay, byStation } from "./readings.js";
import { windChill } from "./units.js";

const mean = (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;

/** One row per station and day. */
export function dailyRows(readings) {
  const rows = [];
  for (const [station, ofStation] of byStation(readings)) {
    for (const [day, ofDay] of byDay(ofStation)) {
      const temperatures = ofDay.map((r) => r.temperature);
      rows.push({
        station,
        day,
        min: Math.min(...temperatures),
        mean: mean(temperatures),
        max: Math.max(...temperatures),
        rain: ofDay.reduce((sum, r) => sum + r.rain, 0),
        chill: Math.min(...ofDay.map((r) => windChill(r.temperature, r.wind))),
      });
    }
  }
  return rows;
}

const cell = (value) => value.toFixed(1).padStart(7);

export function renderReport(rows) {
  const lines = ["station      day            min    mean     max    rain   chill"];
  for (const row of rows) {
    const numbers = [row.min, row.mean, row.max, row.rain, row.chill].map(cell).join(" ");
    lines.push(\`\${row.station.padEnd(12)} \${row.day} \${numbers}\`);
  }
  return lines.join("\\n");
}
`;

const CLI = `#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseReadings } from "./readings.js";
import { dailyRows, renderReport } from "./report.js";

const [command, file, ...options] = process.argv.slice(2);
if (command !== "report" || !file) {
  console.error("usage: weather report FILE [--station NAME]");
  process.exit(2);
}

const at = options.indexOf("--station");
const station = at >= 0 ? options[at + 1] : undefined;
const readings = parseReadings(readFileSync(file, "utf8"));
const wanted = station ? readings.filter((r) => r.station === station) : readings;
console.log(renderReport(dailyRows(wanted)));
`;

const UNITS_TEST = `import assert from "node:assert/strict";
import test from "node:test";
import { toFahrenheit, toMilesPerHour, windChill } from "../src/units.js";

test("degrees", () => {
  assert.equal(toFahrenheit(0), 32);
  assert.equal(toFahrenheit(100), 212);
});

test("speed", () => {
  assert.equal(toMilesPerHour(1.609344), 1);
});

test("no wind chill when it is warm or calm", () => {
  assert.equal(windChill(15, 40), 15);
  assert.equal(windChill(-5, 3), -5);
});
`;

const REPORT_TEST = `import assert from "node:assert/strict";
import test from "node:test";
import { parseReadings } from "../src/readings.js";
import { dailyRows, renderReport } from "../src/report.js";

const CSV = \`time,station,temperature,wind,rain
2026-03-01T00:00:00Z,Harz,1.5,12,0
2026-03-01T01:00:00Z,Harz,0.5,14,0.2
2026-03-02T00:00:00Z,Harz,-2.0,30,1.0
\`;

test("one row per day", () => {
  const rows = dailyRows(parseReadings(CSV));
  assert.deepEqual(rows.map((row) => row.day), ["2026-03-01", "2026-03-02"]);
  assert.equal(rows[0].min, 0.5);
  assert.equal(rows[0].mean, 1);
  assert.equal(rows[0].rain, 0.2);
});

test("the table is aligned", () => {
  const lines = renderReport(dailyRows(parseReadings(CSV))).split("\\n");
  assert.equal(new Set(lines.map((line) => line.length)).size, 1);
});
`;

const STATIONS = ["Brocken", "Kap Arkona", "Zugspitze"];
const CLIMATE = { Brocken: [-3, 38], "Kap Arkona": [4, 27], Zugspitze: [-9, 45] };

/** Hourly readings that look like March: a small generator with a fixed seed. */
function march(days) {
  let state = 20260301;
  const random = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  const lines = ["time,station,temperature,wind,rain"];
  for (let day = 1; day <= days; day += 1) {
    for (const station of STATIONS) {
      const [temperature, wind] = CLIMATE[station];
      for (let hour = 0; hour < 24; hour += 1) {
        const time = `2026-03-${String(day).padStart(2, "0")}T${String(hour).padStart(2, "0")}:00:00Z`;
        const swing = 4 * Math.sin(((hour - 9) / 24) * 2 * Math.PI);
        const degrees = (temperature + swing + 3 * (random() - 0.5)).toFixed(1);
        const speed = Math.round(wind * (0.5 + random()));
        const rain = random() < 0.15 ? (random() * 3).toFixed(1) : "0";
        // The sensor on the Zugspitze freezes now and then.
        const down = station === "Zugspitze" && random() < 0.04;
        lines.push([time, station, down ? "" : degrees, speed, rain].join(","));
      }
    }
  }
  return `${lines.join("\n")}\n`;
}

/** The files of the project: { path: text }. */
export function weatherProject({ days = 14 } = {}) {
  return {
    "package.json": PACKAGE,
    "README.md": README,
    "AGENTS.md": AGENTS,
    "docs/units.md": UNITS_DOC,
    "src/units.js": UNITS,
    "src/readings.js": READINGS,
    "src/report.js": REPORT,
    "src/cli.js": CLI,
    "test/units.test.js": UNITS_TEST,
    "test/report.test.js": REPORT_TEST,
    "data/march.csv": march(days),
  };
}
