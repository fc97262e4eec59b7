// A session that Pi compacted twice with its own model-written summaries: once
// by hand with words for the summariser, once by itself in the middle of a run.
import { bash, edit, read, Recording, write } from "../recorder.mjs";

const FIRST_SUMMARY = `## Goal
Make the CSV reader of the weather tool robust against the files of the road maintenance office.

## Constraints & Preferences
- The CSV format must not change
- No new dependencies

## Progress
### Done
- [x] Found that semicolons as separator break \`parseReadings\`
- [x] Detect the separator from the header line

### In Progress
- [ ] Decimal commas

### Blocked
- (none)

## Key Decisions
- **Separator from the header**: whichever of \`;\` and \`,\` stands in the first line

## Next Steps
1. Accept decimal commas when the separator is a semicolon

## Critical Context
- Sample file: \`data/road.csv\``;

const SECOND_SUMMARY = `## Goal
Make the CSV reader of the weather tool robust against the files of the road maintenance office.

## Constraints & Preferences
- The CSV format must not change
- No new dependencies

## Progress
### Done
- [x] Separator from the header, decimal commas when it is a semicolon

### In Progress
- (none)

### Blocked
- (none)

## Key Decisions
- **No guessing** of dates or units; the reader's error behaviour stays

## Next Steps
1. Fix the empty cell that counts as 0 °C, when the user says so

## Critical Context
- Sample file: \`data/road.csv\``;

const SPLIT_TURN = `## Original Request
Write tests for the separator and the decimal comma, then start on \`weather month FILE\`, one row per station.

## Progress So Far
- Wrote test/readings.test.js with two tests; both pass

## Context Needed to Continue
- The month is to be built on \`dailyRows\` in src/report.js`;

const ROAD_MAIL = `The road maintenance office sends us files like this one now (pasted from their mail, save it as data/road.csv):

time;station;temperature;wind;rain
2026-03-01T00:00:00Z;A7 Brücke;-1,5;12;0
2026-03-01T01:00:00Z;A7 Brücke;-1,9;14;0,2
2026-03-01T02:00:00Z;A7 Brücke;-2,4;9;0
2026-03-01T03:00:00Z;A7 Brücke;;11;0

	(the empty cell in the last row is on purpose: the sensor was down)

Our report prints NaN for it. Please make it readable. Their files must stay as they are, and our own too.`;

const ROAD = `time;station;temperature;wind;rain
2026-03-01T00:00:00Z;A7 Brücke;-1,5;12;0
2026-03-01T01:00:00Z;A7 Brücke;-1,9;14;0,2
2026-03-01T02:00:00Z;A7 Brücke;-2,4;9;0
2026-03-01T03:00:00Z;A7 Brücke;;11;0
`;

