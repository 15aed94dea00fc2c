// What a relay in Node is at its least: each line is parsed and written again.
import { spawn } from "node:child_process";
import readline from "node:readline";

const [command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const pass = (from, to) => readline.createInterface({ input: from, crlfDelay: Infinity })
  .on("line", (line) => to.write(JSON.stringify(JSON.parse(line)) + "\n"));
pass(process.stdin, agent.stdin).on("close", () => agent.stdin.end());
pass(agent.stdout, process.stdout);
