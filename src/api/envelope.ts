// What stands before each message of a stream on the wire, the same in gRPC and Connect: a byte of flags, of which the first says
// that the message is compressed, and four bytes of its length. Apart from both servers because both count with it.

/** Length of that envelope. */
export const ENVELOPE_BYTES = 5;
