// One ordinary day: a wrong number is reported, traced, fixed and tested; then
// a second fault in the CSV reader; then a small feature. No compaction yet.
import { bash, edit, read, Recording, write } from "../recorder.mjs";

const ISSUE = `Good morning! Somebody on the mountain rescue list says our wind chill is wrong. Their mail:

> Subject: wind chill on the Brocken
>
> Hi,
> your report for 2026-03-07 says the lowest wind chill on the Brocken was about -12.8.
> Our own station computes -20 or less for the same hours (-8.3 °C, around 40 km/h).
> We plan tours with these numbers, so a person may go out underdressed.
>
>   station      day            min    mean     max    rain   chill
>   Brocken      2026-03-07    -8.3    -3.2     1.4     5.1   -12.8
>
> Could you check?
> Thanks, Jana

Please find out whether she is right. Rules for today:
1. Do not change the CSV format, the rescue people's scripts write it.
2. Show me the failing test before you fix anything.
3. No new dependencies, ever.`;

const WIND_CHILL_TEST = `
test("wind chill matches the reference table", () => {
  const table = [
    [0, 20, -5.2],
    [-5, 20, -11.6],
    [-10, 30, -19.5],
    [10, 10, 8.6],
  ];
  for (const [celsius, kmh, expected] of table) {
    assert.equal(Number(windChill(celsius, kmh).toFixed(1)), expected, \`\${celsius} °C, \${kmh} km/h\`);
  }
});
`;

const READINGS_TEST = `import assert from "node:assert/strict";
import test from "node:test";
import { parseReadings } from "../src/readings.js";

test("Windows line ends", () => {
  const [reading] = parseReadings("time,station,temperature,wind,rain\\r\\n2026-03-01T00:00:00Z,Harz,1.5,12,0.4\\r\\n");
  assert.equal(reading.rain, 0.4);
  assert.deepEqual(Object.keys(reading), ["time", "station", "temperature", "wind", "rain"]);
});

test("an empty cell is a missing value, not a zero", () => {
  const [reading] = parseReadings("time,station,temperature,wind,rain\\n2026-03-01T00:00:00Z,Harz,,12,0\\n");
  assert.equal(reading.temperature, undefined);
});
`;

