/*
 * Unix sockets: what local.c, local_names.c and local_messages.c share. See local.c.
 */
#ifndef GY_SIM_LOCAL_H
#define GY_SIM_LOCAL_H

#include "sim/net/socket.h"

enum { GY_SIM_RIGHTS_MAX = 253 };

struct gy_sim_local;

/* What one call has written, or what is left of it. */
struct gy_sim_local_message {
	struct gy_list item;
	struct gy_sim_local *sender; /* whose buffer it counts in; NULL: it is closed */
	struct gy_sim_local_name from;
	struct gy_sim_file **files; /* that come with it */
	uint32_t files_count;
	size_t read; /* of @count */
	size_t count;
	unsigned char bytes[];
};

struct gy_sim_local {
	struct gy_sim_socket socket;
	struct gy_sim_local_name name;
	struct gy_sim_local_name peer_name;
	struct gy_sim_local *peer; /* the other end, or where datagrams go; NULL: it is closed */
	struct ucred credentials;  /* of who made it listen or connected it */
	struct ucred peer_credentials;
	struct gy_list queue; /* of messages */
	uint32_t queue_count;
	size_t unread_bytes;
	size_t sent_bytes; /* that are in a queue of another */
	bool in_ended;
	bool out_ended;
	struct gy_sim_local *listener; /* whose queue it is in */
	struct gy_list of_listener;
	struct gy_list waiting; /* connections of a listener */
	uint32_t waiting_count;
	uint32_t backlog;
};

static inline struct gy_sim_local *gy_sim_local_of(const struct gy_sim_socket *socket)
{
	return (struct gy_sim_local *)(uintptr_t)socket;
}

/* ---- local_names.c ---- */

int gy_sim_local_bind(struct gy_sim_socket *socket, const struct sockaddr *name, socklen_t bytes);
int gy_sim_local_name_of(const struct gy_sim_socket *socket, bool peer,
			 struct sockaddr_storage *ret_name);
/* The socket that has a name; -ENOENT, -ECONNREFUSED. */
int gy_sim_local_find(const struct gy_sim_socket *asks, const struct sockaddr *name,
		      socklen_t bytes, struct gy_sim_local **ret_found);
/* A name as calls have it; its bytes. */
socklen_t gy_sim_local_name_write(const struct gy_sim_local_name *name,
				  struct sockaddr_un *ret_name);

/* A socket is closed: its file, if it has one, stays and leads nowhere. */
void gy_sim_local_unname(struct gy_sim_local *local);

/* ---- local_rights.c ---- */

struct gy_sim_rights {
	struct gy_sim_file *files[GY_SIM_RIGHTS_MAX];
	uint32_t count;
};

/* What comes with a message that is sent. */
int gy_sim_rights_read(const struct msghdr *message, struct gy_sim_rights *rights);
/* Has the last message in a queue carry it. */
void gy_sim_rights_attach(struct gy_sim_local *to, const struct gy_sim_rights *rights);
/* Makes descriptors of the files that have come, as far as the @room for control has any. */
void gy_sim_rights_give(struct gy_sim_local_message *from, struct msghdr *message, int flags,
			size_t room);
void gy_sim_rights_drop(struct gy_sim_local_message *message);

/* ---- local_messages.c ---- */

int64_t gy_sim_local_send(struct gy_sim_socket *socket, const struct msghdr *message, int flags);
int64_t gy_sim_local_receive(struct gy_sim_socket *socket, struct msghdr *message, int flags);
/* Drops all that waits to be received. */
void gy_sim_local_drop_messages(struct gy_sim_local *local);
bool gy_sim_local_is_writable(const struct gy_sim_local *local);
/* A socket is closed: its messages, which others have yet to read, count for nobody. */
void gy_sim_local_disown_messages(struct gy_sim_local *local, const struct gy_sim_local *of);

#endif
