// Package xdr is the External Data Representation (RFC 4506), append and consume:
// no reflection, no reader, no allocation but for strings.
//
// Encoding appends to a byte slice. Decoding consumes a [Decoder], which is
// sticky: after the first error every call returns zero values, and one look at
// [Decoder.Err] at the end is enough.
//
// Bulk data can travel beside the stream: RPC-over-RDMA moves the data items
// that RFC 8267 names eligible for direct placement in chunks of their own. A
// Decoder over a message with [Chunk]s finds such an item where it belongs
// ([Decoder.Payload]), whether it came inline or not, and never copies it.
package xdr
