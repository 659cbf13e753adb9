// Bounds of both servers, each with its reason: what one peer can cost in memory, time and connections.

/**
 * Largest message taken, in bytes. The largest that makes sense is a Session frame of 4,096 commands of some 200 bytes, or
 * a BatchRenew of 1,000 leases; anything above is a mistake or an attack, and it is refused before it is held in memory.
 */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/** Calls open at once on one connection: eight times what the load tests use; the rest waits at the client. */
export const STREAMS_PER_CONNECTION_MAX = 1_024;

/** Sessions open at once on one server. Each can hold some megabytes when its reader is slow. */
export const SESSIONS_MAX = 1_024;

/** Sessions of one caller open at once on one server: a quarter, so that no caller takes the places of all others. */
export const SESSIONS_PER_CALLER_MAX = 256;

/** A peer that says nothing for this long is asked whether it still lives, so that half-open connections go away… */
export const KEEPALIVE_TIME_MS = 30_000;

/** …and has this long to answer. A live peer takes a round trip; one that pauses for garbage a second or two. */
export const KEEPALIVE_TIMEOUT_MS = 10_000;

/**
 * Connections open at once on one port, unless set otherwise. One that idles costs 25 kB (measured), so all of them 200 MB. Past it
 * the one that has been idle for longest is asked to go, since its client connects again when it has something to say.
 */
export const CONNECTIONS_MAX = 8_192;

/** Age at which a connection is asked to go (GOAWAY), so that clients find a new leader or a new replica by themselves. */
export const CONNECTION_AGE_MS = 30 * 60 * 1_000;

/** Time that calls on such a connection have to end: more than the age of a Session, which then ends by itself. */
export const CONNECTION_AGE_GRACE_MS = 35 * 60 * 1_000;

/** Time that a client has to send its request's headers over HTTP/1.1, or the first bytes of any connection. */
export const HEADERS_TIMEOUT_MS = 10_000;

/** Time that a client has to send a whole request; 1 MiB in 30 s is 35 kB/s. A Session as a whole has its own age. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** Time that a client has to take the answer to a unary call. As with a Session's results, one this slow is gone or stuck. */
export const ANSWER_TIMEOUT_MS = 60_000;

/**
 * Unary requests that have begun to arrive and are not whole yet, at once on one port. A request arrives in one turn or two, so
 * that a busy port has some hundred of them; one costs 10 kB on the gRPC port and 37 kB on the other (measured).
 */
export const ARRIVING_COUNT_MAX = 2_048;

/** Bytes that they, and frames of Sessions that nobody has taken yet, may hold together: 64 of the largest messages. */
export const ARRIVING_BYTES_MAX = 64 * MESSAGE_BYTES_MAX;

/** When a client whose request was cut for those bounds should try again: they are met in a burst, or in an attack. */
export const ARRIVING_RETRY_MS = 1_000;

/** Bytes of answers to unary calls that their clients have not taken yet, at once on one port. */
export const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

/** How often those times are checked. Node's own 30 s would let a slow client have four times its time. */
export const TIMEOUT_CHECK_MS = 5_000;

/** How often the bytes of unread answers are added up: long beside what it costs, short beside what can gather meanwhile. */
export const UNREAD_CHECK_MS = 1_000;

/** Connections that have not said yet which protocol they speak: an honest one says it with its first packet. */
export const UNDECIDED_MAX = 1_024;

/** Time that an HTTP/1.1 connection may idle, also within a request: just above the 60 s of common proxies' pools. */
export const IDLE_TIMEOUT_MS = 65_000;

/** Largest block of request headers, in bytes: a token and what proxies add. Node's own default, said here to be kept. */
export const HEADER_BYTES_MAX = 16 * 1024;

/** Streams of answers open at once on one server. Each holds one page of a journal while its reader is slow. */
export const EVENT_STREAMS_MAX = 256;

/** Of one caller: a quarter, as with Sessions. */
export const EVENT_STREAMS_PER_CALLER_MAX = 64;

/**
 * Results of Sessions that wait for peers that do not read, over all Sessions of one server: eight full Sessions, about 64 MB.
 * Past it the Session that has most of them ends.
 */
export const UNREAD_RESULTS_MAX = 65_536;

/** Streams of health's Watch and of reflection open at once on one server: some monitors and some people, a hundred times over. */
export const WATCHES_MAX = 1_024;

/** When a client that was turned away for their number should try again. */
export const WATCHES_RETRY_MS = 1_000;

/** When a client that was turned away for the number of Sessions or streams of answers should try again. */
export const SESSIONS_RETRY_MS = 1_000;

/**
 * Unary calls with max_wait open at once on one connection: three quarters of its streams, so that the settlements which make room
 * for them find one.
 */
export const WAITS_PER_CONNECTION_MAX = (STREAMS_PER_CONNECTION_MAX / 4) * 3;

/**
 * How long a unary call may wait. As long as a connection's age: its connection may be asked to go just after the call came, and is
 * cut CONNECTION_AGE_GRACE_MS later.
 */
export const WAIT_AGE_MS = 30 * 60 * 1_000;

/** Over HTTP/1.1, where nothing moves while a call waits: just below IDLE_TIMEOUT_MS, and what common proxies allow. */
export const HTTP1_WAIT_AGE_MS = 55_000;

/**
 * How long the place of one that was sent away is kept for its caller to come back: some tries of a client that pauses between them.
 * The coordinator does the same after a takeover.
 */
export const PLACE_KEPT_MS = 10_000;
