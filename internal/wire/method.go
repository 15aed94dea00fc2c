package wire

import acp "github.com/coder/acp-go-sdk"

// known lets the name of a method that ACP defines be had without an
// allocation a frame.
var known = func() map[string]string {
	names := []string{
		acp.AgentMethodInitialize, acp.AgentMethodAuthenticate, acp.AgentMethodLogout,
		acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume,
		acp.AgentMethodSessionPrompt, acp.AgentMethodSessionCancel, acp.AgentMethodSessionList,
		acp.AgentMethodSessionFork, acp.AgentMethodSessionClose, acp.AgentMethodSessionDelete,
		acp.AgentMethodSessionSetMode, acp.AgentMethodSessionSetConfigOption,
		acp.ClientMethodSessionUpdate, acp.ClientMethodSessionRequestPermission,
		acp.ClientMethodFsReadTextFile, acp.ClientMethodFsWriteTextFile,
		acp.ClientMethodTerminalCreate, acp.ClientMethodTerminalOutput, acp.ClientMethodTerminalKill,
		acp.ClientMethodTerminalRelease, acp.ClientMethodTerminalWaitForExit,
		"session/set_model", "$/cancel_request",
	}
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = n
	}
	return m
}()

// methodName decodes the text of a method. Anything but a string is no method.
func methodName(text []byte) string {
	if len(text) < 2 || text[0] != '"' {
		return ""
	}
	name := unquote(text)
	if n, ok := known[string(name)]; ok {
		return n
	}
	return string(name)
}
