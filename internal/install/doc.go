// Package install keeps builds of the Antigravity server, each in a directory
// of its own, with a link called current to the one in use. It owns that
// layout, the download of the official archive, its safe unpacking, and the
// record by which a change of the unpacked files is found later. It must not
// know how an agent is run, and prints nothing.
//
//	~/.local/opt/agy-acp/
//	  1.2.1/agy_acp_server.par         the server, and whatever else is in the archive
//	        localharness_external      its tools; the server looks for it beside itself
//	        zip.sha256                 the archive's hash, as sha256sum writes it
//	        install.json               the record; see Manifest
//	  current -> 1.2.1
//	  .download/                       archives that have not arrived in full
//
// The layout and the name zip.sha256 are those of pi-antigravity-bridge
// (https://github.com/EstebanForge/pi-antigravity-bridge), so that it and the
// shim find each other's installations. A build is never a floating version:
// what is installed comes from the one archive whose address and hash the
// record has, and no later command asks a registry what that would be today.
//
// Google publishes its archives through the ACP registry
// (https://github.com/agentclientprotocol/registry, antigravity-acp/agent.json,
// agent.schema.json), so far without a hash; where an entry has one, it is
// checked.
package install
