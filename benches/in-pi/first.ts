export { first as default } from "./probe.ts";