export default async function record() {
  const day = await Recording.start({ startsAt: "2026-03-09T08:12:00Z", days: 14 });
  try {
    await day.user(ISSUE, [
      {
        think:
          "The user wants an investigation first. AGENTS.md says to read docs/units.md before touching units.js. " +
          "Let me read the document and the code together.",
        say: "I'll start with the documentation of the formula and the code that claims to implement it.",
        calls: [read("docs/units.md"), read("src/units.js"), bash("ls -R src test docs data")],
      },
      {
        think:
          "The doc has the term 0.3965 T v^0.16, the code has 0.3965 * v without the temperature. " +
          "That is the bug. The existing tests only cover the trivial branch. Reproduce with numbers first.",
        say:
          "The last term of the formula is `0.3965 T v^0.16`; the code has `0.3965 * v`, without the temperature. " +
          "Before I call that the cause, let me check it against the report in the mail and look at what the tests cover.",
        calls: [
          bash("node src/cli.js report data/march.csv --station Brocken"),
          read("test/units.test.js"),
          read("data/march.csv"),
        ],
      },
      {
        think: "The tests never check a value inside the range of the formula.",
        say:
          "Jana is right. The report shows -12.8 for that day, and the correct formula gives below -19 for -8.3 °C and 40 km/h. " +
          "The tests miss it because they only check the two cases in which the formula is not used at all.\n\n" +
          "Here is the failing test you asked for, before any fix; its values are those of the reference table in `docs/units.md`.",
        calls: [
          edit("test/units.test.js", [
            "assert.equal(windChill(-5, 3), -5);\n});\n",
            `assert.equal(windChill(-5, 3), -5);\n});\n${WIND_CHILL_TEST}`,
          ]),
        ],
      },
      { calls: [bash("node --test test/units.test.js")] },
      {
        say:
          "It fails as expected: `0 °C, 20 km/h` gives -4.6 instead of -5.2. I have not touched `src/units.js` yet. " +
          "Shall I fix the formula now?",
      },
    ]);

    await day.pause("14m");
    await day.user("Yes, go ahead. And tell me whether any other caller of windChill depends on the wrong value.", [
      {
        say: "I'll fix the one term and look for callers at the same time.",
        calls: [edit("src/units.js", ["0.3965 * v;", "0.3965 * celsius * v;"]), bash("grep -rn 'windChill' src test")],
      },
      { calls: [bash("node --test"), bash("node src/cli.js report data/march.csv --station Brocken")] },
      {
        say:
          "Fixed, and all tests pass. The only caller outside of the tests is `dailyRows` in `src/report.js`, which prints the value " +
          "and computes nothing from it. Every `chill` column of older reports was too warm by several degrees whenever the formula applied.",
      },
    ]);

    await day.bash("git diff --stat");
    await day.pause("9m");
    await day.user(
      "Good. Commit that with a message Jana would understand.\n\nThen the next one: the Zugspitze rows look odd to me, can you look at them?",
      [
        {
          calls: [bash("git commit -qam 'Fix wind chill: the last term lacked the temperature' && git log --oneline")],
        },
        {
          say: "Committed. Now the Zugspitze:",
          calls: [
            bash("node src/cli.js report data/march.csv --station Zugspitze"),
            bash("grep -n 'Zugspitze' data/march.csv"),
            read("src/readings.js"),
          ],
        },
        {
          think:
            "Number('') is 0. So an empty cell counts as 0 °C, which makes max 0.0 on the Zugspitze where it is about -9. " +
            "README says a cell may be empty when a sensor was down. Also CRLF: trim().split('\\n') leaves \\r in the last cell and header.",
          say:
            'The maximum of 0.0 on several days is not weather. When the sensor was down the cell is empty, and `Number("")` is `0`, ' +
            "so a missing temperature is counted as zero degrees. The README says that cells may be empty, so this is a fault in the reader. " +
            "While reading it I saw a second one: with Windows line ends the last column would be called `rain\\r`. Tests first again:",
          calls: [write("test/readings.test.js", READINGS_TEST)],
        },
        { calls: [bash("node --test test/readings.test.js")] },
        {
          say:
            "Both fail, so both faults are real. For the fix I would leave a missing value out of min, mean, max and sum. " +
            "A day without a single temperature would print a dash. Is that what you want, or should such a day disappear?",
        },
      ],
    );

    await day.pause("31m");
    await day.user("A dash. Never hide a day: if a station is down the rescue people must see that it is down.", [
      {
        say: "Understood: a dash, and no day is ever left out. First the reader:",
        calls: [
          edit(
            "src/readings.js",
            ['csv.trim().split("\\n")', "csv.trim().split(/\\r?\\n/)"],
            [
              "for (const name of NUMBERS) reading[name] = Number(reading[name]);",
              "for (const name of NUMBERS) reading[name] = reading[name] ? Number(reading[name]) : undefined;",
            ],
          ),
          read("src/report.js"),
        ],
      },
      {
        think: "dailyRows must filter undefined, and windChill needs both values. cell() must print a dash.",
        calls: [
          edit(
            "src/report.js",
            [
              "const temperatures = ofDay.map((r) => r.temperature);",
              "const temperatures = known(ofDay.map((r) => r.temperature));\n      const measured = ofDay.filter((r) => r.temperature !== undefined && r.wind !== undefined);",
            ],
            ["min: Math.min(...temperatures),", "min: least(temperatures),"],
            ["max: Math.max(...temperatures),", "max: greatest(temperatures),"],
            [
              "rain: ofDay.reduce((sum, r) => sum + r.rain, 0),",
              "rain: known(ofDay.map((r) => r.rain)).reduce((sum, mm) => sum + mm, 0),",
            ],
            [
              "chill: Math.min(...ofDay.map((r) => windChill(r.temperature, r.wind))),",
              "chill: least(measured.map((r) => windChill(r.temperature, r.wind))),",
            ],
            [
              "const mean = (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;",
              "const known = (values) => values.filter((value) => value !== undefined);\nconst least = (numbers) => (numbers.length > 0 ? Math.min(...numbers) : undefined);\nconst greatest = (numbers) => (numbers.length > 0 ? Math.max(...numbers) : undefined);\nconst mean = (numbers) => (numbers.length > 0 ? numbers.reduce((sum, n) => sum + n, 0) / numbers.length : undefined);",
            ],
            [
              "const cell = (value) => value.toFixed(1).padStart(7);",
              'const cell = (value) => (value === undefined ? "-" : value.toFixed(1)).padStart(7);',
            ],
          ),
        ],
      },
      { calls: [bash("node --test"), bash("node src/cli.js report data/march.csv")] },
      {
        say:
          "All tests pass, and the Zugspitze has plausible maxima again. I also want to see the dash for a day on which a sensor was down all day, " +
          "because no test covers it yet.",
        calls: [
          bash(
            "printf 'time,station,temperature,wind,rain\\n2026-03-01T00:00:00Z,Harz,,12,0\\n2026-03-01T01:00:00Z,Harz,,14,0.2\\n' > /tmp/down.csv && node src/cli.js report /tmp/down.csv; rm /tmp/down.csv",
          ),
        ],
      },
      {
        say:
          "The day stays, with dashes for min, mean, max and chill, and the rain that was measured:\n\n" +
          "```\nHarz         2026-03-01       -       -       -     0.2       -\n```\n\nI'll add that as a test if you agree.",
      },
    ]);

    await day.pause("1h");
    await day.user(
      "I agree. Also: add `--units imperial` please. Metric stays the default, and round only when printing (see AGENTS.md).",
      [
        {
          say: "I'll look at the command line and at the conversions we already have before I add anything.",
          calls: [read("src/cli.js"), read("AGENTS.md"), bash("git status --short && git diff src/report.js")],
        },
        {
          think:
            "Conversions exist: toFahrenheit, toMilesPerHour, toInches. Convert rows, then render. An unknown unit must be an error.",
          say: "`toFahrenheit` and `toInches` exist. I'll convert the finished rows, so that nothing is rounded or converted before the arithmetic is done.",
          calls: [
            edit(
              "src/report.js",
              [
                "const cell = (value)",
                "const convert = (value, by) => (value === undefined ? undefined : by(value));\n\n/** The same rows in °F and inches. */\nexport function toImperial(rows) {\n  return rows.map((row) => ({\n    ...row,\n    min: convert(row.min, toFahrenheit),\n    mean: convert(row.mean, toFahrenheit),\n    max: convert(row.max, toFahrenheit),\n    rain: convert(row.rain, toInches),\n    chill: convert(row.chill, toFahrenheit),\n  }));\n}\n\nconst cell = (value)",
              ],
              [
                'import { windChill } from "./units.js";',
                'import { toFahrenheit, toInches, windChill } from "./units.js";',
              ],
            ),
            edit(
              "src/cli.js",
              [
                'import { dailyRows, renderReport } from "./report.js";',
                'import { dailyRows, renderReport, toImperial } from "./report.js";',
              ],
              [
                'console.error("usage: weather report FILE [--station NAME]");',
                'console.error("usage: weather report FILE [--station NAME] [--units metric|imperial]");',
              ],
              [
                'const at = options.indexOf("--station");\nconst station = at >= 0 ? options[at + 1] : undefined;',
                'const option = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : undefined);\nconst station = option("--station");\nconst units = option("--units") ?? "metric";\nif (!["metric", "imperial"].includes(units)) {\n  console.error(`weather: unknown units: ${units} (metric or imperial)`);\n  process.exit(2);\n}',
              ],
              [
                "console.log(renderReport(dailyRows(wanted)));",
                'const rows = dailyRows(wanted);\nconsole.log(renderReport(units === "imperial" ? toImperial(rows) : rows));',
              ],
            ),
          ],
        },
        {
          calls: [
            bash("node src/cli.js report data/march.csv --station Brocken --units imperial"),
            bash('node src/cli.js report data/march.csv --units kelvin; echo "exit $?"'),
            bash("node src/cli.js report data/march.csv --units"),
          ],
        },
        {
          think:
            "`--units` without a value gives options[index+1] undefined -> metric. Acceptable? It should be an error. Fix.",
          say: "`imperial` works and `kelvin` is refused with exit status 2. One thing I don't like: `--units` without a value silently means metric. I'll make that an error too, and add the two tests.",
          calls: [
            edit("src/cli.js", [
              "const option = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : undefined);",
              "function option(name) {\n  if (!options.includes(name)) return undefined;\n  const value = options[options.indexOf(name) + 1];\n  if (value !== undefined) return value;\n  console.error(`weather: ${name} needs a value`);\n  process.exit(2);\n}",
            ]),
            edit(
              "test/report.test.js",
              [
                'test("the table is aligned"',
                'test("a day without a temperature stays, with dashes", () => {\n  const rows = dailyRows(parseReadings("time,station,temperature,wind,rain\\n2026-03-01T00:00:00Z,Harz,,12,0.2\\n"));\n  assert.equal(rows.length, 1);\n  assert.match(renderReport(rows), /Harz +2026-03-01 +- +- +- +0\\.2 +-$/m);\n});\n\ntest("imperial units", () => {\n  const [row] = toImperial(dailyRows(parseReadings(CSV)));\n  assert.equal(row.min, 32.9);\n});\n\ntest("the table is aligned"',
              ],
              ["import { dailyRows, renderReport } from", "import { dailyRows, renderReport, toImperial } from"],
            ),
          ],
        },
        { calls: [bash("node --test")] },
        {
          say:
            "Everything passes (10 tests). `--units metric|imperial` is in, metric is the default, and an unknown or missing value is an error. " +
            "The CSV format and the dependencies are as they were.",
        },
      ],
    );

    await day.pause("6m");
    await day.user("Thanks. Commit, then draft two sentences for Jana.", [
      {
        calls: [
          bash(
            "git add -A && git commit -qm 'Missing values print a dash; add --units imperial' && git log --oneline && git status --short",
          ),
        ],
      },
      {
        say:
          "Committed; the working tree is clean. For Jana:\n\n" +
          "> You were right: one term of our wind chill formula lacked the temperature, so the values were several degrees too warm; this is fixed, and the values now match the reference table of Environment Canada. " +
          "> We also found that hours without a temperature were counted as 0 °C, which made the Zugspitze too warm; such hours are now left out, and a day without any temperature shows a dash.",
      },
    ]);
    const [text] = Object.values(await day.finish());
    return {
      "ordinary-day.jsonl": {
        text,
        about:
          "A day of work without a compaction: reads, edits, failing and passing tests, a command of the user's own.",
      },
    };
  } catch (error) {
    await day.discard();
    throw error;
  }
}
