package wire

import "iter"

// Range is a range of a file: FILE_ALLOCATED_RANGE_BUFFER, FILE_LEVEL_TRIM_RANGE (MS-FSCC 2.3.54, 2.3.15.1).
type Range struct{ Offset, Length uint64 } // bytes

const rangeLen = 16

func getRange(b []byte) Range { return Range{le.Uint64(b), le.Uint64(b[8:])} }

// Append appends the range: the input of FSCTL_QUERY_ALLOCATED_RANGES, or an entry of its output (MS-FSCC 2.3.53, 2.3.54).
func (r *Range) Append(b []byte) []byte {
	return le.AppendUint64(le.AppendUint64(b, r.Offset), r.Length)
}

// Valid reports whether the range's offset and end fit into 63 bits.
func (r *Range) Valid() bool {
	return r.Offset < 1<<63 && r.Length < 1<<63 && r.Offset+r.Length <= 1<<63-1
}

// ParseRange reads the input of FSCTL_QUERY_ALLOCATED_RANGES (MS-FSCC 2.3.53).
func ParseRange(b []byte) (r Range, err error) {
	if err = atLeast(b, rangeLen); err != nil {
		return r, err
	}
	return getRange(b), nil
}

// Ranges is a list of ranges in wire form.
type Ranges []byte

// ParseRanges checks the output of FSCTL_QUERY_ALLOCATED_RANGES.
func ParseRanges(b []byte) (Ranges, error) {
	if len(b)%rangeLen != 0 {
		return nil, malformed("ranges of %d bytes", len(b))
	}
	return Ranges(b), nil
}

// Len returns the number of ranges.
func (r Ranges) Len() int { return len(r) / rangeLen }

// All yields every range.
func (r Ranges) All() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for b := r; len(b) >= rangeLen && yield(getRange(b)); b = b[rangeLen:] {
		}
	}
}

// ZeroData is FILE_ZERO_DATA_INFORMATION: the input of FSCTL_SET_ZERO_DATA (MS-FSCC 2.3.85).
type ZeroData struct {
	Offset uint64 // bytes
	Beyond uint64 // end of the range: the first byte that is not zeroed
}

// ParseZeroData reads the input.
func ParseZeroData(b []byte) (z ZeroData, err error) {
	r, err := ParseRange(b)
	return ZeroData{r.Offset, r.Length}, err
}

// Append appends the input.
func (z *ZeroData) Append(b []byte) []byte {
	return le.AppendUint64(le.AppendUint64(b, z.Offset), z.Beyond)
}

// ParseTrim reads the input of FSCTL_FILE_LEVEL_TRIM (MS-FSCC 2.3.15): the key, which is 0, and the ranges.
func ParseTrim(b []byte) (key uint32, ranges Ranges, err error) {
	if err = atLeast(b, 8); err != nil {
		return 0, nil, err
	}
	ranges, err = within(b[8:], 0, rangeLen*uint64(le.Uint32(b[4:])))
	return le.Uint32(b), ranges, err
}

// AppendTrim appends the input of FSCTL_FILE_LEVEL_TRIM.
func AppendTrim(b []byte, key uint32, ranges Ranges) []byte {
	b = le.AppendUint32(le.AppendUint32(b, key), uint32(ranges.Len()))
	return append(b, ranges...)
}

// AppendTrimmed appends the output of FSCTL_FILE_LEVEL_TRIM: the number of ranges processed (MS-FSCC 2.3.16).
func AppendTrimmed(b []byte, n uint32) []byte { return le.AppendUint32(b, n) }

// FileRegions is the input of FSCTL_QUERY_FILE_REGIONS (MS-FSCC 2.3.55). Empty input means the whole file.
type FileRegions struct {
	Range
	Usage uint32
}

// FileRegionUsageValidCachedData asks for regions with valid data (MS-FSCC 2.3.55).
const FileRegionUsageValidCachedData uint32 = 0x00000001

// ParseFileRegions reads the input.
func ParseFileRegions(b []byte) (q FileRegions, err error) {
	if len(b) == 0 {
		return FileRegions{Range{0, 1<<63 - 1}, FileRegionUsageValidCachedData}, nil
	}
	if err = atLeast(b, 20); err != nil {
		return q, err
	}
	return FileRegions{getRange(b), le.Uint32(b[16:])}, nil
}

// Append appends the input.
func (q *FileRegions) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(q.Range.Append(b), q.Usage), 0)
}

// AppendFileRegions appends the output of FSCTL_QUERY_FILE_REGIONS: as many of regions as fit in limit bytes (MS-FSCC
// 2.3.56). all reports whether all of them fit.
func AppendFileRegions(b []byte, regions []FileRegions, limit int) (out []byte, all bool) {
	n := min(len(regions), max(limit-16, 0)/24)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, uint32(len(regions)))
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint32(b, 0)
	for i := range regions[:n] {
		b = regions[i].Append(b)
	}
	return b, n == len(regions)
}
