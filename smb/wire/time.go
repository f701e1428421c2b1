package wire

import "time"

// Filetime is a FILETIME: 100 ns units since 1601-01-01 UTC (MS-DTYP 2.3.3).
type Filetime uint64

// Special values of a time in the FileBasicInformation of a SET_INFO (MS-FSCC 2.4.7).
const (
	FiletimeUnchanged Filetime = 0            // leave the time as it is
	FiletimeFreeze    Filetime = ^Filetime(0) // -1: from now on, operations on this open do not change the time
	FiletimeThaw      Filetime = ^Filetime(1) // -2: operations on this open change the time again
)

// filetimeEpoch is 1970-01-01 in seconds since 1601-01-01.
const filetimeEpoch = 11644473600

// Bounds of Filetimes, seconds since 1970. A Filetime stays below 2^63, because comparisons treat it as signed.
const (
	minFiletimeSec = -filetimeEpoch
	maxFiletimeSec = 1<<63/10_000_000 - filetimeEpoch - 1
)

// FiletimeOf converts t; the zero time.Time is 0.
func FiletimeOf(t time.Time) Filetime {
	if t.IsZero() {
		return 0
	}
	return UnixFiletime(t.Unix(), uint32(t.Nanosecond()))
}

// UnixFiletime converts seconds since 1970 and nanoseconds; it truncates these to 100 ns. Times before 1601 become
// 1601, and times beyond the range become its last one.
func UnixFiletime(sec int64, nsec uint32) Filetime {
	s := min(max(sec, minFiletimeSec), maxFiletimeSec)
	if s != sec {
		nsec = 0
	}
	return Filetime((s+filetimeEpoch)*10_000_000 + int64(nsec/100))
}

// Unix converts f to seconds since 1970 and nanoseconds. Values of 2^63 and more, such as FiletimeFreeze, are not times.
func (f Filetime) Unix() (sec int64, nsec uint32) {
	return int64(f/10_000_000) - filetimeEpoch, uint32(f%10_000_000) * 100
}

// Time converts f to UTC; 0 is the zero time.Time.
func (f Filetime) Time() time.Time {
	if f == 0 {
		return time.Time{}
	}
	sec, nsec := f.Unix()
	return time.Unix(sec, int64(nsec)).UTC()
}

func getFiletime(b []byte) Filetime { return Filetime(le.Uint64(b)) }

func (f Filetime) append(b []byte) []byte { return le.AppendUint64(b, uint64(f)) }
