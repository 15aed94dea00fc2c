package install

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"acp-shim/internal/textfile"
)

// Registry is the ACP registry's published index: all entries, each in the form
// of agent.schema.json (https://github.com/agentclientprotocol/registry/blob/main/FORMAT.md).
const Registry = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"

// entryID is the Antigravity server's entry.
const entryID = "antigravity-acp"

// entry is one of the registry's: what of it is needed.
type entry struct {
	ID           string `json:"id"`
	Version      string `json:"version"`
	Distribution struct {
		Binary map[string]struct {
			Archive string `json:"archive"`
			SHA256  string `json:"sha256"`
			Cmd     string `json:"cmd"`
		} `json:"binary"`
	} `json:"distribution"`
}

// offer is what an entry has for a platform.
type offer struct {
	address *url.URL
	sha256  string
	version string
	stamp   Stamp
}

// readEntry finds an offer in an index, or in a file with one entry alone.
func readEntry(text []byte, where, platform string) (offer, error) {
	fail := func(format string, args ...any) (offer, error) {
		return offer{}, fmt.Errorf("the registry %s: %w", where, fmt.Errorf(format, args...))
	}
	var index struct {
		Agents []entry `json:"agents"`
		entry
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return fail("it is no registry entry: %w", err)
	}
	e := index.entry
	if index.Agents != nil {
		at := slices.IndexFunc(index.Agents, func(e entry) bool { return e.ID == entryID })
		if at < 0 {
			return fail("it has no entry %s", entryID)
		}
		e = index.Agents[at]
	}
	if e.ID != entryID {
		return fail("it has the entry %q and not %s", clip(e.ID), entryID)
	}
	target, ok := e.Distribution.Binary[platform]
	if !ok {
		var have []string
		for p := range e.Distribution.Binary {
			have = append(have, clip(p))
		}
		slices.Sort(have)
		return fail("version %s is not there for %s, only for %s", clip(e.Version), platform, strings.Join(have, ", "))
	}
	u, err := parseAddress(target.Archive)
	if err != nil {
		return fail("%w", err)
	}
	o := offer{address: u, version: e.Version}
	o.stamp, _ = ReadStamp(fileOf(u))
	if target.SHA256 != "" {
		if o.sha256, err = ParseHash(target.SHA256); err != nil {
			return fail("%w", err)
		}
	}
	return o, nil
}

// parseAddress takes an address of an archive or a registry.
func parseAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		// Not the text itself: it may have a password in it.
		return nil, fmt.Errorf("the address of %d bytes is none that begins with https://", len(text))
	}
	return u, nil
}

func isAddress(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// maxRegistry bounds the index; it has about a hundred entries today.
const maxRegistry = 8 << 20

// lookUp reads a registry's index or entry from a file or an address.
func (in *Installer) lookUp(ctx context.Context, req *Request) (offer, string, error) {
	where := req.Registry
	if where == "" {
		where = Registry
	}
	if !isAddress(where) {
		text, err := textfile.Read(where)
		if err != nil {
			if os.IsNotExist(err) {
				err = fmt.Errorf("there is no file %s", where)
			}
			return offer{}, "", fmt.Errorf("reading the registry: %w", err)
		}
		o, err := readEntry(text, where, req.Platform)
		return o, where, err
	}
	u, err := parseAddress(where)
	if err != nil {
		return offer{}, "", err
	}
	where = Plain(u)
	in.say(Stage{Name: "registry", From: where})
	text, err := in.get(ctx, u, maxRegistry, req.SHA256 != "")
	if err != nil {
		if req.Registry == "" && ctx.Err() == nil {
			err = &UnreachedError{err} // a proxy that refuses is no network, either
		}
		return offer{}, "", fmt.Errorf("reading the registry %s: %w", where, err)
	}
	o, err := readEntry(text, where, req.Platform)
	return o, where, err
}
