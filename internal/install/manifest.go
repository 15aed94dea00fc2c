package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"acp-shim/internal/textfile"
)

const (
	manifestFile = "install.json"
	// hashFile is where pi's layout keeps the archive's hash, as sha256sum
	// writes it.
	hashFile = "zip.sha256"
	format   = 1
)

// Manifest is the record of an installation: what was installed, from where,
// and what each file was like.
type Manifest struct {
	Format    int       `json:"format"`
	Build     string    `json:"build"`
	Platform  string    `json:"platform,omitempty"`
	Installed time.Time `json:"installed"`
	Source    Source    `json:"source"`
	Archive   Archive   `json:"archive"`
	Files     []File    `json:"files"`
}

// Source says where an archive came from. There is nothing secret in it.
type Source struct {
	// URL is the archive's address without user and query, File the path of a
	// local one.
	URL  string `json:"url,omitempty"`
	File string `json:"file,omitempty"`
	// Registry and Version say which entry named the address at that time.
	Registry string `json:"registry,omitempty"`
	Version  string `json:"version,omitempty"`
	// ETag is by what the server would know the same archive again.
	ETag string `json:"etag,omitempty"`
}

// String is the source in one line.
func (s Source) String() string {
	if s.URL != "" {
		return s.URL
	}
	return s.File
}

// Archive is the archive as it was.
type Archive struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Checked tells that the hash was known beforehand, and was the same.
	Checked bool `json:"checked,omitempty"`
}

// File is a file as it was unpacked. Path has slashes.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Mode   string `json:"mode"`
	SHA256 string `json:"sha256"`
}

// Size is what all files take together.
func (m *Manifest) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// errNoManifest says that a build was not installed by this program.
var errNoManifest = errors.New("it has no record (install.json): it was not installed by acp-shim")

// readManifest reads the record in a build's directory.
func readManifest(dir string) (*Manifest, error) {
	b, err := textfile.Read(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoManifest
	}
	if err != nil {
		return nil, fmt.Errorf("its record cannot be read: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("its record %s is damaged: %w", manifestFile, err)
	}
	if m.Format != format {
		return nil, fmt.Errorf("its record %s has the format %d, which this acp-shim does not know; a newer one wrote it", manifestFile, m.Format)
	}
	if _, err := ParseHash(m.Archive.SHA256); err != nil {
		return nil, fmt.Errorf("its record %s is damaged: %w", manifestFile, err)
	}
	return &m, nil
}

// write puts the record and the archive's hash into a directory that is not in
// use yet.
func (m *Manifest) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s  %s\n", m.Archive.SHA256, m.Archive.Name)
	if err := writeFile(filepath.Join(dir, hashFile), []byte(line)); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, manifestFile), append(b, '\n'))
}

func writeFile(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	return os.Chmod(path, 0o644) // whatever the umask says
}

// ArchiveHash is the SHA-256, in hex, of the archive that the build in a directory was unpacked from, "" if
// nobody recorded it. It is all that pi's layout has.
func ArchiveHash(dir string) string {
	if m, err := readManifest(dir); err == nil {
		return m.Archive.SHA256
	}
	return hashLine(dir)
}

// hashLine is the hash in zip.sha256.
func hashLine(dir string) string {
	b, err := textfile.Read(filepath.Join(dir, hashFile))
	if err != nil {
		return ""
	}
	words := strings.Fields(string(b))
	if len(words) == 0 {
		return ""
	}
	hash, err := ParseHash(words[0])
	if err != nil {
		return ""
	}
	return hash
}

// ParseHash reads a SHA-256 in hex.
func ParseHash(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is no SHA-256: that is 64 hexadecimal digits", clip(s))
	}
	return s, nil
}
