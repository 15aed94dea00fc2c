package show

import (
	"fmt"
	"strconv"
	"time"
)

// Duration is a time in three digits or so.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0"
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.1fµs", float64(d)/1e3)
	case d < 999500*time.Nanosecond:
		return fmt.Sprintf("%.0fµs", float64(d)/1e3)
	case d < 9950*time.Microsecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0fms", float64(d)/1e6)
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < 99950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		s := int(d.Round(time.Second) / time.Second)
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	m := int(d.Round(time.Minute) / time.Minute)
	return fmt.Sprintf("%dh%02dm", m/60, m%60)
}

// Bytes is a size in three digits or so.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if x /= 1000; x < 999.5 {
			break
		}
	}
	if x < 9.95 {
		return fmt.Sprintf("%.1f %s", x, unit)
	}
	return fmt.Sprintf("%.0f %s", x, unit)
}

// Rate is so many things in a time, each second.
func Rate(n int, d time.Duration) string {
	if n <= 0 || d <= 0 {
		return ""
	}
	switch x := float64(n) / d.Seconds(); {
	case x < 9.95:
		return fmt.Sprintf("%.1f/s", x)
	case x < 99500:
		return fmt.Sprintf("%.0f/s", x)
	default:
		return fmt.Sprintf("%.0fk/s", x/1000)
	}
}

// Count is a number of things, in the plural where it has to be.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
