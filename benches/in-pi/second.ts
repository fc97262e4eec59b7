export { second as default } from "./probe.ts";