export default async function record() {
  const work = await Recording.start({
    startsAt: "2026-03-16T13:05:00Z",
    days: 10,
    // Small enough that the second compaction comes by itself.
    model: { contextWindow: 16_000 },
    settings: { compaction: { enabled: true, reserveTokens: 4000, keepRecentTokens: 600 } },
  });
  try {
    await work.user(ROAD_MAIL, [
      {
        think: "Save the sample exactly as pasted, then reproduce.",
        say: "I'll save the sample as it is and look at what the reader makes of it.",
        calls: [
          write("data/road.csv", ROAD),
          bash("node src/cli.js report data/road.csv; head -3 data/march.csv"),
          read("src/readings.js"),
        ],
      },
      {
        think: "The first call may have run before the write. Anyway: separator is ',', so names is a single column.",
        say:
          "Two differences: the columns are separated by semicolons, and decimals have a comma. The reader splits at commas only, " +
          "so it sees one column, and `byDay` then fails because there is no `time`.\n\nI'll take the separator from the header line.",
        calls: [
          edit(
            "src/readings.js",
            [
              'const names = head.split(",");',
              'const separator = head.includes(";") ? ";" : ",";\n  const names = head.split(separator);',
            ],
            ['const cells = line.split(",");', "const cells = line.split(separator);"],
          ),
          bash("node src/cli.js report data/road.csv"),
        ],
      },
      { calls: [bash("node --test")] },
      {
        say:
          "The columns are right now and all tests pass, but `-1,5` still becomes NaN. Decimal commas are next. " +
          "They are only unambiguous when the separator is a semicolon, so I would accept them only then. OK?",
      },
    ]);

    await work.pause("20m");
    await work.user("OK.\nKeep the reader's error behaviour otherwise; no guessing of dates or units, please.", [
      {
        say: "Only decimal commas, only with semicolons.",
        calls: [
          edit("src/readings.js", [
            "for (const name of NUMBERS) reading[name] = Number(reading[name]);",
            'for (const name of NUMBERS) {\n      const text = separator === ";" ? reading[name].replace(",", ".") : reading[name];\n      reading[name] = Number(text);\n    }',
          ]),
          bash("node src/cli.js report data/road.csv"),
        ],
      },
      {
        say:
          "Now it prints numbers. The empty cell counts as 0 °C, which is an older fault of the reader and not one of these files; " +
          "I leave it alone until you say so.",
      },
    ]);

    work.summariserSays({ splitTurn: FIRST_SUMMARY });
    await work.compact("keep what we decided about decimal commas");
    await work.pause("5m");

    work.summariserSays({ history: SECOND_SUMMARY, splitTurn: SPLIT_TURN });
    await work.user(
      "Write tests for both, then start on a monthly summary: `weather month FILE`, one row per station.",
      [
        {
          say: "Tests for the separator and the decimal comma:",
          calls: [
            write(
              "test/readings.test.js",
              'import assert from "node:assert/strict";\nimport test from "node:test";\nimport { parseReadings } from "../src/readings.js";\n\ntest("semicolons and decimal commas", () => {\n  const [reading] = parseReadings("time;station;temperature;wind;rain\\n2026-03-01T00:00:00Z;A7 Brücke;-1,5;12;0,2\\n");\n  assert.equal(reading.temperature, -1.5);\n  assert.equal(reading.rain, 0.2);\n});\n\ntest("commas as before", () => {\n  const [reading] = parseReadings("time,station,temperature,wind,rain\\n2026-03-01T00:00:00Z,Harz,-1.5,12,0.2\\n");\n  assert.equal(reading.temperature, -1.5);\n});\n',
            ),
            bash("node --test"),
          ],
        },
        {
          think: "Now the month. Look at the report and at the whole data file to see what a month looks like.",
          say: "Both pass. For the month I need to see how `dailyRows` groups, and what a full file looks like.",
          calls: [read("src/report.js"), bash("node src/cli.js report data/march.csv"), read("data/march.csv")],
        },
        {
          say: "A month is the mean of the daily means, as the road office computes it, the least minimum and the greatest maximum. I'll build it on `dailyRows`:",
          calls: [
            edit("src/report.js", [
              "const cell = (value)",
              "/** One row per station: extremes of the days, mean of the daily means. */\nexport function monthlyRows(readings) {\n  const rows = [];\n  for (const [station, days] of byStation(dailyRows(readings))) {\n    rows.push({\n      station,\n      day: days[0].day.slice(0, 7).padEnd(10),\n      min: Math.min(...days.map((d) => d.min)),\n      mean: mean(days.map((d) => d.mean)),\n      max: Math.max(...days.map((d) => d.max)),\n      rain: days.reduce((sum, d) => sum + d.rain, 0),\n      chill: Math.min(...days.map((d) => d.chill)),\n    });\n  }\n  return rows;\n}\n\nconst cell = (value)",
            ]),
            edit(
              "src/cli.js",
              ["import { dailyRows, renderReport } from", "import { dailyRows, monthlyRows, renderReport } from"],
              [
                'if (command !== "report" || !file) {',
                "const commands = { report: dailyRows, month: monthlyRows };\nif (!Object.hasOwn(commands, command) || !file) {",
              ],
              [
                "console.log(renderReport(dailyRows(wanted)));",
                "console.log(renderReport(commands[command](wanted)));",
              ],
              ["usage: weather report FILE", "usage: weather report|month FILE"],
            ),
          ],
        },
        { calls: [bash("node src/cli.js month data/march.csv"), bash("node --test")] },
        { say: "`weather month` prints one row per station; all 7 tests pass." },
      ],
    );

    await work.pause("12m");
    await work.user("Looks right. What is left?", [
      {
        say: "Nothing of what you asked for. The empty cell that counts as 0 °C is still there; I would fix it next, if you want.",
      },
    ]);
    const [text] = Object.values(await work.finish());
    return {
      "two-compactions.jsonl": {
        text,
        about: "Compacted twice by Pi's own summary: by hand with words, and by itself in the middle of a run.",
      },
    };
  } catch (error) {
    await work.discard();
    throw error;
  }
}
