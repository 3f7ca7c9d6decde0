/*
 * TLS for channels, by OpenSSL. A context holds the certificates and the other settings that
 * connections share; a handler next to the head encrypts and decrypts one connection.
 *
 *	static struct gyre_tls_options tls;
 *
 *	r = gyre_tls_context_create(system, &(struct gyre_tls_context_options){
 *					.certificate = "chain.pem", .key = "key.pem" },
 *				    &tls.context);
 *	...
 *	r = gyre_tls_server_add(channel, GYRE_FIRST, &tls);
 *
 * The handlers behind it see plain bytes and need not know. They get @active at once; bytes that
 * they write before the handshake is done wait, and count as queued output. When the handshake is
 * done they get the event gyre_tls_session. A handler that is added to an active channel begins its
 * handshake at once, as a protocol with STARTTLS needs it.
 *
 * The end of a stream is a close_notify. gyre_context_shutdown() and gyre_context_close() send it
 * before the end of the connection. A close_notify of the peer is the end of input, told by
 * gyre_input_closed where half-closing is allowed. A connection that ends without it raises the
 * exception -ECONNABORTED: bytes may have been cut off. A channel that is aborted, or closed from
 * between this handler and the head, sends none.
 *
 * A handshake that fails raises an exception, closes the channel with that reason and is one line
 * in the log, at most 20 a minute for a context: -EKEYREJECTED when this side refuses the peer's
 * certificate, -ECONNREFUSED when the peer refuses, -EPROTO when the two do not understand each
 * other, -ECONNABORTED when the peer goes away during the handshake, which a server does not log.
 * After @handshake_ns the channel is aborted with -ETIMEDOUT.
 *
 * TLS 1.2 and 1.3 are spoken, with forward secrecy only; renegotiation, compression and early data
 * are off. A part of a file cannot be sent without a copy: gyre_context_send_file() refuses.
 * Channels of datagrams refuse the handlers with -EOPNOTSUPP: TLS is for streams, and there is no
 * DTLS.
 */
#ifndef GYRE_TLS_H
#define GYRE_TLS_H

#include <gyre/pipeline.h>

GYRE_BEGIN_DECLS

struct gyre_system;
struct gyre_tls_context;

/** GYRE_TLS_PROTOCOLS_MAX - how many protocols a context may offer by ALPN */
#define GYRE_TLS_PROTOCOLS_MAX 16
/** GYRE_TLS_NAME_BYTES_MAX - the longest name of a server, without its final 0 */
#define GYRE_TLS_NAME_BYTES_MAX 255

/**
 * enum gyre_tls_version - versions of the protocol
 * @GYRE_TLS_ANY: in options: 1.2 and later
 * @GYRE_TLS_1_2: TLS 1.2
 * @GYRE_TLS_1_3: TLS 1.3
 */
enum gyre_tls_version {
	GYRE_TLS_ANY = 0,
	GYRE_TLS_1_2 = 2,
	GYRE_TLS_1_3 = 3,
};

/**
 * struct gyre_tls_context_options - the shared settings; all zero: an anonymous client
 * @certificate: a PEM file with the own certificate, first, and those between it and its CA; NULL
 *   for none, for clients only
 * @key: a PEM file with its key, without a passphrase; needed with @certificate
 * @ca: a PEM file with the certificates of the CAs that are trusted to sign those of peers; NULL
 *   for the CAs of the machine. These are read with the other files where @certificate is NULL too,
 *   else when the first client verifies by them: never for a context that only serves
 * @alpn: the protocols spoken inside, the preferred one first, of 1 to 255 bytes each, at most
 *   GYRE_TLS_PROTOCOLS_MAX, ended by NULL; NULL for no such choice. A server refuses a client that
 *   offers protocols of which it speaks none
 * @version_min: the oldest version that is spoken
 * @record_bytes: the most bytes that are encrypted as one piece, 4096 to 16384; 0 for 16384. The
 *   receiver can use no byte of a piece before it has the whole piece
 */
struct gyre_tls_context_options {
	const char *certificate;
	const char *key;
	const char *ca;
	const char *const *alpn;
	enum gyre_tls_version version_min;
	uint32_t record_bytes;
};

/**
 * struct gyre_tls_options - the settings of one connection; @context is needed
 * @context: the context, with the certificates
 * @server_name: the host's name or address of the server that a client wants to reach, up to
 *   GYRE_TLS_NAME_BYTES_MAX bytes. The server is told it, and the server's certificate must be for
 *   it. Servers ignore this field
 * @mutual: a server demands a certificate of its clients, signed by @ca of the context, which must
 *   be given
 * @any_name: a client accepts a certificate for any name, as long as @ca has signed it: for a CA
 *   that signs only peers one may talk to. Else @server_name is needed
 * @no_verify: a client accepts any certificate at all, so that it does not know whom it talks to
 * @handshake_ns: how long the handshake may take, 1e6 to 3.6e12; 0 for 10 s
 */
struct gyre_tls_options {
	struct gyre_tls_context *context;
	const char *server_name;
	bool mutual;
	bool any_name;
	bool no_verify;
	uint64_t handshake_ns;
};

/**
 * struct gyre_tls_session - the event of a finished handshake, with its results
 * @version: the version of the protocol
 * @resumed: keys of an earlier connection were used, and no certificate was shown again
 * @cipher: the cipher suite
 * @alpn: the protocol inside; "" for none
 * @server_name: the name that the client wants to reach; "" for none
 * @peer_subject: the subject of the peer's certificate, as RFC 2253 writes it; "" without a
 *   certificate
 *
 * The texts are the handler's: valid until it is removed.
 */
