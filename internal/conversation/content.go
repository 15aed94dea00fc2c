package conversation

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// digest stands for the rows of a table, in whatever order they are: how many
// there are, and the sum of the hashes of all.
type digest struct {
	rows int
	sum  [4]uint64
}

func (d *digest) add(h hash.Hash) {
	sum := h.Sum(nil)
	carry := uint64(0)
	for i := range d.sum {
		d.sum[i], carry = bits.Add64(d.sum[i], binary.LittleEndian.Uint64(sum[i*8:]), carry)
	}
	d.rows++
}

// content is what a database holds: its tables, what they are made by, and the
// numbers that stand for its format.
type content map[string]digest

func (c content) rows() (n int) {
	for table, d := range c {
		if table != schemaName {
			n += d.rows
		}
	}
	return n
}

// tables is how many tables there are.
func (c content) tables() int { return len(c) - 1 }

// schemaName is what no table is called: the name is kept for SQLite.
const schemaName = "sqlite_schema and formats"

// differences names the tables that are not the same in both.
func (c content) differences(other content) string {
	names := map[string]bool{}
	for _, x := range []content{c, other} {
		for table := range x {
			_, in1 := c[table]
			_, in2 := other[table]
			if !in1 || !in2 || c[table] != other[table] {
				names[table] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// status is where a step says how far it is.
const (
	stepsTable   = "steps"
	statusColumn = "status"
	halfWritten  = 2
	written      = 5
)

// read takes in all that the database of a connection holds. With mended it is
// what it will hold when it is mended.
func (c *connection) read(mended bool) (content, error) {
	all := content{}
	// Where a table begins in the file is no part of what it is.
	schema, err := c.digest(`SELECT hex(type)||' '||hex(name)||' '||hex(tbl_name)||' '||typeof(sql)||hex(sql) FROM sqlite_master` +
		` UNION ALL SELECT 'user_version '||user_version FROM pragma_user_version` +
		` UNION ALL SELECT 'application_id '||application_id FROM pragma_application_id` +
		` UNION ALL SELECT 'encoding '||encoding FROM pragma_encoding`)
	if err != nil {
		return nil, err
	}
	all[schemaName] = schema
	tables, err := c.names(`SELECT hex(name) FROM sqlite_master WHERE type = 'table'`)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		columns, err := c.columns(table)
		if err != nil {
			return nil, err
		}
		var values []string
		for _, column := range columns {
			value := name(column)
			if mended && table == stepsTable && column == statusColumn {
				value = fmt.Sprintf("(CASE WHEN %[1]s = %d THEN %d ELSE %[1]s END)", value, halfWritten, written)
			}
			values = append(values, fmt.Sprintf("typeof(%[1]s)||hex(%[1]s)", value))
		}
		all[table], err = c.digest("SELECT " + cmp.Or(strings.Join(values, "||' '||"), "''") + " FROM " + name(table))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *connection) digest(sql string) (d digest, err error) {
	h := sha256.New()
	err = c.each(sql, func(part []byte, last bool) {
		h.Write(part)
		if last {
			d.add(h)
			h.Reset()
		}
	})
	return d, err
}

// names runs a statement that gives names in hexadecimal.
func (c *connection) names(sql string) ([]string, error) {
	list, err := c.lines(sql)
	for i := range list {
		b, bad := hex.DecodeString(list[i])
		if bad != nil {
			return nil, fmt.Errorf("sqlite3 gave %q for a name", list[i])
		}
		list[i] = string(b)
	}
	return list, err
}

func (c *connection) columns(table string) ([]string, error) {
	return c.names("SELECT hex(name) FROM pragma_table_info(" + text(table) + ")")
}

// sound has SQLite look for damage.
func (c *connection) sound() error {
	list, err := c.lines("PRAGMA integrity_check")
	if err != nil {
		return err
	}
	if len(list) != 1 || list[0] != "ok" {
		return fmt.Errorf("PRAGMA integrity_check says: %s", strings.Join(list[:min(len(list), 3)], "; "))
	}
	return nil
}

// knownSchema refuses a database whose steps are kept in a way that is not
// known.
func (c *connection) knownSchema() error {
	n, err := c.count("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '" + stepsTable + "'")
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("it has no table %q: this is no conversation of a version that is known, and it is left as it is", stepsTable)
	}
	columns, err := c.columns(stepsTable)
	if err != nil {
		return err
	}
	if !slices.Contains(columns, statusColumn) {
		return fmt.Errorf("its table %q has no column %q: this is no conversation of a version that is known, and it is left as it is", stepsTable, statusColumn)
	}
	return nil
}

func (c *connection) halfWritten() (int, error) {
	return c.count(fmt.Sprintf("SELECT count(*) FROM %s WHERE %s = %d", stepsTable, statusColumn, halfWritten))
}
