package probe

import "strings"

func contentGates() []*gate {
	const page = acp + "content"
	content := func(id, title, says, capability string, blocks func() []string, words ...string) *gate {
		return &gate{id: id, title: title, criterion: says, source: page, session: true, live: true,
			run: func(t *trial) { shown(t, capability, blocks(), words) }}
	}
	return []*gate{
		content("prompt.image", "image prompt", "an agent that offers promptCapabilities.image sees the image: red above blue", "image",
			func() []string { return []string{imageBlock(), textBlock(askColours)} }, "red", "blue"),
		content("prompt.audio", "audio prompt", "an agent that offers promptCapabilities.audio takes a recording, and answers", "audio",
			func() []string { return []string{audioBlock(), textBlock(askSound)} }),
		content("prompt.resource", "embedded resource", "an agent that offers promptCapabilities.embeddedContext reads the text of a resource", "embeddedContext",
			func() []string { return []string{resourceBlock(), textBlock(askSecret)} }, secretWord),
		content("prompt.mixed", "image, resource and text", "a prompt may have blocks of several types", "image embeddedContext",
			func() []string { return []string{imageBlock(), resourceBlock(), textBlock(askMixed)} }, "red", secretWord),
	}
}

// shown is a turn with something else than text in it.
func shown(t *trial, capabilities string, blocks, words []string) {
	p := t.borrow()
	for _, c := range strings.Fields(capabilities) {
		if !p.can("promptCapabilities." + c) {
			t.skip(WhyNotOffered, "the agent does not offer promptCapabilities.%s", c)
		}
	}
	id, _ := t.session(p)
	u := t.promptBlocks(p, id, blocks...)
	said := u.finish()
	t.prove(p, u.call.Index, u.answer.Index)
	for _, w := range words {
		if !holds(said, w) {
			t.fact("answer", "without %s", w)
			t.fail("the turn ends well, and the answer has no %q in it: %q", w, clip(tidy(said), 120))
		}
	}
	if said == "" {
		t.fail("the turn ended without a word")
	}
	t.pass("%q", clip(tidy(said), 120))
}
