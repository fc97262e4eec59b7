// Loaded into the recording Pi with `node --import`: a clock that begins at
// $RECORDING_STARTS_AT and runs $RECORDING_SPEED times as fast as the real one,
// so that a day of work can be recorded in seconds with the times of a day.
// globalThis.recordingClock.advance(ms) lets it jump (the helper extension's
// `/helper later 25m`). Timers are not touched.
const RealDate = Date;
const speed = Number(process.env.RECORDING_SPEED ?? "1");
const startsAt = RealDate.parse(process.env.RECORDING_STARTS_AT);
if (Number.isNaN(startsAt)) throw new Error("RECORDING_STARTS_AT is not a time");

const realStart = RealDate.now();
let ahead = 0;
const now = () => Math.floor(startsAt + (RealDate.now() - realStart) * speed + ahead);

class RecordingDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(now());
    else super(...args);
  }
  static now() {
    return now();
  }
}

globalThis.Date = RecordingDate;
globalThis.recordingClock = {
  advance(ms) {
    ahead += ms;
  },
};
