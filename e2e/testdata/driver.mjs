// A client on the TypeScript SDK's own connection, for what the SDK's example
// client does not do. The arguments are the agent's command; each result is a
// line of JSON on stdout, which the test reads. DRIVER_STEPS are the prompts:
// "cancel:TEXT" is cancelled after its first update, "load" loads the session
// again, everything else is a prompt.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const agent = spawn(process.argv[2], process.argv.slice(3), { stdio: ["pipe", "pipe", "inherit"] });
const tell = (name, value) => console.log(JSON.stringify({ [name]: value }));

let said = "";
let history = "";
let tools = 0;
let first = () => {};
const client = {
  async requestPermission(params) {
    tell("asked", params.options[0].kind);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  },
  async sessionUpdate({ update }) {
    if (update.sessionUpdate === "tool_call") tools++;
    if (update.sessionUpdate === "agent_message_chunk") said += update.content.text;
    if (update.sessionUpdate === "user_message_chunk") history += update.content.text;
    first();
  },
};

const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const connection = new acp.ClientSideConnection(() => client, stream);
const hello = await connection.initialize({ protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
tell("agent", hello.agentInfo?.version ?? "none");
const where = { cwd: process.cwd(), mcpServers: [] };
const { sessionId } = await connection.newSession(where);

for (const step of JSON.parse(process.env.DRIVER_STEPS)) {
  said = history = "";
  tools = 0;
  if (step === "load") {
    await connection.loadSession({ sessionId, ...where });
    tell("history", history);
    continue;
  }
  const cancel = step.startsWith("cancel:");
  const begun = new Promise((resolve) => (first = resolve));
  const prompt = connection.prompt({ sessionId, prompt: [{ type: "text", text: cancel ? step.slice(7) : step }] });
  if (cancel) {
    await begun;
    await connection.cancel({ sessionId });
  }
  const { stopReason } = await prompt;
  tell("turn", { stopReason, said: cancel ? "" : said, tools });
}
agent.stdin.end();
const code = await new Promise((resolve) => agent.once("exit", resolve));
tell("exit", code);