struct gyre_tls_session {
	enum gyre_tls_version version;
	bool resumed;
	const char *cipher;
	const char *alpn;
	const char *server_name;
	const char *peer_subject;
};
GYRE_OWN_MESSAGE_(gyre_tls_session, 0x60);

/** gyre_tls_context_create_sized() - gyre_tls_context_create() with the size of @options */
GYRE_API int gyre_tls_context_create_sized(struct gyre_system *system,
					   const struct gyre_tls_context_options *options,
					   size_t options_bytes,
					   struct gyre_tls_context **ret_context);

/**
 * gyre_tls_context_create() - reads certificates, for any number of connections
 * @system: the system whose log is told of this context; NULL for standard error. The context must
 *   not outlive it
 * @options: the files and settings; not needed after the call, but gyre_tls_context_reload() needs
 *   the files
 * @ret_context: the context, with one reference
 *
 * A failure is explained by one line in the log, with its cause and remedy.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL   an argument is NULL, @certificate is given without @key or the other way round, or a
 *             number or a protocol is out of bounds
 *   -EBADMSG  a file holds no certificate or key, or those do not belong together
 *   -ENOMEM   there is no memory
 *   others why the kernel refused a file, such as -ENOENT and -EACCES
 * Ownership: the reference is the caller's, until gyre_tls_context_unref() takes it.
 * Context: any thread, setup or later; it reads files.
 * Since: 0.1
 */
static inline int gyre_tls_context_create(struct gyre_system *system,
					  const struct gyre_tls_context_options *options,
					  struct gyre_tls_context **ret_context)
{
	return gyre_tls_context_create_sized(system, options, sizeof(*options), ret_context);
}

/**
 * gyre_tls_context_reload() - reads the files again, for connections that begin from now on
 * @context: the context
 *
 * Open connections go on with the former certificates. A fault of a file is explained as by
 * gyre_tls_context_create().
 *
 * Return: 0, or a negative errno, and then the context is as it was.
 * Errors:
 *   -EINVAL  @context is NULL
 *   others   as gyre_tls_context_create()
 * Ownership: nothing changes hands.
 * Context: any thread; it reads files, so on a loop by gyre_offload().
 * Since: 0.1
 */
GYRE_API int gyre_tls_context_reload(struct gyre_tls_context *context);

/**
 * gyre_tls_context_ref() - adds a reference
 * @context: the context, or NULL
 *
 * Return: @context.
 * Ownership: the reference is the caller's, until gyre_tls_context_unref() takes it.
 * Context: any thread, any phase, while some reference is sure to stay.
 * Since: 0.1
 */
GYRE_API struct gyre_tls_context *gyre_tls_context_ref(struct gyre_tls_context *context);

/**
 * gyre_tls_context_unref() - drops a reference; the last frees the context
 * @context: the context, or NULL
 *
 * Handlers in pipelines have references of their own.
 *
 * Ownership: the reference is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_tls_context_unref(struct gyre_tls_context *context);

/** gyre_tls_server_add_sized() - gyre_tls_server_add() with the size of @options */
GYRE_API int gyre_tls_server_add_sized(struct gyre_channel *channel, struct gyre_position position,
				       const struct gyre_tls_options *options,
				       size_t options_bytes);

/**
 * gyre_tls_server_add() - adds TLS on the side that accepted the connection
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: the context, and how clients are checked
 *
 * Its name is "tls". It takes a reference to the context.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel or @options is NULL, a field is out of its bounds, the context has no
 *            certificate, or @mutual is set and the context has no @ca
 *   -EOPNOTSUPP  the channel is one of datagrams
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_tls_server_add(struct gyre_channel *channel, struct gyre_position position,
				      const struct gyre_tls_options *options)
{
	return gyre_tls_server_add_sized(channel, position, options, sizeof(*options));
}

/** gyre_tls_client_add_sized() - gyre_tls_client_add() with the size of @options */
GYRE_API int gyre_tls_client_add_sized(struct gyre_channel *channel, struct gyre_position position,
				       const struct gyre_tls_options *options,
				       size_t options_bytes);

/**
 * gyre_tls_client_add() - adds TLS on the side that made the connection
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: the context, and how the server is checked
 *
 * Its name is "tls". It takes a reference to the context.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel or @options is NULL, a field is out of its bounds, or @options verify and
 *            have neither @server_name nor @any_name
 *   -EOPNOTSUPP  the channel is one of datagrams
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_tls_client_add(struct gyre_channel *channel, struct gyre_position position,
				      const struct gyre_tls_options *options)
{
	return gyre_tls_client_add_sized(channel, position, options, sizeof(*options));
}

/** gyre_tls_session_of_sized() - gyre_tls_session_of() with the size of @ret_session */
GYRE_API int gyre_tls_session_of_sized(struct gyre_channel *channel,
				       struct gyre_tls_session *ret_session,
				       size_t ret_session_bytes);

/**
 * gyre_tls_session_of() - the results of the handshake of a channel
 * @channel: the channel
 * @ret_session: where it goes; with several handlers of TLS, of that which is nearest to the tail
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 *   -ENOENT  the channel has no TLS
 *   -EAGAIN  its handshake is not done
 * Ownership: the texts stay the handler's: valid until it is removed.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
static inline int gyre_tls_session_of(struct gyre_channel *channel,
				      struct gyre_tls_session *ret_session)
{
	return gyre_tls_session_of_sized(channel, ret_session, sizeof(*ret_session));
}

GYRE_END_DECLS

#endif
