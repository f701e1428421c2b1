package wire

// InfoClass is an information class, of files or file systems by the InfoType (MS-FSCC 2.4, 2.5).
type InfoClass uint8
