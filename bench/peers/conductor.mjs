// The ACP conductor of @thinkwell/conductor between standard input and output and
// the agent that is named behind it.
import { Conductor, fromConnectors, StdioConnector } from "@thinkwell/conductor";
import readline from "node:readline";

const [command, ...args] = process.argv.slice(2);

// A connection has send, messages and close (its types.d.ts).
const client = {
  send(message) { process.stdout.write(JSON.stringify(message) + "\n"); },
  messages: (async function* () {
    for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
      if (line.trim()) yield JSON.parse(line);
    }
  })(),
  async close() {},
};

const conductor = new Conductor({ instantiator: fromConnectors(new StdioConnector({ command, args })), mcpBridgeMode: "disabled" });
await conductor.connect({ connect: async () => client });
process.exit(0);
