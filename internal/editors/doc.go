// Package editors puts the shim into the configuration of ACP clients. It owns
// where each client keeps its configuration, its syntax, and edits that leave
// every other byte of a file as it was and can be taken back. It must not know
// how an agent is found or run, and prints nothing.
//
// The clients' own words on their syntax:
//
//   - Zed: agent_servers.NAME {"type": "custom", "command", "args", "env"}
//     (https://zed.dev/docs/ai/external-agents; without "type" an entry is not
//     read: CustomAgentServerSettings in crates/settings_content/src/agent.rs of
//     https://github.com/zed-industries/zed). Agents of the ACP registry stand
//     there as {"type": "registry"} under their id. The file may have comments
//     and trailing commas.
//   - pi-antigravity-bridge: acp.bin, one file without arguments, used by the
//     engine acp (src/config.ts of
//     https://github.com/EstebanForge/pi-antigravity-bridge). Plain JSON.
//   - acpx: agents.NAME {"argv": [...]}; command and args are the older form,
//     and both together are an error (docs/config.md and src/cli/config.ts of
//     https://github.com/openclaw/acpx). Plain JSON.
//   - JetBrains: ~/.jetbrains/acp.json, agent_servers.NAME {"command", "args",
//     "env"} (https://www.jetbrains.com/help/ai-assistant/acp.html).
//   - Paseo: $PASEO_HOME/config.json, agents.providers.ID {"extends": "acp",
//     "label", "command": [...]} (public-docs/custom-providers.md of
//     https://github.com/getpaseo/paseo).
//   - codecompanion.nvim: adapters.acp.NAME, a function that extends a preset;
//     commands.default is the command (doc/configuration/adapters-acp.md of
//     https://github.com/olimorris/codecompanion.nvim). The preset opencode is
//     the one that needs no key and asks for no login
//     (lua/codecompanion/adapters/acp/opencode.lua there).
//   - avante.nvim: acp_providers.NAME {command, args, env} and provider
//     (lua/avante/config.lua of https://github.com/yetone/avante.nvim).
//   - Emacs: agent-shell-antigravity-acp-command, a list
//     (agent-shell-antigravity.el of https://github.com/xenodium/agent-shell,
//     upon acp.el).
package editors
