// Package crypt signs and encrypts SMB messages: key derivation, signing with
// HMAC-SHA256, AES-CMAC and AES-GMAC, and the transform of the 3.x dialects with
// AES-CCM and AES-GCM, 128 and 256 (MS-SMB2 3.1.4, 3.1.5). It is pure, and
// allocates nothing per message.
//
// Messages are contiguous and are transformed in place. Encrypted ones need
// [TagLen] bytes of room behind the message, in the slice's capacity.
package crypt

// TagLen is the length of a signature and of an authentication tag, bytes.
const TagLen = 16
