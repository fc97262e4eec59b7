// A virtual model fake/router, which sends every request to fake/fake-1. For virtual
// models Pi compacts at another moment of a run than for others.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function router(pi: ExtensionAPI) {
  pi.registerVirtualModel({
    provider: "fake",
    id: "router",
    name: "Router",
    route: (_request, ctx) => {
      const model = ctx.modelRegistry.find("fake", "fake-1");
      if (!model) throw new Error("there is no fake/fake-1");
      return { model, thinkingLevel: "off" };
    },
  });
}
