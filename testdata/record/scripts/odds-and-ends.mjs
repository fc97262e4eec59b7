// Everything that is rare in one session: an image, commands of the user's own
// (one hidden from the model), parallel calls, failing calls, an unknown tool, an
// aborted, a cut and a failed answer, custom messages, an omitted and a replaced
// entry, nested calls, steering, text outside of ASCII.
import { pngImage } from "../../../tests/pi/harness/png.mjs";
import { bash, edit, isAssistant, isToolResult, isUser, read, Recording } from "../recorder.mjs";

// The last character is half of a pair: it was cut by the program it was copied from.
const CUT_EMOJI = "their log ends with \ud83c";

export default async function record() {
  const work = await Recording.start({
    startsAt: "2026-03-20T15:30:00Z",
    days: 3,
    args: ["--tools", "read,bash,edit,write,codemode"],
  });
  try {
    await work.user(
      "Here is a screenshot of the diagram they make from our numbers. Does the scale look right to you?",
      [
        {
          think: "The picture is only noise at this size; say so.",
          say: "I can see a grey diagram, but no labels on its axes, so I cannot tell the scale. The numbers behind it I can check:",
          calls: [
            bash("node src/cli.js report data/march.csv"),
            read("docs/units.md"),
            read("docs/charts.md"),
            bash("grep -c . data/march.csv"),
          ],
        },
        {
          say: "There is no `docs/charts.md`. The numbers themselves are plausible; please tell me what the axes are.",
        },
      ],
      { images: [pngImage(96, 72)] },
    );

    await work.bash("node --version");
    await work.bash("cat ~/.netrc 2>/dev/null; echo 'machine ftp.example.org password hunter2'", { hidden: true });
    await work.bash("node --test test/nothing.test.js");

    await work.pause("4m");
    await work.userWhoAborts("x is the hour, y the wind chill. Rewrite the whole report as a diagram.", [
      {
        think: "That is a big change.",
        say: "I would do it in three steps. First, the rows have to be turned into columns, then the scale has to be found, and then",
        hang: 4,
        chunkSize: 60,
      },
    ]);
    await work.user("Sorry, stop: no diagram. Only tell me the range of the wind chill over all stations.", [
      {
        calls: [bash("node src/cli.js report data/march.csv | awk 'NR > 1 { print $NF }' | sort -n | sed -n '1p;$p'")],
      },
      { say: "From the smallest to the greatest daily minimum, as computed by the current code." },
    ]);

    await work.helper("note review.comment The range must be checked against docs/units.md before it is published.");
    await work.helper('entry review.state {"open":1}');

    await work.user("风寒指数的公式在哪里? 🌬️ Antworte bitte kurz, naïve Frage. And note: " + CUT_EMOJI, [
      {
        say: "公式在 `docs/units.md`. Kurz: `windChill` in `src/units.js` 🧭.",
        calls: [
          {
            name: "codemode",
            arguments: {
              code: "const a = await tools.read({ path: 'src/units.js' }); const b = await tools.bash({ command: 'wc -l src/*.js' }); return { a, b };",
            },
          },
          { name: "weather_now", arguments: { station: "Brocken" } },
        ],
      },
      { say: "`weather_now` gibt es hier nicht; die Datei hat zehn Zeilen oder so, siehe oben." },
    ]);

    await work.user("List every reading of the Brocken in prose.", [
      { say: "On the first of March at midnight it was cold, at one it was colder, at two", finishReason: "length" },
    ]);
    await work.user("Never mind. Fix the typo in README: 'Prints' should be 'Print'.", [
      {
        calls: [
          edit("README.md", ["Print a daily", "Prints a daily"]),
          edit("README.md", ["Prints a daily", "Print a daily"]),
        ],
      },
      { say: "The first attempt searched for the new text by mistake; the second one changed the line." },
    ]);
    const typo = await work.newest(isAssistant);
    const numbers = (await work.tree()).entries.find(isToolResult);
    await work.helper(`omit ${typo.id}`);
    await work.helper(`replace ${numbers.id} (the report, see above)`);
    await work.user("And the same sentence in package.json?", [
      { say: "`package.json` has no description, so there is nothing to change there." },
    ]);

    await work.user("Is the server of the rescue people reachable?", [
      { status: 503, error: "The model is overloaded." },
    ]);
    await work.user("Try again.", [
      {
        say: "I have no network here; `curl` would fail. Please try it yourself:\n\n    curl -sI https://example.org/\n",
      },
    ]);
    const question = await work.newest(isUser);
    await work.helper(`label ${question.id} bookmark`);
    await work.helper(`label ${question.id}`);

    const [text] = Object.values(await work.finish());
    return {
      "odds-and-ends.jsonl": {
        text,
        about:
          "Everything that is rare: image, own commands, abort, errors, custom messages, context edits, nested calls.",
      },
    };
  } catch (error) {
    await work.discard();
    throw error;
  }
}
