// Two files. "branches": the user went back in the tree twice, once with a
// summary of the branch that was left, and labelled two entries; at the end the
// leaf is not the last line. "fork": a fork of it at an earlier message.
import { bash, edit, isAssistant, isUser, read, Recording } from "../recorder.mjs";

const BRANCH_SUMMARY = `## Goal
Print the report as JSON.

## Progress
### Done
- [x] Sketched \`--json\` as one object per station

## Key Decisions
- **Given up**: the rescue people want one line per row, so that \`grep\` works`;

const says = (text) => (entry) => isUser(entry) && entry.message.content[0].text.startsWith(text);

export default async function record() {
  const work = await Recording.start({ startsAt: "2026-03-18T09:40:00Z", days: 4 });
  try {
    await work.user("I want machine-readable output from `weather report`. What do you suggest?", [
      { say: "Let me see how the rows are built and printed.", calls: [read("src/report.js"), read("src/cli.js")] },
      {
        say: "Two ways:\n\n1. `--json`: one JSON document per report\n2. `--tsv`: one line per row, tabs between the cells\n\nThe first is easier for programs, the second for `grep` and `cut`. Which one?",
      },
    ]);
    const question = await work.newest(isAssistant);
    await work.helper(`label ${question.id} keep: the two ways`);

    await work.user("JSON then. Sketch it.", [
      {
        think: "One object per station with days.",
        say: "A sketch of the JSON, one object per station:",
        calls: [
          bash(
            'node -e \'import("./src/readings.js").then(async ({ parseReadings }) => { const { dailyRows } = await import("./src/report.js"); const { readFileSync } = await import("node:fs"); console.log(JSON.stringify(dailyRows(parseReadings(readFileSync("data/march.csv", "utf8"))), null, 2)); })\'',
          ),
        ],
      },
      { say: "That is what a row looks like. Should days be nested in stations, or one flat list?" },
    ]);

    await work.pause("18m");
    // Back to the question, taking a summary of the JSON attempt along.
    work.summariserSays({ history: BRANCH_SUMMARY });
    await work.helper(`tree ${question.id} summarize`);

    await work.user("I asked the rescue people: they want one line per row, so TSV. Numbers with a point, one digit.", [
      {
        say: "TSV it is. I'll reuse the rows and print them with tabs.",
        calls: [
          edit("src/report.js", [
            "const cell = (value)",
            'const plain = (value) => value.toFixed(1);\n\n/** One line per row, tabs between the cells. */\nexport function renderTsv(rows) {\n  return rows.map((r) => [r.station, r.day, ...[r.min, r.mean, r.max, r.rain, r.chill].map(plain)].join("\\t")).join("\\n");\n}\n\nconst cell = (value)',
          ]),
          edit(
            "src/cli.js",
            ["import { dailyRows, renderReport } from", "import { dailyRows, renderReport, renderTsv } from"],
            [
              "console.log(renderReport(dailyRows(wanted)));",
              'const render = options.includes("--tsv") ? renderTsv : renderReport;\nconsole.log(render(dailyRows(wanted)));',
            ],
          ),
        ],
      },
      { calls: [bash("node src/cli.js report data/march.csv --tsv | cat -A | head -5"), bash("node --test")] },
      { say: "`--tsv` works, and the tests pass. A header line is not printed; tell me if they want one." },
    ]);
    const tsv = await work.newest(isAssistant);

    await work.user("They want a header line, yes.", [
      {
        calls: [
          edit("src/report.js", [
            "  return rows.map((r) => [r.station",
            '  const head = "station\\tday\\tmin\\tmean\\tmax\\train\\tchill\\n";\n  return head + rows.map((r) => [r.station',
          ]),
          bash("node src/cli.js report data/march.csv --tsv | head -3"),
        ],
      },
      { say: "The header line is there." },
    ]);
    const withHeader = await work.leaf();

    // Back again, without a summary: what if there were no header?
    await work.helper(`tree ${tsv.id}`);
    await work.user("Actually, leave the header out; they split by position.", [
      {
        think: "On disk the header is there from the other branch. Check.",
        say: "On this branch the header was never printed, but the file on disk has it. I'll look and take it out.",
        calls: [bash("git diff src/report.js")],
      },
      {
        calls: [
          edit("src/report.js", [
            '  const head = "station\\tday\\tmin\\tmean\\tmax\\train\\tchill\\n";\n  return head + rows',
            "  return rows",
          ]),
        ],
      },
      { say: "No header line, as before." },
    ]);
    const withoutHeader = await work.leaf();
    await work.helper(`label ${withoutHeader} sent to Jana`);
    const lastLine = await work.leaf();

    // The user looks at the other branch and stays there; nothing is written.
    await work.helper(`tree ${withHeader}`);
    const original = await work.sessionFile();

    const forkPoint = await work.newest(says("They want a header line"));
    await work.pi.send({ type: "fork", entryId: forkPoint.id });
    await work.user("Could the header come from `--header` only?", [
      { say: "Yes. I'll add the option.", calls: [read("src/cli.js")] },
      { say: "`--header` would be one more entry in `options`; shall I write it?" },
    ]);
    const fork = await work.sessionFile();

    const texts = await work.finish();
    return {
      "branches.jsonl": {
        text: texts[original],
        about:
          "Three branches with a branch summary and two labels; the user ended on a leaf that is not the last line.",
        leaves: {
          "header line (where the user ended)": withHeader,
          "no header line": withoutHeader,
          "last line": lastLine,
        },
      },
      "fork.jsonl": { text: texts[fork], about: "A fork of branches.jsonl at a user message, with one more exchange." },
    };
  } catch (error) {
    await work.discard();
    throw error;
  }
}
